"""Known layouts of trace files, recognised by their headers.

A layout is a name, a label and a function from the head of a table to a mapping (or None where the
table is of another kind). The layouts are asked in the order of their registration; the last one,
`generic`, guesses from the columns' names and always answers if there is any number to read.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from core.errors import InputError, listed
from core.registry import Registry
from core.traces.guessing import guess, is_number, time_unit_of
from core.traces.mapping import ColumnMapping, MappedColumn
from core.traces.model import Resampling, Role

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True, slots=True)
class Head:
    """The beginning of a table: its header and some rows as texts."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def column(self, name: str) -> tuple[str, ...]:
        """The texts of a column in the sample rows."""
        position = self.header.index(name)
        return tuple(row[position].strip() for row in self.rows if position < len(row))


@dataclass(frozen=True, slots=True)
class Layout:
    """A known layout: its label and how to recognise it."""

    label: str
    recognise: Callable[[Head], ColumnMapping | None]


@dataclass(frozen=True, slots=True)
class Recognition:
    """What a table was taken for.

    Parameters
    ----------
    layout
        The name of the layout in `LAYOUTS`.
    label
        Its name for people.
    mapping
        The suggested mapping.
    reasons
        Sentences that say why, for the mapping form.
    """

    layout: str
    label: str
    mapping: ColumnMapping
    reasons: tuple[str, ...]


LAYOUTS: Registry[Layout] = Registry("layout")

AI4DL_FEATURES = (
    MappedColumn("cpu.usage"),
    MappedColumn("cpu.usage.cores", Role.CPU, "cores"),
    MappedColumn("cpu.usage.pct"),
    MappedColumn("cpu.usage.pct.container.requested"),
    MappedColumn("mem.current", Role.MEMORY, "bytes"),
    MappedColumn("mem.limit", Role.MEMORY_LIMIT, "bytes"),
    MappedColumn("mem.usage.pct"),
    MappedColumn("mem.working.set"),
)
RECORDER_FEATURES = (
    MappedColumn("cpu_cores", Role.CPU, "cores"),
    MappedColumn("memory_bytes", Role.MEMORY, "bytes"),
    MappedColumn("cpu_limit_cores", Role.CPU_LIMIT, "cores"),
    MappedColumn("memory_limit_bytes", Role.MEMORY_LIMIT, "bytes"),
    MappedColumn("loss", Role.LOSS),
)
ALIBABA_HEADER = (
    "container_id",
    "machine_id",
    "time_stamp",
    "cpu_util_percent",
    "mem_util_percent",
    "cpi",
    "mem_gps",
    "mpki",
    "net_in",
    "net_out",
    "disk_io_percent",
)


def recognise(header: tuple[str, ...], rows: tuple[tuple[str, ...], ...]) -> Recognition:
    """Find the layout of a table and suggest a mapping.

    Raises
    ------
    InputError
        If no column has numbers.
    """
    head = Head(header, rows)
    for name, layout in LAYOUTS.items():
        mapping = layout.recognise(head)
        if mapping is not None:
            return Recognition(name, layout.label, mapping, _reasons(layout, mapping))
    raise InputError(
        f"None of the columns has numbers: {listed(header)}.",
        "Choose a file whose header is its first row and whose columns hold measurements.",
    )


def headerless(first_row: tuple[str, ...]) -> tuple[str, ...] | None:
    """The header of a known layout that comes without one, or None.

    Alibaba's ``container_usage`` (2018) begins with container, machine and time: ``c_1,m_2556,600,…``.
    """
    if not 9 <= len(first_row) <= len(ALIBABA_HEADER):
        return None
    container, machine, time = first_row[:3]
    known = re.fullmatch(r"c_\d+", container) and re.fullmatch(r"m_\d+", machine) and is_number(time)
    return ALIBABA_HEADER[: len(first_row)] if known else None


def _reasons(layout: Layout, mapping: ColumnMapping) -> tuple[str, ...]:
    parts = [f"The columns look like: {layout.label}."]
    cpu = next((f for f in mapping.features if f.role is Role.CPU), None)
    memory = next((f for f in mapping.features if f.role is Role.MEMORY), None)
    if cpu is None:
        parts.append("No column was taken for CPU usage: choose one.")
    if memory is None:
        parts.append("No column was taken for memory usage: choose one.")
    if mapping.time is None:
        parts.append("No column was taken for time: rows are counted instead.")
    if mapping.execution is None:
        parts.append("No column names an execution: the whole file is one.")
    return tuple(parts)


def _present(head: Head, wanted: tuple[MappedColumn, ...]) -> tuple[MappedColumn, ...]:
    return tuple(one for one in wanted if one.column in head.header)


def _has(head: Head, *names: str) -> bool:
    return all(name in head.header for name in names)


def _first_number(head: Head, name: str) -> float | None:
    """The first value of a column that says how large the machine is, if it says so."""
    first = next(iter(head.column(name)), "") if name in head.header else ""
    return float(first) if is_number(first) and float(first) > 0 else None


def _ai4dl(head: Head) -> ColumnMapping | None:
    if not _has(head, "pod.id", "timestamp") or not ({"cpu.usage", "mem.current"} & set(head.header)):
        return None
    return ColumnMapping(
        execution="pod.id",
        time="timestamp",
        time_unit=time_unit_of(head.column("timestamp")),
        resampling=Resampling.NONE,
        features=_present(head, AI4DL_FEATURES),
        attributes=("service",) if "service" in head.header else (),
    )


def _recorder(head: Head) -> ColumnMapping | None:
    if not _has(head, "execution", "timestamp", "cpu_cores", "memory_bytes"):
        return None
    known = _present(head, RECORDER_FEATURES)
    rest = guess(head.header, head.rows)
    taken = {"execution", "timestamp", *(one.column for one in known)}
    more = tuple(f for f in (rest.features if rest else ()) if f.column not in taken)
    texts = tuple(name for name in (rest.attributes if rest else ()) if name not in taken)
    return ColumnMapping(
        execution="execution",
        time="timestamp",
        time_unit=time_unit_of(head.column("timestamp")),
        features=known + more,
        attributes=texts,
    )


def _batch_jobs(head: Head) -> ColumnMapping | None:
    if not _has(head, "execution", "timestamp", "cpu", "mem", "cpu_iowait"):
        return None
    wanted = (
        MappedColumn("cpu", Role.CPU, "percent_of_machine"),
        MappedColumn("mem", Role.MEMORY, "mib"),
        MappedColumn("cpu_iowait", Role.OTHER, "percent_of_machine"),
        MappedColumn("disk_read"),
        MappedColumn("disk_write"),
    )
    return ColumnMapping(
        execution="execution",
        time="timestamp",
        time_unit=time_unit_of(head.column("timestamp")),
        resampling=Resampling.MEAN,
        features=_present(head, wanted),
        attributes=("workload",) if "workload" in head.header else (),
    )


def _bitbrains(head: Head) -> ColumnMapping | None:
    time = next((name for name in head.header if name.lower().startswith("timestamp [")), None)
    if time is None or not _has(head, "CPU usage [%]", "Memory usage [KB]"):
        return None
    wanted = (
        MappedColumn("CPU usage [%]", Role.CPU, "percent_of_machine"),
        MappedColumn("Memory usage [KB]", Role.MEMORY, "kib"),
        MappedColumn("CPU cores", Role.CPU_LIMIT, "cores"),
        MappedColumn("Memory capacity provisioned [KB]", Role.MEMORY_LIMIT, "kib"),
        MappedColumn("Disk read throughput [KB/s]"),
        MappedColumn("Disk write throughput [KB/s]"),
        MappedColumn("Network received throughput [KB/s]"),
        MappedColumn("Network transmitted throughput [KB/s]"),
    )
    return ColumnMapping(
        time=time,
        # the published files say [ms] and hold seconds: the values decide
        time_unit=time_unit_of(head.column(time)),
        features=_present(head, wanted),
        cores=_first_number(head, "CPU cores"),
    )


def _alibaba(head: Head) -> ColumnMapping | None:
    if not _has(head, "container_id", "machine_id", "time_stamp", "cpu_util_percent"):
        return None
    wanted = (
        MappedColumn("cpu_util_percent", Role.CPU, "percent_of_machine"),
        MappedColumn("mem_util_percent", Role.MEMORY, "percent_of_machine"),
        *(MappedColumn(name) for name in ALIBABA_HEADER[5:]),
    )
    return ColumnMapping(
        execution="container_id",
        time="time_stamp",
        features=_present(head, wanted),
        attributes=("machine_id",),
    )


def _sar(head: Head) -> ColumnMapping | None:
    if "timestamp" not in head.header or not _has(head, "busy"):
        return None
    wanted = (
        MappedColumn("busy", Role.CPU, "percent_of_machine"),
        MappedColumn("kbmemused", Role.MEMORY, "kib"),
        *(
            MappedColumn(name, Role.OTHER, "percent_of_machine")
            for name in ("%iowait", "%system", "%memused")
        ),
        *(MappedColumn(name) for name in ("bread/s", "bwrtn/s")),
    )
    return ColumnMapping(
        execution="hostname" if "hostname" in head.header else None,
        time="timestamp",
        time_unit=time_unit_of(head.column("timestamp")),
        features=_present(head, wanted),
        cores=_first_number(head, "cpus"),
    )


def _docker_stats(head: Head) -> ColumnMapping | None:
    if not _has(head, "name", "cpu_percent", "memory_bytes"):
        return None
    wanted = (
        MappedColumn("cpu_percent", Role.CPU, "percent_of_core"),
        MappedColumn("memory_bytes", Role.MEMORY, "bytes"),
        MappedColumn("memory_limit_bytes", Role.MEMORY_LIMIT, "bytes"),
        *(
            MappedColumn(name)
            for name in ("net_in_bytes", "net_out_bytes", "block_in_bytes", "block_out_bytes", "pids")
        ),
    )
    timed = "timestamp" in head.header
    return ColumnMapping(
        execution="name",
        time="timestamp" if timed else None,
        time_unit=time_unit_of(head.column("timestamp")) if timed else "none",
        period=None if timed else 1.0,
        features=_present(head, wanted),
    )


def _prometheus(head: Head) -> ColumnMapping | None:
    """A table with one column per cAdvisor metric, as readers of Prometheus answers make it."""
    if not any(name.startswith(("container_cpu_", "container_memory_")) for name in head.header):
        return None
    guessed = guess(head.header, head.rows)
    if guessed is None:
        return None
    names = [one.column for one in guessed.features]
    memory = next((name for name in _MEMORY_METRICS if name in names), None)
    return replace(guessed, features=tuple(_metric(one, memory) for one in guessed.features))


# The first that is there is the memory in use; the working set is what the kernel cannot take back.
_MEMORY_METRICS = (
    "container_memory_working_set_bytes",
    "container_memory_usage_bytes",
    "container_memory_rss",
)


def _metric(mapped: MappedColumn, memory: str | None) -> MappedColumn:
    name = mapped.column
    if name == memory:
        return MappedColumn(name, Role.MEMORY, "bytes")
    if name.endswith("_seconds_total"):
        role = Role.CPU if name == "container_cpu_usage_seconds_total" else Role.OTHER
        return MappedColumn(name, role, "cpu_seconds_total")
    if name == "container_spec_memory_limit_bytes":
        return MappedColumn(name, Role.MEMORY_LIMIT, "bytes")
    if name.startswith("container_memory_"):
        return MappedColumn(name, Role.OTHER, "bytes" if name.endswith("_bytes") else "plain")
    return mapped


def _generic(head: Head) -> ColumnMapping | None:
    return guess(head.header, head.rows)


for _name, _label, _function in (
    ("ai4dl", "AI4DL", _ai4dl),
    ("recorder", "PhaseDock's recorder", _recorder),
    ("batch_jobs", "batch jobs with sar columns", _batch_jobs),
    ("bitbrains", "Bitbrains GWA-T-12", _bitbrains),
    ("alibaba", "Alibaba container_usage (2018)", _alibaba),
    ("sar", "sar", _sar),
    ("docker_stats", "docker stats", _docker_stats),
    ("prometheus", "Prometheus with cAdvisor metrics", _prometheus),
    ("generic", "unknown format, columns guessed", _generic),
):
    LAYOUTS.add(_name, Layout(_label, _function))
