"""What ``docker stats`` prints: its table, refreshed or streamed, and its JSON lines.

Percentages are of one core, sizes like ``1.2GiB / 4GiB`` become bytes. A line may carry its own time
(a column before the table, or a field of the JSON); without one, rows of a container are counted.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from core.store.formats.base import Format
from core.store.formats.logs.text_table import Row, TextTable
from core.traces.cells.dates import is_clock, is_date
from core.units import FILE_UNITS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from core.store.formats.logs.text_table import Line
    from core.traces.validation import ProblemLog

_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_PAIR = re.compile(r"[\d.]+\s*[kKMGTP]?i?B\s*/\s*[\d.]+\s*[kKMGTP]?i?B|-- / --")
_SIZE = re.compile(r"(\d+(?:\.\d*)?|\.\d+)\s*([kKMGTP]i?B|B)")
_STAMP = re.compile(
    r"\[?(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?|\d{10}(?:\.\d+)?)\]?\s+(.*)"
)
_FACTORS = {"B": 1.0, "TB": 1e12, "TIB": 1024.0**4, "PB": 1e15, "PIB": 1024.0**5} | {
    key.upper(): FILE_UNITS[key].factor for key in ("kb", "mb", "gb", "kib", "mib", "gib")
}
_TIME_KEYS = ("timestamp", "Timestamp", "time", "Time", "read", "ts")
_COLUMNS = {
    "CONTAINER ID": "id", "CONTAINER": "id", "NAME": "name", "CPU %": "CPUPerc",
    "MEM USAGE / LIMIT": "MemUsage", "MEM %": "MemPerc", "NET I/O": "NetIO", "BLOCK I/O": "BlockIO",
    "PIDS": "PIDs",
}  # fmt: skip


def is_json(start: str) -> bool:
    """Tell whether a text begins with a JSON line of docker stats."""
    return start.lstrip("\ufeff \t\r\n").startswith("{") and '"CPUPerc"' in start[:4_000]


def is_table(start: str) -> bool:
    """Tell whether a text begins with a table of docker stats."""
    first = _ESCAPES.sub("", start[:4_000])
    return "CPU %" in first and "MEM USAGE / LIMIT" in first


def parse_json(lines: Iterable[Line], log: ProblemLog) -> Iterator[Row]:
    """Rows of ``docker stats --format '{{json .}}'``."""
    for number, text in lines:
        plain = _ESCAPES.sub("", text).strip()
        if not plain:
            continue
        stamp, plain = _stamp(plain)
        try:
            entry = json.loads(plain)
            row = _row(number, {key: str(value) for key, value in entry.items()}, stamp)
        except (ValueError, AttributeError, RecursionError):
            log.add("ragged", f"Row {number} is not a JSON line of docker stats.", row=number)
            continue
        yield row


def parse_table(lines: Iterable[Line], log: ProblemLog) -> Iterator[Row]:
    """Rows of the table, whose columns begin where their names do."""
    header: list[str] = []
    for number, text in lines:
        plain = _ESCAPES.sub("", text).rstrip()
        if not plain.strip():
            continue
        stamp, plain = _stamp(plain.strip())
        cells = re.split(r"\s{2,}", plain.strip())
        if "CPU %" in cells:
            header = [_COLUMNS.get(cell, cell) for cell in cells]
            continue
        if len(cells) != len(header):
            message = f"Row {number} has {len(cells)} cells instead of the {len(header)} of its header."
            log.add("ragged", message, row=number)
            continue
        yield _row(number, dict(zip(header, cells, strict=True)), stamp)


def is_csv(start: str) -> bool:
    """Tell whether a text begins with cells of docker stats between commas, semicolons or tabs."""
    first = [line for line in start[:4_000].splitlines() if line.strip()][:3]
    return len(first) > 1 and any(_cells(line) is not None for line in first)


def parse_csv(lines: Iterable[Line], log: ProblemLog) -> Iterator[Row]:
    """Rows of ``docker stats --format`` with a separator, told by what is in the cells."""
    for number, text in lines:
        if not text.strip():
            continue
        found = _cells(text)
        if found is None:
            if number > 1 and not _HEADER.search(text):
                log.add("ragged", f"Row {number} has no cells of docker stats.", row=number)
            continue
        yield _row(number, found, found.get("stamp", ""))


_HEADER = re.compile(r"CPU|MEM", re.IGNORECASE)
_PERCENT = re.compile(r"\d+(?:\.\d+)?%|--")


def _cells(text: str) -> dict[str, str] | None:
    """The fields of a line: a name first, the first percentage is CPU, sizes with a slash in their order."""
    separator = next((mark for mark in (",", ";", "\t", "|") if mark in text), None)
    cells = [cell.strip().strip('"') for cell in text.split(separator)] if separator else []
    pairs = [cell for cell in cells if _PAIR.fullmatch(cell)]
    shares = [cell for cell in cells if _PERCENT.fullmatch(cell)]
    if not pairs or not shares:
        return None
    stamp = next((cell for cell in cells if _is_time(cell)), "")
    plain = [cell for cell in cells if cell and cell not in (*pairs, *shares, stamp)]
    names = [cell for cell in plain if not cell.isdigit()]
    found = {"CPUPerc": shares[0], "Name": names[-1] if names else "", "stamp": stamp}
    found |= dict(zip(("MemUsage", "NetIO", "BlockIO"), pairs, strict=False))
    return found | ({"MemPerc": shares[1]} if len(shares) > 1 else {})


def _is_time(text: str) -> bool:
    return bool(re.fullmatch(r"\d{10}(?:\.\d+)?|\d{13}", text)) or (
        len(text) > 7 and (is_date(text) or is_clock(text))
    )


def _stamp(text: str) -> tuple[str, str]:
    """A time before a line, and the rest."""
    found = _STAMP.match(text)
    return (found[1], found[2]) if found else ("", text)


def _row(number: int, entry: dict[str, Any], stamp: str) -> Row:
    stamp = stamp or next((entry[key] for key in _TIME_KEYS if key in entry), "")
    cells = {"name": entry.get("Name") or entry.get("name") or entry.get("Container") or entry.get("id", "")}
    if stamp:
        cells["timestamp"] = stamp.replace(",", ".")
    cells["cpu_percent"] = entry.get("CPUPerc", "").replace("--", "")
    pairs = (
        ("MemUsage", "memory_bytes", "memory_limit_bytes"),
        ("NetIO", "net_in_bytes", "net_out_bytes"),
        ("BlockIO", "block_in_bytes", "block_out_bytes"),
    )
    for key, first, second in pairs:
        if key in entry:
            left, _, right = entry[key].partition("/")
            cells[first], cells[second] = _bytes(left), _bytes(right)
    if "PIDs" in entry:
        cells["pids"] = entry["PIDs"].replace("--", "")
    return Row(number, cells)


def _bytes(text: str) -> str:
    """A size as a plain number of bytes; what is not a size stays for the report."""
    bare = text.strip()
    found = _SIZE.fullmatch(bare)
    if found is None:
        return "" if bare == "--" else bare
    return repr(float(found[1]) * _FACTORS[found[2].upper()])


FORMATS = (
    Format(
        "docker_stats_json",
        "docker stats",
        (".json",),
        lambda start: is_json(start.text),
        lambda start: TextTable.open(start.path, parse_json, "JSON lines of docker stats"),
        '{"Name": "a", "CPUPerc": "5.00%", "MemUsage": "1MiB / 2MiB", "NetIO": "1kB / 2kB", "PIDs": "3"}\n'
        * 6,
    ),
    Format(
        "docker_stats_csv",
        "docker stats",
        (".csv", ".txt"),
        lambda start: is_csv(start.text),
        lambda start: TextTable.open(start.path, parse_csv, "docker stats between separators"),
        "name,cpu,mem\n" + "a,5.00%,1MiB / 2MiB\n" * 5,
    ),
    Format(
        "docker_stats",
        "docker stats",
        (".txt",),
        lambda start: is_table(start.text),
        lambda start: TextTable.open(start.path, parse_table, "a table of docker stats"),
        "NAME  CPU %  MEM USAGE / LIMIT\n" + "a  5.00%  1MiB / 2MiB\n" * 5,
    ),
)
