"""Deadlines met against load: the same experiment at several loads, as far as they have been run."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final

from dash import html

from app.context import cached, workspace
from app.figures.runs.comparison import LoadPoint, arm_styles, load_lines
from app.pages.runs import stored
from app.pages.runs.query import ACT
from app.pages.runs.selection import MAX_DRAWN
from app.ui.basics import Node, button, card, data
from app.ui.graph import graph
from app.ui.tables import export_menu
from core.experiments.leaderboard import mean_of
from core.tables import Column, Table
from core.units import format_list, plural

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from app.figures.runs.comparison import ArmStyle
    from app.pages.runs.selection import Selection
    from app.pages.runs.stored import Side
    from core.experiments.spec import Experiment
    from core.runs.values import ExperimentInfo

LOADS: Final = (0.5, 0.9, 1.2, 2.0)
"""From ample to scarce."""
_FEWEST: Final = 2


def experiments_at_loads(info: ExperimentInfo) -> dict[float, ExperimentInfo]:
    """The newest experiments that differ from this one only in load, itself included, by load."""
    like = _without_load(info.experiment)
    by_load = {info.experiment.arrivals.load: info}
    for other in workspace().runs.experiments():
        if other.experiment.arrivals.by == "load" and _without_load(other.experiment) == like:
            by_load.setdefault(other.experiment.arrivals.load, other)
    return dict(sorted(by_load.items()))


def _without_load(experiment: Experiment) -> dict[str, object]:
    """An experiment's scenario without its load."""
    arrivals = replace(experiment.arrivals, load=1.0)
    return replace(experiment, arrivals=arrivals).scenario_dict()


def missing_loads(info: ExperimentInfo, loads: Collection[float]) -> list[Experiment]:
    """The same experiment at the usual loads other than these."""
    experiment = info.experiment
    name = experiment.name.partition(", load ")[0]
    return [
        replace(
            experiment,
            name=f"{name}, load {load:g}",
            arrivals=replace(experiment.arrivals, load=load),
            published=(),
        )
        for load in LOADS
        if load not in loads
    ]


def loads_card(info: ExperimentInfo, selection: Selection, csv: str) -> Node:
    """The card; None if jobs do not arrive at a load, or have no deadlines."""
    if info.experiment.arrivals.by != "load":
        return None
    by_load = experiments_at_loads(info)
    curves = [
        (style, deadlines_met_at_loads(side.label, by_load)) for side, style in _policies_on_loads(selection)
    ]
    curves = [(style, points) for style, points in curves if points]
    if not curves:
        return None
    missing = [f"{each.arrivals.load:g}" for each in missing_loads(info, by_load)]
    tools: list[Node] = []
    if missing:
        act = data(act="loads", id=info.id, store=ACT)
        tools.append(button(f"Run at {format_list(missing)}", "player-play", "small", **act))
    if max(len(points) for _, points in curves) < _FEWEST:
        text = "Run the same jobs at other loads to compare the deadlines met."
        return card("Deadlines met against load", html.P(text, className="pad small ink2"), tools=tools)
    seeds = min(len(side.runs) for other in by_load.values() for side in stored.sides(other).values())
    figure = load_lines(curves, "Jobs that met their deadlines")
    label = f"Deadlines met at {len(by_load)} loads by {', '.join(style.title for style, _ in curves)}"
    return card(
        "Deadlines met against load",
        graph("loads", figure, label),
        note=f"means of {plural(seeds, 'seed')}, with 95% intervals; load: requested share of core-time",
        tools=[*tools, export_menu("loads", f"deadlines against load {info.name}", [("Table, CSV", csv)])],
    )


def _policies_on_loads(selection: Selection) -> list[tuple[Side, ArmStyle]]:
    """All policies with their styles, or the drawn ones if all are too many."""
    sides = selection.sides if len(selection.sides) <= MAX_DRAWN else selection.drawn
    highlighted = next(
        (
            side.key
            for side, style in zip(selection.drawn, selection.styles, strict=True)
            if style.swatch == "lit"
        ),
        "",
    )
    keys = [side.key for side in sides]
    places = (keys.index(key) if key in keys else -1 for key in (selection.base.key, highlighted))
    return list(zip(sides, arm_styles([side.title for side in sides], *places), strict=True))


def deadlines_met_at_loads(label: str, by_load: Mapping[float, ExperimentInfo]) -> list[LoadPoint]:
    """The share of deadlines that a policy meets, by rising loads."""
    points = []
    for load, info in by_load.items():
        runs = [run for _, run in sorted(info.runs.get(label, {}).items())]
        interval = cached(partial(_mean_met, runs), "run-met", runs) if runs else None
        if interval is not None:
            points.append(LoadPoint(load, *interval))
    return points


def _mean_met(runs: Sequence[str]) -> tuple[float, float, float] | None:
    return mean_of([(stored.summary(run) or {}).get("met") for run in runs])


_COLUMNS: Final = (
    Column("load"),
    Column("policy"),
    Column("deadlines_met", parts=("deadlines_met", "low", "high")),
    Column("seeds"),
)


def loads_table(info: ExperimentInfo) -> Table:
    """For each load and policy the mean share of deadlines met, its 95% interval, and the seeds."""
    by_load = experiments_at_loads(info)
    rows = (
        (point.load, label, point[1:], len(by_load[point.load].runs[label]))
        for label in stored.sides(info)
        for point in deadlines_met_at_loads(label, by_load)
    )
    return Table(f"{info.name}-loads", _COLUMNS, rows)
