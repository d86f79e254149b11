"""What to give to each group of containers in each phase, as a table with the reason for every line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dash import html

from app.pages.provisioning import results
from app.pages.provisioning.query import RESOURCES
from app.ui.basics import Node, card, phase_badge, plain_table
from core.errors import PhaseDockError
from core.units import Unit, format_bytes, format_share, format_value

if TYPE_CHECKING:
    from app.context import Choice
    from app.pages.provisioning.query import View
    from app.ui.evaluations import Result
    from core.provisioning.recommendation.recommend import Advice

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
