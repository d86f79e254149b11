"""Alibaba's ``container_usage`` (cluster trace of 2018), which comes without a header."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from core.traces.cells.numbers import is_number
from core.traces.layouts.base import Layout, has, present
from core.traces.mapping import ColumnMapping, MappedColumn
from core.traces.model import Role

if TYPE_CHECKING:
    from core.traces.layouts.base import Head

ALIBABA_HEADER = (
    "container_id",
    "machine_id",
    "time_stamp",
    "cpu_util_percent",
    "mem_util_percent",
    "cpi",
    "mem_gps",
    "mpki",
    "net_in",
    "net_out",
    "disk_io_percent",
)


def recognise(head: Head) -> ColumnMapping | None:
    """The mapping of a table of this layout, or None."""
    if not has(head, "container_id", "machine_id", "time_stamp", "cpu_util_percent"):
        return None
    wanted = (
        MappedColumn("cpu_util_percent", Role.CPU, "percent_of_machine"),
        MappedColumn("mem_util_percent", Role.MEMORY, "percent_of_machine"),
        *(MappedColumn(name) for name in ALIBABA_HEADER[5:]),
    )
    return ColumnMapping(
        execution="container_id",
        time="time_stamp",
        features=present(head, wanted),
        attributes=("machine_id",),
    )


def headerless(first_row: tuple[str, ...]) -> tuple[str, ...] | None:
    """The header, if the first row begins with container, machine and time: ``c_1,m_2556,600,…``."""
    if not 9 <= len(first_row) <= len(ALIBABA_HEADER):
        return None
    container, machine, time = first_row[:3]
    known = re.fullmatch(r"c_\d+", container) and re.fullmatch(r"m_\d+", machine) and is_number(time)
    return ALIBABA_HEADER[: len(first_row)] if known else None


LAYOUT = Layout(
    "alibaba",
    "Alibaba container_usage (2018)",
    recognise,
    headerless,
    example="*container_id,*machine_id,time_stamp,cpu_util_percent,mem_util_percent,cpi",
)
