"""What is easily taken for something else: rates with a counter's name, machines in one file, spans."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import numpy as np

from core.traces.model import Role
from core.units import MIB
from tests.reading.written.writers import Lane, Written

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from tests.reading.written.truth import Truth

_COUNTERS = {"container_cpu_usage_seconds_total": 1.0, "cpu_usage_ns": 1e9, "cpu_usage_usec": 1e6}
_RATES = (
    "rate(container_cpu_usage_seconds_total[5m])",
    "node_namespace_pod_container:container_cpu_usage_seconds_total:sum_irate",
)
_MEMORY = "container_memory_working_set_bytes"


def rates(known: Truth, chance: Random) -> Written:
    """CPU as a counter, as its rate, or as a rate under the counter's own name; a table or an answer."""
    name = chance.choice((*_COUNTERS, *_RATES))
    factor, counted = _COUNTERS.get(name, 1.0), name in _COUNTERS and chance.random() < 0.6
    cpu = ((known.cpu * known.period).cumsum(axis=1) if counted else known.cpu) * factor
    held = {"first": 1 if counted else 0, "cpu": 1e-5, "memory": 0.5}
    if chance.random() < 0.5:
        lines = [f'time,pod,"{name}",{_MEMORY}']
        for p, pod in enumerate(known.names):
            lines += [
                f"{known.time(i):.0f},{pod},{cpu[p, i]:.6f},{known.memory[p, i]:.0f}"
                for i in range(known.samples)
            ]
        return Written("panel.csv", "\n".join(lines) + "\n", **held)
    series = [
        {
            "metric": {"__name__": metric, "pod": pod, "container": "main"},
            "values": [[known.time(i), f"{values[p, i]:.6f}"] for i in range(known.samples)],
        }
        for p, pod in enumerate(known.names)
        for metric, values in ((name, cpu), (_MEMORY, known.memory))
    ]
    answer = {"status": "success", "data": {"resultType": "matrix", "result": series}}
    return Written("answer.json", json.dumps(answer), rename=lambda pod: f"{pod}/main", **held)


def places(known: Truth, chance: Random) -> Written:
    """One container on several machines, its rows in turns or a machine after the other."""
    where = chance.choice(("host", "node", "namespace", "rank"))
    names = [str(p) for p in range(len(known.names))] if where == "rank" else list(known.names)
    rows = [(p, i) for p in range(len(names)) for i in range(known.samples)]
    if chance.random() < 0.6:
        rows.sort(key=lambda pair: pair[1])
    shift = chance.choice((0.0, 0.1))
    lines = [f"time,container,{where},cpu_cores,memory_mib"]
    for p, i in rows:
        when = known.time(i) + shift * p * known.period
        lines.append(f"{when:.1f},trainer,{names[p]},{known.cpu[p, i]:.3f},{known.memory[p, i] / MIB:.3f}")
    alone = len(names) == 1
    return Written(
        "places.csv",
        "\n".join(lines) + "\n",
        6e-4,
        600,
        lambda name: "trainer" if alone else f"trainer/{names[known.names.index(name)]}",
        clock="any",
    )


def _clock(seconds: float) -> str:
    return f"{int(seconds) // 3600}:{int(seconds) // 60 % 60:02d}:{int(seconds) % 60:02d}"


def _minutes(seconds: float) -> str:
    return f"{int(seconds) // 60:02d}:{int(seconds) % 60:02d}"


_SPANS: dict[str, Callable[[float], str]] = {
    "s": lambda seconds: f"{seconds:.1f}",
    "ms": lambda seconds: f"{1000 * seconds:.0f}",
    "min": lambda seconds: f"{seconds / 60:.7f}",
    "h": lambda seconds: f"{seconds / 3600:.9f}",
    "": _clock,
    "mmss": _minutes,
}


def spans(known: Truth, chance: Random) -> Written:
    """Time from the beginning of each execution, its unit in the name of the column or nowhere."""
    unit = chance.choice(tuple(_SPANS))
    name = chance.choice(("t", "time", "elapsed"))
    if unit not in ("", "mmss") and chance.random() < 0.6:
        name = chance.choice((f"{name}_{unit}", f"{name} ({unit})"))
    lines = [f"{name},job,cpu_cores,memory_mib"]
    for p, job in enumerate(known.names):
        lines += [
            f"{_SPANS[unit](i * known.period)},{job},{known.cpu[p, i]:.3f},{known.memory[p, i] / MIB:.3f}"
            for i in range(known.samples)
        ]
    return Written("spans.csv", "\n".join(lines) + "\n", 6e-4, 600, clock="any")


_DAYS = ("%Y-%m-%d", "%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y", "%Y%m%d", "%d %b %Y", "%Y/%m/%d")
_HALVES = (("Date", "Time"), ("Datum", "Uhrzeit"), ("date", "time_of_day"), ("date", "clock"))


def halves(known: Truth, chance: Random) -> Written:
    """A date and a time of day in two columns, in any place."""
    day, clock = chance.choice(_DAYS), chance.choice(("%H:%M:%S", "%H:%M:%S", "%I:%M:%S %p"))
    date, time = chance.choice(_HALVES)
    order = chance.sample((date, time, "pod", "cpu_cores", "memory_mib"), 5)
    rows = [(p, i) for p in range(len(known.names)) for i in range(known.samples)]
    if chance.random() < 0.5:
        rows.sort(key=lambda pair: pair[1])
    mark = chance.choice((",", ";"))
    lines = [mark.join(order)]
    for p, i in rows:
        when = datetime.fromtimestamp(known.time(i), UTC)
        cells = {
            date: when.strftime(day),
            time: when.strftime(clock),
            "pod": known.names[p],
            "cpu_cores": f"{known.cpu[p, i]:.3f}",
            "memory_mib": f"{known.memory[p, i] / MIB:.3f}",
        }
        lines.append(mark.join(cells[name] for name in order))
    return Written("halves.csv", "\n".join(lines) + "\n", 6e-4, 600)


def wide_gpus(known: Truth, chance: Random) -> Written:
    """A container's CPU and memory beside those of its GPUs, a column each, in any order."""
    style = chance.choice(("gpu{}_", "gpu_{}_", "GPU {} "))
    use = np.minimum(known.cpu / 14 * 100, 100).round(1)
    columns = {"cpu_cores": known.cpu[0], "memory_mib": known.memory[0] / MIB}
    lanes = [Lane(Role.CPU, known.cpu[0], 6e-4), Lane(Role.MEMORY, known.memory[0], 600)]
    for p in range(len(known.names)):
        part = style.format(p)
        columns[f"{part}util_percent"], columns[f"{part}mem_used_mib"] = use[p], known.memory[p] / MIB
        lanes += [
            Lane(Role.GPU, use[p] / 100, 1e-6, part),
            Lane(Role.GPU_MEMORY, known.memory[p], 600, part),
        ]
    order = chance.sample(list(columns), len(columns))
    lines = [",".join(["timestamp", "pod", *order])]
    for i in range(known.samples):
        cells = (f"{columns[one][i]:.3f}" for one in order)
        lines += [",".join([f"{known.time(i):.0f}", "pod-a", *cells])]
    return Written("gpus.csv", "\n".join(lines) + "\n", lanes={"pod-a": lanes})


WRITERS: dict[str, Callable[[Truth, Random], Written]] = {
    "rates": rates,
    "places": places,
    "spans": spans,
    "halves": halves,
    "wide GPUs": wide_gpus,
}
