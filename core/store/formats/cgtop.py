"""What ``systemd-cgtop -b`` prints: the usage of control groups, time after time.

100% are one core; sizes are in powers of 1024, with ``--raw`` in bytes. A screen has a header, a pipe none,
and a blank line ends each answer. Groups that contain others of the same answer are their sums, and left out.
Source: systemd-cgtop(1), and ``cgtop.c`` for what it prints where it is no terminal.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from core.store.formats.base import Format
from core.store.formats.text_table import Row, TextTable, stamped, time_of
from core.units import BINARY_FACTORS, plural

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from core.store.formats.text_table import Line
    from core.traces.validation import ProblemLog

_HEADER = re.compile(r"(?:Control Group|CGroup)\s+(?:Tasks|Proc\w*)\s+%CPU\s+Memory")
_ROW = re.compile(
    r"(?P<name>\S+)\s+(?:\d+|-)\s+(?P<cpu>\d+(?:[.,]\d+)?|-)\s+(?P<memory>\d+(?:\.\d+)?[BKMGT]?|-)"
    r"\s+(?P<read>\S+)\s+(?P<write>\S+)\s*"
)
_SIZE = re.compile(r"(\d+(?:\.\d+)?)([BKMGT]?)")


def is_cgtop(start: str) -> bool:
    """Tell whether a text begins like the output of ``systemd-cgtop``."""
    lines = [line for line in start.splitlines()[:8] if line.strip() and not time_of(line)]
    first = stamped(lines[0])[1] if lines else ""
    row = _ROW.fullmatch(first)
    return _HEADER.match(first) is not None or (row is not None and row["name"].startswith("/"))


def parse(lines: Iterable[Line], log: ProblemLog) -> Iterator[Row]:
    """A row for every group and answer."""
    above, answer, sums = "", list[Row](), set[str]()
    for number, text in lines:
        if alone := time_of(text):
            yield from _leaves(answer, sums)
            above, answer = alone, []
            continue
        stamp, plain = stamped(text)
        found = _ROW.fullmatch(plain)
        ends = not plain.strip() or _HEADER.match(plain) or (found and found["name"] in _names(answer))
        if ends:
            yield from _leaves(answer, sums)
            answer = []
        if found:
            answer.append(Row(number, _cells(found, stamp or above)))
        elif not ends:
            log.add("ragged", f"Row {number} has no control group.", row=number)
    yield from _leaves(answer, sums)
    if sums:
        message = f"{plural(len(sums), 'control group')} that contain others, first of “{min(sums)}”."
        log.add("group_sums", message, count=len(sums))


def _cells(found: re.Match[str], stamp: str) -> dict[str, str]:
    cells = {"timestamp": stamp} if stamp else {}
    cells |= {"name": found["name"], "cpu_percent": found["cpu"].replace(",", ".")}
    sizes = {"memory_bytes": "memory", "read_bytes_per_s": "read", "write_bytes_per_s": "write"}
    return cells | {name: _bytes(found[part]) for name, part in sizes.items() if found[part] != "-"}


def _bytes(text: str) -> str:
    found = _SIZE.fullmatch(text)
    return f"{float(found[1]) * BINARY_FACTORS[found[2].lower()]:.0f}" if found else ""


def _names(rows: Iterable[Row]) -> set[str]:
    return {row.cells["name"] for row in rows}


def _leaves(answer: list[Row], sums: set[str]) -> Iterator[Row]:
    """The groups of an answer that contain no other one; the others are remembered."""
    names = _names(answer)
    for row in answer:
        name = row.cells["name"]
        inside = f"{name.strip('/')}/".lstrip("/")
        if any(other != name and other.strip("/").startswith(inside) for other in names):
            sums.add(name)
        else:
            yield row


FORMATS = (
    Format(
        "cgtop",
        "systemd-cgtop",
        (".txt", ".log"),
        lambda start: is_cgtop(start.text),
        lambda start: TextTable.open(start.path, parse, "output of systemd-cgtop", "docker_stats"),
        "".join(f"/ 212 90.0 3.4G - -\nsystem.slice/a.service 24 8{i}.0 51{i}.0M - -\n\n" for i in range(5)),
    ),
)
