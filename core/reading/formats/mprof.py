"""What memory_profiler's ``mprof run`` writes: the memory of a program, and of its child processes.

A line names what it has: ``CMDLINE`` the command, ``MEM`` the memory in MiB (1024² bytes) and the time in
seconds since 1970, ``CHLD`` those of a child process by its number, ``FUNC`` when a profiled function ran.
Source: ``memory_profiler.py`` and ``mprof.py``, which write and read it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from core.reading.formats.text_table import Row, tool_format
from core.reading.tool_facts import ToolColumn, ToolFacts
from core.traces.model import Role

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from core.reading.formats.text_table import Line
    from core.traces.validation import ProblemLog

_BEGINS = re.compile(r"CMDLINE [^\n]*\n(?:[^\n]*\n){0,3}?(?:MEM|CHLD) |MEM \d+\.\d+ \d{10}\.\d+\s*\n")
_NUMBERS_BY_MARK = {"MEM": 2, "CHLD": 3}


def parse(lines: Iterable[Line], log: ProblemLog) -> Iterator[Row]:
    """Rows of a program and of its child processes."""
    command = "program"
    for number, text in lines:
        mark, _, rest = text.strip().partition(" ")
        if mark == "CMDLINE":
            command = rest.strip() or command
        elif mark in _NUMBERS_BY_MARK:
            cells = rest.split()
            if len(cells) != _NUMBERS_BY_MARK[mark]:
                log.add("ragged", f"Row {number} has not the cells of a {mark} line.", row=number)
                continue
            name = command if mark == "MEM" else f"{command} / child {cells[0]}"
            yield Row(number, {"command": name, "timestamp": cells[-1], "memory_mib": cells[-2]})
        elif mark and mark != "FUNC":
            log.add("ragged", f"Row {number} is no line of mprof.", row=number)


_FACTS = ToolFacts(
    "mprof", "memory_profiler", (ToolColumn("memory_mib", Role.MEMORY, "mib"),), executions=("command",)
)

FORMATS = (
    tool_format(
        "mprof",
        "memory_profiler",
        (".dat",),
        lambda text: _BEGINS.match(text) is not None,
        parse,
        example="CMDLINE python train.py\n" + "".join(f"MEM 2{i}.5 176000000{i}.0000\n" for i in range(6)),
        facts=_FACTS,
    ),
)
