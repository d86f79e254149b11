"""What to give to each group of containers in each phase, as a table with the reason for every line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dash import html

from app.pages.provisioning import results
from app.pages.provisioning.query import FORMATS, RESOURCES
from app.ui.basics import Node, aria, card, data, icon, notice, phase_badge, plain_table
from app.ui.links import segments
from core.errors import PhaseDockError
from core.units import Unit, format_bytes, format_share, format_value

if TYPE_CHECKING:
    from app.context import Choice
    from app.pages.provisioning.query import View
    from app.ui.evaluations import Result
    from core.provisioning.recommendation.recommend import Advice
    from core.provisioning.verdict.answer import Verdict


_SHOWN_CHARACTERS = 12_000


def manifest_card(found: Verdict, result: Result, view: View, choice: Choice) -> html.Section:
    """The tabs of formats, and the file in the chosen one."""
    tabs = segments(view, "format", FORMATS, view.form, "Format of the export")
    body = html.Div([_what(found), *_export(tabs, result, view, choice)], className="stack")
    return card("Set it", body, class_name="setit")


def _what(found: Verdict) -> Node:
    """Which policies are exported."""
    chosen = [
        f"{RESOURCES[resource.value]}: {each.policy}" for resource, each in found.picks.items() if each.policy
    ]
    text = (
        ". A manifest holds one amount for a container’s whole life. Where a policy changes what it gives, "
        "that is a fixed amount with the same promise, judged on its own."
    )
    return html.P([html.B(", ".join(chosen)), text], className="small ink2") if chosen else None


def _export(tabs: Node, result: Result, view: View, choice: Choice) -> list[Node]:
    try:
        text = results.manifest(choice, result, view, view.form)
    except PhaseDockError as error:
        return [tabs, notice("warn", error.hint, strong=error.message)]
    tools = _file_tools(results.manifest_address(choice, result, view, view.form))
    long = len(text) > _SHOWN_CHARACTERS
    cut = "The file is longer than what is shown here; download it for the rest."
    return [
        html.Div([tabs, tools], className="row between wrap"),
        _manifest(text[:_SHOWN_CHARACTERS] + "\n…" if long else text, view.form),
        html.P(cut, className="small ink3") if long else None,
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
        **aria(label=f"Verdict, {FORMATS[form]}"),
    )


_MOST = 60
_HEAD = (
    ("Group", False),
    ("Phase", False),
    ("Request", True),
    ("Limit", True),
    ("Expected time short", True),
    ("Given", True),
    ("Saved", True),
    ("Why", False),
)


def advice_card(result: Result, view: View, choice: Choice, tools: list[Node]) -> html.Section | None:
    """The card; None where nothing can be recommended, which the card of the recommendation says."""
    try:
        rows = results.advice(choice, results.recommend_settings(result.report))
    except PhaseDockError:
        return None
    mine = [row for row in rows if row.resource.value == view.resource]
    known = any(row.given is not None for row in mine)
    hidden = () if known else ("Given", "Saved")
    head = [title for title in _HEAD if title[0] not in hidden]
    cut = f"; the first {_MOST} of {len(mine):,} lines" if len(mine) > _MOST else ""
    return card(
        "Request and limit",
        html.Div(
            plain_table(
                head,
                [_line(row, known=known) for row in mine[:_MOST]],
                "Request and limit by group and phase",
            ),
            className="advice",
        ),
        note=f"{RESOURCES[view.resource]} by group and phase, from all containers{cut}",
        tools=tools,
        flush=True,
    )


def _line(row: Advice, *, known: bool) -> list[Node]:
    whole = row.phase is None
    phase = html.Span("all phases") if row.phase is None else phase_badge(row.phase)
    given: list[Node] = [_said(row.given, row.unit), _said(row.saving, row.unit)] if known else []
    return [
        html.B(row.group) if whole else html.Span(row.group, className="ink3"),
        phase,
        html.Span(_said(row.request, row.unit), className="strong"),
        _said(row.limit, row.unit),
        format_share(row.expected_violation),
        *given,
        html.Div(row.reason, className="small ink2 why"),
    ]


def _said(value: float | None, unit: Unit) -> str:
    if value is None:
        return "–"
    return format_bytes(value) if unit is Unit.BYTES else format_value(value, unit)
