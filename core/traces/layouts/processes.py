"""The table that the readers of pidstat and top make: a row per process and time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.traces.layouts.base import Layout, has_columns, select_present, with_time
from core.traces.mapping import ColumnMapping, MappedColumn
from core.traces.model import Role

if TYPE_CHECKING:
    from core.traces.layouts.base import TableHead


def recognise(head: TableHead) -> ColumnMapping | None:
    """Return the mapping of a table of this layout, else None."""
    if not has_columns(head, "timestamp", "command", "pid"):
        return None
    wanted = (
        MappedColumn("cpu_percent", Role.CPU, "percent_of_core"),
        MappedColumn("memory_kib", Role.MEMORY, "kib"),
        MappedColumn("memory_bytes", Role.MEMORY, "bytes"),
        MappedColumn("virtual_kib", Role.OTHER, "kib"),
        MappedColumn("virtual_bytes", Role.OTHER, "bytes"),
        MappedColumn("shared_bytes", Role.OTHER, "bytes"),
        MappedColumn("read_kib_per_s", Role.BLOCK_IN, "kib_per_s"),
        MappedColumn("write_kib_per_s", Role.BLOCK_OUT, "kib_per_s"),
    )
    features = select_present(head, wanted)
    mapping = ColumnMapping(execution="command", execution_parts=("pid",), features=features)
    return with_time(mapping, head) if features else None


LAYOUT = Layout(
    "processes",
    "pidstat or top",
    recognise,
    example="timestamp,*command,*pid,cpu_percent,memory_kib",
    only_made=True,
)
