"""What ``kubectl top pod`` prints, asked again and again, with a time before each line or each answer.

Its columns begin where their names do; ``--containers`` and ``-A`` add the container and the namespace. Usage
is in millicores and mebibytes, with the unit in every cell.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from core.reading.formats.text_table import Row, parse_time_line, split_time, tool_format
from core.reading.tool_facts import ToolColumn, ToolFacts
from core.traces.model import Role

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from core.reading.formats.text_table import Line
    from core.traces.validation import ProblemLog

_HEADER = re.compile(r"(?:^|\s)CPU\((?:cores|%)\)\s+.*?MEMORY\((?:bytes|%)\)")
_NAMES = {"NAMESPACE": "namespace", "NODE": "node", "POD": "pod", "NAME": "name", "CPU(CORES)": "CPU(cores)",
          "CPU%": "cpu_percent", "CPU(%)": "cpu_percent", "MEMORY(BYTES)": "MEMORY(bytes)",
          "MEMORY%": "memory_percent",
          "MEMORY(%)": "memory_percent", "GPU": "gpu"}  # fmt: skip


def is_top(start: str) -> bool:
    """Tell whether a text begins like the answer of ``kubectl top``."""
    return any(_HEADER.search(line) and "," not in line for line in start[:8_000].splitlines()[:20])


def parse(lines: Iterable[Line], log: ProblemLog) -> Iterator[Row]:
    """Rows of ``kubectl top``; the time is that of the line, or of the line above the table."""
    header: list[str] = []
    stamp_above = ""
    for number, text in lines:
        stripped = text.strip()
        if not stripped:
            continue
        if _HEADER.search(stripped):
            stamp, line_rest = split_time(stripped)
            stamp_above = stamp or stamp_above
            header = _columns(line_rest)
            continue
        if time_alone := parse_time_line(stripped):
            stamp_above = time_alone
            continue
        stamp, line_rest = split_time(stripped)
        cells = line_rest.split()
        if not header or len(cells) != len(header):
            message = f"Row {number} has {len(cells)} cells instead of the {len(header)} of its header."
            log.add("ragged", message, row=number)
            continue
        values = dict(zip(header, cells, strict=True))
        parts = [values.pop(key) for key in ("namespace", "pod", "name") if key in values]
        cells_ = {"execution": "/".join(parts)}
        if stamp or stamp_above:
            cells_["timestamp"] = stamp or stamp_above
        yield Row(number, cells_ | values)


def _columns(text: str) -> list[str]:
    return [_NAMES.get(word.upper(), word) for word in text.split()]


_FACTS = ToolFacts(
    "kubectl_top",
    "kubectl top",
    (
        ToolColumn(r"CPU\(cores\)", Role.CPU, "cores"),
        ToolColumn(r"MEMORY\(bytes\)", Role.MEMORY, "bytes"),
        ToolColumn("(cpu|memory)_percent", Role.OTHER, "percent"),
    ),
    executions=("execution",),
    period=15.0,  # the resolution of a metrics server, by its default
)

FORMATS = (
    tool_format(
        "kubectl_top",
        "kubectl top",
        (".txt", ".log"),
        is_top,
        parse,
        example="".join(
            f"2026-01-31T12:00:{10 + 5 * i}Z\nNAME  CPU(cores)  MEMORY(bytes)\ntrain-1  {500 + i}m  512Mi\n"
            for i in range(6)
        ),
        facts=_FACTS,
    ),
)
