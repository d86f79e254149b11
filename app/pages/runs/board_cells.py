"""The leaderboard's rows, columns and cells; cells are made once, for the table, the picture and the file."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from app.context import cached
from app.pages.runs import stored
from app.pages.runs.measures import describe_difference, format_measure, kind_of
from app.pages.runs.stored import format_relative
from core.experiments.leaderboard import (
    ALL_MEASURES,
    JOB_MEASURES,
    extra_columns,
    leaderboard,
    measured_change,
    published_of,
    ranked,
    reproduced,
    standings,
    value_of,
)
from core.experiments.measures import COUNTS, EXTRA_MEASURES
from core.tables import Column, Table
from core.units import format_share

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from app.pages.runs.query import View
    from app.pages.runs.selection import Selection
    from core.experiments.leaderboard import Standing
    from core.experiments.parts import PublishedFigure
    from core.runs.values import ExperimentInfo

# The rows, sorted as the address names it, and the columns.

COMPLETION = {
    "mean": "Mean completion",
    "makespan": "Makespan",
    "t90": "To 90% of loss",
    "t95": "To 95%",
    "t99": "To 99%",
}
SPREAD = {
    "median": "Median completion",
    "p95": "95th percentile",
    "worst_slowdown": "Worst slowdown",
    "used": "CPU used",
    "migrations": "Migrations",
    "controller": "PhaseDock’s own CPU",
}
SINGLE = {"sooner": "Jobs sooner", "best": "Best job", "worst": "Worst job"}
KNOWS_FUTURE = "srpt"
"""A policy that is told how long jobs take: no policy that can be used reaches it."""
_PLAIN = ("migrations", "controller")
"""Measures that no difference is computed of."""
SORTS = ("label", *ALL_MEASURES, *_PLAIN, *(f"difference.{name}" for name in ALL_MEASURES), *JOB_MEASURES)


def rows(info: ExperimentInfo, selection: Selection, view: View) -> list[Standing]:
    """The rows in the order of the address."""
    name, falling = sort_order(view)
    return ranked(_standings(info, selection), name, falling=falling)


def first_sort(view: View) -> str:
    """The default order of rows: by the subject of the columns, the best first."""
    return "-met" if view.columns == "deadlines" else "mean"


def sort_order(view: View) -> tuple[str, bool]:
    """The column that sorts the rows, and whether the largest value comes first."""
    name = view.sort or ""
    chosen = name if name.removeprefix("-") in SORTS else first_sort(view)
    return chosen.removeprefix("-"), chosen.startswith("-")


def dot_measure(view: View) -> str:
    """The measure whose differences are drawn as dots: that of the sorting column, else the mean."""
    name = sort_order(view)[0].removeprefix("difference.")
    return name if name in ALL_MEASURES else "mean"


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of the leaderboard."""

    #: Measures with columns of their own, and their titles.
    titles: Mapping[str, str]
    #: Whether single jobs and published figures have columns.
    single: bool
    #: The available sets of columns besides those of completion.
    ways: tuple[str, ...]


def columns(rows: Sequence[Standing], view: View) -> Columns:
    """The columns of the view; those of deadlines and queues only if some row has them."""
    further_sets = extra_columns(rows)
    ways = ("spread", *further_sets)
    if view.columns == "spread":
        titles = {name: title for name, title in SPREAD.items() if any(value_of(row, name) for row in rows)}
        return Columns(titles, single=False, ways=ways)
    if view.columns not in further_sets:
        return Columns(COMPLETION, single=True, ways=ways)
    titles = {name: EXTRA_MEASURES[name].short for name in further_sets[view.columns]}
    if view.columns != "deadlines":
        titles = {"mean": "Total time", **titles}
    return Columns({**titles, "makespan": "Makespan"}, single=False, ways=ways)


def title_of(name: str) -> str:
    """The title of a measure in a sentence."""
    return COMPLETION.get(name) or SPREAD.get(name) or EXTRA_MEASURES[name].label


def _standings(info: ExperimentInfo, selection: Selection) -> list[Standing]:
    """The standings from the report if it has them, else from the runs."""
    report = info.report or {}
    same = {side.experiment for side in selection.sides} == {info.id}
    if (
        same
        and report.get("baseline") == selection.base.key
        and len(selection.seeds) == len(info.experiment.seeds)
    ):
        saved = standings(report.get("comparison", []))
        if saved is not None:
            return saved
    ids = [(side.key, [side.runs[seed] for seed in selection.seeds]) for side in selection.sides]
    return cached(lambda: _compute(selection), "run-standings", selection.base.key, ids)


def _compute(selection: Selection) -> list[Standing]:
    results = {
        side.key: {seed: stored.result(side.runs[seed]) for seed in selection.seeds}
        for side in selection.sides
    }
    return leaderboard(results, selection.base.key)


def published_for(info: ExperimentInfo, selection: Selection) -> Sequence[PublishedFigure]:
    """The published figures, which apply to the experiment's own baseline only."""
    return info.experiment.published if selection.base.key == info.experiment.baseline else ()


# The table, and the lines of its cells.


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a cell: its text, its class in style sheets, and what a pointer on it shows."""

    text: str
    kind: str = ""
    title: str | None = None


def board_table(info: ExperimentInfo, selection: Selection, view: View) -> Table:
    """The rows in the visible order; a file also has the columns of the other sets."""
    all_rows = rows(info, selection, view)
    visible, published = columns(all_rows, view), published_for(info, selection)
    titles = {**visible.titles, **(SINGLE if visible.single else {})}
    spread = (
        name for name in SPREAD if name in ALL_MEASURES and any(value_of(row, name) for row in all_rows)
    )
    further_names = (name for names in extra_columns(all_rows).values() for name in names)
    visible_names = (name for name in visible.titles if name in ALL_MEASURES)
    names = dict.fromkeys((*visible_names, *COMPLETION, *spread, *further_names))
    places = {row.label: at for at, row in enumerate(all_rows, 1)}
    labels = {side.key: side.label for side in selection.sides}
    return Table(
        f"{info.name}-leaderboard",
        (
            Column("rank", value=lambda row: places[row.label]),
            Column("policy", value=lambda row: labels[row.label]),
            Column("baseline", value=lambda _: selection.base.label),
            Column("seeds"),
            *(_measure_column(name, titles.get(name, "")) for name in names),
            *(_job_column(name, titles.get(name, "")) for name in SINGLE),
            *(Column(name, titles.get(name, ""), right=True) for name in _PLAIN),
            Column("failed_jobs"),
            Column(
                "published",
                "Published" if visible.single and published else "",
                value=lambda row: "; ".join(map(_published_text, published_of(published, row.label))),
            ),
        ),
        all_rows,
    )


def _measure_column(name: str, title: str) -> Column:
    in_seconds = EXTRA_MEASURES[name].unit == "s" if name in EXTRA_MEASURES else name != "worst_slowdown"
    value_key = f"{name}_s" if in_seconds else name
    ends = ("change", "low", "high", "apart", "apart_low", "apart_high")

    def value(row: Standing) -> tuple[float | None, ...]:
        each = row.differences.get(name)
        differences = (None,) * 6 if each is None else (
            each.value, each.low, each.high, each.seconds, each.seconds_low, each.seconds_high
        )  # fmt: skip
        return row.measures.get(name), *differences

    return Column(name, title, value=value, parts=(value_key, *(f"{name}_{end}" for end in ends)), right=True)


def _job_column(name: str, title: str) -> Column:
    if name == "sooner":
        return Column(name, title, value=lambda row: row.jobs and (row.jobs.sooner,), parts=("jobs_sooner",),
                      right=True)  # fmt: skip
    return Column(
        name,
        title,
        value=lambda row: row.jobs and (*getattr(row.jobs, f"{name}_job"), getattr(row.jobs, name)),
        parts=(f"{name}_job", f"{name}_job_change", f"{name}_of_a_run"),
        right=True,
    )


def _published_text(each: PublishedFigure) -> str:
    return f"{each.measure}{f' {each.job}' if each.job else ''} {each.change:+.3f} ({each.source})"


def cells_of(row: Standing, table: Table, published: Sequence[PublishedFigure]) -> list[list[Line]]:
    """The lines of a row in each titled column of the table."""
    cells = []
    for column in table.titled:
        if column.key == "published":
            cells.append([_published_line(each, row) for each in published_of(published, row.label)])
        else:
            lines = _job_lines if column.key in SINGLE else _measure_lines
            cells.append(lines(row, column.key))
    return cells


def _measure_lines(row: Standing, name: str) -> list[Line]:
    """A mean with its unit, and below it the change; a count has none."""
    value = value_of(row, name)
    lines = [Line(format_measure(name, value if isinstance(value, float | int) else None))]
    difference = row.differences.get(name)
    words = describe_difference(name, difference)
    if difference is not None and words is not None and name not in COUNTS:
        kind = (
            ""
            if difference.value is None
            else colour_of(kind_of(name, difference.value, difference.low, difference.high))
        )
        title = words[1] if words[1] == "one seed" else f"95% interval {words[1]}"
        lines.append(Line(words[0], f"small {kind or 'ink3'}", title))
    return lines


def _job_lines(row: Standing, name: str) -> list[Line]:
    jobs = row.jobs
    if jobs is None:
        return []
    if name == "sooner":
        return [Line(format_share(jobs.sooner, 0))]
    (job, mean), each = (jobs.best_job, jobs.best) if name == "best" else (jobs.worst_job, jobs.worst)
    title = f"{job}: mean over seeds; the {name} job of a run, whichever it is: {format_relative(each)}"
    below = [Line(f"of a run {format_relative(each)}", "small ink3")] if row.seeds > 1 else []
    return [Line(f"{job} {format_relative(mean)}", "", title), *below]


_VERDICTS = {
    True: (" ✓", "ok", "reproduced: within the middle 90% of seeds"),
    False: (" ✗", "", "not within the middle 90% of seeds"),
    None: ("", "", "too few seeds to test whether it is reproduced"),
}
_OF_JOBS = {
    "mean": "mean",
    "makespan": "makespan",
    "sooner": "jobs sooner",
    "best": "best job",
    "worst": "worst job",
}


def colour_of(kind: str) -> str:
    """The class in style sheets of a change for the better or worse."""
    return {"better": "ok", "worse": "bad"}.get(kind, "")


def _published_line(each: PublishedFigure, row: Standing) -> Line:
    """One published figure: its value, and whether the runs reproduce it."""
    mark, kind, words = _VERDICTS[reproduced(each, row)]
    format_change = partial(format_share, digits=0) if each.measure == "sooner" else format_relative
    subject = each.job if each.measure == "completion" else _OF_JOBS[each.measure]
    text = f"{subject} {format_change(each.change)}{mark}"
    measured = measured_change(each, row)
    measured_text = "" if measured is None else f"; here {format_change(measured)}"
    return Line(text, f"small {kind}", f"{each.source}: {text}{measured_text}; {words}")
