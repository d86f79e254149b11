"""What the rest of a table says of a unit: of whom percentages are, and whether GB are of 1000³ bytes.

A name and its values say that 240 is a percentage of one core, unless the table is of pods: there it may be
one of what a pod requested. ``node_cpu_percent`` is of a machine where a column names nodes, and may be that
of a program in Node.js elsewhere. What programs call GB is 1024³ bytes about as often as 1000³; the memory of
a whole machine tells which, since it is a little less than what was built in.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from core.traces.cells.dates import CLOCK, MINUTES, is_clock, is_date
from core.traces.cells.numbers import BINARY, EMPTY, columns_of_rows, style_of_rows
from core.traces.guessing import cpu_and_memory_columns
from core.traces.guessing.column_names import key, unnamed, words
from core.traces.guessing.cpu_and_memory_columns import further_role
from core.traces.guessing.order import cells_of_longest, is_identity, telling_apart
from core.traces.guessing.times import Times, look_at, without_unit
from core.traces.guessing.units import Column, UnitGuess, of_one_core, unit_of
from core.traces.mapping import PERIOD, UNKNOWN, ColumnMapping, MappedColumn
from core.traces.model import Role
from core.units import FILE_UNITS, GIB, Unit

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence


_REQUESTED = frozenset(
    ("pod", "pods", "namespace", "kubernetes", "k8s", "kube", "ecs", "cluster", "deployment", "statefulset",
     "replicaset", "daemonset", "workload", "request", "requests", "requested", "reserved", "reservation")
)  # fmt: skip
"""Words of tables of containers that are given shares of a machine, and percentages of these."""
_POD = re.compile(r"[a-z0-9.-]+-[bcdfghjklmnpqrstvwxz2456789]{6,10}-[bcdfghjklmnpqrstvwxz2456789]{5}")
"""What Kubernetes calls a pod of a deployment; it leaves out vowels and what looks like other characters."""
_PROGRAMS = frozenset(("process", "proc", "program", "app", "application", "service", "server"))
"""Words beside which a node may be Node.js, as it may where it stands first."""
_NODES = frozenset(("node", "nodes", "nodename", "host", "hostname", "machine", "instance"))
_WHOLES = frozenset(("total", "size", "capacity", "installed"))
_BUILT_IN = tuple(GIB * factor * 2**power for power in range(14) for factor in (1, 1.5))
_LEFT = (0.94, 0.999)
"""The share of the memory built in that a system says it has: it keeps a little for itself."""

Mapped = list[tuple["MappedColumn", bool]]


def in_context(mapped: Mapped, columns: Mapping[str, Column], names: Sequence[str]) -> Mapped:
    """The features of a table and whether they are sure, in the light of all its columns."""
    pods = _of_pods(columns, names)
    nodes = any(_NODES & set(words(name)) and not column.numeric for name, column in columns.items())
    bytes_of = _meant(columns)
    seen = [_seen(one, sure, pods, nodes, bytes_of) for one, sure in mapped]
    # of cells with a unit, each says so itself when it is read
    written = {one.column for one, _ in mapped if columns[one.column].written is Unit.BYTES}
    return [
        before if before[0].column in written else after for before, after in zip(mapped, seen, strict=True)
    ]


def _seen(
    one: MappedColumn, sure: bool, pods: bool, nodes: bool, bytes_of: Mapping[str, str]
) -> tuple[MappedColumn, bool]:
    """A feature in a table that is of pods, that names nodes, or whose GB are known."""
    said = words(one.column)
    of_requests = pods and one.unit_key == "percent_of_core" and not of_one_core(said)
    program = said[:1] == ("node",) or ("node" in said and bool(_PROGRAMS & set(said)))
    of_js = not nodes and one.unit_key == "percent_of_machine" and program
    if one.role is Role.CPU and (of_requests or of_js):
        return replace(one, unit_key=UNKNOWN), True
    if one.role in (Role.MEMORY, Role.GPU_MEMORY) and one.unit_key in BINARY:
        meant = bytes_of.get(one.unit_key) if one.role is Role.MEMORY else None
        return replace(one, unit_key=meant or one.unit_key), sure and meant is not None
    return one, sure


def _of_pods(columns: Mapping[str, Column], names: Collection[str]) -> bool:
    """Whether a table is of containers that request shares of a machine, by its columns or by their names."""
    if any(_REQUESTED & set(words(name)) for name in columns):
        return True
    return any(_POD.fullmatch(cell.strip()) for name in names for cell in set(columns[name].cells))


def _meant(columns: Mapping[str, Column]) -> dict[str, str]:
    """Which of 1000 and 1024 a unit's name means, where the memory of a machine is among the columns."""
    found: dict[str, str] = {}
    for name, column in columns.items():
        said = set(words(name))
        unit = next((key for key in BINARY if key in said), None)
        sizes = set(column.values()) if unit and _WHOLES & said else set()
        if unit is None or len(sizes) != 1 or column.written is not None:
            continue
        size = sizes.pop()
        fits = [key for key in (unit, BINARY[unit]) if _is_of_machine(size * FILE_UNITS[key].factor)]
        if len(fits) == 1:
            found[unit] = fits[0]
    return found


def _is_of_machine(size: float) -> bool:
    """Whether so many bytes are what is left of the memory built into a machine."""
    return any(_LEFT[0] <= size / whole <= _LEFT[1] for whole in _BUILT_IN)


MOST_FEATURES = 64
INDEX = "index"  # the name of a first column that the header leaves out

_TIME = (
    "timestamp", "time_stamp", "time", "datetime", "date_time", "date", "ts", "epoch", "unix", "unix_time",
    "unixtime", "local_time", "_time", "_timestamp", "seconds", "elapsed", "elapsed_time", "t",
    "relative_time", "uptime", "sample_time", "when", "zeit", "zeitstempel", "sampled_at",
    "recorded_at", "collected_at", "start_time", "wall_time",
    "minutes", "minute", "hours",
)  # fmt: skip
_EXECUTION = (
    "execution", "execution_id", "exec_id", "exec", "run", "run_id", "run_name", "pod", "pod_id", "pod_name",
    "container_name", "container_id", "container", "instance_id", "job_name", "job_id", "job", "task_id",
    "task", "vm_id", "vm", "instance", "hostname", "host", "machine_id", "machine", "series", "name", "id",
)  # fmt: skip
# a pod's name does not tell its containers apart
_TOGETHER = {"pod": ("container", "container_name"), "pod_name": ("container", "container_name"),
             "pod_id": ("container", "container_name"), "job_name": ("run_id", "task_id"),
             "job": ("run_id", "task_id")}  # fmt: skip


def guess(header: tuple[str, ...], rows: tuple[tuple[str, ...], ...]) -> ColumnMapping | None:
    """A mapping from names and values; None where no column has numbers."""
    cells = dict(zip(header, columns_of_rows(rows, len(header)), strict=True))
    whole = header
    if header[:1] == (INDEX,) and not _mostly(is_date, cells[INDEX]):
        header = header[1:]  # it numbers or names the rows
    style = style_of_rows(rows)
    columns = {name: Column(name, cells[name], style) for name in header}
    numeric = [name for name in header if columns[name].numeric]
    timed = (*_TIME, INDEX)
    lowest = [name for name in header if _has_highest(name, header)]
    time = _first(
        [name for name in header if name not in lowest],
        timed,
        lambda name: name in numeric or _mostly(_dated, cells[name]),
        without_unit,
    )
    if time is None:
        time = next((name for name in header if _mostly(is_date, cells[name])), None)
    names = [name for name in header if name != time]
    execution = _first(names, _EXECUTION, lambda name: _names(cells[name], name in numeric))
    taken = {time, execution, *numeric}
    texts = [n for n in header if n not in taken and any(cells[n]) and not _mostly(_dated, cells[n])]
    parts = _further_parts(execution, texts, cells)
    named = () if execution is None else (execution, *parts)
    others = [n for n in names if is_identity(n) and n not in named and _names(cells[n], n in numeric)]
    named = (*named, *telling_apart(named, others, time, whole, rows))
    features = [name for name in numeric if name != time and name not in named]
    still = cpu_and_memory_columns.unchanging(features, named, whole, rows)
    alone = _features([columns[name] for name in features], named, still)
    mapped = in_context(alone, columns, named)
    if not mapped:
        return None
    times = (
        Times(("none",))
        if time is None
        else look_at(time, cells[time], cells_of_longest(time, named, whole, rows))
    )
    return ColumnMapping(
        features=tuple(one for one, _ in mapped),
        execution=named[0] if named else None,
        execution_parts=named[1:],
        time=time,
        time_unit=times.unit,
        period=1.0 if time is None else None,
        attributes=tuple(name for name in texts if name not in named)[:8],
        assumed=(*_assumed_time(time, times, cells), *(one.column for one, sure in mapped if not sure)),
    )


def _assumed_time(time: str | None, times: Times, cells: dict[str, tuple[str, ...]]) -> tuple[str, ...]:
    """What is assumed of time: the period of a table without, seconds of its numbers, that no date counts."""
    if time is None:
        return (PERIOD,)
    clock = times.units[0] in (CLOCK, MINUTES) and any(_mostly(is_date, texts) for texts in cells.values())
    return (time,) if times.assumed or clock else ()


def _has_highest(name: str, header: Sequence[str]) -> bool:
    """Whether a name ends with the lowest of something whose highest is there, too, and not with minutes."""
    said = words(name)
    return said[-1:] == ("min",) and any(words(other) == (*said[:-1], "max") for other in header)


def _dated(text: str) -> bool:
    return is_date(text) or is_clock(text)


def _first(
    names: Sequence[str],
    wanted: Sequence[str],
    fits: Callable[[str], bool],
    words_of: Callable[[str], Sequence[str]] = words,
) -> str | None:
    keys: dict[str, str] = {}
    for name in names:
        keys.setdefault(key(name), name)
        keys.setdefault("_".join(words_of(name)), name)
    return next((keys[one] for one in wanted if one in keys and fits(keys[one])), None)


def _mostly(fits: Callable[[str], bool], texts: Sequence[str]) -> bool:
    filled = [text for text in texts if text not in EMPTY]
    return bool(filled) and sum(fits(text) for text in filled) * 2 > len(filled)


def _names(texts: Sequence[str], numeric: bool) -> bool:
    """Tell whether a column can hold names: strings, or whole numbers that repeat."""
    filled = [text for text in texts if text not in EMPTY]
    if not filled:
        return False
    if all(re.fullmatch(r"-?\d+", text) for text in filled):
        return len(filled) == 1 or len(set(filled)) < len(filled)
    return not numeric


def _further_parts(
    execution: str | None, texts: Sequence[str], cells: dict[str, tuple[str, ...]]
) -> tuple[str, ...]:
    """The column that tells the containers of a pod, or the runs of a job, apart."""
    if execution is None:
        return ()
    wanted = _TOGETHER.get(key(execution), ())
    found = next((name for name in texts if key(name) in wanted), None)
    varies = found is not None and len(set(cells[found]) - EMPTY) > 1
    return (found,) if found is not None and varies else ()


def _features(
    columns: Sequence[Column], executions: Sequence[str], still: Collection[str]
) -> list[tuple[MappedColumn, bool]]:
    """All numeric columns with roles and units, and whether they are sure; CPU and memory once each."""
    names = [column.name for column in columns]
    cpu = cpu_and_memory_columns.find(Role.CPU, names, still)
    memory = cpu_and_memory_columns.find(Role.MEMORY, [name for name in names if name != cpu.column], still)
    main = {cpu.column: Role.CPU, memory.column: Role.MEMORY}
    found = [_feature(column, main.get(column.name)) for column in columns[:MOST_FEATURES]]
    if not any(one.role is not Role.OTHER for one, _ in found):
        return [(_open(one), sure) if unnamed(one.column) else (one, sure) for one, sure in found]
    roles = {one.role for one, _ in found}
    asked = {one.column for one in (cpu, memory) if one.rivals}
    if memory.column and cpu_and_memory_columns.about_gpus(memory.column, executions, names, roles):
        asked.add(memory.column)
    features = [one for one, _ in found]
    return [
        (_open(one), True)
        if one.column in asked
        else (one, sure and not cpu_and_memory_columns.taken_for(one, features, executions))
        for one, sure in found
    ]


def _open(one: MappedColumn) -> MappedColumn:
    """A column of which a person has to say what it measures."""
    return MappedColumn(one.column, Role.OTHER, UNKNOWN)


def _feature(column: Column, main: Role | None) -> tuple[MappedColumn, bool]:
    """One column; a further one whose unit nobody knows stays a plain number, and says nothing else."""
    role = main or further_role(column.name)
    found = unit_of(column, role)
    if main is None and found.key == UNKNOWN:
        role, found = Role.OTHER, UnitGuess("plain")
    return MappedColumn(column.name, role, found.key), not found.assumed
