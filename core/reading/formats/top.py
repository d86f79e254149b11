"""What ``top -b`` and ``systemd-cgtop -b`` print: the usage of processes and control groups, time after time.

100% are one core (in the Irix mode, which is the default); a size without a letter is in KiB, ``g`` is GiB.
Source: top(1) of procps-ng.

Of control groups 100% are one core, too; sizes are in powers of 1024, with ``--raw`` in bytes. A screen has a
header, a pipe none, and a group that comes again begins another answer. Groups that contain others of the
same answer are their sums, and left out. Source: systemd-cgtop(1), and ``cgtop.c`` for what it prints where
it is no terminal.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from core.reading.formats.docker import FACTS
from core.reading.formats.sysstat import PROCESS_FACTS
from core.reading.formats.text_table import IdleRows, Row, fit_row, parse_time_line, split_time, tool_format
from core.units import BINARY_FACTORS, plural

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
        values = fit_row(number, header, words, log, last_is_text=True)
        if values is None:
            continue
        cells = _cells(clock, values)
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


_GROUP_HEADER = re.compile(r"(?:Control Group|CGroup)\s+(?:Tasks|Proc\w*)\s+%CPU\s+Memory")
_GROUP_BEGINNING = re.compile(
    r"/\S*\s+(?:\d+|-)\s+(?:\d+(?:[.,]\d+)?|-)\s+(?:\d+(?:\.\d+)?[BKMGT]?|-)(?:\s+\S+){2}\s*"
)
_GROUP = re.compile(
    r"(?P<name>\S+)\s+(?:\d+|-)\s+(?P<cpu>\S+)\s+(?P<memory>\S+)\s+(?P<read>\S+)\s+(?P<write>\S+)\s*"
)
_GROUP_SIZE = re.compile(r"(\d+(?:\.\d+)?)([BKMGT]?)")


def is_cgtop(start: str) -> bool:
    """Tell whether a text begins like the output of ``systemd-cgtop``."""
    lines = [line for line in start.splitlines()[:8] if line.strip() and not parse_time_line(line)]
    first = split_time(lines[0])[1] if lines else ""
    return _GROUP_HEADER.match(first) is not None or _GROUP_BEGINNING.fullmatch(first) is not None


def parse_groups(lines: Iterable[Line], log: ProblemLog) -> Iterator[Row]:
    """A row for every group and answer."""
    stamp_above, answer_rows, sums = "", list[Row](), set[str]()
    for number, text in lines:
        if time_alone := parse_time_line(text):
            yield from _select_leaves(answer_rows, sums)
            stamp_above, answer_rows = time_alone, []
            continue
        stamp, plain = split_time(text)
        match = _GROUP.fullmatch(plain)
        if not plain.strip():
            continue
        ends_answer = _GROUP_HEADER.match(plain) or (match and match["name"] in _group_names(answer_rows))
        if ends_answer:
            yield from _select_leaves(answer_rows, sums)
            answer_rows = []
        if match:
            answer_rows.append(Row(number, _group_cells(match, stamp or stamp_above)))
        elif not ends_answer:
            log.add("ragged", f"Row {number} has no control group.", row=number)
    yield from _select_leaves(answer_rows, sums)
    if sums:
        message = f"{plural(len(sums), 'control group')} that contain others, first of “{min(sums)}”."
        log.add("group_sums", message, count=len(sums))


def _group_cells(match: re.Match[str], stamp: str) -> dict[str, str]:
    cells = {"timestamp": stamp} if stamp else {}
    cells |= {"name": match["name"], "cpu_percent": match["cpu"].replace(",", ".")}
    cells["memory_bytes"] = _group_bytes(match["memory"])
    rates = {"read_bytes_per_s": "read", "write_bytes_per_s": "write"}  # "-" where they are not accounted for
    return cells | {name: _group_bytes(match[part]) for name, part in rates.items() if match[part] != "-"}


def _group_bytes(text: str) -> str:
    match = _GROUP_SIZE.fullmatch(text)
    return f"{float(match[1]) * BINARY_FACTORS[match[2].lower()]:.0f}" if match else text


def _group_names(rows: Iterable[Row]) -> set[str]:
    return {row.cells["name"] for row in rows}


def _select_leaves(answer_rows: list[Row], sums: set[str]) -> Iterator[Row]:
    """The groups of an answer that contain no other one; the others are remembered."""
    names = _group_names(answer_rows)
    for row in answer_rows:
        name = row.cells["name"]
        prefix = f"{name.strip('/')}/".lstrip("/")
        if any(other != name and other.strip("/").startswith(prefix) for other in names):
            sums.add(name)
        else:
            yield row


FORMATS = (
    tool_format("top", "top", (".txt", ".log"), _BEGINS.pattern, parse, facts=PROCESS_FACTS),
    tool_format(
        "cgtop",
        "systemd-cgtop",
        (".txt", ".log"),
        r"(?:.*\n){0,7}?(?:.{0,60}\s)?(?:(?:Control Group|CGroup)\s|/\S*\s+(?:\d+|-)\s)",
        parse_groups,
        check=is_cgtop,
        facts=FACTS,
    ),
)
