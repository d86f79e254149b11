"""What ``dstat --output`` writes, and dool and PCP's dstat: lines about itself, two of names, and numbers.

Names repeat from group to group (``used`` of memory and of swap), so that a column is known by both lines.
Numbers are raw, bytes and bytes per second; CPU is in percent of the machine. The first row is the mean since
the machine was started, and left out. Times have a day and no year, which is that of the line ``Date:``.
Source: dstat(1), and what its ``--output`` writes.
"""

from __future__ import annotations

import csv
import re
from itertools import pairwise
from typing import TYPE_CHECKING

from core.reading.formats.sysstat import MACHINE_FACTS
from core.reading.formats.text_table import Row, tool_format

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from core.reading.formats.text_table import Line
    from core.traces.validation import ProblemLog

_BEGINS = re.compile(r'"?(?:pcp[- ]?)?(?:dstat|dool)[^,\n"]{0,40}CSV output', re.IGNORECASE)
_COLUMNS = {
    ("memory usage", "used"): "memory_used_bytes",
    ("net/total", "recv"): "net_in_bytes_per_s",
    ("net/total", "send"): "net_out_bytes_per_s",
    ("dsk/total", "read"): "block_in_bytes_per_s",
    ("dsk/total", "writ"): "block_out_bytes_per_s",
}
_CPU = frozenset(("total cpu usage", "total usage"))
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_DAY = re.compile(
    rf"(?:(?P<day>\d{{1,2}})-(?P<month>\d{{1,2}})|(?P<name>{'|'.join(_MONTHS)})-(?P<of_month>\d{{1,2}})) "
    r"(?P<clock>\d\d:\d\d:\d\d(?:\.\d+)?)"
)
"""Of dstat ``31-12 23:59:59``, of dool ``Dec-31 23:59:59``."""
_YEAR = re.compile(r"\b((?:19|20)\d\d)\b")


def is_dstat(start: str) -> bool:
    """Tell whether a text begins like a file of dstat."""
    return _BEGINS.match(start) is not None


def parse(lines: Iterable[Line], log: ProblemLog) -> Iterator[Row]:
    """Rows of samples; the first one of every start of dstat is left out."""
    host, year, groups = "", "", list[str]()
    names: list[tuple[str, str]] = []
    is_first, month = True, 0
    for number, text in lines:
        cells = _cells(text)
        facts = dict(pairwise(cells))
        if not any(cells) or _BEGINS.match(text) or "Author:" in facts:
            continue
        if "Host:" in facts:
            host = facts["Host:"]
        elif "Cmdline:" in facts:
            year_match = _YEAR.search(cells[-1]) or _YEAR.search(text)
            year, month = year_match[1] if year_match else "", 0
        elif not _is_sample(cells):
            # a dstat of Python 3 writes the group before each name, “total cpu usage:idl”
            bare = [cell.rpartition(":")[2] for cell in cells]
            names = list(zip(groups, bare, strict=False)) if groups else []
            groups, is_first = ([] if groups else _spread_groups(cells)), True
        elif len(cells) < len(names) or not names:
            log.add("ragged", f"Row {number} has not the cells of its header.", row=number)
        elif is_first:
            log.add("since_boot", f"Row {number} is the mean since the machine was started.", row=number)
            is_first = False
        else:
            values = dict(zip(names, cells, strict=False))
            year, month = _advance_date(year, month, values)
            yield Row(number, {"hostname": host, **_moment(values, year), **_sample(values)})


def _cells(text: str) -> list[str]:
    """The cells of a line; none where it is no line of a table."""
    try:
        return next(csv.reader([text]), [])
    except csv.Error:
        return []


def _is_sample(cells: Sequence[str]) -> bool:
    return any(re.fullmatch(r"-?\d+(?:\.\d*)?(?:[eE][+-]?\d+)?", cell.strip()) for cell in cells)


def _spread_groups(cells: Sequence[str]) -> list[str]:
    """The group of every column: it stands above its first one only."""
    groups_, last_group = list[str](), ""
    for cell in cells:
        last_group = cell.strip() or last_group
        groups_.append(last_group)
    return [*groups_, *[last_group] * 64]


def _sample(values: dict[tuple[str, str], str]) -> dict[str, str]:
    cells = {name: values[column].strip() for column, name in _COLUMNS.items() if column in values}
    idle = next((values[group, "idl"].strip() for group in _CPU if (group, "idl") in values), None)
    if idle is None:
        return cells
    return {"busy": f"{100 - float(idle):.6g}" if re.fullmatch(r"\d+(?:\.\d+)?", idle) else idle, **cells}


def _moment(values: dict[tuple[str, str], str], year: str) -> dict[str, str]:
    """The time of a row: seconds since 1970, or a day with the year in which it was."""
    text = next((cell.strip() for (_, name), cell in values.items() if name in ("epoch", "time")), "")
    day = _DAY.fullmatch(text)
    if day and year:
        text = f"{year}-{_month(day):02}-{int(day['day'] or day['of_month']):02} {day['clock']}"
    return {"timestamp": text} if text else {}


def _month(day: re.Match[str]) -> int:
    return int(day["month"]) if day["month"] else _MONTHS.index(day["name"]) + 1


def _advance_date(year: str, month: int, values: dict[tuple[str, str], str]) -> tuple[str, int]:
    """The year and month of a row, behind one of `month`: months fall where a year ends."""
    days = (_DAY.fullmatch(cell.strip()) for (_, name), cell in values.items() if name == "time")
    day = next((found for found in days if found), None)
    if day is None or not year:
        return year, month
    now = _month(day)
    return (str(int(year) + 1) if now < month else year), now


FORMATS = (
    tool_format(
        "dstat",
        "dstat",
        (".csv",),
        is_dstat,
        parse,
        example='"Dstat 0.7.4 CSV output"\n"Host:","h"\n'
        '"Cmdline:","dstat",,,,"Date:","15 Jan 2026 10:00:00 UTC"\n\n'
        '"system","total cpu usage",,"memory usage",\n"time","usr","idl","used","free"\n'
        + "".join(f"15-01 10:00:{i}0,5.0,{90 - i}.0,5e8,1e9\n" for i in range(7)),
        facts=MACHINE_FACTS,
    ),
)
