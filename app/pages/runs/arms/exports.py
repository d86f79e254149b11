"""The tables of all policies as CSV, as they are shown: sorted alike, the same baseline, those drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flask import Blueprint, Response, request

from app.api import file_answer
from app.context import workspace
from app.pages.runs.arms import jobs, loads, over_time, standings, steps
from app.pages.runs.arms.choice import chosen
from app.pages.runs.arms.layout import seed_of, shown_runs
from app.pages.runs.compare.shown import ends
from app.pages.runs.query import PATH, View
from app.ui.links import Query
from core.csv_export import csv_lines
from core.errors import NotFoundError
from core.experiments.measures.learning import step_for

if TYPE_CHECKING:
    from collections.abc import Iterator

    from app.pages.runs.compare.shown import Shown
    from core.runs.values import ExperimentInfo

blueprint = Blueprint("run-arms", __name__)


def _asked(experiment: str) -> tuple[ExperimentInfo, View]:
    values = {**request.args.to_dict(), "experiment": experiment}
    return workspace().runs.experiment(experiment), View.read(Query(PATH, values))


def _shown(info: ExperimentInfo, view: View) -> list[Shown]:
    asked = chosen(info, view)
    # two policies may share a seed that not all have
    own = view.seed is not None and all(view.seed in side.runs for side in asked.drawn)
    seeds = (view.seed,) if own and view.seed is not None else asked.seeds
    found = shown_runs(asked.drawn, seed_of(view, seeds)) if seeds else []
    if not found:
        raise NotFoundError("No run of these policies is stored.", "Run the experiment again.")
    return found


@blueprint.get("/api/experiments/<experiment>/leaderboard.csv")
def export_board(experiment: str) -> Response:
    """The leaderboard."""
    info, view = _asked(experiment)
    head, rows = standings.csv_rows(info, chosen(info, view), view)
    return file_answer(csv_lines(head, rows), f"{info.name}-leaderboard.csv")


@blueprint.get("/api/experiments/<experiment>/steps.csv")
def export_steps(experiment: str) -> Response:
    """Time per step at each number of cores, a row for each stage, policy and seed."""
    info, view = _asked(experiment)
    asked = chosen(info, view)
    seeds, made = steps.rows(steps.compared(asked), asked.seeds)
    return file_answer(csv_lines(steps.CSV_HEAD, steps.csv_rows(made, seeds)), f"{info.name}-steps.csv")


@blueprint.get("/api/experiments/<experiment>/loads.csv")
def export_loads(experiment: str) -> Response:
    """Deadlines met, a row for each load and policy."""
    info, _ = _asked(experiment)
    return file_answer(csv_lines(loads.CSV_HEAD, loads.csv_rows(info)), f"{info.name}-loads.csv")


@blueprint.get("/api/experiments/<experiment>/completion.csv")
def export_completion(experiment: str) -> Response:
    """What is drawn of every job, a column for each policy; seconds."""
    info, view = _asked(experiment)
    shown = _shown(info, view)
    names = shown[0].jobs
    columns = [jobs.times(each, names, view.measure) for each in shown]
    head = ("job", *(each.side.label for each in shown))
    rows = ((name, *(column[at] for column in columns)) for at, name in enumerate(names))
    return file_answer(csv_lines(head, rows), f"{info.name}-{view.measure}-per-job.csv")


@blueprint.get("/api/experiments/<experiment>/learning.csv")
def export_learning(experiment: str) -> Response:
    """Loss and growth: a row for each policy, job and interval; without a job, those of all together."""
    info, view = _asked(experiment)
    shown = [each for each in _shown(info, view) if each.facts is not None]
    if not shown:
        raise NotFoundError("Time series were not saved for this seed.", "Choose the first seed.")
    end = ends(shown)
    step = step_for(end / 1.04)

    def rows() -> Iterator[tuple[Any, ...]]:
        for each in shown:
            made = over_time.learned(each.run, step, end)
            if made is None:
                continue
            for at, start in enumerate(made.bounds[:-1]):
                yield each.side.label, "", start, made.bounds[at + 1], made.mean[at + 1], made.total[at]
            for job, loss in made.loss.items():
                for at, start in enumerate(made.bounds[:-1]):
                    growth = made.growth[job][at]
                    known = growth if growth == growth else None  # noqa: PLR0124 - NaN is unlike itself
                    yield each.side.label, job, start, made.bounds[at + 1], loss[at + 1], known

    head = ("policy", "job", "from_s", "to_s", "loss_at_end", "growth_per_s")
    return file_answer(csv_lines(head, rows()), f"{info.name}-loss-and-growth.csv")
