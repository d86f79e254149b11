"""The tables of the Runs pages as CSV, an experiment as YAML, and a run as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import orjson
from flask import Blueprint, Response, request

from app.api import file_answer
from app.context import workspace
from app.pages.runs import stored
from app.pages.runs.build.yaml import written
from app.ui.export import page_export
from core.csv_export import csv_lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from app.pages.runs.compare.shown import Shown
    from app.ui.basics import Node
    from core.runs.values import ExperimentInfo

blueprint = Blueprint("runs", __name__)
_JOB = (
    "id", "model", "arrived", "started", "ended", "completion", "t90", "t95", "t99", "fair", "slowdown",
    "migrations", "state", "waiting", "service", "paused", "used", "pauses", "resizes", "thread_changes",
)  # fmt: skip
_MOVE = ("time", "job", "from", "to", "rule", "rebalanced", "failed")
_LINES = ("cpu", "limit", "weight", "worker", "state", "label", "growth", "loss", "threads")


def differences_address(info: ExperimentInfo, a: str, b: str) -> str:
    """Where the table of differences is."""
    return f"/api/experiments/{info.id}/differences.csv?{urlencode({'a': a, 'b': b})}"


def menu(
    info: ExperimentInfo, shown: list[Shown], differences: str | None, more: Sequence[tuple[str, str]] = ()
) -> Node:
    """The page's export menu; `more` are further (label, address)."""
    files = [*more, *([("Differences, CSV", differences)] if differences else [])]
    files += [
        ("Jobs of every run, CSV", f"/api/experiments/{info.id}/jobs.csv"),
        ("Experiment, YAML", f"/api/experiments/{info.id}.yaml"),
        ("Comparison, JSON", f"/api/experiments/{info.id}/report.json"),
    ]
    files += [(f"Run of {each.side.title}, JSON", f"/api/runs/{each.run}.json") for each in shown]
    return page_export(files)


@blueprint.get("/api/experiments/<experiment>/differences.csv")
def export_differences(experiment: str) -> Response:
    """The differences of two policies, as they are shown."""
    info = workspace().runs.experiment(experiment)
    first, second, _ = stored.pair(info, request.args.get("a"), request.args.get("b"))
    rows = stored.differences(first, second) if second is not None else []
    figures = ("value", "low", "high", "n", "apart", "apart_low", "apart_high")
    head = ("measure", "a", "b", "mean_a", "mean_b", "difference", "low", "high", "seeds", *figures[-3:])
    other = second.label if second is not None else ""
    lines = (
        (row.name, first.label, other, row.a, row.b, *(getattr(row, name) for name in figures))
        for row in rows
    )
    return file_answer(csv_lines(head, lines), f"{info.name}-differences.csv")


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
    return file_answer([written(info.experiment.to_dict())], f"{info.name}.yaml", "application/yaml")


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
