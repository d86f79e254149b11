"""Bitbrains GWA-T-12 and Materna GWA-T-13: one file per virtual machine, with units in the columns' names.

The reader of such files adds the usage in cores, each row's percentage of the cores that the row names;
without it the usage stays a share of the machine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.traces.guessing.times import guess_time_unit
from core.traces.layouts.base import Layout, has_columns, select_present
from core.traces.mapping import ColumnMapping, MappedColumn
from core.traces.model import Role

if TYPE_CHECKING:
    from core.traces.layouts.base import TableHead

PERCENT, CORES, USED = "CPU usage [%]", "CPU cores", "CPU usage [cores]"
CAPACITY = "CPU capacity provisioned [MHZ]"


def recognise(head: TableHead) -> ColumnMapping | None:
    """Return the mapping of a table of this layout, else None."""
    time = next((name for name in head.header if name.lower().startswith("timestamp [")), None)
    if time is None and has_columns(head, "Timestamp", CORES, CAPACITY):
        time = "Timestamp"  # Materna's are dates
    if time is None or not has_columns(head, PERCENT, "Memory usage [KB]"):
        return None
    share = MappedColumn(PERCENT, Role.CPU, "percent_of_machine")
    wanted = (
        MappedColumn(USED, Role.CPU, "cores") if has_columns(head, USED) else share,
        MappedColumn("Memory usage [KB]", Role.MEMORY, "kib"),
        MappedColumn(CORES, Role.CPU_LIMIT, "cores"),
        MappedColumn("Memory capacity provisioned [KB]", Role.MEMORY_LIMIT, "kib"),
        MappedColumn("Disk read throughput [KB/s]", Role.BLOCK_IN, "kib_per_s"),
        MappedColumn("Disk write throughput [KB/s]", Role.BLOCK_OUT, "kib_per_s"),
        MappedColumn("Network received throughput [KB/s]", Role.NETWORK_IN, "kib_per_s"),
        MappedColumn("Network transmitted throughput [KB/s]", Role.NETWORK_OUT, "kib_per_s"),
    )
    return ColumnMapping(
        time=time,
        # the published files say [ms] and hold seconds: the values decide
        time_unit=guess_time_unit("timestamp", head.column(time)).unit,
        features=select_present(head, wanted),
    )


LAYOUT = Layout(
    "bitbrains",
    "Bitbrains GWA-T-12 or Materna GWA-T-13",
    recognise,
    example="Timestamp [ms],CPU cores,CPU usage [%],Memory usage [KB]",
)
