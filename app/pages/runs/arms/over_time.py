"""What the drawn policies did over time on one seed: one kind of figure at a time, for all of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from dash import html

from app.context import cached, workspace
from app.figures.runs import arm_lines, job_bars
from app.pages.runs.arms.jobs import arm_keys
from app.pages.runs.compare import charts
from app.pages.runs.compare.shown import drawn, ends
from app.pages.runs.query import LINES, OVER
from app.ui.basics import Node, card, notice
from app.ui.export import export_menu
from app.ui.graph import graph
from app.ui.links import segments
from core.errors import NotFoundError
from core.experiments.measures.learning import step_for
from core.units import format_duration

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import plotly.graph_objects as go

    from app.figures.runs.arm_lines import ArmStyle
    from app.pages.runs.compare.shown import Shown
    from app.pages.runs.query import View

_MOST_BANDS = 40
_MOST_JOBS = 300


@dataclass(frozen=True, slots=True)
class Learned:
    """Loss and growth of one run on common intervals, as lists that can be kept."""

    bounds: list[float]
    total: list[float]
    mean: list[float]
    loss: Mapping[str, list[float]]
    growth: Mapping[str, list[float]]


def learned(run: str, step: float, end: float) -> Learned | None:
    """What a run's ledger says of loss and growth; None where it was not kept."""

    def make() -> Learned:
        lines = workspace().runs.learning(run, step, end)
        return Learned(
            lines.bounds.tolist(),
            lines.total_growth.tolist(),
            lines.mean_loss.tolist(),
            {name: values.tolist() for name, values in lines.loss.items()},
            {name: values.tolist() for name, values in lines.growth.items()},
        )

    try:
        return cached(make, "run-learning", run, step, end)
    except NotFoundError:
        return None


def over_time(shown: Sequence[Shown], styles: Sequence[ArmStyle], view: View, where: str) -> list[Node]:
    """The figures of the chosen kind, and the ways to the others."""
    pairs = [(each, style) for each, style in zip(shown, styles, strict=True) if each.facts is not None]
    if not pairs:
        return [notice("info", "Choose the first seed, or run it again and save ledgers for all seeds.",
                       strong="Time series were not saved for this seed.")]  # fmt: skip
    kept = [each for each, _ in pairs]
    if view.over == "learning":
        return learning_cards(pairs, view, where)
    made = [found for each in kept if (found := _card(each, kept, view)) is not None]
    if made:
        return [_grid(made)]
    return [notice("info", "Choose a policy such as FlowCon or SpeCon.", strong="None of these has lists.")]


def _card(each: Shown, kept: Sequence[Shown], view: View) -> Node:
    """The figure of the chosen kind for one policy, on the axes of all; None where it has none."""
    facts = [other.facts for other in kept if other.facts is not None]
    end, top = ends(kept), max(found.cores for found in facts)
    match view.over:
        case "cpu":
            return _cpu_card(each, view, end, top)
        case "stages":
            return charts.areas_card(each, view, end, top, f"/api/runs/{each.run}/lines.csv")
        case "workers":
            return charts.lanes_card(each, end, max(found.height for found in facts))
        case "queue":
            return charts.queue_card(each, end)
        case _:
            return charts.bands_card(each, end)


def kinds(view: View) -> html.Nav:
    """Which kind of figure is drawn, and the ways to the others."""
    return segments(view, "over", OVER, view.over, "What is drawn over time")


def _grid(cards: Sequence[Node]) -> html.Div:
    return html.Div(list(cards), className=f"grid {'cols-2' if len(cards) > 1 else ''} pairs".strip())


def learning_cards(pairs: Sequence[tuple[Shown, ArmStyle]], view: View, where: str | None) -> list[Node]:
    """ΣG and the mean loss of all drawn policies, and loss or growth of a few jobs."""
    jobs = pairs[0][0].jobs
    if len(jobs) > _MOST_JOBS:
        text = f"Loss and growth are drawn for runs of at most {_MOST_JOBS:,} jobs."
        return [notice("info", text, strong=f"This run has {len(jobs):,} jobs.")]
    end = ends([each for each, _ in pairs])
    step = step_for(end / 1.04)
    found = [
        (each, style, made) for each, style in pairs if (made := learned(each.run, step, end)) is not None
    ]
    if not found:
        return [
            notice(
                "info", "Run it again and save ledgers.", strong="The ledgers of this seed were not saved."
            )
        ]
    files = [("Lines, CSV", where)] if where is not None else []
    note = f"intervals of {format_duration(step)}"
    growth = [(style, _middles(made), np.array(made.total)) for _, style, made in found]
    loss = [(style, np.array(made.bounds), np.array(made.mean)) for _, style, made in found]
    top = [
        _line_card("growth", "Growth efficiency, sum of all jobs", growth, "ΣG, 1/s", end, None, note, files),
        _line_card("loss", "Loss, mean of all jobs", loss, "Loss, 1 at its largest", end, 1.05,
                   "jobs to come count 1", files),
    ]  # fmt: skip
    ran = {job.id: job.ended for each, _, _ in found for job in each.result.jobs}
    for each, _, _ in found:
        for job in each.result.jobs:
            ran[job.id] = max(ran[job.id], job.ended)
    return [_grid(top), _jobs_card(found, jobs, view, ran, files)]


def _middles(made: Learned) -> Any:
    bounds = np.array(made.bounds)
    return (bounds[:-1] + bounds[1:]) / 2


def _line_card(
    name: str,
    title: str,
    curves: Any,
    quantity: str,
    end: float,
    top: float | None,
    note: str,
    files: Sequence[tuple[str, str]],
) -> html.Section:
    label = f"{title} over time under {' and '.join(style.title for style, _, _ in curves)}"
    return card(
        title,
        graph(f"sum-{name}", arm_lines.arm_lines(curves, quantity, end, top), label),
        note=note,
        tools=[export_menu(f"sum-{name}", f"{name} of all jobs", files)],
    )


def _jobs_card(
    found: Sequence[tuple[Shown, ArmStyle, Learned]],
    jobs: Sequence[str],
    view: View,
    ended: Mapping[str, float],
    files: Sequence[tuple[str, str]],
) -> html.Section:
    """Loss or growth of a few jobs, until the last of them has ended under every policy."""
    chosen, _ = charts.few(jobs, view)
    end = max((ended.get(job, 0.0) for job in chosen), default=1.0) * 1.04
    rows, tops = [], [0.0]
    for job in chosen:
        curves = []
        for _, style, made in found:
            lines = made.loss if view.line == "loss" else made.growth
            values = np.array(lines.get(job, []), dtype=float)
            times = np.array(made.bounds) if view.line == "loss" else _middles(made)
            curves.append((style, times[: len(values)], values))
            tops.append(float(np.nanmax(values)) if len(values) and not np.isnan(values).all() else 0.0)
        rows.append((job, curves))
    quantity = "loss" if view.line == "loss" else "G, 1/s"
    figure = arm_lines.job_rows(rows, quantity, end, (max(tops) or 1.0) * 1.05)
    return card(
        "Single jobs",
        html.Div(
            [
                segments(view, "line", LINES, view.line, "Quantity of single jobs"),
                *arm_keys(((each, style) for each, style, _ in found), view, "stroke"),
            ],
            className="keys",
        ),
        graph("single", figure, f"{LINES[view.line]} of {len(chosen)} jobs over time under each policy"),
        tools=[
            charts.pager(jobs, view),
            export_menu("single", f"{view.line} per job", files),
        ],
    )


def _cpu_card(each: Shown, view: View, end: float, top: float) -> html.Section:
    """CPU of every job of one run in one chart."""
    jobs = each.jobs[:_MOST_BANDS]

    def make() -> go.Figure:
        return job_bars.job_areas(each.series, jobs, end, top, view.job)

    cut = f", the first {_MOST_BANDS}" if len(each.jobs) > _MOST_BANDS else ""
    lines = f"/api/runs/{each.run}/lines.csv"
    return card(
        f"CPU per job, {each.side.title}",
        drawn(each, "stack", f"CPU of every job under {each.side.title}", make, end, top, view.job),
        note=f"a band is a job{cut}",
        tools=[
            export_menu(
                f"stack-{each.place}", f"CPU per job {each.side.title}", [("Lines over time, CSV", lines)]
            )
        ],
    )
