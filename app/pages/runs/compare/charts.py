"""The cards with figures of two runs side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dash import html

from app.figures.runs import areas, lanes, lives
from app.figures.runs import rows as run_rows
from app.figures.runs.steps import LOSS_STAGES, by_label, by_loss
from app.figures.runs.time_bars import pair_bars
from app.pages.runs.compare.differences import state_keys
from app.pages.runs.compare.shown import Shown, drawn
from app.pages.runs.query import JOBS_PER_PAGE, MEASURES, QUANTITIES
from app.ui.basics import Node, card
from app.ui.export import export_menu
from app.ui.graph import graph
from app.ui.links import link, segments

if TYPE_CHECKING:
    from collections.abc import Sequence

    import plotly.graph_objects as go

    from app.pages.runs.query import View

ENDS = "| done, × failed or refused"
"""The marks at the ends of the lives of jobs."""
_FEW_WORKERS = 8
_MOST_BARS, _MOST_BANDS = 400, 200


def bars_card(shown: Sequence[Shown], view: View, csv: str) -> html.Section:
    """Completion times per job, one seed."""
    jobs = shown[0].jobs[:_MOST_BARS]
    values = []
    for each in shown:
        times = {job.id: getattr(job, view.measure) for job in each.result.jobs if job.state == "done"}
        values.append((each.side.title, [times.get(job) for job in jobs]))
    keys = [html.Span(each.side.title, className=f"key box {each.place}") for each in shown]
    label = f"{QUANTITIES[view.measure]} of each job under {' and '.join(each.side.title for each in shown)}"
    return card(
        "Completion per job",
        html.Div(
            [segments(view, "measure", MEASURES, view.measure, "Quantity per job"), *keys],
            className="keys",
        ),
        graph(
            "jobs", pair_bars(jobs, values, QUANTITIES[view.measure], 282 if len(shown) > 1 else 242), label
        ),
        note=f"one seed, by arrival{_first(shown[0].jobs, _MOST_BARS)}",
        tools=[export_menu("jobs", f"{view.measure} per job", [("Every job, CSV", csv)])],
    )


def _reached(each: Shown) -> dict[str, tuple[float | None, float | None]]:
    return {
        job.id: (
            None if job.t90 is None else job.arrived + job.t90,
            None if job.t99 is None else job.arrived + job.t99,
        )
        for job in each.result.jobs
    }


def areas_card(each: Shown, view: View, end: float, top: float, csv: str) -> html.Section:
    """CPU by category of one run: by its policy's lists where it has some, else by losses."""
    lists = bool(each.names()) and view.by == "lists"
    names = each.names() if lists else LOSS_STAGES
    what = "by list" if lists else "by loss"

    def make() -> go.Figure:
        series = each.series
        parts = by_label(series, names) if lists else by_loss(series, _reached(each))
        return areas.category_areas(series, parts, names, end, top, each.last)

    return card(
        f"CPU, {each.side.title}",
        drawn(each, "areas", f"CPU over time {what} under {each.side.title}", make, end, top, lists),
        note=what,
        tools=[
            *_label_keys(names),
            html.Span("Limit", className="key limit"),
            export_menu(f"areas-{each.place}", f"CPU {each.side.title}", [("Lines over time, CSV", csv)]),
        ],
    )


def _files(each: Shown, **tables: str) -> list[tuple[str, str]]:
    """Tables of a run for an export menu, by the name of their file."""
    return [(f"{label}, CSV", f"/api/runs/{each.run}/{name}.csv") for name, label in tables.items()]


def _first(jobs: Sequence[str], most: int) -> str:
    return f", the first {most:,} of {len(jobs):,}" if len(jobs) > most else ""


def _label_keys(names: Sequence[str]) -> list[Node]:
    return [html.Span(name, className=f"key box w{min(at, 2) + 1}") for at, name in enumerate(names)]


def lanes_card(each: Shown, end: float, height: int) -> html.Section:
    """Which jobs each worker had."""
    moved = each.result.migrations
    bars = each.facts is None or each.facts.bars
    keys: list[Node] = []
    evened = each.facts.rebalanced if each.facts is not None else 0
    if moved and bars:
        keys = [html.Span("placed at arrival", className="key box a")]
        keys.append(html.Span("after migration", className="key box b"))
    if evened and bars:
        keys.append(html.Span("after rebalancing", className="key box hatch"))
    what = "one bar is one job" if bars else "darker is more jobs"
    label = f"Jobs per worker under {each.side.title}, {moved} moved"
    return card(
        f"Jobs per worker, {each.side.title}",
        drawn(each, "lanes", label, lambda: lanes.worker_lanes(each.series, end, height), end, height),
        note=_moves(moved, evened) if moved and bars else what,
        tools=[
            *keys,
            export_menu(
                f"lanes-{each.place}", f"jobs per worker {each.side.title}", _files(each, moves="Migrations")
            ),
        ],
    )


def _moves(moved: int, evened: int) -> str:
    """How many migrations there were, and how many of them evened out the number of jobs."""
    words = f"{moved:,} migration{'s' if moved != 1 else ''}"
    return f"{words}, {evened:,} to rebalance" if evened else words


def bands_card(each: Shown, end: float) -> Node:
    """Which list each job is in over time; None for a policy without lists."""
    names = each.names()
    if not names:
        return None
    return card(
        f"Lists, {each.side.title}",
        drawn(
            each,
            "bands",
            f"The list that {each.side.title} has each job in, over time",
            lambda: areas.label_bands(each.series, names, each.jobs[:_MOST_BANDS], end),
            end,
        ),
        note=f"one row is one job{_first(each.jobs, _MOST_BANDS)}",
        tools=[
            *_label_keys(names),
            export_menu(
                f"bands-{each.place}", f"lists {each.side.title}", _files(each, lines="Lines over time")
            ),
        ],
    )


def few(jobs: Sequence[str], view: View, most: int = JOBS_PER_PAGE) -> tuple[list[str], int]:
    """The jobs that are drawn in rows, at most `most`, and the page that they are."""
    last = max((len(jobs) - 1) // most, 0)
    page = min(view.page, last)
    return list(jobs[page * most : (page + 1) * most]), page


def pager(jobs: Sequence[str], view: View, most: int = JOBS_PER_PAGE) -> Node:
    """Which few jobs are drawn, and the ways to the others."""
    chosen, page = few(jobs, view, most)
    first = page * most
    before = [link("‹ previous", view.query(page=page - 1 or None), className="link")] if page else []
    after = (
        [link("next ›", view.query(page=page + 1), className="link")]
        if first + len(chosen) < len(jobs)
        else []
    )
    text = f"{first + 1} to {first + len(chosen)} of {len(jobs):,}, by arrival"
    return html.Span([*before, html.Span(text, className="ink3 small num"), *after], className="row")


def queue_card(each: Shown, end: float) -> html.Section:
    """How many jobs wait over time under one policy, and the life of each job."""
    label = f"Jobs waiting over time under {each.side.title}, and the life of each job"
    jobs = each.jobs
    return card(
        f"Queue, {each.side.title}",
        drawn(each, "queue", label, lambda: lives.lives(each.series, jobs, end), end),
        note=f"a row is a job{_first(jobs, lives.MOST_ROWS)}; {ENDS}",
        tools=[
            *state_keys("waiting", "running", *(["paused"] if each.result.pauses else [])),
            export_menu(
                f"queue-{each.place}", f"queue {each.side.title}", _files(each, lines="Lines over time")
            ),
        ],
    )


def rows_card(each: Shown, view: View, end: float, jobs: Sequence[str]) -> html.Section:
    """CPU and limits of a few jobs."""
    chosen, page = few(jobs, view)

    def make() -> go.Figure:
        series = each.series
        rows = run_rows.core_rows(series, chosen)
        return run_rows.cpu_rows(series, rows, end, run_rows.highest(rows))

    dotted = each.facts is not None and each.facts.threads
    keys = [html.Span("given", className="key alloc"), html.Span("threads", className="key dots")]
    label = f"CPU and limits of {len(chosen)} jobs under {each.side.title}"
    return card(
        f"CPU and limits per job, {each.side.title}",
        drawn(each, "rows", label, make, end, page, *chosen),
        tools=[
            *(keys if dotted else []),
            pager(jobs, view),
            export_menu(
                f"rows-{each.place}", f"CPU per job {each.side.title}", _files(each, lines="Lines over time")
            ),
        ],
    )


def workers_card(each: Shown, end: float) -> html.Section:
    """CPU of each worker: a row for each of a few, a heat map of many."""
    few_of_them = each.facts is not None and each.facts.workers <= _FEW_WORKERS

    def make() -> go.Figure:
        series = each.series
        rows = run_rows.worker_rows(series)[:_MOST_BANDS]
        if few_of_them:
            return run_rows.cpu_rows(series, rows, end, each.facts.largest if each.facts else 1.0)
        bounds, values = run_rows.coarse(series, [row.used for row in rows])
        said = "%{y}: %{z:.2f} cores<extra></extra>"
        return lanes.heat([row.name for row in rows], bounds, values, end, said)

    return card(
        f"CPU per worker, {each.side.title}",
        drawn(each, "workers", f"CPU of each worker under {each.side.title}", make, end),
        note="dashed: its cores" if few_of_them else "darker is more",
        tools=[
            export_menu(
                f"workers-{each.place}",
                f"CPU per worker {each.side.title}",
                _files(each, workers="CPU per worker"),
            )
        ],
    )
