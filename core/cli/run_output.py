"""Terminal output for experiments and their runs."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from rich.console import Console

from core.cli.output import plain, print_table
from core.experiments.measures import COUNTS, EXTRA_MEASURES, informative_measures
from core.experiments.spec import ENGINES
from core.tables import Column, Table
from core.units import DASH, format_change, format_count, format_number, format_share, plural

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from core.experiments.spec import Experiment

_WIDE = 190
_TINY = 5e-4
_MEASURED = {
    "mean": "mean",
    "makespan": "makespan",
    "t90": "t90",
    "t95": "t95",
    "t99": "t99",
    "worst_slowdown": "slowdown",
}
_COMPARED = ("mean", "makespan", "t90")
_HEADS = {
    "tardiness_p95": "p95",
    "utilisation": "of allocated",
    "prediction_error": "pred. error",
    "prediction_error_p90": "p90",
    "longest_wait": "longest",
    "jobs_per_hour": "jobs/h",
    "used": "used",
    "resizes": "cores set",
    "thread_changes": "threads set",
}
_WITHOUT_INTERVAL = ("t95", "t99")
_EXPERIMENTS = (
    Column("name", "name"),
    Column("jobs", "jobs", format_count),
    Column("workers", "workers", format_count),
    Column("policies", "policies", format_count),
    Column("seeds", "seeds", format_count),
    Column("about", "about"),
)


def print_experiments(bundled: Sequence[tuple[str, Experiment]]) -> None:
    """The bundled experiments."""
    rows = [
        (
            name,
            experiment.n_jobs,
            sum(group.count for group in experiment.workers),
            len(experiment.policies),
            len(experiment.seeds),
            experiment.about,
        )
        for name, experiment in bundled
    ]
    _print(Table("experiments", _EXPERIMENTS, rows), _console())


def print_simulation(report: Mapping[str, Any]) -> None:
    """Policies compared over seeds, and what the simulator says of them where they were run for real."""
    console, baseline, predicted = _console(), plain(report["baseline"]), report["predicted"]
    console.print(
        f"[bold]{plain(report['name'])}[/]: {plural(report['n_jobs'], 'job')}, "
        f"{plural(report['n_workers'], 'worker')}, {_describe_engine(report)}; "
        f"{plural(len(report['seeds']), 'seed')}",
        highlight=False,
    )
    _print(_policies(report["policies"]), console)
    measures = informative_measures([row["measures"] for row in report["policies"]])
    for subject, compared in (("deadlines", "met"), ("queue", "waiting")):
        if subject in measures:
            _print(_extra_table(subject, report["policies"], measures[subject], compared), console)
    if predicted:
        console.print(f"The simulator of the same jobs, fitted to {baseline} alone:", highlight=False)
        _print(_policies(predicted["comparison"]), console)
    console.print(
        f"Means over seeds, in seconds; Δ against {baseline}, paired by seed, with its 95% interval.",
        highlight=False,
    )
    first = next((run for run in report["runs"] if run["ticks"]), None)
    if first:
        console.print(f"Step through a ledger in the browser, or run: phasedock replay {first['run']}")


def _describe_engine(report: Mapping[str, Any]) -> str:
    if ENGINES[report["engine"]].real:
        return "real containers"
    world = report["world"]
    return f"contention {world['gamma']:g}, {plain(world['curves'])} losses"


def _policies(rows: Sequence[Mapping[str, Any]]) -> Table:
    columns = [Column("label", "policy")]
    columns += [Column(name, title, format_number, _measure(name)) for name, title in _MEASURED.items()]
    columns.append(Column("migrations", "moves", partial(format_number, digits=1)))
    if any(row["controller"] is not None for row in rows):
        columns.append(Column("controller", "own CPU", format_share))
    columns += [_change_column(name, _interval) for name in _COMPARED]
    columns += [_change_column(name, _value) for name in _WITHOUT_INTERVAL]
    return Table("policies", columns, rows)


def _measure(name: str) -> Callable[[Mapping[str, Any]], Any]:
    return lambda row: row["measures"].get(name)


def _change_column(name: str, show: Callable[[Any], str], title: str = "") -> Column:
    """A column with a measure's difference from the baseline."""

    def value(row: Mapping[str, Any]) -> Any:
        return (row["differences"] or {}).get(name)

    return Column(f"{name}_change", f"Δ {title or name}", show, value)


def _extra_table(about: str, rows: Sequence[Mapping[str, Any]], names: Sequence[str], compared: str) -> Table:
    """Measures of deadlines or of the queue, and the change of one of them against the baseline."""
    columns = [Column("label", "policy")]
    columns += [
        Column(
            name,
            _HEADS.get(name, EXTRA_MEASURES[name].short.lower()),
            partial(_format_measure, name),
            _measure(name),
        )
        for name in names
    ]
    columns.append(
        _change_column(compared, partial(_format_change, compared), EXTRA_MEASURES[compared].short.lower())
    )
    return Table(about, columns, rows)


def _format_measure(name: str, value: float) -> str:
    if name in COUNTS:
        return format_number(value, 1)
    return format_share(value) if EXTRA_MEASURES[name].unit == "share" else format_number(value, 1)


def _format_change(name: str, change: Mapping[str, Any]) -> str:
    """A relative difference, or one in seconds or points where the baseline has none."""
    if change["value"] is not None or not change["seconds"]:
        return _interval(change)
    scale, unit = (100.0, "points") if EXTRA_MEASURES[name].unit == "share" else (1.0, "s")
    text = f"{scale * change['seconds']:+,.1f} {unit}".replace("-", "−")
    if change["seconds_low"] is None:
        return text
    low, high = scale * change["seconds_low"], scale * change["seconds_high"]
    return f"{text} ({low:+,.1f} … {high:+,.1f})".replace("-", "−")


def print_replay(report: Mapping[str, Any]) -> None:
    """Print the result of a replay."""
    console, n = _console(), len(report["differences"])
    if report["equal"]:
        console.print(
            f"{plain(report['label'])} makes the same decisions at all {report['ticks']:,} ticks.",
            highlight=False,
        )
        return
    console.print(f"{plain(report['label'])} decides differently at {n:,} of {report['ticks']:,} ticks:")
    for each in report["differences"][:10]:
        decided, recorded = plain(str(each["decided"])), plain(str(each["recorded"]))
        console.print(f"• tick {each['tick']}: {decided} instead of {recorded}", highlight=False)


def _interval(change: Mapping[str, Any]) -> str:
    text = _value(change)
    if change["value"] is None or change["low"] is None:
        return text
    return f"{text} ({_change(change['low'])} … {_change(change['high'])})"


def _value(change: Mapping[str, Any]) -> str:
    return DASH if change["value"] is None else _change(change["value"])


def _change(value: float) -> str:
    return format_change(0.0 if abs(value) < _TINY else value)


def _print(table: Table, console: Console) -> None:
    numbers = {column.key for column in table.columns if column.is_right}
    print_table(table, console, whole={table.columns[0].key, *numbers})


def _console() -> Console:
    return Console(soft_wrap=True, width=_WIDE)
