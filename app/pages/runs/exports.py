"""The tables of the Runs pages as CSV, as they are shown; an experiment as YAML, and a run as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson
from flask import Blueprint, Response, request

from app.context import workspace
from app.pages.runs import board, completion, loads, over_time, stored
from app.pages.runs.draft import write_yaml
from app.pages.runs.query import PATH, View
from app.pages.runs.selection import drawn_runs, drawn_seed, select
from app.ui.links import Query
from app.ui.tables import file_answer
from core.errors import NotFoundError
from core.tables import csv_lines

if TYPE_CHECKING:
    from collections.abc import Iterator

    from app.pages.runs.selection import DrawnRun
    from core.runs.values import ExperimentInfo

blueprint = Blueprint("runs", __name__)


def _requested(experiment: str) -> tuple[ExperimentInfo, View]:
    values = {**request.args.to_dict(), "experiment": experiment}
    return workspace().runs.experiment(experiment), View.read(Query(PATH, values))


def _drawn(info: ExperimentInfo, view: View) -> list[DrawnRun]:
    selection = select(info, view)
    found = drawn_runs(selection.drawn, drawn_seed(view, selection.seeds)) if selection.seeds else []
    if not found:
        raise NotFoundError("No run of these policies is stored.", "Run the experiment again.")
    return found


@blueprint.get("/api/experiments/<experiment>/leaderboard.csv")
def export_board(experiment: str) -> Response:
    """The leaderboard."""
    info, view = _requested(experiment)
    head, rows = board.csv_rows(info, select(info, view), view)
    return file_answer(csv_lines(head, rows), f"{info.name}-leaderboard.csv")


@blueprint.get("/api/experiments/<experiment>/steps.csv")
def export_steps(experiment: str) -> Response:
    """Time per step at each number of cores, a row for each stage, policy and seed."""
    info, view = _requested(experiment)
    selection = select(info, view)
    seeds, found = completion.stages(completion.staged_policies(selection), selection.seeds)
    return file_answer(
        csv_lines(completion.STEPS_HEAD, completion.steps_rows(found, seeds)), f"{info.name}-steps.csv"
    )


@blueprint.get("/api/experiments/<experiment>/loads.csv")
def export_loads(experiment: str) -> Response:
    """Deadlines met, a row for each load and policy."""
    info, _ = _requested(experiment)
    return file_answer(csv_lines(loads.LOADS_HEAD, loads.loads_rows(info)), f"{info.name}-loads.csv")


@blueprint.get("/api/experiments/<experiment>/completion.csv")
def export_completion(experiment: str) -> Response:
    """What is drawn of every job, a column for each policy; seconds."""
    info, view = _requested(experiment)
    runs = _drawn(info, view)
    names = runs[0].jobs
    columns = [completion.times(each, names, view.measure) for each in runs]
    head = ("job", *(each.side.label for each in runs))
    rows = ((name, *(column[at] for column in columns)) for at, name in enumerate(names))
    return file_answer(csv_lines(head, rows), f"{info.name}-{view.measure}-per-job.csv")


@blueprint.get("/api/experiments/<experiment>/learning.csv")
def export_learning(experiment: str) -> Response:
    """Loss and growth: a row for each policy, job and interval; without a job, those of all together."""
    info, view = _requested(experiment)
    runs = [each for each in _drawn(info, view) if each.facts is not None]
    if not runs:
        raise NotFoundError("Time series were not saved for this seed.", "Choose the first seed.")
    head = ("policy", "job", "from_s", "to_s", "loss_at_end", "growth_per_s")
    return file_answer(csv_lines(head, over_time.learning_rows(runs)), f"{info.name}-loss-and-growth.csv")


_JOB = (
    "id", "model", "arrived", "started", "ended", "completion", "t90", "t95", "t99", "fair", "slowdown",
    "migrations", "state", "waiting", "service", "paused", "used", "pauses", "resizes", "thread_changes",
)  # fmt: skip


@blueprint.get("/api/experiments/<experiment>/jobs.csv")
def export_jobs(experiment: str) -> Response:
    """Every job of every run of an experiment."""
    info = workspace().runs.experiment(experiment)

    def rows() -> Iterator[tuple[Any, ...]]:
        for label, runs in info.runs.items():
            for seed, run in runs.items():
                for job in stored.result(run).jobs:
                    yield label, seed, *(getattr(job, name) for name in _JOB)

    return file_answer(csv_lines(("policy", "seed", *_JOB), rows()), f"{info.name}-jobs.csv")


@blueprint.get("/api/experiments/<experiment>.yaml")
def export_experiment(experiment: str) -> Response:
    """The experiment itself, from which it can be run again."""
    info = workspace().runs.experiment(experiment)
    return file_answer([write_yaml(info.experiment.to_dict())], f"{info.name}.yaml", "application/yaml")


@blueprint.get("/api/experiments/<experiment>/report.json")
def export_comparison(experiment: str) -> Response:
    """What all runs say when they are compared with the baseline."""
    info = workspace().runs.experiment(experiment)
    text = orjson.dumps(info.report, option=orjson.OPT_INDENT_2).decode()
    return file_answer([text], f"{info.name}.json", "application/json")


@blueprint.get("/api/runs/<run>.json")
def export_run(run: str) -> Response:
    """One run: what was run, its result, and its time series."""
    info = workspace().runs.get(run)
    named = ("id", "experiment", "name", "label", "policy", "settings", "seed", "scenario", "state", "ticks")
    values: dict[str, Any] = {name: getattr(info, name) for name in named}
    values["result"] = stored.result(run).to_dict() if info.summary is not None else None
    values["series"] = stored.series(run)
    text = orjson.dumps(values, option=orjson.OPT_INDENT_2).decode()
    return file_answer([text], f"{info.name}-{info.label}-{info.seed}.json", "application/json")


_LINES = ("cpu", "limit", "weight", "worker", "state", "label", "growth", "loss", "threads")


@blueprint.get("/api/runs/<run>/lines.csv")
def export_lines(run: str) -> Response:
    """A run's time series: a row for each job at each observation."""
    info = workspace().runs.get(run)
    series = stored.series(run) or {"time": [], "jobs": {}}

    def rows() -> Iterator[tuple[Any, ...]]:
        for job, lines in series["jobs"].items():
            nothing = [None] * len(lines["state"])  # series of earlier releases have no threads
            columns = zip(*(lines.get(name, nothing) for name in _LINES), strict=True)
            for at, values in enumerate(columns, lines["first"]):
                yield series["time"][at], job, *values

    return file_answer(csv_lines(("time_s", "job", *_LINES), rows()), f"{info.name}-{info.label}-lines.csv")


_MOVE = ("time", "job", "from", "to", "rule", "rebalanced", "failed")


@blueprint.get("/api/runs/<run>/moves.csv")
def export_moves(run: str) -> Response:
    """A run's migrations: a row for each, with the rule behind it."""
    info = workspace().runs.get(run)
    moves = (stored.series(run) or {}).get("moves", [])
    rows = ([move.get(name) for name in _MOVE] for move in moves)
    return file_answer(csv_lines(("time_s", *_MOVE[1:]), rows), f"{info.name}-{info.label}-moves.csv")


@blueprint.get("/api/runs/<run>/workers.csv")
def export_workers(run: str) -> Response:
    """A run's machines: a row for each at each observation."""
    info = workspace().runs.get(run)
    series = stored.series(run) or {"time": [], "workers": {}}
    rows = (
        (series["time"][at], worker, cpu, lines["jobs"][at], lines["capacity"])
        for worker, lines in series["workers"].items()
        for at, cpu in enumerate(lines["cpu"])
    )
    head = ("time_s", "worker", "cpu", "jobs", "cores")
    return file_answer(csv_lines(head, rows), f"{info.name}-{info.label}-workers.csv")
