"""Guess the mapping of a table of unknown layout from the names and values of its columns.

Other columns can change the unit of one. 240 percent is of one core, but in a table of pods it may be of the
request. ``node_cpu_percent`` is of a machine where a column names nodes, else it may be of a Node.js program.
Programs mean 1024³ bytes by GB about as often as 1000³; a column with the memory of the machine decides,
because a system reports a little less than the installed memory.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from core.reading.dates import CLOCK, MINUTES, is_clock, is_date
from core.reading.guessing import cpu_and_memory_columns
from core.reading.guessing.column_names import is_unnamed, normalize_name, split_words
from core.reading.guessing.cpu_and_memory_columns import guess_other_role
from core.reading.guessing.order import (
    find_distinguishing_columns,
    get_longest_execution_cells,
    is_identity_name,
)
from core.reading.guessing.times import TimeUnitGuess, find_epoch_unit, guess_time_unit, strip_time_unit
from core.reading.guessing.units import Column, UnitGuess, guess_unit, is_of_one_core
from core.reading.mapping import UNKNOWN, ColumnMapping, MappedColumn
from core.reading.numbers import BINARY_UNITS, EMPTY, find_style_of_rows, split_columns
from core.traces.model import Role
from core.units import FILE_UNITS, GIB, Unit

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence


_REQUEST_WORDS = frozenset(
    ("pod", "pods", "namespace", "kubernetes", "k8s", "kube", "ecs", "cluster", "deployment", "statefulset",
     "replicaset", "daemonset", "workload", "request", "requests", "requested", "reserved", "reservation")
)  # fmt: skip
"""Words of tables of containers with requests, whose percentages may be of the request."""
_POD = re.compile(r"[a-z0-9.-]+-[bcdfghjklmnpqrstvwxz2456789]{6,10}-[bcdfghjklmnpqrstvwxz2456789]{5}")
"""The name of a deployment's pod; Kubernetes leaves out vowels and characters that look alike."""
_PROGRAM_WORDS = frozenset(("process", "proc", "program", "app", "application", "service", "server"))
"""Words beside which ``node`` may be Node.js, as it may at the beginning of a name."""
_NODE_WORDS = frozenset(("node", "nodes", "nodename", "host", "hostname", "machine", "instance"))
_SIZE_WORDS = frozenset(("total", "size", "capacity", "installed"))
_MEMORY_SIZES = tuple(GIB * factor * 2**power for power in range(14) for factor in (1, 1.5))
_USABLE_SHARE = (0.94, 0.999)
"""The range of reported memory as a share of the installed memory; the system reserves the rest."""

MappedColumns = list[tuple["MappedColumn", bool]]


def adjust_to_context(
    mapped: MappedColumns, columns: Mapping[str, Column], names: Sequence[str]
) -> MappedColumns:
    """Adjust guessed units to the other columns; return each feature and whether it is sure."""
    pods = _is_pod_table(columns, names)
    nodes = any(
        _NODE_WORDS & set(split_words(name)) and not column.numeric for name, column in columns.items()
    )
    bytes_of = _infer_size_units(columns)
    adjusted = [_adjust_feature(one, sure, pods, nodes, bytes_of) for one, sure in mapped]
    # cells with a unit state their own
    written = {one.column for one, _ in mapped if columns[one.column].written is Unit.BYTES}
    return [
        before if before[0].column in written else after
        for before, after in zip(mapped, adjusted, strict=True)
    ]


def _adjust_feature(
    one: MappedColumn, sure: bool, pods: bool, nodes: bool, bytes_of: Mapping[str, str]
) -> tuple[MappedColumn, bool]:
    """Adjust one feature to a table of pods, a table that names nodes, and known sizes of GB."""
    name_words = split_words(one.column)
    of_requests = pods and one.unit_key == "percent_of_core" and not is_of_one_core(name_words)
    program = name_words[:1] == ("node",) or ("node" in name_words and bool(_PROGRAM_WORDS & set(name_words)))
    of_nodejs = not nodes and one.unit_key == "percent_of_machine" and program
    if one.role is Role.CPU and (of_requests or of_nodejs):
        return replace(one, unit_key=UNKNOWN), True
    if one.role in (Role.MEMORY, Role.GPU_MEMORY) and one.unit_key in BINARY_UNITS:
        size_unit = bytes_of.get(one.unit_key) if one.role is Role.MEMORY else None
        return replace(one, unit_key=size_unit or one.unit_key), sure and size_unit is not None
    return one, sure


def _is_pod_table(columns: Mapping[str, Column], names: Collection[str]) -> bool:
    """Whether column names or execution names show containers with requests."""
    if any(_REQUEST_WORDS & set(split_words(name)) for name in columns):
        return True
    return any(_POD.fullmatch(cell.strip()) for name in names for cell in set(columns[name].cells))


def _infer_size_units(columns: Mapping[str, Column]) -> dict[str, str]:
    """Infer whether kB, MB or GB mean 1000 or 1024 from a column with the memory of the machine."""
    found: dict[str, str] = {}
    for name, column in columns.items():
        name_words = set(split_words(name))
        unit = next((one for one in BINARY_UNITS if one in name_words), None)
        sizes = set(column.values()) if unit and _SIZE_WORDS & name_words else set()
        if unit is None or len(sizes) != 1 or column.written is not None:
            continue
        size = sizes.pop()
        fits = [
            one for one in (unit, BINARY_UNITS[unit]) if _fits_machine_memory(size * FILE_UNITS[one].factor)
        ]
        if len(fits) == 1:
            found[unit] = fits[0]
    return found


def _fits_machine_memory(size: float) -> bool:
    return any(_USABLE_SHARE[0] <= size / whole <= _USABLE_SHARE[1] for whole in _MEMORY_SIZES)


MAX_FEATURES = 64
INDEX = "index"  # the name of a first column without a name in the header

_TIME_NAMES = (
    "timestamp", "time_stamp", "time", "datetime", "date_time", "date", "ts", "epoch", "unix", "unix_time",
    "unixtime", "local_time", "_time", "_timestamp", "seconds", "elapsed", "elapsed_time", "t",
    "relative_time", "uptime", "sample_time", "when", "zeit", "zeitstempel", "sampled_at",
    "recorded_at", "collected_at", "start_time", "wall_time",
    "minutes", "minute", "hours",
)  # fmt: skip
_UNREADABLE_NAMES = frozenset(
    ("timestamp", "time_stamp", "time", "datetime", "date_time", "ts", "_time", "_timestamp")
)
"""Names of columns that are times even where their cells cannot be read."""
_TIME_WORDS = frozenset(
    ("timestamp", "timestamps", "time", "datetime", "date", "ts", "epoch", "unix", "unixtime")
)
_EVENT_WORDS = frozenset(
    ("start", "started", "begin", "end", "ended", "finish", "finished", "created", "creation", "submit",
     "submitted", "last", "next", "deadline", "modified", "updated", "boot")
)  # fmt: skip
"""Words for a moment of an execution that is not the time of its samples."""
_HEX_ID = re.compile(r"(?=[0-9a-f]*\d)[0-9a-f]{8,64}")
_EXECUTION_NAMES = (
    "execution", "execution_id", "exec_id", "exec", "run", "run_id", "run_name", "pod", "pod_id", "pod_name",
    "container_name", "container_id", "container", "instance_id", "job_name", "job_id", "job", "task_id",
    "task", "vm_id", "vm", "instance", "hostname", "host", "machine_id", "machine", "series", "name", "id",
)  # fmt: skip
# a pod's name does not distinguish its containers
_SECOND_NAMES = {"pod": ("container", "container_name"), "pod_name": ("container", "container_name"),
             "pod_id": ("container", "container_name"), "job_name": ("run_id", "task_id"),
             "job": ("run_id", "task_id")}  # fmt: skip


def guess_mapping(header: tuple[str, ...], rows: tuple[tuple[str, ...], ...]) -> ColumnMapping | None:
    """Guess a mapping from names and values; None if no column has numbers."""
    cells = dict(zip(header, split_columns(rows, len(header)), strict=True))
    whole = header
    if header[:1] == (INDEX,) and not _are_most(is_date, cells[INDEX]):
        header = header[1:]  # an index of the rows
    style = find_style_of_rows(rows)
    columns = {name: Column(name, cells[name], style) for name in header}
    numeric = [name for name in header if columns[name].numeric]
    time_names = (*_TIME_NAMES, INDEX)
    lowest = _find_minima(header)
    time = _pick_first(
        [name for name in header if name not in lowest],
        time_names,
        lambda name: (
            _are_most(_is_date_or_clock, cells[name]) or (name in numeric and _may_be_time(columns[name]))
        ),
        strip_time_unit,
    )
    if time is None:
        time = next((name for name in header if _are_most(is_date, cells[name])), None)
    if time is None:
        time = next((name for name in numeric if name not in lowest and _is_epoch_time(columns[name])), None)
    unreadable = None
    if time is None:
        unreadable = time = next((name for name in header if _is_unreadable_time(columns[name])), None)
    names = [name for name in header if name != time]
    execution = _pick_first(names, _EXECUTION_NAMES, lambda name: _can_be_names(cells[name], name in numeric))
    execution = _name_beside_id(execution, names, cells)
    used = {time, execution, *numeric}
    texts = [
        n for n in header if n not in used and any(cells[n]) and not _are_most(_is_date_or_clock, cells[n])
    ]
    parts = _find_second_name(execution, texts, cells)
    executions = () if execution is None else (execution, *parts)
    others = [
        n
        for n in names
        if is_identity_name(n) and n not in executions and _can_be_names(cells[n], n in numeric)
    ]
    executions = (*executions, *find_distinguishing_columns(executions, others, time, whole, rows))
    features = [name for name in numeric if name != time and name not in executions]
    constant = cpu_and_memory_columns.find_constant_columns(features, executions, whole, rows)
    guesses = _guess_features([columns[name] for name in features], executions, constant)
    mapped = adjust_to_context(guesses, columns, executions)
    if not mapped:
        return None
    times = (
        TimeUnitGuess(("none",))
        if time is None
        else TimeUnitGuess((UNKNOWN,))
        if time == unreadable
        else guess_time_unit(time, cells[time], get_longest_execution_cells(time, executions, whole, rows))
    )
    return ColumnMapping(
        features=tuple(one for one, _ in mapped),
        execution=executions[0] if executions else None,
        execution_parts=executions[1:],
        time=time,
        time_unit=times.unit,
        attributes=tuple(name for name in texts if name not in executions)[:8],
        assumed=(*_list_assumed_times(time, times, cells), *(one.column for one, sure in mapped if not sure)),
    )


def _may_be_time(column: Column) -> bool:
    """Whether numbers can be times: those of an `epoch` count from 1970, or they are epochs of a training."""
    return split_words(column.name) != ("epoch",) or find_epoch_unit(column.values()) is not None


def _is_epoch_time(column: Column) -> bool:
    """Whether a name has a word for time, and the numbers are several moments since 1970."""
    name_words, values = set(split_words(column.name)), column.values()
    is_named = bool(_TIME_WORDS & name_words) and not _EVENT_WORDS & name_words
    return is_named and len(set(values)) > 1 and find_epoch_unit(values) is not None


def _is_unreadable_time(column: Column) -> bool:
    """Whether a column is called a time and its cells cannot be read as one."""
    return normalize_name(column.name) in _UNREADABLE_NAMES and bool(column.filled) and not column.numeric


def _name_beside_id(
    execution: str | None, names: Sequence[str], cells: Mapping[str, Sequence[str]]
) -> str | None:
    """Return the column of names that has one name for each hexadecimal id of the execution's column."""
    if execution is None or not all(map(_HEX_ID.fullmatch, cells[execution])):
        return execution
    ids = cells[execution]
    for name in names:
        if split_words(name)[-1:] in (("name",), ("names",)) and len(cells[name]) == len(ids):
            pairs = set(zip(ids, cells[name], strict=True))
            if "" not in cells[name] and len(pairs) == len(set(ids)) == len(set(cells[name])):
                return name
    return execution


def _list_assumed_times(
    time: str | None, times: TimeUnitGuess, cells: dict[str, tuple[str, ...]]
) -> tuple[str, ...]:
    """List the column of time if its unit is assumed, or a column of dates beside it is not used."""
    if time is None:
        return ()
    clock = times.units[0] in (CLOCK, MINUTES) and any(_are_most(is_date, texts) for texts in cells.values())
    return (time,) if times.assumed or clock else ()


def _find_minima(header: Sequence[str]) -> frozenset[str]:
    """Find the names whose ``min`` at the end is not minutes, because the same name with ``max`` exists."""
    words_of = {name: split_words(name) for name in header}
    maxima = {words[:-1] for words in words_of.values() if words[-1:] == ("max",)}
    return frozenset(
        name for name, words in words_of.items() if words[-1:] == ("min",) and words[:-1] in maxima
    )


def _is_date_or_clock(text: str) -> bool:
    return is_date(text) or is_clock(text)


def _pick_first(
    names: Sequence[str],
    wanted: Sequence[str],
    fits: Callable[[str], bool],
    words_of: Callable[[str], Sequence[str]] = split_words,
) -> str | None:
    keys: dict[str, str] = {}
    for name in names:
        keys.setdefault(normalize_name(name), name)
        keys.setdefault("_".join(words_of(name)), name)
    return next((keys[one] for one in wanted if one in keys and fits(keys[one])), None)


def _are_most(fits: Callable[[str], bool], texts: Sequence[str]) -> bool:
    filled = [text for text in texts if text not in EMPTY]
    return bool(filled) and sum(fits(text) for text in filled) * 2 > len(filled)


def _can_be_names(texts: Sequence[str], numeric: bool) -> bool:
    """Whether a column can hold names: texts, or whole numbers that repeat."""
    filled = [text for text in texts if text not in EMPTY]
    if not filled:
        return False
    if all(re.fullmatch(r"-?\d+", text) for text in filled):
        return len(filled) == 1 or len(set(filled)) < len(filled)
    return not numeric


def _find_second_name(
    execution: str | None, texts: Sequence[str], cells: dict[str, tuple[str, ...]]
) -> tuple[str, ...]:
    """Find the column that distinguishes the containers of a pod, or the runs of a job."""
    if execution is None:
        return ()
    wanted = _SECOND_NAMES.get(normalize_name(execution), ())
    found = next((name for name in texts if normalize_name(name) in wanted), None)
    varies = found is not None and len(set(cells[found]) - EMPTY) > 1
    return (found,) if found is not None and varies else ()


def _guess_features(
    columns: Sequence[Column], executions: Sequence[str], constant: Collection[str]
) -> list[tuple[MappedColumn, bool]]:
    """Guess roles and units of numeric columns and whether they are sure; CPU and memory once each."""
    names = [column.name for column in columns]
    cpu = cpu_and_memory_columns.find_usage_column(Role.CPU, names, constant)
    memory = cpu_and_memory_columns.find_usage_column(
        Role.MEMORY, [name for name in names if name != cpu.column], constant
    )
    main = {cpu.column: Role.CPU, memory.column: Role.MEMORY}
    guessed = [_guess_feature(column, main.get(column.name)) for column in columns]
    first = sorted(range(len(guessed)), key=lambda place: guessed[place][0].role is Role.OTHER)[:MAX_FEATURES]
    found = [guessed[place] for place in sorted(first)]  # what has a role, and then the first others
    if not any(one.role is not Role.OTHER for one, _ in found):
        return [(_leave_open(one), sure) if is_unnamed(one.column) else (one, sure) for one, sure in found]
    roles = {one.role for one, _ in found}
    open_columns = {one.column for one in (cpu, memory) if one.rivals}
    if memory.column and cpu_and_memory_columns.may_be_gpu_memory(memory.column, executions, names, roles):
        open_columns.add(memory.column)
    features = [one for one, _ in found]
    return [
        (_leave_open(one), True)
        if one.column in open_columns
        else (one, sure and not cpu_and_memory_columns.describe_doubt(one, features, executions))
        for one, sure in found
    ]


def _leave_open(one: MappedColumn) -> MappedColumn:
    """Return the column with an open role and unit, for a question."""
    return MappedColumn(one.column, Role.OTHER, UNKNOWN)


_WRITTEN_UNITS = {
    Unit.BYTES: "bytes",
    Unit.BYTES_PER_SECOND: "bytes_per_s",
    Unit.CORES: "cores",
    Unit.WATTS: "watts",
}
"""The unit of a column of unknown role whose cells state one."""


def _guess_feature(column: Column, main: Role | None) -> tuple[MappedColumn, bool]:
    """Guess role and unit of a column; one of unknown unit beside CPU and memory is a plain number."""
    role = main or guess_other_role(column.name)
    found = guess_unit(column, role)
    if main is None and found.key == UNKNOWN:
        role, found = Role.OTHER, UnitGuess("plain")
    if role is Role.OTHER and found.key == "plain" and column.written in _WRITTEN_UNITS:
        found = UnitGuess(_WRITTEN_UNITS[column.written])
    return MappedColumn(column.name, role, found.key), not found.assumed
