"""The cards with figures of two runs side by side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dash import html

from app.components.basics import Node, card
from app.components.export import export_menu
from app.components.graph import graph
from app.components.provisioning_view import link, segments
from app.components.run_view import JOBS_PER_PAGE, MEASURES, QUANTITIES
from app.figures import run_areas, run_bands, run_lanes, run_rows
from app.figures.run_bars import pair_bars
from app.figures.run_steps import label_names

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from app.components.run_store import Side
    from app.components.run_view import View
    from core.experiments.outcome import RunResult

_FEW_WORKERS = 8


@dataclass(frozen=True, slots=True)
class Shown:
    """One policy's run on the seed that is drawn.

    Parameters
    ----------
    place
        ``a`` or ``b``.
    side, run
        The policy, and the run's id.
    result, series
        What it came to, and its lines over time; None where they were not kept.
    """

    place: str
    side: Side
    run: str
    result: RunResult
    series: Mapping[str, Any] | None

    @property
    def last(self) -> float:
        """When its last job ended, on the run's clock."""
        return max((job.ended for job in self.result.jobs), default=1.0)

    @property
    def jobs(self) -> list[str]:
        """Its jobs by arrival."""
        return [job.id for job in self.result.jobs]


def ends(shown: Sequence[Shown]) -> float:
    """The common end of all time axes."""
    return max(each.last for each in shown) * 1.04


def bars_card(shown: Sequence[Shown], view: View, csv: str) -> html.Section:
    """Completion times per job, one seed."""
    jobs = shown[0].jobs
    values = []
    for each in shown:
        times = {job.id: getattr(job, view.measure) for job in each.result.jobs if job.state == "done"}
        values.append((each.side.label, [times.get(job) for job in jobs]))
    keys = [html.Span(each.side.label, className=f"key box {each.place}") for each in shown]
    label = f"{QUANTITIES[view.measure]} of each job under {' and '.join(each.side.label for each in shown)}"
    return card(
        "Per job",
        html.Div(
            [segments(view, "measure", MEASURES, view.measure, "What is drawn per job"), *keys],
            className="keys",
        ),
        graph("jobs", pair_bars(jobs, values, QUANTITIES[view.measure]), label),
        note="one seed, by arrival",
        tools=[export_menu("jobs", f"{view.measure} per job", [("Every job, CSV", csv)])],
    )


def areas_card(each: Shown, end: float, top: float, csv: str) -> html.Section:
    """CPU by category of one run."""
    series = each.series or {}
    names = label_names(series)
    figure = run_areas.category_areas(series, names, end, top, each.last)
    name = f"areas-{each.place}"
    what = "list or category" if names else "job, which this policy does not sort"
    return card(
        f"CPU, {each.side.label}",
        graph(name, figure, f"CPU over time by {what} under {each.side.label}"),
        note=None if names else "no lists",
        tools=[*_label_keys(names), html.Span("Limit", className="key limit"),
               export_menu(name, f"CPU {each.side.label}", [("Lines over time, CSV", csv)])],
    )  # fmt: skip


def _label_keys(names: Sequence[str]) -> list[Node]:
    if not names:
        return [html.Span("All jobs", className="key box w2")]
    return [html.Span(name, className=f"key box w{min(at, 2) + 1}") for at, name in enumerate(names)]


def lanes_card(each: Shown, end: float, height: int) -> html.Section:
    """Which jobs each worker had."""
    moved = each.result.migrations
    keys: list[Node] = [html.Span("placed at arrival", className="key box a")] if moved else []
    keys += [html.Span("after migration", className="key box b")] if moved else []
    name = f"lanes-{each.place}"
    return card(
        f"Jobs per worker, {each.side.label}",
        graph(
            name, run_lanes.worker_lanes(each.series or {}, end, height), f"Jobs per worker, {moved} moved"
        ),
        note=f"{moved:,} migration{'s' if moved != 1 else ''}" if moved else "one bar is one job",
        tools=[*keys, export_menu(name, f"jobs per worker {each.side.label}", [])],
    )


def bands_card(each: Shown, end: float) -> Node:
    """Which list each job is in over time; None for a policy without lists."""
    names = label_names(each.series or {})
    if not names:
        return None
    name = f"bands-{each.place}"
    figure = run_bands.label_bands(each.series or {}, names, each.jobs, end)
    return card(
        f"Lists, {each.side.label}",
        graph(name, figure, f"The list that {each.side.label} has each job in, over time"),
        note="one row is one job",
        tools=[*_label_keys(names), export_menu(name, f"lists {each.side.label}", [])],
    )


def few(jobs: Sequence[str], view: View) -> tuple[list[str], int]:
    """The jobs that are drawn in rows, and the page that they are."""
    last = max((len(jobs) - 1) // JOBS_PER_PAGE, 0)
    page = min(view.page, last)
    return list(jobs[page * JOBS_PER_PAGE : (page + 1) * JOBS_PER_PAGE]), page


def pager(jobs: Sequence[str], view: View) -> Node:
    """Which few jobs are drawn, and the ways to the others."""
    chosen, page = few(jobs, view)
    first = page * JOBS_PER_PAGE
    before = [link("‹ before", view.query(page=page - 1 or None), className="link")] if page else []
    after = (
        [link("next ›", view.query(page=page + 1), className="link")]
        if first + len(chosen) < len(jobs)
        else []
    )
    text = f"{first + 1} to {first + len(chosen)} of {len(jobs):,}, by arrival"
    return html.Span([*before, html.Span(text, className="ink3 small num"), *after], className="row")


def rows_card(each: Shown, view: View, end: float, jobs: Sequence[str]) -> html.Section:
    """CPU and limits of a few jobs."""
    series = each.series or {}
    chosen, _ = few(jobs, view)
    rows = run_rows.job_rows(series, chosen)
    name = f"rows-{each.place}"
    return card(
        f"CPU and limits per job, {each.side.label}",
        graph(
            name,
            run_rows.cpu_rows(series, rows, end, _highest(series, chosen)),
            f"CPU and limits of {len(chosen)} jobs",
        ),
        tools=[pager(jobs, view), export_menu(name, f"CPU per job {each.side.label}", [])],
    )


def _highest(series: Mapping[str, Any], jobs: Sequence[str]) -> float:
    values = [value for job in jobs for value in series["jobs"].get(job, {}).get("cpu", [])]
    return max([value for value in values if value is not None], default=1.0) * 1.25 or 1.0


def workers_card(each: Shown, end: float) -> html.Section:
    """CPU of each worker."""
    series = each.series or {}
    rows = run_rows.worker_rows(series)
    name = f"workers-{each.place}"
    if len(rows) <= _FEW_WORKERS:
        top = max((float(lines["capacity"]) for lines in series["workers"].values()), default=1.0)
        figure = run_rows.cpu_rows(series, rows, end, top)
    else:
        bounds, values = run_rows.coarse(series, [row.used for row in rows])
        figure = run_lanes.heat(
            [row.name for row in rows], bounds, values, end, "%{y}: %{z:.2f} cores<extra></extra>"
        )
    return card(
        f"CPU per worker, {each.side.label}",
        graph(name, figure, f"CPU of each worker under {each.side.label}"),
        note="dashed: its cores" if len(rows) <= _FEW_WORKERS else "darker is more",
        tools=[export_menu(name, f"CPU per worker {each.side.label}", [])],
    )


def capacity(series: Mapping[str, Any] | None) -> float:
    """The cores of all workers together."""
    return sum(float(lines["capacity"]) for lines in (series or {}).get("workers", {}).values())
