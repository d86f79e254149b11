"""Batch jobs with columns as sar names them, one row per sample of an execution."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.traces.guessing.times import time_unit_of
from core.traces.layouts.base import Layout, has, present
from core.traces.mapping import ColumnMapping, MappedColumn
from core.traces.model import Resampling, Role

if TYPE_CHECKING:
    from core.traces.layouts.base import Head


def recognise(head: Head) -> ColumnMapping | None:
    """The mapping of a table of this layout, or None."""
    if not has(head, "execution", "timestamp", "cpu", "mem", "cpu_iowait"):
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
        features=present(head, wanted),
        attributes=("workload",) if "workload" in head.header else (),
    )


LAYOUT = Layout(
    "batch_jobs",
    "batch jobs with sar columns",
    recognise,
    example="*execution,timestamp,cpu,mem,cpu_iowait,disk_read,disk_write",
)
