"""What ``systemd-cgtop -b`` prints: the usage of control groups, time after time.

100% are one core; sizes are in powers of 1024, with ``--raw`` in bytes. A screen has a header, a pipe none,
and a group that comes again begins another answer. Groups that contain others of the same answer are their
sums, and left out.
Source: systemd-cgtop(1), and ``cgtop.c`` for what it prints where it is no terminal.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from core.reading.formats.docker_stats import FACTS
from core.reading.formats.text_table import Row, parse_time_line, split_time, tool_format
from core.units import BINARY_FACTORS, plural

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from core.reading.formats.text_table import Line
    from core.traces.validation import ProblemLog

_HEADER = re.compile(r"(?:Control Group|CGroup)\s+(?:Tasks|Proc\w*)\s+%CPU\s+Memory")
_BEGINNING = re.compile(
    r"/\S*\s+(?:\d+|-)\s+(?:\d+(?:[.,]\d+)?|-)\s+(?:\d+(?:\.\d+)?[BKMGT]?|-)(?:\s+\S+){2}\s*"
)
_ROW = re.compile(
    r"(?P<name>\S+)\s+(?:\d+|-)\s+(?P<cpu>\S+)\s+(?P<memory>\S+)\s+(?P<read>\S+)\s+(?P<write>\S+)\s*"
)
_SIZE = re.compile(r"(\d+(?:\.\d+)?)([BKMGT]?)")


def is_cgtop(start: str) -> bool:
    """Tell whether a text begins like the output of ``systemd-cgtop``."""
    lines = [line for line in start.splitlines()[:8] if line.strip() and not parse_time_line(line)]
    first = split_time(lines[0])[1] if lines else ""
    return _HEADER.match(first) is not None or _BEGINNING.fullmatch(first) is not None


def parse(lines: Iterable[Line], log: ProblemLog) -> Iterator[Row]:
    """A row for every group and answer."""
    stamp_above, answer_rows, sums = "", list[Row](), set[str]()
    for number, text in lines:
        if time_alone := parse_time_line(text):
            yield from _select_leaves(answer_rows, sums)
            stamp_above, answer_rows = time_alone, []
            continue
        stamp, plain = split_time(text)
        match = _ROW.fullmatch(plain)
        if not plain.strip():
            continue
        ends_answer = _HEADER.match(plain) or (match and match["name"] in _names(answer_rows))
        if ends_answer:
            yield from _select_leaves(answer_rows, sums)
            answer_rows = []
        if match:
            answer_rows.append(Row(number, _cells(match, stamp or stamp_above)))
        elif not ends_answer:
            log.add("ragged", f"Row {number} has no control group.", row=number)
    yield from _select_leaves(answer_rows, sums)
    if sums:
        message = f"{plural(len(sums), 'control group')} that contain others, first of “{min(sums)}”."
        log.add("group_sums", message, count=len(sums))


def _cells(match: re.Match[str], stamp: str) -> dict[str, str]:
    cells = {"timestamp": stamp} if stamp else {}
    cells |= {"name": match["name"], "cpu_percent": match["cpu"].replace(",", ".")}
    cells["memory_bytes"] = _bytes(match["memory"])
    rates = {"read_bytes_per_s": "read", "write_bytes_per_s": "write"}  # "-" where they are not accounted for
    return cells | {name: _bytes(match[part]) for name, part in rates.items() if match[part] != "-"}


def _bytes(text: str) -> str:
    match = _SIZE.fullmatch(text)
    return f"{float(match[1]) * BINARY_FACTORS[match[2].lower()]:.0f}" if match else text


def _names(rows: Iterable[Row]) -> set[str]:
    return {row.cells["name"] for row in rows}


def _select_leaves(answer_rows: list[Row], sums: set[str]) -> Iterator[Row]:
    """The groups of an answer that contain no other one; the others are remembered."""
    names = _names(answer_rows)
    for row in answer_rows:
        name = row.cells["name"]
        prefix = f"{name.strip('/')}/".lstrip("/")
        if any(other != name and other.strip("/").startswith(prefix) for other in names):
            sums.add(name)
        else:
            yield row


FORMATS = (
    tool_format(
        "cgtop",
        "systemd-cgtop",
        (".txt", ".log"),
        is_cgtop,
        parse,
        example="".join(
            f"/ 212 90.0 3.4G - -\nsystem.slice/a.service 24 8{i}.0 51{i}.0M - -\n\n" for i in range(5)
        ),
        facts=FACTS,
    ),
)
