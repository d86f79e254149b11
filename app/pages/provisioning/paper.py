"""Figure 4 of AI4DL with its five policies, and its headline beside ours: raw, and at matched violation."""

from __future__ import annotations

from dataclasses import astuple, dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from dash import html

from app.figures.provisioning import totals
from app.pages.provisioning.results import RESOURCES
from app.ui.basics import Node, card, plain_table
from app.ui.export import export_menu
from app.ui.graph import graph
from core.provisioning.evaluation.comparison import PAPERS_BASE, PAPERS_OWN, PAPERS_POLICIES, PAPERS_SAVING
from core.units import Unit, format_change, format_share

if TYPE_CHECKING:
    from collections.abc import Mapping

    from app.pages.provisioning.results import Values, View

_LOOKS = {
    "current.step.max": totals.ORACLE,
    "current.step.rules": totals.DOTTED,
    "prev.step.max": totals.DASHED,
    "prev.step.rules": totals.RIVAL,
    "phase.rule": totals.PAPER,
}
_HEAD = (
    ("Policy", False),
    ("Over, raw", True),
    ("Allocated, raw", True),
    ("Short (by > 5%)", True),
    ("Over, matched", True),
    ("Short (by > 5%)", True),
)


@dataclass(frozen=True, slots=True)
class PaperRow:
    """One policy against the paper's base; savings are shares of what the base has, None where unknown."""

    NAMES: ClassVar[tuple[str, ...]] = (
        *("policy", "raw_over_saving", "raw_allocation_saving", "raw_time_short_0", "raw_time_short_05"),
        *(
            "matched_over_saving",
            "matched_low",
            "matched_high",
            "matched_time_short_0",
            "matched_time_short_05",
        ),
    )
    policy: str
    over: float | None
    allocation: float | None
    short: float | None
    short_05: float | None
    matched: float | None
    low: float | None
    high: float | None
    matched_short: float | None
    matched_short_05: float | None

    def cells(self) -> tuple[Any, ...]:
        """The row of the file."""
        return astuple(self)


def paper_rows(values: Values, chosen: str | None) -> list[PaperRow]:
    """The paper's five as far as they were compared, then ours or the chosen one."""
    there = {each["policy"]: each for each in values.part["policies"]}
    wanted = dict.fromkeys((*PAPERS_POLICIES, *([chosen or values.ours()] if there else [])))
    return [_row(there[name]) for name in wanted if name in there]


def _row(each: Mapping[str, Any]) -> PaperRow:
    matched = each["matched"]
    against = (matched.get("against") or {}).get(PAPERS_BASE) or {}
    headline = each["headline"]
    return PaperRow(
        each["policy"],
        headline.get("over_saving"),
        headline.get("allocation_saving"),
        each["under_time_0"],
        each["under_time_05"],
        against.get("saving"),
        against.get("low"),
        against.get("high"),
        matched["under_time_0"],
        matched["under_time_05"],
    )


def given_of(values: Values, chosen: str | None) -> list[totals.Given]:
    """The paper's five and ours or the chosen one, as they were published or at matched violation."""
    there: Mapping[str, Any] = values.part["totals"]["policies"]
    factor = {
        each["policy"]: (each["matched"]["factor"] if values.matched else 1.0)
        for each in values.part["policies"]
    }
    ours = chosen or values.ours()
    looks = {name: look for name, look in _LOOKS.items() if name != ours} | (
        {ours: totals.OURS} if ours else {}
    )
    return [
        totals.Given(name, look, np.asarray(there[name], dtype=float) * (factor[name] or 1.0))
        for name, look in looks.items()
        if name in there
    ]


def paper_card(values: Values, view: View, containers: int, files: Mapping[str, str]) -> html.Section:
    """The figure, its key, and the table of the headline."""
    given = given_of(values, view.policy)
    resource, part = RESOURCES[view.resource], values.part["totals"]
    figure = totals.totals(
        np.asarray(part["age_s"], dtype=float),
        np.asarray(part["demand"], dtype=float),
        given,
        Unit(values.part["unit"]),
        f"{resource} of {_whose(containers)} by age",
    )
    keys = [html.Span("Demand", className="key")]
    keys += [html.Span(each.name, className=f"key {each.part}") for each in given]
    menu = [("Every policy over time, CSV", files["totals"]), ("The table, CSV", files["paper"])]
    return card(
        "Beside the paper",
        html.Div(keys, className="keys"),
        graph("totals", figure, f"Total {resource} over time: demand and allocations"),
        html.P(headline(values), className="headline-said"),
        plain_table(
            _HEAD, [_cells(row) for row in paper_rows(values, view.policy)], "Against prev.step.rules"
        ),
        note=f"AI4DL’s Figure 4: totals, {'scaled to the tolerance' if values.matched else 'as published'}",
        tools=[export_menu("totals", f"totals {resource}", menu)],
    )


def _whose(held_out: int) -> str:
    if not held_out:
        return "the one container"
    return f"{held_out:,} held-out container{'s' if held_out != 1 else ''}"


def headline(values: Values) -> str:
    """The paper's headline and what the same policy does here, in sentences."""
    paper = (
        f"The paper reports {format_change(-PAPERS_SAVING, 0)} for {PAPERS_OWN} against {PAPERS_BASE} at 5% "
        "tolerance, without matching how often they fall short."
    )
    rows = {row.policy: row for row in paper_rows(values, None)}
    missing = [name for name in PAPERS_POLICIES if name not in rows]
    own, base = rows.get(PAPERS_OWN), rows.get(PAPERS_BASE)
    left_out = f" Not compared here: {', '.join(missing)}." if missing else ""
    if own is None or base is None or own.over is None:
        return paper + left_out
    scaled = f"short {_share(own.matched_short)} against {_share(base.matched_short)}"
    return (
        f"{paper} Here, raw: {format_change(-own.over, 0)}, short {_share(own.short)} of the time "
        f"({_share(own.short_05)} by more than 5%) where {PAPERS_BASE} is short {_share(base.short)} "
        f"({_share(base.short_05)}). Each scaled to the tolerance: {_change(own.matched)}, "
        f"{scaled}.{left_out}"
    )


def _cells(row: PaperRow) -> list[Node]:
    base = row.policy == PAPERS_BASE
    interval = (
        "" if row.low is None or row.high is None else f"95%: {_change(row.high)} to {_change(row.low)}"
    )
    return [
        row.policy,
        "base" if base else _change(row.over),
        "base" if base else _change(row.allocation),
        f"{_share(row.short)} ({_share(row.short_05)})",
        "base" if base else html.Span(_change(row.matched), title=interval),
        f"{_share(row.matched_short)} ({_share(row.matched_short_05)})",
    ]


def _change(saving: float | None) -> str:
    """A saving as the change that it is: less is negative."""
    return "–" if saving is None else format_change(-saving, 0)


def _share(value: float | None) -> str:
    return "–" if value is None else format_share(value)
