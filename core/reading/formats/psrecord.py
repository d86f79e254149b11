"""The log of psrecord: the CPU and memory of one process, its children optionally included.

Its CPU is that of psutil, where 100% is one core; its MB are 1024² bytes (psrecord divides by 1024²).
Source: psrecord's ``main.py`` and its README.
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

_HEADER = re.compile(r"#\s*Elapsed time\s+CPU \(%\)\s+Real \(MB\)\s+Virtual \(MB\)(?P<io>.*)")
_COLUMNS = ("elapsed_s", "cpu_percent", "real_mib", "virtual_mib", "read_count", "write_count", "read_bytes",
            "write_bytes")  # fmt: skip


def parse(lines: Iterable[Line], log: ProblemLog) -> Iterator[Row]:
    """Rows of the log."""
    for number, text in lines:
        cells = text.split()
        if not cells or cells[0].startswith("#"):
            continue
        if not 4 <= len(cells) <= len(_COLUMNS):
            log.add("ragged", f"Row {number} has {len(cells)} cells instead of 4.", row=number)
            continue
        yield Row(number, dict(zip(_COLUMNS, cells, strict=False)))


_FACTS = ToolFacts(
    "psrecord",
    "psrecord",
    (
        ToolColumn("cpu_percent", Role.CPU, "percent_of_core"),
        ToolColumn("real_mib", Role.MEMORY, "mib"),
        ToolColumn("virtual_mib", Role.OTHER, "mib"),
        ToolColumn("read_bytes", Role.BLOCK_IN, "bytes_total"),
        ToolColumn("write_bytes", Role.BLOCK_OUT, "bytes_total"),
    ),
    time="elapsed_s",
)

FORMATS = (
    tool_format(
        "psrecord",
        "psrecord",
        (".txt", ".log"),
        lambda text: _HEADER.match(text) is not None,
        parse,
        example="# Elapsed time   CPU (%)     Real (MB)   Virtual (MB)\n"
        + "".join(f"{i}.0  50.0  100.{i}  200.0\n" for i in range(6)),
        facts=_FACTS,
    ),
)
