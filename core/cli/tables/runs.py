"""Terminal output for experiments and their runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Console
from rich.table import Table

from core.cli.output import plain
from core.experiments.measures import COUNTS, FURTHER_MEASURES, telling
from core.experiments.spec import ENGINES
from core.units import format_change, format_number, format_share

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from core.experiments.spec import Experiment

_WIDE = 190
_TINY = 5e-4
_MEASURED = ("mean", "makespan", "t90", "t95", "t99", "worst_slowdown")
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


def experiments(found: Sequence[tuple[str, Experiment]]) -> None:
    """The bundled experiments."""
    table = _table("name", "jobs", "workers", "policies", "seeds", "about", right=(1, 2, 3, 4))
    for name, made in found:
        workers = sum(group.count for group in made.workers)
        counts = (made.n_jobs, workers, len(made.policies), len(made.seeds))
        table.add_row(name, *(str(count) for count in counts), plain(made.about))
    _console().print(table)


def simulated(report: Mapping[str, Any]) -> None:
    """Policies compared over seeds, and what the simulator says of them where they were run for real."""
    console, baseline, predicted = _console(), plain(report["baseline"]), report["predicted"]
    console.print(
        f"[bold]{plain(report['name'])}[/]: {_count(report['n_jobs'], 'job')}, "
        f"{_count(report['n_workers'], 'worker')}, {_where(report)}; "
        f"{_count(len(report['seeds']), 'seed')}",
        highlight=False,
    )
    console.print(_policies(report["policies"]))
    found = telling([row["measures"] for row in report["policies"]])
    for about, of in (("deadlines", "met"), ("queue", "waiting")):
        if about in found:
            console.print(_further(report["policies"], found[about], of))
    if predicted:
        console.print(f"The simulator of the same jobs, fitted to {baseline} alone:", highlight=False)
        console.print(_policies(predicted["comparison"]))
    console.print(
        f"Means over seeds, in seconds; Δ against {baseline}, paired by seed, with its 95% interval.",
        highlight=False,
    )
    first = next((run for run in report["runs"] if run["ticks"]), None)
    if first:
        console.print(f"Step through a ledger in the browser, or run: phasedock replay {first['run']}")


def _where(report: Mapping[str, Any]) -> str:
    if ENGINES[report["engine"]].real:
        return "real containers"
    world = report["world"]
    return f"γ {world['gamma']:g}, {plain(world['curves'])} losses"


def _policies(rows: Sequence[Mapping[str, Any]]) -> Table:
    real = any(row["controller"] is not None for row in rows)
    heads = ["policy", *_MEASURED[:-1], "slowdown", "moves", *(["own CPU"] if real else [])]
    changes = tuple(f"Δ {name}" for name in (*_COMPARED, *_WITHOUT_INTERVAL))
    table = _table(*heads, *map(plain, changes), right=range(1, len(heads) + len(changes)))
    for row in rows:
        measures = [_seconds(row["measures"][name]) for name in _MEASURED]
        measures.append(format_number(row["migrations"], 1))
        if real:
            measures.append("–" if row["controller"] is None else format_share(row["controller"]))
        differences = row["differences"] or {}
        shown = [_interval(differences.get(name)) for name in _COMPARED]
        shown += [_value(differences.get(name)) for name in _WITHOUT_INTERVAL]
        table.add_row(plain(row["label"]), *measures, *shown)
    return table


def _further(rows: Sequence[Mapping[str, Any]], names: Sequence[str], of: str) -> Table:
    """What became of deadlines or in the queue, and the change of one of these measures."""
    heads = ["policy", *(_HEADS.get(name, FURTHER_MEASURES[name].short.lower()) for name in names)]
    table = _table(*heads, f"Δ {FURTHER_MEASURES[of].short.lower()}", right=range(1, 20))
    for row in rows:
        measures = [_further_value(name, row["measures"].get(name)) for name in names]
        change = _further_change((row["differences"] or {}).get(of), of)
        table.add_row(plain(row["label"]), *measures, change)
    return table


def _further_value(name: str, value: float | None) -> str:
    if value is None:
        return "–"
    if name in COUNTS:
        return format_number(value, 1)
    return format_share(value) if FURTHER_MEASURES[name].unit == "share" else format_number(value, 1)


def _further_change(change: Mapping[str, Any] | None, of: str) -> str:
    """A relative difference, or one in seconds or points where the baseline has none."""
    if change is None or change["value"] is not None or not change["seconds"]:
        return _interval(change)
    scale, unit = (100.0, "points") if FURTHER_MEASURES[of].unit == "share" else (1.0, "s")
    text = f"{scale * change['seconds']:+,.1f} {unit}".replace("-", "−")
    if change["seconds_low"] is None:
        return text
    low, high = scale * change["seconds_low"], scale * change["seconds_high"]
    return f"{text} ({low:+,.1f} … {high:+,.1f})".replace("-", "−")


def replayed(report: Mapping[str, Any]) -> None:
    """What a replay found."""
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


def _interval(change: Mapping[str, Any] | None) -> str:
    if change is None or change["value"] is None:
        return "–"
    text = _change(change["value"])
    return text if change["low"] is None else f"{text} ({_change(change['low'])} … {_change(change['high'])})"


def _value(change: Mapping[str, Any] | None) -> str:
    return "–" if change is None or change["value"] is None else _change(change["value"])


def _change(value: float) -> str:
    return format_change(0.0 if abs(value) < _TINY else value)


def _count(n: int, what: str) -> str:
    return f"{n:,} {what}" if n == 1 else f"{n:,} {what}s"


def _seconds(value: float | None) -> str:
    return "–" if value is None else format_number(value)


def _table(*heads: str, right: Sequence[int]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for place, head in enumerate(heads):
        number = place in right
        table.add_column(head, justify="right" if number else "left", no_wrap=number or place == 0)
    return table


def _console() -> Console:
    return Console(soft_wrap=True, width=_WIDE)
