"""Batch jobs with columns as sar names them, one row per sample of an execution."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.reading.guessing.units import clear_doubtful_percentages
from core.reading.mapping import UNKNOWN, ColumnMapping, MappedColumn
from core.reading.numbers import parse_numbers
from core.reading.tool_facts import (
    Layout,
    has_columns,
    select_present,
    with_distinguished_executions,
    with_time,
)
from core.traces.model import Resampling, Role

if TYPE_CHECKING:
    from core.reading.numbers import Number
    from core.reading.tool_facts import TableHead


_CORES, _BUSY = 16.0, 90.0
"""CPU of at most so much may be in cores; what comes near 100 and never passes it is a percentage."""
_KIB = 4e6
"""What exceeds this is more memory in MiB than machines have, and may be in KiB."""


def recognise(head: TableHead) -> ColumnMapping | None:
    """Return the mapping of a table of this layout, else None."""
    if not has_columns(head, "execution", "timestamp", "cpu", "mem", "cpu_iowait"):
        return None
    most = _most(head, "mem")  # up to 100 it may be percent, and what is no MiB at all is doubted in any case
    busy = _most(head, "cpu")
    in_cores = busy <= _CORES and not all(number.value.is_integer() for number in _numbers(head, "cpu"))
    wanted = (
        MappedColumn("cpu", Role.CPU, UNKNOWN if in_cores else "percent_of_machine"),
        MappedColumn("mem", Role.MEMORY, "mib" if most <= 1 or 100 < most < _KIB else UNKNOWN),
        MappedColumn("cpu_iowait", Role.OTHER, "percent_of_machine"),
        MappedColumn("disk_read"),
        MappedColumn("disk_write"),
    )
    mapping = ColumnMapping(
        execution="execution",
        resampling=Resampling.MEAN,
        features=select_present(head, wanted),
        attributes=("workload",) if "workload" in head.header else (),
        assumed=("cpu",) if busy < _BUSY and not in_cores else (),
    )
    return clear_doubtful_percentages(
        with_distinguished_executions(with_time(mapping, head), head), head.header, head.rows
    )


def _most(head: TableHead, name: str) -> float:
    """The highest value of a column in the table's first rows."""
    return max((number.value for number in _numbers(head, name)), default=0.0)


def _numbers(head: TableHead, name: str) -> list[Number]:
    return parse_numbers(head.column(name))


LAYOUT = Layout(
    "batch_jobs",
    "batch jobs with sar columns",
    recognise,
    example="*execution,timestamp,cpu,mem,cpu_iowait,disk_read,disk_write",
)
