"""The table that the reader of psrecord makes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.traces.layouts.base import Layout, has_columns, select_present
from core.traces.mapping import ColumnMapping, MappedColumn
from core.traces.model import Role

if TYPE_CHECKING:
    from core.traces.layouts.base import TableHead


def recognise(head: TableHead) -> ColumnMapping | None:
    """Return the mapping of a table of this layout, else None."""
    if not has_columns(head, "elapsed_s", "cpu_percent", "real_mib"):
        return None
    wanted = (
        MappedColumn("cpu_percent", Role.CPU, "percent_of_core"),
        MappedColumn("real_mib", Role.MEMORY, "mib"),
        MappedColumn("virtual_mib", Role.OTHER, "mib"),
        MappedColumn("read_bytes", Role.BLOCK_IN, "bytes_total"),
        MappedColumn("write_bytes", Role.BLOCK_OUT, "bytes_total"),
    )
    return ColumnMapping(time="elapsed_s", time_unit="s", features=select_present(head, wanted))


LAYOUT = Layout(
    "psrecord",
    "psrecord",
    recognise,
    example="elapsed_s,cpu_percent,real_mib,virtual_mib",
    only_made=True,
)
