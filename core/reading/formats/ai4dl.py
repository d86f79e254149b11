"""AI4DL's published traces: ``pod.id``, ``timestamp`` and cAdvisor's figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.reading.mapping import ColumnMapping, MappedColumn
from core.reading.tool_facts import (
    Layout,
    has_columns,
    select_present,
    with_distinguished_executions,
    with_time,
)
from core.traces.model import Resampling, Role

if TYPE_CHECKING:
    from core.reading.tool_facts import TableHead

AI4DL_FEATURES = (
    MappedColumn("cpu.usage"),
    MappedColumn("cpu.usage.cores", Role.CPU, "cores"),
    MappedColumn("cpu.usage.pct"),
    MappedColumn("cpu.usage.pct.container.requested"),
    MappedColumn("mem.current", Role.MEMORY, "bytes"),
    MappedColumn("mem.limit", Role.MEMORY_LIMIT, "bytes"),
    MappedColumn("mem.usage.pct"),
    MappedColumn("mem.working.set"),
)


def recognise(head: TableHead) -> ColumnMapping | None:
    """Return the mapping of a table of this layout, else None."""
    if not has_columns(head, "pod.id", "timestamp") or not ({"cpu.usage", "mem.current"} & set(head.header)):
        return None
    mapping = ColumnMapping(
        execution="pod.id",
        resampling=Resampling.NONE,
        features=select_present(head, AI4DL_FEATURES),
        attributes=("service",) if "service" in head.header else (),
    )
    return with_distinguished_executions(with_time(mapping, head), head)


LAYOUT = Layout(
    "ai4dl",
    "AI4DL",
    recognise,
    example="*pod.id,*service,timestamp,cpu.usage,cpu.usage.cores,mem.current,mem.limit",
)
