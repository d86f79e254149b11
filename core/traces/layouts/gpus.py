"""The table that the reader of nvidia-smi makes: a few columns per GPU."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from core.traces.layouts.base import Layout, with_time
from core.traces.mapping import ColumnMapping, MappedColumn
from core.traces.model import Role

if TYPE_CHECKING:
    from core.traces.layouts.base import TableHead

_COLUMN = re.compile(r"gpu \S+ (utilization|memory_mib|power_watts|memory_bandwidth)")
_KINDS = {
    "utilization": (Role.GPU, "percent"),
    "memory_mib": (Role.GPU_MEMORY, "mib"),
    "power_watts": (Role.GPU_POWER, "watts"),
    "memory_bandwidth": (Role.OTHER, "percent"),
}


def recognise(head: TableHead) -> ColumnMapping | None:
    """Return the mapping of a table of this layout, else None."""
    found = {name: match[1] for name in head.header if (match := _COLUMN.fullmatch(name))}
    features = tuple(
        MappedColumn(name, *_KINDS[kind]) for name, kind in found.items() if any(head.column(name))
    )
    if not features:
        return None
    return with_time(ColumnMapping(features=features), head)


LAYOUT = Layout(
    "gpus",
    "nvidia-smi",
    recognise,
    example="timestamp,gpu 0 utilization,gpu 0 memory_mib",
    only_made=True,
)
