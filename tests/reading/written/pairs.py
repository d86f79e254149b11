"""Two files that belong together: CPU in one, memory in the other, each written in its own way."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

from tests.reading.written.truth import CPU_UNITS, MEMORY_UNITS, number, stamp
from tests.reading.written.writers import Written

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from tests.reading.written.truth import Truth


def pair(known: Truth, chance: Random) -> Written:
    """CPU here and memory there: tables, a counter, a slower file, or files of one container each."""
    how = chance.choice((_tables, _tables, _tables, _counter, _slower, _by_container))
    return how(known, chance)


def _tables(known: Truth, chance: Random) -> Written:
    """Clocks may differ a little, rows or a container may be missing in one."""
    cpu, memory = chance.choice(list(CPU_UNITS.values())), chance.choice(list(MEMORY_UNITS.values()))
    shift = chance.choice((0.0, 0.0, 0.3 * known.period, -0.2 * known.period))
    lost = chance.choice(("", "", "", "rows", "container" if len(known.names) > 1 else ""))
    both = _rows(known)
    gone = {"rows": chance.sample(both, len(both) // 7), "container": [one for one in both if one[0] == 0]}
    there = [one for one in both if one not in gone.get(lost, ())]
    first = _table(known, chance, cpu, known.cpu, both, 0.0)
    second = _table(known, chance, memory, known.memory, there, shift)
    if chance.random() < 0.2:
        second = _series(known, "container_memory_working_set_bytes", known.memory, there, shift)
        memory = MEMORY_UNITS["bytes"]
    written = _of(cpu, memory, {"cpu.csv": first, "memory.csv": second})
    return replace(written, lanes={}) if lost else written  # what lost rows may not pass as what was written


def _counter(known: Truth, chance: Random) -> Written:
    """Seconds of CPU that grow, by container, and memory in any table that knows pods alone."""
    memory, shift = chance.choice(list(MEMORY_UNITS.values())), chance.choice((0.0, 0.3 * known.period))
    total = (known.cpu * known.period).cumsum(axis=1)
    counter = _series(known, "container_cpu_usage_seconds_total", total, _rows(known), 0.0, container="main")
    table = _table(known, chance, memory, known.memory, _rows(known), shift)
    written = _of(CPU_UNITS["cores"], memory, {"cpu.json": counter, "memory.csv": table})
    return replace(written, rename=lambda name: f"{name}/main", first=1)


def _slower(known: Truth, chance: Random) -> Written:
    """Memory that was sampled every third time only: nothing can be green."""
    cpu, memory = chance.choice(list(CPU_UNITS.values())), chance.choice(list(MEMORY_UNITS.values()))
    first = _table(known, chance, cpu, known.cpu, _rows(known), 0.0)
    third = [one for one in _rows(known) if one[1] % 3 == 0]
    second = _table(known, chance, memory, known.memory, third, 0.0)
    return replace(_of(cpu, memory, {"cpu.csv": first, "memory.csv": second}), lanes={})


def _by_container(known: Truth, chance: Random) -> Written:
    """Two files of each container, which only their names tell."""
    cpu, memory = chance.choice(list(CPU_UNITS.values())), chance.choice(list(MEMORY_UNITS.values()))
    named = chance.choice(("{what}-{name}.csv", "{name}_{what}.csv"))
    files = {}
    for p, name in enumerate(known.names):
        rows = [one for one in _rows(known) if one[0] == p]
        for what, unit, values in (("cpu", cpu, known.cpu), ("memory", memory, known.memory)):
            table = _table(known, chance, unit, values, rows, 0.0, alone=True)
            files[named.format(what=what, name=name)] = table
    return _of(cpu, memory, files)


def _of(cpu, memory, files: dict[str, str]) -> Written:
    """Files whose CPU and memory are written in these units."""
    (name, text), *others = files.items()
    return Written(
        name,
        text,
        0.6 * 10.0 ** -cpu[2] / cpu[1] + 6e-4,
        0.6 * 10.0 ** -memory[2] / memory[1] + 1,
        others=dict(others),
    )


def _rows(known: Truth) -> list[tuple[int, int]]:
    return [(p, i) for p in range(len(known.names)) for i in range(known.samples)]


def _table(
    known: Truth, chance: Random, unit, values, rows: list[tuple[int, int]], shift: float, alone: bool = False
) -> str:
    """A long table of one quantity, with any separator, order and writing; `alone` without executions."""
    separator, when = chance.choice((",", ";", "\t")), stamp(chance)
    style = chance.choice(("point", "point", "comma")) if separator != "," else "point"
    names = [
        chance.choice(("time", "timestamp", "ts")), chance.choice(("pod", "container", "job_id")), unit[0]
    ]  # fmt: skip
    order, mixed = chance.sample((0, 2) if alone else (0, 1, 2), 2 if alone else 3), list(rows)
    if chance.random() < 0.5:
        mixed.sort(key=lambda one: one[1])
    lines = [separator.join(names[k] for k in order)]
    for p, i in mixed:
        cells = (
            when(known.time(i) + shift),
            known.names[p],
            number(values[p, i] * unit[1], unit[2], style) + unit[3],
        )
        lines.append(separator.join(cells[k] for k in order))
    return "\n".join(lines) + "\n"


def _series(
    known: Truth, metric: str, values, rows: list[tuple[int, int]], shift: float, **labels: str
) -> str:
    """A Prometheus answer of one metric, by pod and further labels."""
    series = [
        {
            "metric": {"__name__": metric, "pod": name, **labels},
            "values": [[known.time(i) + shift, repr(float(values[q, i]))] for q, i in rows if q == p],
        }
        for p, name in enumerate(known.names)
    ]
    found = [one for one in series if one["values"]]
    return json.dumps({"status": "success", "data": {"resultType": "matrix", "result": found}})


WRITERS: dict[str, Callable[[Truth, Random], Written]] = {"two files": pair}
