"""The table that the readers of sar, sadf and dstat make: in cores where machines say how many they have."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.traces.layouts.base import Layout, has_columns, select_present, with_time
from core.traces.mapping import ColumnMapping, MappedColumn
from core.traces.model import Role

if TYPE_CHECKING:
    from core.traces.layouts.base import TableHead


def recognise(head: TableHead) -> ColumnMapping | None:
    """Return the mapping of a table of this layout, else None."""
    if not has_columns(head, "busy", "hostname"):
        return None
    share = MappedColumn("busy", Role.CPU, "percent_of_machine")
    wanted = (
        MappedColumn("busy_cores", Role.CPU, "cores") if _sized(head) else share,
        MappedColumn("kbmemused", Role.MEMORY, "kib"),
        MappedColumn("memory_used_bytes", Role.MEMORY, "bytes"),
        MappedColumn("net_in_bytes_per_s", Role.NETWORK_IN, "bytes_per_s"),
        MappedColumn("net_out_bytes_per_s", Role.NETWORK_OUT, "bytes_per_s"),
        MappedColumn("block_in_bytes_per_s", Role.BLOCK_IN, "bytes_per_s"),
        MappedColumn("block_out_bytes_per_s", Role.BLOCK_OUT, "bytes_per_s"),
        *(
            MappedColumn(name, Role.OTHER, "percent_of_machine")
            for name in ("%iowait", "%system", "%memused")
        ),
        *(MappedColumn(name) for name in ("bread/s", "bwrtn/s")),
    )
    execution = "hostname" if "hostname" in head.header else None
    return with_time(ColumnMapping(execution=execution, features=select_present(head, wanted)), head)


def _sized(head: TableHead) -> bool:
    """Whether the usage of every row is known in cores."""
    if "busy_cores" not in head.header:
        return False
    pairs = zip(head.column("busy"), head.column("busy_cores"), strict=True)
    return all(cores or not busy for busy, cores in pairs)


LAYOUT = Layout(
    "sar",
    "sar or dstat",
    recognise,
    example="*hostname,timestamp,busy,kbmemused,%iowait",
    only_made=True,
)
