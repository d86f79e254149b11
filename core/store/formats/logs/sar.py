"""What sysstat's ``sar`` prints, and what ``sadf -d`` makes of its files.

Both come in blocks, one per activity (CPU, memory, disks), each with its own header. Blocks are
joined by time. Only lines about the whole machine count: of CPU lines those of ``all`` (``-1`` in
sadf), and activities without an item per line. ``busy`` is 100 − %idle.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from core.store.formats.base import Format
from core.store.formats.logs.text_table import Row, TextTable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from core.store.formats.logs.text_table import Line
    from core.traces.validation import ProblemLog

BANNER = re.compile(r"Linux\s+\S+\s+\((?P<host>[^)]*)\)\s+(?P<date>[\d/.-]+)(?:.*\((?P<cpus>\d+) CPU\))?")
_CLOCK = re.compile(r"(\d{1,2}):(\d{2}):(\d{2})(?:\s+([AP]M))?\s+(.*)")
_ITEMS = ("DEV", "IFACE", "INTR", "TTY", "FAN", "TEMP", "BUS", "MHz", "FILESYSTEM")
_NO_DATE = datetime(1970, 1, 1, tzinfo=UTC)
_LAST_YEAR = 3000


def is_sadf(start: str) -> bool:
    """Tell whether a text begins like the output of ``sadf -d``."""
    return re.match(r"#?\s*hostname;interval;timestamp;", start) is not None


def is_sar(start: str) -> bool:
    """Tell whether a text begins like the output of ``sar``."""
    return BANNER.match(start.lstrip()) is not None


def parse_sadf(lines: Iterable[Line], log: ProblemLog) -> Iterator[Row]:
    """Rows of ``sadf -d``: the blocks joined by host and time, in the order of the first block."""
    header: list[str] = []
    found: dict[tuple[str, str], Row] = {}
    for number, text in lines:
        if not text.strip():
            continue
        cells = [cell.strip() for cell in text.lstrip("# ").split(";")]
        if cells[0] == "hostname":
            header = [_bare(name) for name in cells]
            continue
        if len(cells) != len(header):
            if "LINUX-RESTART" not in text:
                message = f"Row {number} has {len(cells)} cells instead of the {len(header)} of its header."
                log.add("ragged", message, row=number)
            continue
        values = dict(zip(header, cells, strict=True))
        if "timestamp" not in values:
            log.add("ragged", f"Row {number} belongs to a header without a timestamp.", row=number)
            continue
        if not _whole(values):
            continue
        key = (values["hostname"], values["timestamp"])
        values["timestamp"] = re.sub(r"\s+UTC$", "Z", values["timestamp"])
        _join(found, key, number, values)
    yield from found.values()


def parse_sar(lines: Iterable[Line], log: ProblemLog) -> Iterator[Row]:
    """Rows of ``sar``: the blocks joined by time, days known from the banner and from midnight."""
    day, host, cpus = _NO_DATE, "", ""
    header: list[str] = []
    doubtful = ""
    last = timedelta(-1)
    today = day
    found: dict[tuple[str, str], Row] = {}
    for number, text in lines:
        banner = BANNER.match(text)
        if banner:
            day = today = _date(banner["date"])
            doubtful = _two_dates(banner["date"])
            host, cpus, last = banner["host"], banner["cpus"] or "", timedelta(-1)
            continue
        clock = _CLOCK.match(text)
        if clock is None or "LINUX RESTART" in text:
            continue
        if doubtful:
            message = f"“{doubtful}” in the banner can be two dates."
            log.add("assumed_date", message, row=number)
            doubtful = ""
        of_day, cells = _of_day(clock), clock[5].split()
        if _is_header(cells):
            header, today, last = cells, day, timedelta(-1)
            continue
        if len(cells) != len(header):
            message = f"Row {number} has {len(cells)} cells instead of the {len(header)} of its header."
            log.add("ragged", message, row=number)
            continue
        if of_day < last:
            today += timedelta(days=1)
        last = of_day
        values = dict(zip(header, cells, strict=True))
        if _whole(values):
            stamp = str(int((today + of_day).timestamp()))
            extra = {"cpus": cpus} if cpus else {}
            _join(found, (host, stamp), number, {"hostname": host, "timestamp": stamp, **extra, **values})
    yield from found.values()


def _bare(name: str) -> str:
    """A column's name without the list of items that sadf may add: ``CPU``, ``%user[...]``."""
    return name.partition("[")[0]


def _is_header(cells: list[str]) -> bool:
    return not any(re.fullmatch(r"-?\d+([.,]\d+)?", cell) for cell in cells) and len(cells) > 1


def _whole(values: dict[str, str]) -> bool:
    """Tell whether a line is about the whole machine."""
    return values.get("CPU", "all") in ("all", "-1") and not any(item in values for item in _ITEMS)


def _join(
    found: dict[tuple[str, str], Row], key: tuple[str, str], number: int, values: dict[str, str]
) -> None:
    values = {name: cell for name, cell in values.items() if name not in ("CPU", "interval")}
    idle = values.get("%idle", "").replace(",", ".")
    if idle:
        try:
            values["busy"] = f"{100 - float(idle):.6g}"
        except ValueError:
            values["busy"] = idle
    if key in found:
        found[key].cells.update(values)
    else:
        found[key] = Row(number, values)


def _two_dates(text: str) -> str:
    """The date where nothing tells its day from its month; else an empty text."""
    parts = text.split("/")
    small = len(parts) == 3 and all(part.isdigit() and 1 <= int(part) <= 12 for part in parts[:2])
    return text if small and parts[0] != parts[1] else ""


def _date(text: str) -> datetime:
    """The banner's date: the day is first behind points, or where the second part is above 12."""
    texts = [part for part in re.split(r"[/.-]", text) if part]
    if len(texts) != 3 or max(map(len, texts)) > 4:
        return _NO_DATE
    parts = [int(part) for part in texts]
    if parts[0] > 31:
        year, month, day = parts
    else:
        month, day, year = parts
        year += 2000 if year < 100 else 0
        if month > 12 or "." in text:
            month, day = day, month
    try:
        # the days that are counted on from here must be dates as well
        return datetime(year, month, day, tzinfo=UTC) if year < _LAST_YEAR else _NO_DATE
    except ValueError:
        return _NO_DATE


def _of_day(clock: re.Match[str]) -> timedelta:
    hours, minutes, seconds = int(clock[1]), int(clock[2]), int(clock[3])
    if clock[4]:
        hours = hours % 12 + (12 if clock[4] == "PM" else 0)
    return timedelta(hours=hours, minutes=minutes, seconds=seconds)


FORMATS = (
    Format(
        "sadf",
        "sar",
        (".txt",),
        lambda start: is_sadf(start.text),
        lambda start: TextTable.open(start.path, parse_sadf, "output of sadf -d"),
        "# hostname;interval;timestamp;CPU;%user;%idle\n"
        + "".join(f"h;10;2024-01-01 00:00:{i}0 UTC;-1;5.0;{90 - i}.0\n" for i in range(5)),
    ),
    Format(
        "sar",
        "sar",
        (".txt",),
        lambda start: is_sar(start.text),
        lambda start: TextTable.open(start.path, parse_sar, "output of sar"),
        "Linux 6.1 (h) \t01/01/2024 \t_x86_64_\t(4 CPU)\n\n00:00:00  CPU  %user  %idle\n"
        + "".join(f"00:0{i}:00  all  5.00  {90 - i}.00\n" for i in range(5)),
    ),
)
