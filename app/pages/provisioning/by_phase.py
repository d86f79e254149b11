"""The fixed amount of every workload in every phase, as a table."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from dash import html

from app.pages.provisioning.results import RESOURCES
from app.ui.basics import Node, card, phase_badge
from app.ui.tables import html_table
from core.provisioning.fleet import Resource
from core.provisioning.verdict.table import AT_LEAST
from core.tables import Column, Table
from core.units import DASH, Unit, format_share, format_value, phase_name

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from app.pages.provisioning.results import View
    from core.provisioning.verdict.verdict import Line, PhaseAmount, Verdict

MAX_WORKLOADS = 60


def phases_card(verdict: Verdict, view: View, tolerance: float) -> html.Section | None:
    """The fixed amount of every phase, a row per workload; None without phases."""
    resource = Resource(view.resource)
    lines = [(each, line) for each in verdict.cards if (line := each.line(resource)) is not None]
    names = {each.phase: each.given_name for _, line in lines for each in line.by_phase}
    phases = sorted(names, key=lambda n: (n < 0, n))
    if not phases:
        return None
    unit, keys = lines[0][1].unit, [phase_name(phase) for phase in phases]
    show = partial(format_value, unit=unit)
    columns = [Column("workload", "Workload"), Column("all", "All phases", show)]
    columns += [Column(key, key, lambda each: show(each.amount)) for key in keys]
    rows = [
        (each.name or "all containers", line.fixed and line.fixed.amount, *_by_phase(line, phases))
        for each, line in lines[:MAX_WORKLOADS]
    ]
    table = html_table(
        Table("phases", columns, rows),
        "Fixed amount of each workload in each phase",
        cells={
            "workload": lambda row: html.B(row[0]),
            "all": lambda row: html.Span(columns[1].text(row[1]), className="strong"),
            **{key: partial(_phase_cell, at, unit, tolerance) for at, key in enumerate(keys, 2)},
        },
        heads={phase_name(phase): phase_badge(phase, name) for phase, name in names.items()},
    )
    cut = f"; the first {MAX_WORKLOADS} of {len(lines):,} workloads" if len(lines) > MAX_WORKLOADS else ""
    return card(
        "Request and limit by phase",
        html.Div(table, className="byphase"),
        note=f"{RESOURCES[view.resource]}{cut}",
        flush=True,
    )


def _by_phase(line: Line, phases: Sequence[int]) -> list[PhaseAmount | None]:
    amounts = {each.phase: each for each in line.by_phase}
    return [amounts.get(phase) for phase in phases]


def _phase_cell(at: int, unit: Unit, tolerance: float, row: Sequence[Any]) -> Node:
    """The amount with its time short, in red above the tolerance."""
    each: PhaseAmount | None = row[at]
    if each is None:
        return DASH
    basis = f"from {each.made_from:,} container{'s' if each.made_from != 1 else ''}"
    if each.time_short is None:
        short, title = "not tested", f"{basis}; no held-out container was in this phase"
    else:
        short = f"short {format_share(each.time_short)}"
        title = f"{basis}; {'tested on held-out containers' if each.tested else 'not tested on others'}"
    bad = each.tested and each.time_short is not None and each.time_short > tolerance
    return html.Span(
        [
            f"{AT_LEAST if each.at_least else ''}{format_value(each.amount, unit)}",
            html.Span(short, className=f"small {'bad' if bad else 'ink3'}"),
        ],
        title=title,
    )
