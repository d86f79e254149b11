"""The table that the reader of docker stats makes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.traces.guessing import time_unit_of
from core.traces.layouts.base import Layout, has, present
from core.traces.mapping import ColumnMapping, MappedColumn
from core.traces.model import Role

if TYPE_CHECKING:
    from core.traces.layouts.base import Head


def recognise(head: Head) -> ColumnMapping | None:
    """The mapping of a table of this layout, or None."""
    if not has(head, "name", "cpu_percent", "memory_bytes"):
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
        features=present(head, wanted),
    )


LAYOUT = Layout(
    "docker_stats",
    "docker stats",
    recognise,
    example="*name,cpu_percent,memory_bytes,memory_limit_bytes,pids",
)
