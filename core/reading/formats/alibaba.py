"""Alibaba's ``container_usage`` (cluster trace of 2018), which comes without a header."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from core.reading.guessing.units import clear_doubtful_percentages
from core.reading.mapping import ColumnMapping, MappedColumn
from core.reading.numbers import POINT, is_number, parse_numbers
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
_FEWEST = 9
_LASTS = 9 * 86_400.0
"""The trace is of eight days, and its times are seconds since its start."""


def recognise(head: TableHead) -> ColumnMapping | None:
    """Return the mapping of a table of this layout, else None."""
    if not has_columns(head, "container_id", "machine_id", "time_stamp", "cpu_util_percent"):
        return None
    wanted = (
        MappedColumn("cpu_util_percent", Role.CPU, "percent_of_machine"),
        MappedColumn("mem_util_percent", Role.MEMORY, "percent_of_machine"),
        *(MappedColumn(name) for name in ALIBABA_HEADER[5:]),
    )
    mapping = ColumnMapping(
        execution="container_id", features=select_present(head, wanted), attributes=("machine_id",)
    )
    mapping = with_distinguished_executions(with_time(mapping, head, "time_stamp"), head)
    if _of_the_trace(head):
        mapping = replace(mapping, time_unit="s", assumed=())
        if len(head.header) >= _FEWEST:
            return mapping  # as it was published: an idle machine's percentages are below 1
    return clear_doubtful_percentages(mapping, head.header, head.rows)


def _of_the_trace(head: TableHead) -> bool:
    """Whether containers, machines and times are those of the published trace."""
    times = parse_numbers(head.column("time_stamp"), POINT)
    return (
        all(re.fullmatch(r"c_\d+", name) for name in head.column("container_id"))
        and all(re.fullmatch(r"m_\d+", name) for name in head.column("machine_id"))
        and bool(times)
        and all(0 <= time.value <= _LASTS and not time.suffix for time in times)
    )


def find_header(first_row: tuple[str, ...]) -> tuple[str, ...] | None:
    """The header, if the first row begins with container, machine and time: ``c_1,m_2556,600,…``."""
    if not _FEWEST <= len(first_row) <= len(ALIBABA_HEADER):
        return None
    container, machine, time = first_row[:3]
    known = re.fullmatch(r"c_\d+", container) and re.fullmatch(r"m_\d+", machine) and is_number(time)
    return ALIBABA_HEADER[: len(first_row)] if known else None


LAYOUT = Layout(
    "alibaba",
    "Alibaba container_usage (2018)",
    recognise,
    example="*container_id,*machine_id,time_stamp,cpu_util_percent,mem_util_percent,cpi",
)
