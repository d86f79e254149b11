"""What sysstat's ``sar`` prints, and what ``sadf -d`` makes of its files.

Both come in blocks, one per activity (CPU, memory, disks), each with its own header. Blocks are
joined by time. Only lines about the whole machine count: of CPU lines those of ``all`` (``-1`` in
sadf), and activities without an item per line. ``busy`` is 100 − %idle, and ``busy_cores`` the same in cores:
each machine's banner says its processors.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from core.store.formats.base import Format
from core.store.formats.logs.sysstat import BANNER, Clock
from core.store.formats.logs.text_table import Row, TextTable
from core.units import plural

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from core.store.formats.logs.text_table import Line
    from core.traces.validation import ProblemLog

_UTC = " UTC"
_ITEMS = ("DEV", "IFACE", "INTR", "TTY", "FAN", "TEMP", "BUS", "MHz", "FILESYSTEM")
_RESTART = re.compile(r"LINUX RESTART(?:.*\((?P<cpus>\d{1,6}) CPU\))?")
_USAGE = {"busy", "kbmemused"}


@dataclass
class _Samples:
    """The lines of all activities, joined by host and time; `again` are lines that replaced other numbers."""

    found: dict[tuple[str, str], Row] = field(default_factory=dict)
    again: list[int] = field(default_factory=list)

    def add(self, line: Row) -> None:
        """Add a line about a whole machine to those of other activities at its time."""
        values = {name: cell for name, cell in line.cells.items() if name not in ("CPU", "interval")}
        values |= _busy(values)
        key = (values["hostname"], values["timestamp"])
        known = self.found.setdefault(key, Row(line.number, {})).cells
        other = {name for name in values.keys() & known.keys() if values[name] != known[name]}
        # activities share a few names, such as retrans/s, and are not the same sample for that
        if other and (other & _USAGE or values.keys() <= known.keys()):
            self.again.append(line.number)
        known.update(values)

    def rows(self, log: ProblemLog) -> Iterator[Row]:
        """One row per host and time."""
        if self.again:
            count = plural(len(self.again), "row")
            message = f"{count} with other numbers for a host and time that an earlier row is of."
            log.add("duplicate_time", message, count=len(self.again), rows=self.again)
        yield from self.found.values()


def is_sadf(start: str) -> bool:
    """Tell whether a text begins like the output of ``sadf -d``."""
    return re.match(r"#?\s*hostname;interval;timestamp;", start) is not None


def is_sar(start: str) -> bool:
    """Tell whether a text begins like the output of ``sar``."""
    return BANNER.match(start.lstrip()) is not None


def parse_sadf(lines: Iterable[Line], log: ProblemLog) -> Iterator[Row]:
    """Rows of ``sadf -d``: the blocks joined by host and time, in the order of the first block."""
    header: list[str] = []
    found = _Samples()
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
        stamp = values["timestamp"].strip()
        values["timestamp"] = f"{stamp[: -len(_UTC)].rstrip()}Z" if stamp.endswith(_UTC) else stamp
        found.add(Row(number, values))
    yield from found.rows(log)


def parse_sar(lines: Iterable[Line], log: ProblemLog) -> Iterator[Row]:
    """Rows of ``sar``: the blocks joined by time, days known from the banner and from midnight."""
    clock, found = Clock(), _Samples()
    header: list[str] = []
    for line in lines:
        if clock.begins(line.text):
            continue
        if restart := _RESTART.search(line.text):
            clock.cpus = (restart["cpus"] if clock.cpus else "") or clock.cpus
            continue
        split = clock.split(line, log)
        if split is None:
            continue
        of_day, cells = split
        if _is_header(cells):
            header = cells
            clock.at(header, of_day)  # the header has the time at which its first interval begins
            continue
        if len(cells) != len(header):
            message = f"Row {line.number} has {len(cells)} cells instead of the {len(header)} of its header."
            log.add("ragged", message, row=line.number)
            continue
        moment = clock.at(header, of_day)
        values = dict(zip(header, cells, strict=True))
        if _whole(values):
            stamp = str(int(moment.timestamp()))
            extra = {"cpus": clock.cpus} if clock.cpus else {}
            found.add(Row(line.number, {"hostname": clock.host, "timestamp": stamp, **extra, **values}))
    yield from found.rows(log)


def _bare(name: str) -> str:
    """A column's name without the list of items that sadf may add: ``CPU``, ``%user[...]``."""
    return name.partition("[")[0]


def _is_header(cells: list[str]) -> bool:
    return not any(re.fullmatch(r"-?\d+([.,]\d+)?", cell) for cell in cells) and len(cells) > 1


def _whole(values: dict[str, str]) -> bool:
    """Tell whether a line is about the whole machine."""
    return values.get("CPU", "all") in ("all", "-1") and not any(item in values for item in _ITEMS)


def _busy(values: Mapping[str, str]) -> dict[str, str]:
    """The usage that a line says, in percent of the machine and, where its processors are known, in cores."""
    idle = values.get("%idle", "").replace(",", ".")
    if not idle:
        return {}
    try:
        busy = 100 - float(idle)
    except ValueError:
        return {"busy": idle, **({"busy_cores": idle} if "cpus" in values else {})}
    cores = {"busy_cores": f"{busy / 100 * int(values['cpus']):.6g}"} if "cpus" in values else {}
    return {"busy": f"{busy:.6g}", **cores}


FORMATS = (
    Format(
        "sadf",
        "sar",
        (".txt",),
        lambda start: is_sadf(start.text),
        lambda start: TextTable.open(start.path, parse_sadf, "output of sadf -d", "sar"),
        "# hostname;interval;timestamp;CPU;%user;%idle\n"
        + "".join(f"h;10;2024-01-01 00:00:{i}0 UTC;-1;5.0;{90 - i}.0\n" for i in range(5)),
    ),
    Format(
        "sar",
        "sar",
        (".txt",),
        lambda start: is_sar(start.text),
        lambda start: TextTable.open(start.path, parse_sar, "output of sar", "sar"),
        "Linux 6.1 (h) \t01/01/2024 \t_x86_64_\t(4 CPU)\n\n00:00:00  CPU  %user  %idle\n"
        + "".join(f"00:0{i}:00  all  5.00  {90 - i}.00\n" for i in range(5)),
    ),
)
