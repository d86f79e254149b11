"""The rows of the leaderboard as an address asks for them: sorted, against a baseline; and as a file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from app.context import cached, workspace
from core.experiments.leaderboard import JOB_MEASURES, further_columns, leaderboard, ranked, standings
from core.experiments.measures.further import FURTHER_MEASURES
from core.experiments.published import about

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from app.pages.runs.arms.choice import Chosen
    from app.pages.runs.query import View
    from core.experiments.leaderboard import Standing
    from core.experiments.published import Published
    from core.runs.values import ExperimentInfo

COLUMNS = {
    "mean": "Mean completion",
    "makespan": "Makespan",
    "t90": "To 90% of loss",
    "t95": "To 95%",
    "t99": "To 99%",
}
"""The measures with columns of their own."""
SINGLE = {"sooner": "Jobs sooner", "best": "Best job", "worst": "Worst job"}
_TESTED = (*COLUMNS, *FURTHER_MEASURES)
SORTS = ("label", *_TESTED, *(f"difference.{name}" for name in _TESTED), *JOB_MEASURES)


def rows(info: ExperimentInfo, asked: Chosen, view: View) -> list[Standing]:
    """The rows in the order that the address asks for."""
    made = _standings(info, asked)
    name, falling = sorting(view)
    return ranked(made, name, falling=falling)


def first_sort(view: View) -> str:
    """How rows are sorted while the address says nothing: by what its columns are about, the best first."""
    return "-met" if view.columns == "deadlines" else "mean"


def sorting(view: View) -> tuple[str, bool]:
    """By which column the rows are sorted, and whether the largest is first."""
    asked = view.sort or ""
    known = asked.removeprefix("-") in SORTS
    chosen = asked if known else first_sort(view)
    return chosen.removeprefix("-"), chosen.startswith("-")


def drawn_measure(view: View) -> str:
    """The measure whose differences are drawn as dots: the one that rows are sorted by, or the mean."""
    name = sorting(view)[0].removeprefix("difference.")
    return name if name in _TESTED else "mean"


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of the leaderboard."""

    #: Measures with columns of their own, and what stands over them.
    titles: Mapping[str, str]
    #: Whether single jobs have columns, and what was published.
    single: bool
    #: The sets of columns that there are to go to, beside those of completion.
    ways: tuple[str, ...]


def columns(rows: Sequence[Standing], view: View) -> Columns:
    """The columns that an address asks for; of deadlines and of a queue only where there are some."""
    found = further_columns(rows)
    if view.columns not in found:
        return Columns(COLUMNS, single=True, ways=tuple(found))
    titles = {name: FURTHER_MEASURES[name].short for name in found[view.columns]}
    if view.columns != "deadlines":
        titles = {"mean": "Total time", **titles}
    return Columns({**titles, "makespan": "Makespan"}, single=False, ways=tuple(found))


def title_of(name: str) -> str:
    """What a measure is called in a sentence."""
    return COLUMNS.get(name) or FURTHER_MEASURES[name].label


def _standings(info: ExperimentInfo, asked: Chosen) -> list[Standing]:
    """From the report where it has them, else from the runs."""
    report = info.report or {}
    if report.get("baseline") == asked.base.key and len(asked.seeds) == len(info.experiment.seeds):
        made = standings(report.get("comparison", []))
        if made is not None:
            return made
    ids = [(side.key, [side.runs[seed] for seed in asked.seeds]) for side in asked.sides]
    return cached(lambda: _computed(asked), "run-standings", asked.base.key, ids)


def _computed(asked: Chosen) -> list[Standing]:
    results = {
        side.key: {seed: workspace().runs.result(side.runs[seed]) for seed in asked.seeds}
        for side in asked.sides
    }
    return leaderboard(results, asked.base.key)


def describe_arm(info: ExperimentInfo, asked: Chosen) -> Sequence[Published]:
    """What was published, which was against the experiment's own baseline and no other."""
    return info.experiment.published if asked.base.key == info.experiment.baseline else ()


def published_words(told: Sequence[Published]) -> str:
    """Published figures as one text, for a file."""
    return "; ".join(
        f"{each.measure}{f' {each.job}' if each.job else ''} {each.change:+.3f} ({each.source})"
        for each in told
    )


def csv_rows(info: ExperimentInfo, asked: Chosen, view: View) -> tuple[list[str], list[list[object]]]:
    """The table as it is shown, for a file: its head and its rows."""
    head = ["rank", "policy", "baseline", "seeds"]
    made = rows(info, asked, view)
    further = [name for names in further_columns(made).values() for name in names]
    for name in COLUMNS:
        head += [f"{name}_s", f"{name}_change", f"{name}_low", f"{name}_high"]
    for name in further:
        head.append(f"{name}_s" if FURTHER_MEASURES[name].unit == "s" else name)
        head += [f"{name}_{what}" for what in ("change", "low", "high", "apart", "apart_low", "apart_high")]
    head += ["jobs_sooner", "best_job", "best_job_change", "worst_job", "worst_job_change",
             "best_of_a_run", "worst_of_a_run", "migrations", "failed_jobs", "published"]  # fmt: skip
    told = describe_arm(info, asked)
    return head, [[at, *_cells(row, asked, told, further)] for at, row in enumerate(made, 1)]


def _cells(row: Standing, asked: Chosen, told: Sequence[Published], further: Sequence[str]) -> list[object]:
    cells: list[object] = [row.label, asked.base.key, row.seeds]
    for name in COLUMNS:
        made = row.differences.get(name)
        cells += [row.measures.get(name), *((made.value, made.low, made.high) if made else (None,) * 3)]
    for name in further:
        made = row.differences.get(name)
        apart = (
            (made.value, made.low, made.high, made.seconds, made.seconds_low, made.seconds_high)
            if made
            else ()
        )
        cells += [row.measures.get(name), *(apart or (None,) * 6)]
    jobs = row.jobs
    cells += (
        [None] * 7 if jobs is None else [jobs.sooner, *jobs.best_job, *jobs.worst_job, jobs.best, jobs.worst]
    )
    return [*cells, row.migrations, row.failed_jobs, published_words(about(told, row.label))]
