"""Bitbrains GWA-T-12: one file per virtual machine, with units in the columns' names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.traces.guessing.times import time_unit_of
from core.traces.layouts.base import Layout, first_number, has, present
from core.traces.mapping import ColumnMapping, MappedColumn
from core.traces.model import Role

if TYPE_CHECKING:
    from core.traces.layouts.base import Head


def recognise(head: Head) -> ColumnMapping | None:
    """The mapping of a table of this layout, or None."""
    time = next((name for name in head.header if name.lower().startswith("timestamp [")), None)
    if time is None or not has(head, "CPU usage [%]", "Memory usage [KB]"):
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
        features=present(head, wanted),
        cores=first_number(head, "CPU cores"),
    )


LAYOUT = Layout(
    "bitbrains",
    "Bitbrains GWA-T-12",
    recognise,
    example="Timestamp [ms],CPU cores,CPU usage [%],Memory usage [KB]",
)
