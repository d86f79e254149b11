"""The table that the readers of sar and sadf make."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.traces.guessing.times import time_unit_of
from core.traces.layouts.base import Layout, first_number, has, present
from core.traces.mapping import ColumnMapping, MappedColumn
from core.traces.model import Role

if TYPE_CHECKING:
    from core.traces.layouts.base import Head


def recognise(head: Head) -> ColumnMapping | None:
    """The mapping of a table of this layout, or None."""
    if "timestamp" not in head.header or not has(head, "busy"):
        return None
    wanted = (
        MappedColumn("busy", Role.CPU, "percent_of_machine"),
        MappedColumn("kbmemused", Role.MEMORY, "kib"),
        *(
            MappedColumn(name, Role.OTHER, "percent_of_machine")
            for name in ("%iowait", "%system", "%memused")
        ),
        *(MappedColumn(name) for name in ("bread/s", "bwrtn/s")),
    )
    return ColumnMapping(
        execution="hostname" if "hostname" in head.header else None,
        time="timestamp",
        time_unit=time_unit_of(head.column("timestamp")),
        features=present(head, wanted),
        cores=first_number(head, "cpus"),
    )


LAYOUT = Layout(
    "sar",
    "sar",
    recognise,
    example="*hostname,timestamp,busy,kbmemused,%iowait",
)
