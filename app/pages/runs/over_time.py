"""The drawn policies over time on one seed: one kind of figure at a time, side by side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from dash import html

from app.context import cached, workspace
from app.figures.runs import comparison, cpu, timelines
from app.figures.runs.series import LOSS_STAGES, by_label, by_loss
from app.pages.runs.completion import arm_keys, state_keys
from app.pages.runs.query import BY, JOBS_PER_PAGE, LINES, OVER
from app.pages.runs.selection import common_end, run_graph
from app.ui.basics import Node, card, notice, with_symbol
from app.ui.graph import graph
from app.ui.links import link, segments
from app.ui.tables import export_menu
from core.errors import NotFoundError
from core.experiments.learning import step_for
from core.scheduling.actions import list_word
from core.units import format_duration, format_share, plural

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import plotly.graph_objects as go

    from app.figures.runs.comparison import ArmStyle
    from app.pages.runs.query import View
    from app.pages.runs.selection import DrawnRun

ENDS = "| done, × failed or refused"
"""The marks at the ends of the lives of jobs."""
_FEW_WORKERS = 8
_MAX_BANDS, _MAX_LISTED = 40, 200
_MAX_JOBS = 300


def over_time_cards(runs: Sequence[DrawnRun], styles: Sequence[ArmStyle], view: View, csv: str) -> list[Node]:
    """The figures of the chosen kind."""
    pairs = [(each, style) for each, style in zip(runs, styles, strict=True) if each.facts is not None]
    if not pairs:
        return [notice("info", "Choose the first seed, or run it again and save ledgers for all seeds.",
                       strong="Time series were not saved for this seed.")]  # fmt: skip
    if view.over == "learning":
        return _learning_cards(pairs, view, csv)
    with_series = [each for each, _ in pairs]
    cards = [
        figure_card for each in with_series if (figure_card := _card(each, with_series, view)) is not None
    ]
    if cards:
        return [_grid(cards)]
    return [notice("info", "Choose a policy such as FlowCon or SpeCon.", strong="None of these has lists.")]


def kinds(view: View) -> list[Node]:
    """The choice of the kind of figure; CPU by list can also be stacked by loss."""
    ways: list[Node] = [segments(view, "over", OVER, view.over, "Figures over time")]
    if view.over == "stages":
        ways.insert(0, segments(view, "by", BY, view.by, "Stack CPU by"))
    return ways


def _grid(cards: Sequence[Node]) -> html.Div:
    return html.Div(list(cards), className=f"grid {'cols-2' if len(cards) > 1 else ''} pairs".strip())


def _card(each: DrawnRun, runs: Sequence[DrawnRun], view: View) -> Node:
    """The figure of the chosen kind for one policy, on common axes; None if it has none."""
    facts = [other.facts for other in runs if other.facts is not None]
    end, top = common_end(runs), max(each_facts.cores for each_facts in facts)
    cards: dict[str, Callable[[], Node]] = {
        "cpu": lambda: _bands_card(each, view, end, top),
        "limits": lambda: _limits_card(each, view, end, runs[0].jobs),
        "stages": lambda: _areas_card(each, view, end, top),
        "workers": lambda: _lanes_card(each, end, max(each_facts.height for each_facts in facts)),
        "load": lambda: _workers_card(each, end),
        "lists": lambda: _lists_card(each, end),
        "queue": lambda: _queue_card(each, end),
    }
    return cards[view.over]()


def _run_card(
    each: DrawnRun,
    name: str,
    title: str,
    label: str,
    make: Callable[[], go.Figure],
    *key: object,
    note: str | None = None,
    tools: Sequence[Node] = (),
    table: str = "lines",
) -> html.Section:
    """The card of one figure of one run, with its file; the figure depends on the run and on `key`."""
    policy = each.side.title
    files = [(f"{_TABLES[table]}, CSV", f"/api/runs/{each.run}/{table}.csv")]
    return card(
        f"{title}, {policy}",
        run_graph(each, name, f"{label} under {policy}", make, *key),
        note=note,
        tools=[*tools, export_menu(f"{name}-{each.place}", f"{title} {policy}", files)],
    )


_TABLES = {"lines": "Lines over time", "moves": "Migrations", "workers": "CPU per worker"}


def _areas_card(each: DrawnRun, view: View, end: float, top: float) -> html.Section:
    """CPU by category of one run: by its policy's lists if it has some, else by loss."""
    lists = bool(each.names()) and view.by == "lists"
    names = each.names() if lists else LOSS_STAGES
    basis = "by list" if lists else "by loss"
    used_share = each.facts.used if each.facts is not None else None

    def make() -> go.Figure:
        series = each.series
        parts = by_label(series, names) if lists else by_loss(series, _loss_times(each))
        return cpu.category_areas(series, parts, names, end, top, each.last)

    return _run_card(
        each, "areas", "CPU", f"CPU over time {basis}", make, end, top, lists,
        note=basis if used_share is None else f"{basis}, {format_share(used_share, 0)} of all cores used",
        tools=[*_label_keys(names), html.Span("Limit", className="key limit")],
    )  # fmt: skip


def _loss_times(each: DrawnRun) -> dict[str, tuple[float | None, float | None]]:
    return {
        job.id: (
            None if job.t90 is None else job.arrived + job.t90,
            None if job.t99 is None else job.arrived + job.t99,
        )
        for job in each.result.jobs
    }


def _label_keys(names: Sequence[str]) -> list[Node]:
    return [
        html.Span(with_symbol(list_word(name), name), className=f"key box w{min(at, 2) + 1}")
        for at, name in enumerate(names)
    ]


def _lanes_card(each: DrawnRun, end: float, height: int) -> html.Section:
    """The jobs on each worker over time."""
    migrations = each.result.migrations
    bars = each.facts is None or each.facts.bars
    rebalanced = each.facts.rebalanced if each.facts is not None else 0
    keys: list[Node] = []
    if migrations and bars:
        keys = [html.Span("placed at arrival", className="key box a"),
                html.Span("after migration", className="key box b")]  # fmt: skip
    if rebalanced and bars:
        keys.append(html.Span("after rebalancing", className="key box hatch"))
    moves = plural(migrations, "migration") + (f", {rebalanced:,} to rebalance" if rebalanced else "")
    key_text = "one bar is one job" if bars else "darker is more jobs"
    return _run_card(
        each, "lanes", "Jobs per worker", f"Jobs per worker, {migrations} moved,",
        lambda: timelines.worker_lanes(each.series, end, height), end, height,
        note=moves if migrations and bars else key_text, tools=keys, table="moves",
    )  # fmt: skip


def _lists_card(each: DrawnRun, end: float) -> Node:
    """The list of each job over time; None for a policy without lists."""
    names = each.names()
    if not names:
        return None
    return _run_card(
        each, "bands", "Lists", "The list of each job over time",
        lambda: timelines.label_bands(each.series, names, each.jobs[:_MAX_LISTED], end), end,
        note=f"one row is one job{_first_of(each.jobs, _MAX_LISTED)}", tools=_label_keys(names),
    )  # fmt: skip


def _queue_card(each: DrawnRun, end: float) -> html.Section:
    """The number of waiting jobs over time under one policy, and the states of each job."""
    jobs = each.jobs
    return _run_card(
        each, "queue", "Queue", "Jobs waiting over time and the life of each job",
        lambda: timelines.job_states(each.series, jobs, end), end,
        note=f"a row is a job{_first_of(jobs, timelines.MAX_ROWS)}; {ENDS}",
        tools=state_keys("waiting", "running", *(["paused"] if each.result.pauses else [])),
    )  # fmt: skip


def _limits_card(each: DrawnRun, view: View, end: float, jobs: Sequence[str]) -> html.Section:
    """CPU and limits of a few jobs over time."""
    chosen, page = page_of(jobs, view)

    def make() -> go.Figure:
        series = each.series
        rows = cpu.core_rows(series, chosen)
        return cpu.cpu_rows(series, rows, end, cpu.highest(rows))

    dotted = each.facts is not None and each.facts.threads
    keys = [html.Span("given", className="key alloc"), html.Span("threads", className="key dots")]
    return _run_card(
        each, "rows", "CPU and limits per job", f"CPU and limits of {len(chosen)} jobs",
        make, end, page, *chosen, tools=[*(keys if dotted else []), pager(jobs, view)],
    )  # fmt: skip


def _workers_card(each: DrawnRun, end: float) -> html.Section:
    """CPU of each worker: a row for each of a few, a heat map of many."""
    has_rows = each.facts is not None and each.facts.workers <= _FEW_WORKERS

    def make() -> go.Figure:
        series = each.series
        rows = cpu.worker_rows(series)[:_MAX_LISTED]
        if has_rows:
            return cpu.cpu_rows(series, rows, end, each.facts.largest if each.facts else 1.0)
        bounds, values = cpu.coarsen(series, [row.used for row in rows])
        hover = "%{y}: %{z:.2f} cores<extra></extra>"
        return timelines.heat([row.name for row in rows], bounds, values, end, hover)

    return _run_card(
        each, "workers", "CPU per worker", "CPU of each worker", make, end,
        note="dashed: its cores" if has_rows else "darker is more", table="workers",
    )  # fmt: skip


def _bands_card(each: DrawnRun, view: View, end: float, top: float) -> html.Section:
    """CPU of every job of one run in one chart."""
    jobs = each.jobs[:_MAX_BANDS]
    return _run_card(
        each, "stack", "CPU per job", "CPU of every job",
        lambda: cpu.job_areas(each.series, jobs, end, top, view.job), end, top, view.job,
        note=f"a band is a job{_first_of(each.jobs, _MAX_BANDS)}",
    )  # fmt: skip


# A few jobs at a time.


def _first_of(jobs: Sequence[str], limit: int) -> str:
    return f", the first {limit:,} of {len(jobs):,}" if len(jobs) > limit else ""


def page_of(jobs: Sequence[str], view: View, page_size: int = JOBS_PER_PAGE) -> tuple[list[str], int]:
    """The jobs on one page of at most `page_size`, and the page's number."""
    last = max((len(jobs) - 1) // page_size, 0)
    page = min(view.page, last)
    return list(jobs[page * page_size : (page + 1) * page_size]), page


def pager(jobs: Sequence[str], view: View, page_size: int = JOBS_PER_PAGE) -> Node:
    """The visible page of jobs, with links to the next ones."""
    chosen, page = page_of(jobs, view, page_size)
    first = page * page_size
    before = [link("‹ previous", view.query(page=page - 1 or None), className="link")] if page else []
    after = (
        [link("next ›", view.query(page=page + 1), className="link")]
        if first + len(chosen) < len(jobs)
        else []
    )
    text = f"{first + 1} to {first + len(chosen)} of {len(jobs):,}, by arrival"
    return html.Span([*before, html.Span(text, className="ink3 small num"), *after], className="row")


# Growth and loss, from ledgers on common intervals.


@dataclass(frozen=True, slots=True)
class LearningCurves:
    """Loss and growth of one run on common intervals, as lists that the cache can store."""

    bounds: list[float]
    total: list[float]
    mean: list[float]
    loss: Mapping[str, list[float]]
    growth: Mapping[str, list[float]]


def learning_curves(run: str, step: float, end: float) -> LearningCurves | None:
    """Loss and growth from a run's ledger; None if the ledger is not stored."""

    def make() -> LearningCurves:
        lines = workspace().runs.learning(run, step, end)
        return LearningCurves(
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


def _learning_cards(pairs: Sequence[tuple[DrawnRun, ArmStyle]], view: View, csv: str) -> list[Node]:
    """ΣG and the mean loss of all drawn policies, and loss or growth of a few jobs."""
    jobs = pairs[0][0].jobs
    if len(jobs) > _MAX_JOBS:
        text = f"Loss and growth are drawn for runs of at most {_MAX_JOBS:,} jobs."
        return [notice("info", text, strong=f"This run has {len(jobs):,} jobs.")]
    end = common_end([each for each, _ in pairs])
    step = step_for(end / 1.04)
    curves = [
        (each, style, lines)
        for each, style in pairs
        if (lines := learning_curves(each.run, step, end)) is not None
    ]
    if not curves:
        return [
            notice(
                "info", "Run it again and save ledgers.", strong="The ledgers of this seed were not saved."
            )
        ]
    files = [("Lines, CSV", csv)]
    note = f"intervals of {format_duration(step)}"
    growth = [(style, _middles(lines), np.array(lines.total)) for _, style, lines in curves]
    loss = [(style, np.array(lines.bounds), np.array(lines.mean)) for _, style, lines in curves]
    top = [
        _line_card("growth", "Growth efficiency, sum of all jobs", growth, "Growth, 1/s", end, None,
                   note, files),
        _line_card("loss", "Loss, mean of all jobs", loss, "Loss, 1 at its largest", end, 1.05,
                   "jobs to come count 1", files),
    ]  # fmt: skip
    ran = {job.id: job.ended for each, _, _ in curves for job in each.result.jobs}
    for each, _, _ in curves:
        for job in each.result.jobs:
            ran[job.id] = max(ran[job.id], job.ended)
    return [_grid(top), _jobs_card(curves, jobs, view, ran, files)]


def _middles(lines: LearningCurves) -> Any:
    bounds = np.array(lines.bounds)
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
        graph(f"sum-{name}", comparison.arm_lines(curves, quantity, end, top), label),
        note=note,
        tools=[export_menu(f"sum-{name}", f"{name} of all jobs", files)],
    )


def _jobs_card(
    learning: Sequence[tuple[DrawnRun, ArmStyle, LearningCurves]],
    jobs: Sequence[str],
    view: View,
    ends: Mapping[str, float],
    files: Sequence[tuple[str, str]],
) -> html.Section:
    """Loss or growth of a few jobs, until the last of them has ended under every policy."""
    chosen, _ = page_of(jobs, view)
    end = max((ends.get(job, 0.0) for job in chosen), default=1.0) * 1.04
    rows, tops = [], [0.0]
    for job in chosen:
        curves = []
        for _, style, lines in learning:
            values_by_job = lines.loss if view.line == "loss" else lines.growth
            values = np.array(values_by_job.get(job, []), dtype=float)
            times = np.array(lines.bounds) if view.line == "loss" else _middles(lines)
            curves.append((style, times[: len(values)], values))
            tops.append(float(np.nanmax(values)) if len(values) and not np.isnan(values).all() else 0.0)
        rows.append((job, curves))
    quantity = "loss" if view.line == "loss" else "G, 1/s"
    figure = comparison.job_rows(rows, quantity, end, (max(tops) or 1.0) * 1.05)
    return card(
        "Single jobs",
        html.Div(
            [
                segments(view, "line", LINES, view.line, "Quantity of single jobs"),
                *arm_keys(((each, style) for each, style, _ in learning), view, "stroke"),
            ],
            className="keys",
        ),
        graph("single", figure, f"{LINES[view.line]} of {len(chosen)} jobs over time under each policy"),
        tools=[
            pager(jobs, view),
            export_menu("single", f"{view.line} per job", files),
        ],
    )


def learning_rows(runs: Sequence[DrawnRun]) -> Iterator[tuple[object, ...]]:
    """The rows of the file: each policy, job and interval; without a job, all jobs together."""
    end = common_end(runs)
    step = step_for(end / 1.04)
    for each in runs:
        curves = learning_curves(each.run, step, end)
        if curves is None:
            continue
        for at, start in enumerate(curves.bounds[:-1]):
            yield each.side.label, "", start, curves.bounds[at + 1], curves.mean[at + 1], curves.total[at]
        for job, loss in curves.loss.items():
            for at, start in enumerate(curves.bounds[:-1]):
                growth = curves.growth[job][at]
                finite_growth = None if np.isnan(growth) else growth
                yield each.side.label, job, start, curves.bounds[at + 1], loss[at + 1], finite_growth
