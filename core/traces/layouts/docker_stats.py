"""The table that the readers of docker stats and systemd-cgtop make."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.traces.layouts.base import Layout, has_columns, select_present, with_time
from core.traces.mapping import ColumnMapping, MappedColumn
from core.traces.model import Role

if TYPE_CHECKING:
    from core.traces.layouts.base import TableHead


def recognise(head: TableHead) -> ColumnMapping | None:
    """Return the mapping of a table of this layout, else None."""
    if not has_columns(head, "name", "cpu_percent", "memory_bytes"):
        return None
    wanted = (
        MappedColumn("cpu_percent", Role.CPU, "percent_of_core"),
        MappedColumn("memory_bytes", Role.MEMORY, "bytes"),
        MappedColumn("memory_limit_bytes", Role.MEMORY_LIMIT, "bytes"),
        MappedColumn("net_in_bytes", Role.NETWORK_IN, "bytes_total"),
        MappedColumn("net_out_bytes", Role.NETWORK_OUT, "bytes_total"),
        MappedColumn("block_in_bytes", Role.BLOCK_IN, "bytes_total"),
        MappedColumn("block_out_bytes", Role.BLOCK_OUT, "bytes_total"),
        MappedColumn("read_bytes_per_s", Role.BLOCK_IN, "bytes_per_s"),
        MappedColumn("write_bytes_per_s", Role.BLOCK_OUT, "bytes_per_s"),
        MappedColumn("pids"),
    )
    return with_time(ColumnMapping(execution="name", features=select_present(head, wanted)), head)


LAYOUT = Layout(
    "docker_stats",
    "docker stats or systemd-cgtop",
    recognise,
    example="*name,cpu_percent,memory_bytes,memory_limit_bytes,pids",
    only_made=True,
)
