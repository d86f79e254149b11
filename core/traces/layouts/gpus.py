"""The table that the reader of nvidia-smi makes: a few columns per GPU."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from core.traces.guessing.times import time_unit_of
from core.traces.layouts.base import Layout
from core.traces.mapping import PERIOD, ColumnMapping, MappedColumn
from core.traces.model import Role

if TYPE_CHECKING:
    from core.traces.layouts.base import Head

_COLUMN = re.compile(r"gpu \S+ (utilization|memory_mib|power_watts|memory_bandwidth)")
_KINDS = {
    "utilization": (Role.GPU, "percent"),
    "memory_mib": (Role.GPU_MEMORY, "mib"),
    "power_watts": (Role.GPU_POWER, "watts"),
    "memory_bandwidth": (Role.OTHER, "percent"),
}


def recognise(head: Head) -> ColumnMapping | None:
    """The mapping of a table of this layout, or None."""
    found = {name: match[1] for name in head.header if (match := _COLUMN.fullmatch(name))}
    features = tuple(
        MappedColumn(name, *_KINDS[kind]) for name, kind in found.items() if any(head.column(name))
    )
    if not features:
        return None
    timed = "timestamp" in head.header
    return ColumnMapping(
        time="timestamp" if timed else None,
        time_unit=time_unit_of(head.column("timestamp")) if timed else "none",
        period=None if timed else 1.0,
        features=features,
        assumed=() if timed else (PERIOD,),
    )


LAYOUT = Layout("gpus", "nvidia-smi", recognise, example="timestamp,gpu 0 utilization,gpu 0 memory_mib")
