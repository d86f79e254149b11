"""What the order of rows tells: a counter that falls is none, names that take turns are of several series."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

from core.traces.cells.numbers import EMPTY, read, style_of
from core.traces.mapping import UNKNOWN
from core.units import FILE_UNITS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.traces.cells.numbers import NumberStyle
    from core.traces.mapping import ColumnMapping

MOST_FALLS = 0.05
"""What falls at more of its steps than this has only a counter's name: counters rarely start again."""
TURNS = 0.1
"""Columns take turns within an execution where they change at more of its steps than this."""

IDENTITIES = frozenset(
    (
        *(
            "namespace",
            "cluster",
            "host",
            "hostname",
            "host_name",
            "node",
            "node_name",
            "instance",
            "machine",
        ),
        *(
            "machine_id",
            "vm",
            "vm_id",
            "pod",
            "pod_name",
            "container",
            "container_name",
            "container_id",
            "service",
        ),
        *(
            "job",
            "job_id",
            "task",
            "task_id",
            "run",
            "run_id",
            "replica",
            "worker",
            "rank",
            "local_rank",
            "process",
        ),
        *("pid", "gpu", "gpu_id", "gpu_index", "gpu_idx", "gpu_uuid", "uuid", "device", "device_id", "index"),
    )
)
"""What a column is called that names a part of an execution, or the place of one."""


def by_execution(
    names: Sequence[str], header: Sequence[str], rows: Sequence[Sequence[str]]
) -> list[list[Sequence[str]]]:
    """The rows of each execution, which some columns name together, in the order of the file."""
    places = [header.index(name) for name in names]
    found: dict[tuple[str, ...], list[Sequence[str]]] = {}
    for row in rows:
        if len(row) == len(header):
            found.setdefault(tuple(row[place] for place in places), []).append(row)
    return list(found.values())


def without_false_counters(
    mapping: ColumnMapping, header: Sequence[str], rows: Sequence[Sequence[str]]
) -> ColumnMapping:
    """The mapping in which a counter that falls as gauges do has an unknown unit.

    A recording rule and a legend keep the name of the counter that they are the rate of.
    """
    counters = [
        one.column
        for one in mapping.features
        if one.unit_key in FILE_UNITS and FILE_UNITS[one.unit_key].cumulative
    ]
    if not counters:
        return mapping
    style = style_of(cell for row in rows for cell in row)
    groups = by_execution(mapping.executions, header, rows)
    false = {name for name in counters if _falls(groups, header.index(name), style) > MOST_FALLS}
    features = tuple(
        replace(one, unit_key=UNKNOWN) if one.column in false else one for one in mapping.features
    )
    return replace(mapping, features=features, assumed=tuple(n for n in mapping.assumed if n not in false))


def _falls(groups: Sequence[Sequence[Sequence[str]]], place: int, style: NumberStyle) -> float:
    """The share of a column's steps that go the rarer way: a file may also begin with its latest row."""
    up = down = steps = 0
    for rows in groups:
        found = (read(row[place], style) for row in rows if row[place].strip() not in EMPTY)
        values = [number.value for number in found if number is not None]
        for before, after in pairwise(values):
            steps += 1
            up += after > before
            down += after < before
    return min(up, down) / max(steps, 1)


def telling_apart(
    names: Sequence[str], others: Sequence[str], header: Sequence[str], rows: Sequence[Sequence[str]]
) -> list[str]:
    """Those of other columns that tell apart what the names of executions do not: their rows take turns."""
    found: list[str] = []
    for name in others:
        if _takes_turns(by_execution([*names, *found], header, rows), header.index(name)):
            found.append(name)
    return found


def _takes_turns(groups: Sequence[Sequence[Sequence[str]]], place: int) -> bool:
    """Whether a column goes to and fro within executions."""
    for rows in groups:
        cells = [row[place].strip() for row in rows]
        changes = sum(before != after for before, after in pairwise(cells))
        if changes >= len(set(cells) - EMPTY) > 1 and changes > TURNS * len(cells):
            return True
    return False
