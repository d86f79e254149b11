"""Logs of one program: those of psrecord, and what memory_profiler's ``mprof run`` writes.

Psrecord's CPU is that of psutil, where 100% is one core; its MB are 1024² bytes. Source: psrecord's
``main.py`` and its README. A line of mprof names what it has: ``CMDLINE`` the command, ``MEM`` the memory in
MiB (1024² bytes) and the time in seconds since 1970, ``CHLD`` those of a child process by its number,
``FUNC`` when a profiled function ran. Source: ``memory_profiler.py`` and ``mprof.py``, which write and read
it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.reading.formats.text_table import Row, fit_row, tool_format
from core.reading.tool_facts import ToolColumn, ToolFacts
from core.traces.model import Role

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from core.reading.formats.text_table import Line
    from core.traces.validation import ProblemLog

_COLUMNS = ("elapsed_s", "cpu_percent", "real_mib", "virtual_mib", "read_count", "write_count", "read_bytes",
            "write_bytes")  # fmt: skip
_NUMBERS_BY_MARK = {"MEM": 2, "CHLD": 3}


def parse_psrecord(lines: Iterable[Line], log: ProblemLog) -> Iterator[Row]:
    """Rows of psrecord, whose last columns may be absent."""
    for number, text in lines:
        cells = text.split()
        if not cells or cells[0].startswith("#"):
            continue
        header = _COLUMNS[: len(cells)] if len(cells) >= 4 else _COLUMNS[:4]
        if values := fit_row(number, header, cells, log):
            yield Row(number, values)


def parse_mprof(lines: Iterable[Line], log: ProblemLog) -> Iterator[Row]:
    """Rows of a program and of its child processes."""
    command = "program"
    for number, text in lines:
        mark, _, rest = text.strip().partition(" ")
        cells = rest.split()
        if mark == "CMDLINE":
            command = rest.strip() or command
        elif len(cells) == _NUMBERS_BY_MARK.get(mark):
            name = command if mark == "MEM" else f"{command} / child {cells[0]}"
            yield Row(number, {"command": name, "timestamp": cells[-1], "memory_mib": cells[-2]})
        elif mark and mark != "FUNC":
            log.add("ragged", f"Row {number} is no line of mprof.", row=number)


_PSRECORD = ToolFacts(
    "psrecord",
    "psrecord",
    (
        ToolColumn("cpu_percent", Role.CPU, "percent_of_core"),
        ToolColumn("real_mib", Role.MEMORY, "mib"),
        ToolColumn("virtual_mib", Role.OTHER, "mib"),
        ToolColumn("read_bytes", Role.BLOCK_IN, "bytes_total"),
        ToolColumn("write_bytes", Role.BLOCK_OUT, "bytes_total"),
    ),
    times=("elapsed_s",),
)
_MPROF = ToolFacts(
    "mprof", "memory_profiler", (ToolColumn("memory_mib", Role.MEMORY, "mib"),), executions=("command",)
)
FORMATS = (
    tool_format(
        "psrecord",
        "psrecord",
        (".txt", ".log"),
        r"#\s*Elapsed time\s+CPU \(%\)\s+Real \(MB\)\s+Virtual \(MB\)",
        parse_psrecord,
        facts=_PSRECORD,
    ),
    tool_format(
        "mprof",
        "memory_profiler",
        (".dat",),
        r"CMDLINE [^\n]*\n(?:[^\n]*\n){0,3}?(?:MEM|CHLD) |MEM \d+\.\d+ \d{10}\.\d+\s*\n",
        parse_mprof,
        facts=_MPROF,
    ),
)
