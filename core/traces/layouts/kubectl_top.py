"""The table that the reader of kubectl top makes: every cell says its unit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.traces.layouts.base import Layout, has_columns, select_present, with_time
from core.traces.mapping import ColumnMapping, MappedColumn
from core.traces.model import Role

if TYPE_CHECKING:
    from core.traces.layouts.base import TableHead

SCRAPED = 15.0
"""Seconds between the samples of a metrics server, by its default."""


def recognise(head: TableHead) -> ColumnMapping | None:
    """Return the mapping of a table of this layout, else None."""
    if not has_columns(head, "execution", "CPU(cores)", "MEMORY(bytes)"):
        return None
    wanted = (
        MappedColumn("CPU(cores)", Role.CPU, "cores"),
        MappedColumn("MEMORY(bytes)", Role.MEMORY, "bytes"),
        MappedColumn("cpu_percent", Role.OTHER, "percent"),
        MappedColumn("memory_percent", Role.OTHER, "percent"),
    )
    mapping = ColumnMapping(execution="execution", features=select_present(head, wanted))
    return with_time(mapping, head, period=SCRAPED)


LAYOUT = Layout(
    "kubectl_top",
    "kubectl top",
    recognise,
    example="*execution,timestamp,CPU(cores),MEMORY(bytes)",
    only_made=True,
)
