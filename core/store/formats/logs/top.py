"""What ``top -b`` prints: the usage of processes, time after time.

100% are one core (in the Irix mode, which is the default); a size without a letter is in KiB, ``g`` is GiB.
Source: top(1) of procps-ng.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from core.store.formats.base import Format
from core.store.formats.logs.text_table import Row, TextTable
from core.units import GIB, KIB, MIB

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from core.store.formats.logs.text_table import Line
    from core.traces.validation import ProblemLog

_BEGINS = re.compile(r"top - (\d{1,2}:\d{2}:\d{2}) up ")
_SIZE = re.compile(r"(\d+(?:\.\d+)?)([mgt]?)")
_FACTORS = {"": KIB, "m": MIB, "g": GIB, "t": 1024 * GIB}
_SIZES = {"RES": "memory_bytes", "VIRT": "virtual_bytes", "SHR": "shared_bytes"}
_USAGE = {"%CPU": "cpu_percent", "%MEM": "memory_percent"}


def parse(lines: Iterable[Line], log: ProblemLog) -> Iterator[Row]:
    """A row for every process and time."""
    clock = ""
    header: list[str] = []
    for number, text in lines:
        if begins := _BEGINS.match(text):
            clock, header = begins[1], []
            continue
        words = text.split()
        if "PID" in words and "%CPU" in words:
            header = words
            continue
        if not header or not words:
            continue
        last = len(header) - 1
        if len(words) < len(header):
            message = f"Row {number} has {len(words)} cells instead of the {len(header)} of its header."
            log.add("ragged", message, row=number)
            continue
        yield Row(
            number, _cells(clock, dict(zip(header, [*words[:last], " ".join(words[last:])], strict=True)))
        )


def _cells(clock: str, cells: dict[str, str]) -> dict[str, str]:
    """The cells of a line as they are mapped: numbers with a point, sizes in bytes."""
    process = {"timestamp": clock, "command": cells.get("COMMAND", ""), "pid": cells["PID"]}
    usage = {new: cells[old].replace(",", ".") for old, new in _USAGE.items() if old in cells}
    sizes = {new: _bytes(cells[old].replace(",", ".")) for old, new in _SIZES.items() if old in cells}
    return process | usage | sizes


def _bytes(text: str) -> str:
    found = _SIZE.fullmatch(text)
    return f"{float(found[1]) * _FACTORS[found[2]]:.0f}" if found else text


FORMATS = (
    Format(
        "top",
        "top",
        (".txt", ".log"),
        lambda start: _BEGINS.match(start.text) is not None,
        lambda start: TextTable.open(start.path, parse, "output of top -b", "processes"),
        "".join(
            f"top - 09:00:{i}0 up 1 day\n\n    PID   RES  %CPU COMMAND\n      7  {i}200  5{i}.0 python3\n"
            for i in range(5)
        ),
    ),
)
