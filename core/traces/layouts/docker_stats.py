"""The table that the reader of docker stats makes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.traces.guessing.times import time_unit_of
from core.traces.layouts.base import Layout, has, present
from core.traces.mapping import PERIOD, ColumnMapping, MappedColumn
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
        MappedColumn("net_in_bytes", Role.NETWORK_IN, "bytes_total"),
        MappedColumn("net_out_bytes", Role.NETWORK_OUT, "bytes_total"),
        MappedColumn("block_in_bytes", Role.BLOCK_IN, "bytes_total"),
        MappedColumn("block_out_bytes", Role.BLOCK_OUT, "bytes_total"),
        MappedColumn("pids"),
    )
    timed = "timestamp" in head.header
    return ColumnMapping(
        execution="name",
        time="timestamp" if timed else None,
        time_unit=time_unit_of(head.column("timestamp")) if timed else "none",
        period=None if timed else 1.0,
        features=present(head, wanted),
        assumed=() if timed else (PERIOD,),
    )


LAYOUT = Layout(
    "docker_stats",
    "docker stats",
    recognise,
    example="*name,cpu_percent,memory_bytes,memory_limit_bytes,pids",
)
