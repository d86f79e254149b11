"""Figure 4 of AI4DL with its five policies, and its headline next to ours: raw, and at matched violation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from dash import html

from app.figures.provisioning import totals
from app.pages.provisioning.results import RESOURCES
from app.ui.basics import Node, card
from app.ui.evaluations import policy_name
from app.ui.graph import graph
from app.ui.tables import export_menu, html_table
from core.provisioning.evaluation.comparison import PAPERS_BASE, PAPERS_POLICIES, PAPERS_POLICY, PAPERS_SAVING
from core.provisioning.policies import policy_title
from core.tables import Column, Table
from core.units import DASH, Unit, format_change, format_share

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from app.pages.provisioning.results import Values, View

_LOOKS = {
    "current.step.max": totals.ORACLE,
    "current.step.rules": totals.DOTTED,
    "prev.step.max": totals.DASHED,
    "prev.step.rules": totals.RIVAL,
    "phase.rule": totals.PAPER,
}


@dataclass(frozen=True, slots=True)
class PaperRow:
    """One policy against the paper's base; savings are shares of what the base has, None where unknown."""

    policy: str
    over: float | None
    allocation: float | None
    short: tuple[float | None, float | None]
    matched: float | None
    interval: tuple[float | None, float | None]
    matched_short: tuple[float | None, float | None]


def _change(saving: float | None) -> str:
    """A saving as the change that it is: less is negative."""
    return DASH if saving is None else format_change(-saving, 0)


def _shorts(ends: tuple[float | None, float | None]) -> str:
    """The share of time short, and that by more than 5%."""
    return f"{_share(ends[0])} ({_share(ends[1])})"


_COLUMNS = (
    Column("policy", "Policy"),
    Column("policy_title", value=lambda row: policy_title(row.policy)),
    Column("raw_over_saving", "Over, raw", _change, lambda row: row.over),
    Column("raw_allocation_saving", "Allocated, raw", _change, lambda row: row.allocation),
    Column("short", "Short (by > 5%)", _shorts, parts=("raw_time_short_0", "raw_time_short_05")),
    Column("matched_over_saving", "Over, matched", _change, lambda row: row.matched),
    Column("interval", parts=("matched_low", "matched_high")),
    Column(
        "matched_short", "Short (by > 5%)", _shorts, parts=("matched_time_short_0", "matched_time_short_05")
    ),
)


def paper_table(values: Values, view: View) -> Table:
    """The paper's five policies and ours against its base, raw and at matched violation."""
    return Table(f"paper-{view.resource}", _COLUMNS, paper_rows(values, view.policy))


def paper_rows(values: Values, chosen: str | None) -> list[PaperRow]:
    """Rows of the paper's policies that were compared, then ours or the chosen one."""
    compared = {each["policy"]: each for each in values.part["policies"]}
    names = dict.fromkeys((*PAPERS_POLICIES, *([chosen or values.ours()] if compared else [])))
    return [_row(compared[name]) for name in names if name in compared]


def _row(each: Mapping[str, Any]) -> PaperRow:
    matched = each["matched"]
    against = (matched.get("against") or {}).get(PAPERS_BASE) or {}
    headline = each["headline"]
    return PaperRow(
        each["policy"],
        headline.get("over_saving"),
        headline.get("allocation_saving"),
        (each["under_time_0"], each["under_time_05"]),
        against.get("saving"),
        (against.get("low"), against.get("high")),
        (matched["under_time_0"], matched["under_time_05"]),
    )


def allocation_totals(values: Values, chosen: str | None) -> list[totals.AllocationTotal]:
    """Totals of the paper's five policies and ours or the chosen one, raw or at matched violation."""
    totals_by_policy: Mapping[str, Any] = values.part["totals"]["policies"]
    factor = {
        each["policy"]: (each["matched"]["factor"] if values.matched else 1.0)
        for each in values.part["policies"]
    }
    ours = chosen or values.ours()
    styles = {name: style for name, style in _LOOKS.items() if name != ours} | (
        {ours: totals.OURS} if ours else {}
    )
    return [
        totals.AllocationTotal(
            policy_title(name),
            style,
            np.asarray(totals_by_policy[name], dtype=float) * (factor[name] or 1.0),
            name,
        )
        for name, style in styles.items()
        if name in totals_by_policy
    ]


def paper_card(values: Values, view: View, containers: int, files: Mapping[str, str]) -> html.Section:
    """The figure, its key, and the table of the headline."""
    allocations = allocation_totals(values, view.policy)
    resource, part = RESOURCES[view.resource], values.part["totals"]
    figure = totals.totals(
        np.asarray(part["age_s"], dtype=float),
        np.asarray(part["demand"], dtype=float),
        allocations,
        Unit(values.part["unit"]),
        f"{resource} of {_whose(containers)} by age",
    )
    keys = [html.Span("Demand", className="key")]
    keys += [html.Span(policy_name(each.policy), className=f"key {each.part}") for each in allocations]
    menu = [("Every policy over time, CSV", files["totals"]), ("The table, CSV", files["paper"])]
    return card(
        "Comparison with AI4DL",
        html.Div(keys, className="keys"),
        graph("totals", figure, f"Total {resource} over time: demand and allocations"),
        html.P(headline(values), className="headline-text"),
        html_table(paper_table(values, view), f"Against {policy_title(PAPERS_BASE)}", cells=_CELLS),
        note=f"AI4DL’s Figure 4: totals, {'scaled to the tolerance' if values.matched else 'as published'}",
        tools=[export_menu("totals", f"totals {resource}", menu)],
    )


def _whose(held_out: int) -> str:
    if not held_out:
        return "the one container"
    return f"{held_out:,} held-out container{'s' if held_out != 1 else ''}"


def headline(values: Values) -> str:
    """The paper's headline figures; the table below has those on these traces."""
    compared = {row.policy for row in paper_rows(values, None)}
    missing = [name for name in PAPERS_POLICIES if name not in compared]
    left_out = f" Not compared here: {', '.join(map(policy_title, missing))}." if missing else ""
    ours, base = policy_title(PAPERS_POLICY), policy_title(PAPERS_BASE)
    return (
        f"The paper reports {format_change(-PAPERS_SAVING, 0)} for “{ours}” against “{base}” at 5% "
        f"tolerance, without matching time short.{left_out}"
    )


def _against_base(column: Column) -> Callable[[PaperRow], Node]:
    """A saving as a change, or a note that the row is the reference."""

    def cell(row: PaperRow) -> Node:
        if row.policy == PAPERS_BASE:
            return "base"
        text = column.text(column.value_of(row))
        low, high = row.interval
        if column.key != "matched_over_saving" or low is None or high is None:
            return text
        return html.Span(text, title=f"95%: {_change(high)} to {_change(low)}")

    return cell


_CELLS = {column.key: _against_base(column) for column in _COLUMNS if column.show is _change} | {
    "policy": lambda row: policy_name(row.policy)
}


def _share(value: float | None) -> str:
    return "–" if value is None else format_share(value)
