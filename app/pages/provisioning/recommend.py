"""The recommendation: the policy to take and why, what to give to each group, and the files that set it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dash import html

from app.pages.provisioning import results
from app.pages.provisioning.query import FORMATS
from app.pages.provisioning.verdict import Verdict, title, verdict
from app.ui.basics import Node, aria, card, data, icon, notice
from app.ui.links import segments
from core.errors import PhaseDockError
from core.units import format_change, format_share

if TYPE_CHECKING:
    from collections.abc import Sequence

    from app.context import Choice
    from app.pages.provisioning.query import View
    from app.ui.evaluations import Result

_SHOWN_CHARACTERS = 12_000


def card_of(result: Result, view: View, choice: Choice) -> html.Section:
    """The card with headline, reasons, and the file in the chosen format."""
    found = [verdict(resource, part) for resource, part in result.report["resources"].items()]
    here = next(each for each in found if each.resource == view.resource)
    return card(
        "Recommendation",
        html.Div(
            [_headline(here), _reasons(found, result, view), *_export(result, view, choice)],
            className="stack",
        ),
    )


def _headline(found: Verdict) -> Node:
    if found.row is None:
        return None
    resource = "CPU" if found.resource == "cpu" else "Memory"
    saved = "–" if found.from_base is None else format_change(-found.from_base, 0)
    under = "–" if found.row.under is None else format_share(found.row.under)
    return html.Div(
        [
            html.Div(
                [
                    html.Div(f"{resource} over-allocation", className="ink3 small"),
                    html.Div([saved, " ", html.Small("from prev.step.rules")], className="value"),
                ]
            ),
            html.Div(
                [
                    html.Div("Time short, held out", className="ink3 small"),
                    html.Div([under, " ", html.Small(f"with {found.policy}")], className="value"),
                ]
            ),
        ],
        className="headline",
    )


def _reasons(found: Sequence[Verdict], result: Result, view: View) -> html.Ul:
    items = [
        _reason(*(("circle-check", "ok") if each.better else ("info-circle", "info")),
                [html.B(title(each)), " ", each.sentence])
        for each in found
    ]  # fmt: skip
    here = next(each for each in found if each.resource == view.resource)
    held_out = len(result.report["split"]["held_out"])
    if here.row is not None and here.row.above:
        count = round(here.row.above * held_out)
        text = [
            html.B(f"{count:,} of {held_out:,} containers"),
            f" would fall short for more than 10% of their time with {here.policy}. ",
            "Leave those as they are; they are listed under worst containers.",
        ]
        items.append(_reason("alert-triangle", "warn", text))
    return html.Ul(items, className="reasons")


def _reason(picture: str, kind: str, text: list[Node]) -> html.Li:
    return html.Li([html.Span(icon(picture), className=kind), html.Span(text)])


def _export(result: Result, view: View, choice: Choice) -> list[Node]:
    """The tabs of formats, and the file in the chosen one."""
    tabs = segments(view, "format", FORMATS, view.form, "Format of the recommendation")
    try:
        text = results.exported(choice, result, view.form)
    except PhaseDockError as error:
        return [tabs, notice("warn", error.hint, strong=error.message)]
    tools = _file_tools(results.file_address(choice, result, view.form))
    long = len(text) > _SHOWN_CHARACTERS
    cut = html.P(
        "The file is longer than what is shown here; download it for the rest.", className="small ink3"
    )
    return [
        html.Div([tabs, tools], className="row between wrap"),
        _manifest(text[:_SHOWN_CHARACTERS] + "\n…" if long else text, view.form),
        cut if long else None,
    ]


def _file_tools(address: str) -> html.Div:
    """The buttons that copy and download the file."""
    return html.Div(
        [
            html.Button(
                [icon("copy"), html.Span("Copy", **data(label="true"))],
                type="button",
                className="btn small",
                **data(fetch=address),
            ),
            html.A([icon("download"), "Download"], href=address, className="btn small", download=""),
        ],
        className="row",
    )


def _manifest(text: str, form: str) -> html.Pre:
    return html.Pre(
        text,
        className="manifest" if form in ("json", "csv") else "manifest wrap",
        tabIndex="0",
        role="region",
        **aria(label=f"Recommendation, {FORMATS[form]}"),
    )
