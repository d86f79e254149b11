"""What ``docker stats`` prints: its table, refreshed or streamed, and its JSON lines.

Percentages are of one core, sizes like ``1.2GiB / 4GiB`` become bytes. A line may carry its own time
(a column before the table, a field of the JSON) or have it on a line above; without one, rows of a container
are counted.

Where a container has no memory limit, Docker prints the memory of its host in the limit's place. A size that
nobody sets by hand, such as ``15.53GiB``, is taken for that and is no limit.
"""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING, Any

from core.store.formats.base import Format
from core.store.formats.logs.stamps import stamped, time_of
from core.store.formats.logs.text_table import Row, TextTable
from core.units import FILE_UNITS, GIB, MIB

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from core.store.formats.logs.text_table import Line
    from core.traces.validation import ProblemLog

_SIZE = re.compile(r"(\d+(?:\.\d*)?|\.\d+)\s*([kKMGTP]i?B|B)")
_FACTORS = {"B": 1.0, "TB": 1e12, "TIB": 1024.0**4, "PB": 1e15, "PIB": 1024.0**5} | {
    key.upper(): FILE_UNITS[key].factor for key in ("kb", "mb", "gb", "kib", "mib", "gib")
}
LOOKED_AT = 4_000
"""In so many characters a sample or the names of the columns are looked for."""
_DIGITS = 4
"""How many digits Docker prints of a size."""
_SMALL = 64 * MIB
"""No host has less memory."""
_STEPS: tuple[tuple[float, tuple[float, ...]], ...] = (
    (100 * GIB, (GIB,)),
    (8 * GIB, (1000 * MIB, GIB, 1e9)),
    (GIB, (100 * MIB, 128 * MIB, 1e8)),
    (0.0, (50 * MIB, 64 * MIB, 5e7)),
)
"""From a size on, of what people's limits are multiples."""
_HOSTS = frozenset(("host", "hostname", "node", "server", "machine", "vm"))
_TIME_KEYS = ("timestamp", "Timestamp", "time", "Time", "read", "ts")
_COLUMNS = {
    "CONTAINER ID": "id", "CONTAINER": "id", "NAME": "name", "CPU %": "CPUPerc",
    "MEM USAGE / LIMIT": "MemUsage", "MEM %": "MemPerc", "NET I/O": "NetIO", "BLOCK I/O": "BlockIO",
    "PIDS": "PIDs",
}  # fmt: skip


def is_json(start: str) -> bool:
    """Tell whether a text begins with JSON lines of docker stats."""
    return any(
        '"CPUPerc"' in line and stamped(line.strip())[1].startswith("{")
        for line in start[:LOOKED_AT].splitlines()
    )


def is_table(start: str) -> bool:
    """Tell whether a text begins with a table of docker stats."""
    first = start[:LOOKED_AT]
    return "CPU %" in first and "MEM USAGE / LIMIT" in first


def parse_json(lines: Iterable[Line], log: ProblemLog) -> Iterator[Row]:
    """Rows of ``docker stats --format '{{json .}}'``."""
    for number, stamp, plain in with_times(lines):
        try:
            entry = json.loads(plain)
            row = as_row(number, {key: str(value) for key, value in entry.items()}, stamp, log)
        except (ValueError, AttributeError, RecursionError):
            log.add("ragged", f"Row {number} is not a JSON line of docker stats.", row=number)
            continue
        yield row


def parse_table(lines: Iterable[Line], log: ProblemLog) -> Iterator[Row]:
    """Rows of the table, whose columns begin where their names do."""
    header: list[str] = []
    for number, stamp, plain in with_times(lines):
        cells = re.split(r"\s{2,}", plain)
        if "CPU %" in cells:
            header = [_COLUMNS.get(cell, cell) for cell in cells]
            continue
        if len(cells) != len(header):
            message = f"Row {number} has {len(cells)} cells instead of the {len(header)} of its header."
            log.add("ragged", message, row=number)
            continue
        yield as_row(number, dict(zip(header, cells, strict=True)), stamp, log)


def with_times(lines: Iterable[Line]) -> Iterator[tuple[int, str, str]]:
    """The number of every line that says something, the time before or above it, and the rest of it."""
    above = ""
    for number, text in lines:
        plain = text.strip()
        if alone := time_of(plain):
            above = alone
        elif plain:
            stamp, rest = stamped(plain)
            yield number, stamp or above, rest


def as_row(number: int, entry: dict[str, Any], stamp: str, log: ProblemLog) -> Row:
    """The row of a sample."""
    stamp = stamp or next((entry[key] for key in _TIME_KEYS if key in entry), "")
    name = entry.get("Name") or entry.get("name") or entry.get("Container") or entry.get("id", "")
    host = next((entry[key] for key in entry if key.lower() in _HOSTS and entry[key]), "")
    cells = {"name": f"{host}/{name}" if host else name}
    if stamp:
        cells["timestamp"] = stamp
    if "CPUPerc" in entry:
        cells["cpu_percent"] = entry["CPUPerc"].replace("--", "")
    pairs = (
        ("MemUsage", "memory_bytes", "memory_limit_bytes"),
        ("NetIO", "net_in_bytes", "net_out_bytes"),
        ("BlockIO", "block_in_bytes", "block_out_bytes"),
    )
    for key, first, second in pairs:
        if key in entry:
            left, _, right = entry[key].partition("/")
            cells[first], cells[second] = as_bytes(left), as_bytes(right)
    if not _is_set(cells.get("memory_limit_bytes", "")):
        size = entry["MemUsage"].partition("/")[2].strip()
        message = f"“{cells['name']}” has no memory limit: {size} is the memory of its host."
        log.add("host_memory", message, row=number)
        del cells["memory_limit_bytes"]
    if "PIDs" in entry:
        cells["pids"] = entry["PIDs"].replace("--", "")
    return Row(number, cells)


def as_bytes(text: str) -> str:
    """A size as a plain number of bytes; what is not a size stays for the report."""
    bare = text.strip()
    found = _SIZE.fullmatch(bare)
    if found is None:
        return "" if bare == "--" else bare
    return repr(float(found[1]) * _FACTORS[found[2].upper()])


def _is_set(limit: str) -> bool:
    """Whether a memory limit is a size that people set: in whole MiB, GiB or MB, as far as digits tell."""
    try:
        size = float(limit)
    except ValueError:
        return True
    if size < _SMALL or not math.isfinite(size):
        return True
    printed = next((unit for unit in (GIB, MIB) if size >= unit), 1.0)
    off = 0.5 * printed * 10.0 ** (math.floor(math.log10(size / printed)) - _DIGITS + 1)
    steps = next(steps for least, steps in _STEPS if size >= least)
    return any(abs(size - step * round(size / step)) <= off for step in steps)


FORMATS = (
    Format(
        "docker_stats_json",
        "docker stats",
        (".json",),
        lambda start: is_json(start.text),
        lambda start: TextTable.open(start.path, parse_json, "JSON lines of docker stats", "docker_stats"),
        '{"Name": "a", "CPUPerc": "5.00%", "MemUsage": "1MiB / 2MiB", "NetIO": "1kB / 2kB", "PIDs": "3"}\n'
        * 6,
    ),
    Format(
        "docker_stats",
        "docker stats",
        (".txt",),
        lambda start: is_table(start.text),
        lambda start: TextTable.open(start.path, parse_table, "a table of docker stats", "docker_stats"),
        "NAME  CPU %  MEM USAGE / LIMIT\n" + "a  5.00%  1MiB / 2MiB\n" * 5,
    ),
)
