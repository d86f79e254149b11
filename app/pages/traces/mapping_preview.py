"""What a file was taken for, and its first rows with the chosen columns marked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dash import html

from app.pages.traces.mapping_values import named
from app.ui.basics import icon, scrolling, state_badge

if TYPE_CHECKING:
    from collections.abc import Mapping

_MARKS = (
    ("execution", "execution"),
    ("time", "time"),
    ("cpu", "CPU"),
    ("memory", "memory"),
)


def marks(values: Mapping[str, Any]) -> dict[str, str]:
    """What each chosen column stands for, in one word."""
    found = dict.fromkeys(values["attributes"] or (), "attribute")
    found |= dict.fromkeys(values["features"] or (), "feature")
    found |= dict.fromkeys(values["execution_parts"] or (), "execution")
    return found | {values[key]: word for key, word in _MARKS if named(values[key])}


def preview(inspection: Any, values: Mapping[str, Any]) -> html.Div:
    """The file's first rows; the columns that will be read carry what they stand for."""
    chosen = marks(values)
    names = [column.name for column in inspection.columns]
    classes = ["on" if name in chosen else "off" for name in names]
    head = [
        html.Th(
            [
                state_badge(chosen[name], "accent", "check") if name in chosen else html.Span("not read"),
                html.Div(name, className="name"),
                html.Div(column.dtype, className="type"),
            ],
            className=kind,
            scope="col",
        )
        for name, kind, column in zip(names, classes, inspection.columns, strict=True)
    ]
    rows = [
        html.Tr([html.Td(row[i] if i < len(row) else "", className=kind) for i, kind in enumerate(classes)])
        for row in inspection.rows_preview
    ]
    table = html.Table(
        [html.Caption("First rows", className="sr"), html.Thead(html.Tr(head)), html.Tbody(rows)],
        className="plain preview",
    )
    return scrolling(table, "First rows", "tall")


def _format(inspection: Any) -> str:
    if inspection.mapping is None:
        return "Unknown format. "
    if inspection.layout == "generic":
        return "The columns were guessed by their names: please check. "
    if inspection.layout == "joined":
        return f"{inspection.label}. "
    return f"Recognised as {inspection.label}. "


def recognised(inspection: Any) -> html.Div:
    """What the file was taken for, and why."""
    known = inspection.mapping is not None
    # the first reason of a known layout only repeats its name
    reasons = (
        (inspection.reasons[1:] or ("Import the file once the columns are right.",))
        if known
        else inspection.reasons
    )
    return html.Div(
        [
            icon("wand" if known else "alert-triangle"),
            html.Div(
                [
                    html.B(_format(inspection)),
                    " ".join(reasons),
                ],
                className="text",
            ),
        ],
        className="notice info" if known else "notice warn",
        role="status",
    )
