"""Batch jobs with columns as sar names them, one row per sample of an execution."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.traces.cells.quantities import numbers_of
from core.traces.guessing.percentages import without_shares
from core.traces.layouts.base import Layout, has, present, timed, told_apart
from core.traces.mapping import UNKNOWN, ColumnMapping, MappedColumn
from core.traces.model import Resampling, Role

if TYPE_CHECKING:
    from core.traces.layouts.base import Head


def recognise(head: Head) -> ColumnMapping | None:
    """The mapping of a table of this layout, or None."""
    if not has(head, "execution", "timestamp", "cpu", "mem", "cpu_iowait"):
        return None
    wanted = (
        MappedColumn("cpu", Role.CPU, "percent_of_machine"),
        MappedColumn("mem", Role.MEMORY, UNKNOWN if _may_be_percent(head) else "mib"),
        MappedColumn("cpu_iowait", Role.OTHER, "percent_of_machine"),
        MappedColumn("disk_read"),
        MappedColumn("disk_write"),
    )
    mapping = ColumnMapping(
        execution="execution",
        resampling=Resampling.MEAN,
        features=present(head, wanted),
        attributes=("workload",) if "workload" in head.header else (),
    )
    return without_shares(told_apart(timed(mapping, head), head), head.header, head.rows)


def _may_be_percent(head: Head) -> bool:
    """Whether the memory may be a percentage; what is no MiB at all is doubted in any case."""
    return 1 < max((number.value for number in numbers_of(head.column("mem"))), default=0.0) <= 100


LAYOUT = Layout(
    "batch_jobs",
    "batch jobs with sar columns",
    recognise,
    example="*execution,timestamp,cpu,mem,cpu_iowait,disk_read,disk_write",
)
