"""The table that the reader of kubectl top makes: every cell says its unit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.traces.guessing.times import time_unit_of
from core.traces.layouts.base import Layout, has, present
from core.traces.mapping import PERIOD, ColumnMapping, MappedColumn
from core.traces.model import Role

if TYPE_CHECKING:
    from core.traces.layouts.base import Head

SCRAPED = 15.0
"""Seconds between the samples of a metrics server, by its default."""


def recognise(head: Head) -> ColumnMapping | None:
    """The mapping of a table of this layout, or None."""
    if not has(head, "execution", "CPU(cores)", "MEMORY(bytes)"):
        return None
    wanted = (
        MappedColumn("CPU(cores)", Role.CPU, "cores"),
        MappedColumn("MEMORY(bytes)", Role.MEMORY, "bytes"),
        MappedColumn("cpu_percent", Role.OTHER, "percent"),
        MappedColumn("memory_percent", Role.OTHER, "percent"),
    )
    timed = "timestamp" in head.header
    return ColumnMapping(
        execution="execution",
        time="timestamp" if timed else None,
        time_unit=time_unit_of(head.column("timestamp")) if timed else "none",
        period=None if timed else SCRAPED,
        features=present(head, wanted),
        assumed=() if timed else (PERIOD,),
    )


LAYOUT = Layout(
    "kubectl_top",
    "kubectl top",
    recognise,
    example="*execution,timestamp,CPU(cores),MEMORY(bytes)",
)
