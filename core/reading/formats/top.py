"""What ``top -b`` prints: the usage of processes, time after time.

100% are one core (in the Irix mode, which is the default); a size without a letter is in KiB, ``g`` is GiB.
Source: top(1) of procps-ng.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from core.reading.formats.sysstat import PROCESS_FACTS
from core.reading.formats.text_table import IdleRows, Row, tool_format
from core.units import BINARY_FACTORS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from core.reading.formats.text_table import Line
    from core.traces.validation import ProblemLog

_BEGINS = re.compile(r"top - (\d{1,2}:\d{2}:\d{2}) up ")
_IDLE = re.compile(r"%?Cpu\(s\)\s{0,4}:.{0,200}?(\d{1,3}[.,]\d{1,2}) ?%?\s?id")
_THREADS = "Top was asked for threads (-H), each with the memory of its whole process: are they executions?"
_PERCENT = re.compile(r"\d+(?:\.\d+)?")
_MIN_RATIO, _MIN_PERCENT = 1.3, 5.0
"""Processes use more than the machine is busy by this factor, and by these percent, which is no rounding."""
_SIZE = re.compile(r"(\d+(?:\.\d+)?)([mgt]?)")
_SIZES = {"RES": "memory_bytes", "VIRT": "virtual_bytes", "SHR": "shared_bytes"}
_USAGE = {"%CPU": "cpu_percent", "%MEM": "memory_percent"}


@dataclass
class _Mode:
    """Whether percentages are of one core: all processes together then exceed what the machine is busy.

    In its Solaris mode top divides them by the processors, and says so nowhere.
    """

    busy: float | None = None
    total: float = 0.0
    has_usage: bool = False
    is_of_cores: bool = False

    def end_answer(self) -> None:
        """Look at the answer that ends."""
        if self.busy is not None:
            self.has_usage = self.has_usage or self.total > _MIN_PERCENT
            self.is_of_cores = self.is_of_cores or self.total > _MIN_RATIO * self.busy + _MIN_PERCENT
        self.busy, self.total = None, 0.0

    def add(self, percent: str) -> None:
        """Take in what one process uses."""
        self.total += float(percent) if _PERCENT.fullmatch(percent) else 0.0

    def report(self, log: ProblemLog) -> None:
        """Report it if nothing shows of what percentages are."""
        self.end_answer()
        if self.has_usage and not self.is_of_cores:
            log.add("doubtful", "Top prints percentages of one core or of all of them: which are these?")


def parse(lines: Iterable[Line], log: ProblemLog) -> Iterator[Row]:
    """A row for every process and time."""
    clock, mode = "", _Mode()
    idle, active = IdleRows(log, prints_idle=False), set[str]()
    usage, lengths = list[str](), set[int]()  # of an answer, and how long answers are
    header: list[str] = []
    for number, text in lines:
        if start_match := _BEGINS.match(text):
            if clock and _lists_active(usage):
                active.add(clock)
            lengths |= {len(usage)} if clock else set()
            clock, header, usage = start_match[1], [], []
            mode.end_answer()
            idle.begin_frame(clock)
            continue
        if text.startswith("Threads:"):
            log.add("doubtful", _THREADS, row=number)
            continue
        if idle_match := _IDLE.match(text):
            mode.busy = 100 - float(idle_match[1].replace(",", "."))
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
        cells = _cells(clock, dict(zip(header, [*words[:last], " ".join(words[last:])], strict=True)))
        mode.add(cells.get("cpu_percent", ""))
        usage.append(cells.get("cpu_percent", ""))
        # answers that are all as long were cut, and a process may be missing because others used more
        yield from idle.add(Row(number, cells), active if len(lengths) > 1 else ())
    idle.report()
    mode.report(log)


def _lists_active(percents: Sequence[str]) -> bool:
    """Whether an answer has active processes alone, as with ``-i``: a process that it lacks was idle."""
    return not any(percent.strip("0.") == "" for percent in percents)


def _cells(clock: str, cells: dict[str, str]) -> dict[str, str]:
    """The cells of a line as they are mapped: numbers with a point, sizes in bytes."""
    process = {"timestamp": clock, "command": cells.get("COMMAND", ""), "pid": cells["PID"]}
    usage = {new: cells[old].replace(",", ".") for old, new in _USAGE.items() if old in cells}
    sizes = {new: _bytes(cells[old].replace(",", ".")) for old, new in _SIZES.items() if old in cells}
    return process | usage | sizes


def _bytes(text: str) -> str:
    found = _SIZE.fullmatch(text)
    return f"{float(found[1]) * BINARY_FACTORS[found[2] or 'k']:.0f}" if found else text


FORMATS = (
    tool_format(
        "top",
        "top",
        (".txt", ".log"),
        lambda text: _BEGINS.match(text) is not None,
        parse,
        example="".join(
            f"top - 09:00:{i}0 up 1 day\n\n    PID   RES  %CPU COMMAND\n      7  {i}200  5{i}.0 python3\n"
            for i in range(5)
        ),
        facts=PROCESS_FACTS,
    ),
)
