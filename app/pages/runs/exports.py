"""The visible tables of the Runs pages as CSV; an experiment as YAML, and a run as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson
from flask import Blueprint, Response, request

from app.context import workspace
from app.pages.runs import board_cells, completion, loads, over_time, stored
from app.pages.runs.draft import write_yaml
from app.pages.runs.headline import with_own_columns
from app.pages.runs.query import PATH, View
from app.pages.runs.selection import drawn_runs, drawn_seed, select
from app.ui.links import Query
from app.ui.tables import file_answer, table_route
from core.errors import NotFoundError
from core.tables import Table
from core.units import with_phase_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from app.pages.runs.selection import DrawnRun
    from core.runs.values import ExperimentInfo

blueprint = Blueprint("runs", __name__)


def _requested(experiment: str) -> tuple[ExperimentInfo, View]:
    values = {**request.args.to_dict(), "experiment": experiment}
    return workspace().runs.experiment(experiment), View.read(Query(PATH, values))


def _runs_on_page(info: ExperimentInfo, view: View) -> list[DrawnRun]:
    selection = select(info, view)
    runs = drawn_runs(selection.drawn, drawn_seed(view, selection.seeds)) if selection.seeds else []
    if not runs:
        raise NotFoundError("No run of these policies is stored.", "Run the experiment again.")
    return runs


# Of an experiment.


@table_route(blueprint, "/api/experiments/<experiment>/leaderboard.csv")
def export_board(experiment: str) -> Table:
    """The leaderboard."""
    info, view = _requested(experiment)
    selection = select(info, view)
    view = with_own_columns(view, board_cells.rows(info, selection, view))
    return board_cells.board_table(info, selection, view)


@table_route(blueprint, "/api/experiments/<experiment>/steps.csv")
def export_steps(experiment: str) -> Table:
    """Time per step at each number of cores, a row for each stage, policy and seed."""
    info, view = _requested(experiment)
    return completion.steps_table(info.name, select(info, view))


@table_route(blueprint, "/api/experiments/<experiment>/loads.csv")
def export_loads(experiment: str) -> Table:
    """Deadlines met, a row for each load and policy."""
    return loads.loads_table(_requested(experiment)[0])


@table_route(blueprint, "/api/experiments/<experiment>/completion.csv")
def export_completion(experiment: str) -> Table:
    """The drawn seconds of every job, a column for each policy."""
    info, view = _requested(experiment)
    return completion.jobs_table(info.name, _runs_on_page(info, view), view.measure)


@table_route(blueprint, "/api/experiments/<experiment>/learning.csv")
def export_learning(experiment: str) -> Table:
    """Loss and growth: a row for each policy, job and interval; without a job, those of all together."""
    info, view = _requested(experiment)
    runs = [each for each in _runs_on_page(info, view) if each.facts is not None]
    if not runs:
        raise NotFoundError("Time series were not saved for this seed.", "Choose the first seed.")
    keys = ("policy", "job", "from_s", "to_s", "loss_at_end", "growth_per_s")
    return Table.file_only(f"{info.name}-loss-and-growth", keys, over_time.learning_rows(runs))


_JOB = (
    "id", "model", "arrived", "started", "ended", "completion", "t90", "t95", "t99", "fair", "slowdown",
    "migrations", "state", "waiting", "service", "paused", "used", "pauses", "resizes", "thread_changes",
)  # fmt: skip


@table_route(blueprint, "/api/experiments/<experiment>/jobs.csv")
def export_jobs(experiment: str) -> Table:
    """Every job of every run of an experiment."""
    info = workspace().runs.experiment(experiment)
    rows = (
        (label, seed, *(getattr(job, name) for name in _JOB))
        for label, runs in info.runs.items()
        for seed, run in runs.items()
        for job in stored.result(run).jobs
    )
    return Table.file_only(f"{info.name}-jobs", ("policy", "seed", *_JOB), rows)


@blueprint.get("/api/experiments/<experiment>.yaml")
def export_experiment(experiment: str) -> Response:
    """The experiment as YAML, from which it can be run again."""
    info = workspace().runs.experiment(experiment)
    return file_answer([write_yaml(info.experiment.to_dict())], f"{info.name}.yaml", "application/yaml")


@blueprint.get("/api/experiments/<experiment>/report.json")
def export_comparison(experiment: str) -> Response:
    """All policies compared with the baseline."""
    info = workspace().runs.experiment(experiment)
    return _json(info.report, info.name)


def _json(values: object, name: str) -> Response:
    text = orjson.dumps(values, option=orjson.OPT_INDENT_2).decode()
    return file_answer([text], f"{name}.json", "application/json")


# Of a run.


@blueprint.get("/api/runs/<run>.json")
def export_run(run: str) -> Response:
    """One run: its settings, its result, and its time series."""
    info = workspace().runs.get(run)
    keys = ("id", "experiment", "name", "label", "policy", "settings", "seed", "scenario", "state", "ticks")
    values: dict[str, Any] = {name: getattr(info, name) for name in keys}
    values["result"] = stored.result(run).to_dict() if info.summary is not None else None
    values["series"] = stored.series(run)
    return _json(values, f"{info.name}-{info.label}-{info.seed}")


def _run_table(run: str, suffix: str, columns: Sequence[str], rows: Iterable[tuple[Any, ...]]) -> Table:
    info = workspace().runs.get(run)
    return Table.file_only(f"{info.name}-{info.label}-{suffix}", columns, rows)


def _series(run: str) -> dict[str, Any]:
    return stored.series(run) or {"time": [], "jobs": {}, "workers": {}, "moves": []}


_LINES = ("cpu", "limit", "weight", "worker", "state", "label", "growth", "loss", "threads")


@table_route(blueprint, "/api/runs/<run>/lines.csv")
def export_lines(run: str) -> Table:
    """A run's time series: a row for each job at each observation."""
    series, settings = _series(run), workspace().runs.get(run).settings
    names = workspace().models.phase_names(settings.get("model"))

    def rows() -> Iterator[tuple[Any, ...]]:
        for job, lines in series["jobs"].items():
            no_threads = [None] * len(lines["state"])  # series of earlier releases have no threads
            named = {**lines, "label": [with_phase_names(label, names) for label in lines["label"]]}
            columns = zip(*(named.get(name, no_threads) for name in _LINES), strict=True)
            for at, values in enumerate(columns, lines["first"]):
                yield series["time"][at], job, *values

    return _run_table(run, "lines", ("time_s", "job", *_LINES), rows())


_MOVE = ("job", "from", "to", "rule", "rebalanced", "failed")


@table_route(blueprint, "/api/runs/<run>/moves.csv")
def export_moves(run: str) -> Table:
    """A run's migrations: a row for each, with the rule behind it."""
    rows = (tuple(move.get(name) for name in ("time", *_MOVE)) for move in _series(run)["moves"])
    return _run_table(run, "moves", ("time_s", *_MOVE), rows)


@table_route(blueprint, "/api/runs/<run>/workers.csv")
def export_workers(run: str) -> Table:
    """A run's machines: a row for each at each observation."""
    series = _series(run)
    rows = (
        (series["time"][at], worker, cpu, lines["jobs"][at], lines["capacity"])
        for worker, lines in series["workers"].items()
        for at, cpu in enumerate(lines["cpu"])
    )
    return _run_table(run, "workers", ("time_s", "worker", "cpu", "jobs", "cores"), rows)
