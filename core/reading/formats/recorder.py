"""What PhaseDock's own recorder exports: cores and bytes, limits, the loss, and throttling."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.reading.guessing import guess_mapping
from core.reading.mapping import ColumnMapping, MappedColumn
from core.reading.tool_facts import (
    Layout,
    has_columns,
    select_present,
    with_distinguished_executions,
    with_time,
)
from core.traces.model import Role

if TYPE_CHECKING:
    from core.reading.tool_facts import TableHead

RECORDER_FEATURES = (
    MappedColumn("cpu_cores", Role.CPU, "cores"),
    MappedColumn("memory_bytes", Role.MEMORY, "bytes"),
    MappedColumn("cpu_limit_cores", Role.CPU_LIMIT, "cores"),
    MappedColumn("memory_limit_bytes", Role.MEMORY_LIMIT, "bytes"),
    MappedColumn("loss", Role.LOSS),
    MappedColumn("throttled", Role.OTHER, "share_of_machine"),
)


def recognise(head: TableHead) -> ColumnMapping | None:
    """Return the mapping of a table of this layout, else None."""
    if not has_columns(head, "execution", "timestamp", "cpu_cores", "memory_bytes"):
        return None
    known = select_present(head, RECORDER_FEATURES)
    rest = guess_mapping(head.header, head.rows)
    taken = {"execution", "timestamp", *(one.column for one in known)}
    more = tuple(f for f in (rest.features if rest else ()) if f.column not in taken)
    texts = tuple(name for name in (rest.attributes if rest else ()) if name not in taken)
    mapping = ColumnMapping(
        execution="execution",
        features=known + more,
        attributes=texts,
        assumed=tuple(name for name in (rest.assumed if rest else ()) if name in {f.column for f in more}),
    )
    return with_distinguished_executions(with_time(mapping, head), head)


LAYOUT = Layout(
    "recorder",
    "PhaseDock's recorder",
    recognise,
    example="*execution,timestamp,cpu_cores,memory_bytes,cpu_limit_cores,memory_limit_bytes,loss,throttled",
)
