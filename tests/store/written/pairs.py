"""Two files that belong together: CPU in one, memory in the other, each written in its own way."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

from tests.store.written.truth import CPU_UNITS, MEMORY_UNITS, number, stamp
from tests.store.written.writers import Written

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from tests.store.written.truth import Truth


def pair(known: Truth, chance: Random) -> Written:
    """CPU here and memory there: clocks may differ a little, rows or a container may be missing in one."""
    cpu, memory = chance.choice(list(CPU_UNITS.values())), chance.choice(list(MEMORY_UNITS.values()))
    shift = chance.choice((0.0, 0.0, 0.3 * known.period, -0.2 * known.period))
    lost = chance.choice(("", "", "", "rows", "container" if len(known.names) > 1 else ""))
    both = [(p, i) for p in range(len(known.names)) for i in range(known.samples)]
    gone = {"rows": chance.sample(both, len(both) // 7), "container": [one for one in both if one[0] == 0]}
    there = [one for one in both if one not in gone.get(lost, ())]
    first = _table(known, chance, cpu, known.cpu, both, 0.0)
    second = _table(known, chance, memory, known.memory, there, shift)
    if chance.random() < 0.2:
        second = _series(known, "container_memory_working_set_bytes", there, shift)
        memory = MEMORY_UNITS["bytes"]
    held = Written(
        "cpu.csv",
        first,
        0.6 * 10.0 ** -cpu[2] / cpu[1] + 6e-4,
        0.6 * 10.0 ** -memory[2] / memory[1] + 1,
        others={"memory.csv": second},
    )
    return replace(held, lanes={}) if lost else held  # nothing that lost rows may pass as what was written


def _table(known: Truth, chance: Random, unit, values, rows: list[tuple[int, int]], shift: float) -> str:
    """A long table of one quantity, with any separator, order and writing."""
    separator, when = chance.choice((",", ";", "\t")), stamp(chance)
    style = chance.choice(("point", "point", "comma")) if separator != "," else "point"
    names = [
        chance.choice(("time", "timestamp", "ts")), chance.choice(("pod", "container", "job_id")), unit[0]
    ]  # fmt: skip
    order, mixed = chance.sample(range(3), 3), list(rows)
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


def _series(known: Truth, metric: str, rows: list[tuple[int, int]], shift: float) -> str:
    """A Prometheus answer of a gauge, by pod."""
    series = [
        {
            "metric": {"__name__": metric, "pod": name},
            "values": [[known.time(i) + shift, str(known.memory[q, i])] for q, i in rows if q == p],
        }
        for p, name in enumerate(known.names)
    ]
    found = [one for one in series if one["values"]]
    return json.dumps({"status": "success", "data": {"resultType": "matrix", "result": found}})


WRITERS: dict[str, Callable[[Truth, Random], Written]] = {"two files": pair}
