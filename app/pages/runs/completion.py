"""How long jobs take: each job under every drawn policy, times by state, and seconds per step."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Any

from dash import html

from app.context import cached
from app.figures.runs import comparison
from app.figures.runs.comparison import TimeRow, time_bars
from app.pages.runs import stored
from app.pages.runs.measures import describe_difference, format_measure
from app.pages.runs.query import BARS, MEASURES, QUANTITIES
from app.pages.runs.stored import format_relative
from app.ui.basics import Node, aria, card, scrolling
from app.ui.graph import graph
from app.ui.links import link, segments
from app.ui.tables import download, export_menu, html_table
from core.experiments.leaderboard import difference
from core.experiments.measures import queues
from core.experiments.step_times import Stage, StageRow, stage_rows
from core.scheduling.policies import POLICIES
from core.tables import Column, Table
from core.units import format_cores, format_number

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    import plotly.graph_objects as go

    from app.figures.runs.comparison import ArmStyle
    from app.pages.runs.query import View
    from app.pages.runs.selection import DrawnRun, Selection
    from app.pages.runs.stored import Side
    from core.experiments.parts import PublishedFigure

    Times = list[float | None]

# Each job: grouped bars, rows, or a table.


def arm_keys(
    pairs: Iterable[tuple[DrawnRun, ArmStyle]], view: View, kind: str = "swatch"
) -> list[html.Span | html.A]:
    """A key for each policy."""
    return [_key(each, style, view, kind) for each, style in pairs]


def _key(each: DrawnRun, style: ArmStyle, view: View, kind: str) -> html.Span | html.A:
    label: list[Node] = [html.Span(className=f"{kind} {style.swatch}"), style.title]
    if style.swatch in ("lit", "base"):
        return html.Span(label, className="armkey")
    text = f"Highlight {style.title}"
    return link(label, view.query(lit=each.side.key), className="armkey", title=text, **aria(label=text))


_MAX_GROUPED, _MAX_OF_POLICY = 160, 6
_MAX_JOBS = 400


def times(each: DrawnRun, jobs: Sequence[str], measure: str) -> Times:
    """The seconds of each job; None if it did not finish or did not reach the measure."""
    seconds = {job.id: getattr(job, measure) for job in each.result.jobs if job.state == "done"}
    return [seconds.get(job) for job in jobs]


def usual_bars(jobs: int, arms: int) -> str:
    """The default drawing of so many jobs and policies."""
    if jobs <= _MAX_OF_POLICY and arms > jobs:
        return "policy"
    return "job" if jobs * arms <= _MAX_GROUPED and arms <= _MAX_OF_POLICY else "rows"


def jobs_card(
    runs: Sequence[DrawnRun],
    base: DrawnRun | None,
    styles: Sequence[ArmStyle],
    view: View,
    csv: str,
    published: Sequence[PublishedFigure],
) -> html.Section:
    """The card of completion times per job."""
    jobs = runs[0].jobs[:_MAX_JOBS]
    drawing = view.bars or usual_bars(len(jobs), len(runs))
    arms = [(style, times(each, jobs, view.measure)) for each, style in zip(runs, styles, strict=True)]
    before: Times = times(base, jobs, view.measure) if base is not None else [None] * len(jobs)
    cut = f", the first {_MAX_JOBS:,}" if len(runs[0].jobs) > _MAX_JOBS else ""
    keys = arm_keys(zip(runs, styles, strict=True), view) if drawing == "job" else []
    tools: list[Node] = [_forms(view, drawing)]
    if drawing == "table":
        table = jobs_table("completion", runs, view.measure, jobs)
        body: Node = _jobs_html(table, runs, base, before, published if view.measure == "completion" else ())
        tools.append(download("completion per job", csv))
    else:
        body = _bar_chart(drawing, jobs, arms, before, QUANTITIES[view.measure])
        tools.append(export_menu("jobs", f"{view.measure} per job", [("Times as shown, CSV", csv)]))
    ticks = (
        [html.Span(f"tick: {base.side.title}", className="key tick")] if drawing == "rows" and base else []
    )
    return card(
        "Completion per job",
        html.Div(
            [segments(view, "measure", MEASURES, view.measure, "Quantity per job"), *keys, *ticks],
            className="keys",
        ),
        body,
        note=f"one seed, by arrival{cut}",
        tools=tools,
    )


def _forms(view: View, drawing: str) -> html.Nav:
    """The choice between drawings of completion times, the present one marked."""
    links = [
        link(title, view.query(bars=key), className="on" if key == drawing else "",
             **(aria(current="true") if key == drawing else {}))
        for key, title in BARS.items()
    ]  # fmt: skip
    return html.Nav(links, className="seg", **aria(label="Drawing of completion times"))


def _bar_chart(drawing: str, jobs: Sequence[str], arms: Any, base: Times, quantity: str) -> Node:
    titles = " and ".join(style.title for style, _ in arms)
    label = f"{quantity} of each job under {titles}"
    if drawing == "rows":
        return _wide(comparison.job_bar_rows(jobs, arms, base, quantity), label, 60 + 16 * len(jobs))
    if drawing == "policy":
        figure = comparison.bars_by_policy(jobs, arms, quantity)
        return _wide(figure, label, max(comparison.width_of(len(arms), len(jobs)), 60 + 74 * len(arms)))
    return _wide(
        comparison.bars_by_job(jobs, arms, quantity), label, comparison.width_of(len(jobs), len(arms))
    )


def _wide(figure: go.Figure, label: str, width: int) -> Node:
    """A figure that scrolls where it is wider than the page."""
    inner = html.Div(graph("jobs", figure, label), style={"minWidth": f"{width}px"})
    return html.Div(
        inner, className="widechart", tabIndex="0", role="region", **aria(label=f"{label}, scrolls")
    )


def jobs_table(name: str, runs: Sequence[DrawnRun], measure: str, jobs: Sequence[str] | None = None) -> Table:
    """Seconds of each job, a column for each policy."""
    names = runs[0].jobs if jobs is None else jobs
    columns = [Column(each.side.label, each.side.title, partial(format_measure, "mean")) for each in runs]
    rows = zip(names, *(times(each, names, measure) for each in runs), strict=True)
    return Table(f"{name}-{measure}-per-job", (Column("job", "Job"), *columns), rows)


def _jobs_html(
    table: Table,
    runs: Sequence[DrawnRun],
    base: DrawnRun | None,
    before: Times,
    published: Sequence[PublishedFigure],
) -> html.Div:
    """The table with the change of each job against the baseline, and published changes (table 6.2)."""
    rows = list(table.rows)
    then = {row[0]: seconds for row, seconds in zip(rows, before, strict=True)}
    published_times = {(each.policy, each.job): each for each in published if each.measure == "completion"}

    def cell(at: int, each: DrawnRun) -> Callable[[Any], Node]:
        other = {} if base is not None and each.side.key == base.side.key else then
        return lambda row: _job_cell(row[at], other.get(row[0]), published_times.get((each.side.key, row[0])))

    return html_table(
        Table(table.name, table.columns, rows),
        "Completion per job and policy",
        cells={each.side.label: cell(at, each) for at, each in enumerate(runs, 1)},
        row_heads=True,
        table_class="plain differences jobtable",
        fit="tall",
    )


def _job_cell(seconds: float | None, before: float | None, published: PublishedFigure | None) -> Node:
    parts: list[Node] = [format_measure("mean", seconds)]
    if seconds is not None and before:
        parts.append(html.Div(format_relative(seconds / before - 1.0), className="small ink2"))
    if seconds is not None and published is not None:
        parts.append(
            html.Div(
                f"published {format_relative(published.change)}",
                className="small ink3",
                title=published.source,
            )
        )
    return parts


# Mean times of jobs by state, over all seeds.


STATE_KEYS = {"waiting": "outline", "running": "w1", "paused": "lines"}
"""The states of jobs with the classes of their keys in style sheets (``runs.css``)."""


def state_keys(*states: str) -> list[Node]:
    """The keys of job states."""
    return [html.Span(state, className=f"key box {STATE_KEYS[state]}") for state in states]


def times_card(
    rows: Sequence[tuple[str, Mapping[str, float | None]]], files: Sequence[tuple[str, str]]
) -> Node:
    """The card of mean times by state; None if no job waits or the times are unknown."""
    served = [(title, means) for title, means in rows if means.get("service") is not None]
    if not any(queues(means) for _, means in served):
        return None
    bars = [
        TimeRow(title, *(means.get(name) or 0.0 for name in ("waiting", "service", "paused")))
        for title, means in served
    ]
    states = [name for name in STATE_KEYS if name != "paused" or any(bar.paused for bar in bars)]
    titles = " and ".join(title for title, _ in served)
    return card(
        "Where jobs’ time goes",
        graph("times", time_bars(bars), f"Mean waiting, running and total time of a job under {titles}"),
        note="means of a job, all seeds",
        tools=[*state_keys(*states), export_menu("times", "waiting, service and total time", files)],
    )


# Seconds per step at each number of cores, under policies that lead jobs through such numbers.


def staged_policies(selection: Selection) -> list[Side]:
    """The drawn policies if all of them step jobs through numbers of cores, else none."""
    staged = all(side.policy in POLICIES and POLICIES[side.policy].staged for side in selection.drawn)
    return list(selection.drawn) if staged else []


def stages(sides: Sequence[Side], seeds: Sequence[int]) -> tuple[list[int], tuple[StageRow, ...]]:
    """The seeds with stored series, and the stages common to all runs of these policies."""
    ids = {side.key: {seed: side.runs[seed] for seed in seeds} for side in sides}

    def make() -> tuple[list[int], tuple[StageRow, ...]]:
        all_series = {
            key: {seed: stored.series(run) for seed, run in runs.items()} for key, runs in ids.items()
        }
        with_series = [
            seed for seed in seeds if all(by_seed[seed] is not None for by_seed in all_series.values())
        ]
        return with_series, stage_rows(
            {key: [by_seed[seed] or {} for seed in with_series] for key, by_seed in all_series.items()}
        )

    result: tuple[list[int], tuple[StageRow, ...]] = cached(make, "run-stages", ids)
    return result


def steps_card(selection: Selection, csv: str) -> Node:
    """The card of time per step; None without such policies or stored series."""
    sides = staged_policies(selection)
    seeds, rows = stages(sides, selection.seeds) if sides else ([], ())
    if not rows:
        return None
    titles = [html.Th(name, scope="col") for name in ("Job", "Cores", *(side.title for side in sides))]
    base = selection.base.key if selection.base in sides else sides[0].key
    stages_per_job = Counter(row.job for row in rows)
    table = html.Table(
        [
            html.Caption("Time per step at each number of cores", className="sr"),
            html.Thead(html.Tr(titles)),
            html.Tbody([_stage_row(row, stages_per_job[row.job], sides, base) for row in rows]),
        ],
        className="plain ticks stages",
    )
    n = len(seeds)
    means = f"means of {n} repeats, with 95% intervals" if n > 1 else "one repeat"
    return card(
        "Time per step by cores",
        scrolling(table, "Time per step by cores"),
        note=f"{means}; cores used and threads below",
        tools=[export_menu((), "time per step by cores", [("Table, CSV", csv)])],
        flush=True,
    )


def _stage_row(row: StageRow, n_stages: int, sides: Sequence[Side], base: str) -> html.Tr:
    cores = "no limit" if row.limit is None else format_cores(row.limit)
    job = [html.Th(row.job, scope="rowgroup", rowSpan=n_stages)] if row.number == 1 else []
    return html.Tr([*job, html.Td(cores), *(_stage_cell(row, side.key, base) for side in sides)])


def _stage_cell(row: StageRow, key: str, base: str) -> html.Td:
    """Seconds per step with the difference from the baseline; below, cores used and threads."""
    seconds_per_step = [stage.step_seconds for stage in row.of[key]]
    measured = [value for value in seconds_per_step if value is not None]
    if not measured:
        return html.Td("no step")
    change = describe_difference(
        "mean", difference(seconds_per_step, [stage.step_seconds for stage in row.of[base]])
    )
    seconds = f"{format_number(sum(measured) / len(measured), 3)} s"
    change_words: list[Node] = (
        [] if key == base or change is None else [" ", html.B(change[0]), f" ({change[1]})"]
    )
    cores = sum(stage.used for stage in row.of[key]) / len(row.of[key])
    threads = sorted({stage.threads for stage in row.of[key] if stage.threads is not None})
    with_ = f", {' or '.join(map(str, threads))} thread{'' if threads == [1] else 's'}" if threads else ""
    return html.Td(
        [seconds, *change_words, html.Div(f"{format_cores(cores)} used{with_}", className="ink3 because")]
    )


_STEP_KEYS = ("job", "stage", "limit", "policy", "seed", "threads", "steps", "seconds", "step_seconds",
              "cores_used")  # fmt: skip


def steps_table(name: str, selection: Selection) -> Table:
    """A row for each stage, policy and seed."""
    seeds, all_stages = stages(staged_policies(selection), selection.seeds)
    rows = (
        (row.job, row.number, row.limit, label, seed, *_stage_values(each))
        for row in all_stages
        for label, stages_by_seed in row.of.items()
        for seed, each in zip(seeds, stages_by_seed, strict=True)
    )
    return Table.file_only(f"{name}-steps", _STEP_KEYS, rows)


def _stage_values(stage: Stage) -> tuple[object, ...]:
    return stage.threads, stage.steps, stage.seconds, stage.step_seconds, stage.used
