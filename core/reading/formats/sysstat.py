"""Sysstat's tools (sar, sadf, pidstat), and dstat: usage of machines and processes.

Sar and pidstat begin with a banner that has the date, and their lines with a time of day.

``dstat --output``, dool and PCP's dstat write lines about themselves, two of names, and numbers. Names repeat
from group to group (``used`` of memory and of swap), so that a column is known by both lines. Numbers are
raw, bytes and bytes per second; CPU is in percent of the machine. The first row is the mean since the machine
was started, and left out. Times have a day and no year, which is that of the line ``Date:``.
"""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING

from core.errors import InputError
from core.reading.formats.text_table import HEAD_LINES, IdleRows, Line, Row, fit_row, tool_format
from core.reading.tool_facts import ToolColumn, ToolFacts
from core.traces.model import Role
from core.units import plural

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from core.traces.validation import ProblemLog


BANNER = re.compile(r"Linux\s+\S+\s+\((?P<host>[^)]*)\)\s+(?P<date>[\d/.-]+)(?:.*\((?P<cpus>\d{1,6}) CPU\))?")
_TIME = re.compile(r"(\d{1,2}):(\d{2}):(\d{2})(?:\s+([AP]M))?\s+(.*)")
_NO_DATE = datetime(1970, 1, 1, tzinfo=UTC)
_LAST_YEAR = 3000


@dataclass
class Clock:
    """The moments of lines, and the machine that the banner names.

    A clock that falls has passed midnight. Every activity has its own day: they follow each other in a
    recording, and take turns on a screen.
    """

    host: str = ""
    cpus: str = ""
    _first: datetime = _NO_DATE
    _doubtful: str = ""
    _last: dict[tuple[str, ...], tuple[datetime, timedelta]] = field(default_factory=dict)

    def begins(self, text: str) -> bool:
        """Take in a banner; tell whether the text is one."""
        banner = BANNER.match(text)
        if banner is None:
            return False
        self._first, self._doubtful, self._last = _date(banner["date"]), _two_dates(banner["date"]), {}
        self.host, self.cpus = banner["host"], banner["cpus"] or ""
        return True

    def split(self, line: Line, log: ProblemLog) -> tuple[timedelta, list[str]] | None:
        """The time of day that a line begins with, and its cells; None where it begins with none."""
        found = _TIME.match(line.text)
        if found is None:
            return None
        if self._doubtful:
            log.add("assumed_date", f"“{self._doubtful}” in the banner can be two dates.", row=line.number)
            self._doubtful = ""
        hours, minutes, seconds = int(found[1]), int(found[2]), int(found[3])
        if found[4]:
            hours = hours % 12 + (12 if found[4] == "PM" else 0)
        return timedelta(hours=hours, minutes=minutes, seconds=seconds), found[5].split()

    def at(self, header: Sequence[str], of_day: timedelta) -> datetime:
        """The moment of a line of the activity that has this header."""
        day, before = self._last.get(tuple(header), (self._first, timedelta(0)))
        if of_day < before:
            day += timedelta(days=1)
        self._last[tuple(header)] = day, of_day
        return day + of_day


def _two_dates(text: str) -> str:
    """The date where nothing tells its day from its month; else an empty text."""
    parts = text.split("/")
    small = len(parts) == 3 and all(
        part.isdigit() and len(part) < 3 and 1 <= int(part) <= 12 for part in parts[:2]
    )
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


_UTC = " UTC"
_ITEMS = ("DEV", "IFACE", "INTR", "TTY", "FAN", "TEMP", "BUS", "MHz", "FILESYSTEM")
_RESTART = re.compile(r"LINUX RESTART(?:.*\((?P<cpus>\d{1,6}) CPU\))?")
_USAGE = {"busy", "kbmemused"}


@dataclass
class _MachineRows:
    """The lines of all activities, joined by host and time, and the lines that replaced other numbers."""

    found: dict[tuple[str, str], Row] = field(default_factory=dict)
    replaced_lines: list[int] = field(default_factory=list)

    def add(self, line: Row) -> None:
        """Add a line about a whole machine to those of other activities at its time."""
        values = {name: cell for name, cell in line.cells.items() if name not in ("CPU", "interval")}
        values |= _compute_busy(values)
        key = (values["hostname"], values["timestamp"])
        known_cells = self.found.setdefault(key, Row(line.number, {})).cells
        differing = {name for name in values.keys() & known_cells.keys() if values[name] != known_cells[name]}
        # activities share a few names, such as retrans/s, and are not the same sample for that
        if differing and (differing & _USAGE or values.keys() <= known_cells.keys()):
            self.replaced_lines.append(line.number)
        known_cells.update(values)

    def rows(self, log: ProblemLog) -> Iterator[Row]:
        """One row per host and time."""
        if self.replaced_lines:
            count = plural(len(self.replaced_lines), "row")
            message = f"{count} with other numbers for a host and time that an earlier row is of."
            log.add("duplicate_time", message, count=len(self.replaced_lines), rows=self.replaced_lines)
        yield from self.found.values()


def parse_sadf(lines: Iterable[Line], log: ProblemLog) -> Iterator[Row]:
    """Rows of ``sadf -d``: the blocks joined by host and time, in the order of the first block."""
    header: list[str] = []
    found = _MachineRows()
    for number, text in lines:
        if not text.strip():
            continue
        cells = [cell.strip() for cell in text.lstrip("# ").split(";")]
        if cells[0] == "hostname":
            header = [_strip_items(name) for name in cells]
            continue
        if "LINUX-RESTART" in text or not (values := fit_row(number, header, cells, log)):
            continue
        if "timestamp" not in values:
            log.add("ragged", f"Row {number} belongs to a header without a timestamp.", row=number)
            continue
        if not _is_of_machine(values):
            continue
        stamp = values["timestamp"].strip()
        values["timestamp"] = f"{stamp[: -len(_UTC)].rstrip()}Z" if stamp.endswith(_UTC) else stamp
        found.add(Row(number, values))
    yield from found.rows(log)


def parse_sar(lines: Iterable[Line], log: ProblemLog) -> Iterator[Row]:
    """Rows of ``sar``: the blocks joined by time, days known from the banner and from midnight."""
    clock, found = Clock(), _MachineRows()
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
        values = fit_row(line.number, header, cells, log)
        if values is None:
            continue
        moment = clock.at(header, of_day)
        if _is_of_machine(values):
            stamp = str(int(moment.timestamp()))
            cpu_cells = {"cpus": clock.cpus} if clock.cpus else {}
            found.add(Row(line.number, {"hostname": clock.host, "timestamp": stamp, **cpu_cells, **values}))
    yield from found.rows(log)


def _strip_items(name: str) -> str:
    """A column's name without the list of items that sadf may add: ``CPU``, ``%user[...]``."""
    return name.partition("[")[0]


def _is_header(cells: list[str]) -> bool:
    return not any(re.fullmatch(r"-?\d+([.,]\d+)?", cell) for cell in cells) and len(cells) > 1


def _is_of_machine(values: dict[str, str]) -> bool:
    return values.get("CPU", "all") in ("all", "-1") and not any(item in values for item in _ITEMS)


MAX_BUSY = 100.5
"""More percent of a machine, but for rounding, are no usage but an absurd idle time."""


def _compute_busy(values: Mapping[str, str]) -> dict[str, str]:
    """The usage that a line says, in percent of the machine and, where its processors are known, in cores."""
    if "%idle" not in values:
        return {}
    idle = values["%idle"].replace(",", ".")
    try:
        busy = 100 - float(idle)
    except ValueError:
        return {"busy": idle, **({"busy_cores": idle} if "cpus" in values else {})}
    if busy > MAX_BUSY:  # what is no number is reported
        return {"busy": f"{idle} idle", **({"busy_cores": f"{idle} idle"} if "cpus" in values else {})}
    cores = {"busy_cores": f"{busy / 100 * int(values['cpus']):.6g}"} if "cpus" in values else {}
    return {"busy": f"{busy:.6g}", **cores}


_EPOCH = re.compile(r"\d{9,10}")
_COMMA = re.compile(r"(-?\d+),(\d+)")
_NAMES = {"%CPU": "cpu_percent", "RSS": "memory_kib", "VSZ": "virtual_kib", "kB_rd/s": "read_kib_per_s",
          "kB_wr/s": "write_kib_per_s"}  # fmt: skip
_PARTS = ("%usr", "%system", "%guest")
_DIVIDED, _ROUNDED = 1.5, 0.5
"""The parts of CPU usage exceed their sum by this factor and more where it was divided by the processors."""
_MAX_ZEROS = 0.1
"""Of processes that are printed because they used CPU, at most this share used so little that it reads 0."""
_NO_USAGE = ("PID", "TGID", "TID", "UID", "USER", "CPU", "Command")


def parse(lines: Iterable[Line], log: ProblemLog) -> Iterator[Row]:
    """A row for every process and time."""
    clock, found = Clock(), _ProcessRows()
    header: list[str] = []
    of_day, delay = timedelta(0), timedelta(0)  # a header may have the time at which its interval begins
    for number, text in lines:
        words = text.lstrip("# ").split()
        before = clock.host
        if not words or clock.begins(text):
            if before not in ("", clock.host) and number > HEAD_LINES:  # too late to be seen
                raise InputError(
                    f"Row {number} begins what another machine, “{clock.host}”, measured.",
                    "Split the file there and import its parts.",
                )
            continue
        split = clock.split(Line(number, " ".join(words)), log)
        names = words[1:] if split is None else split[1]
        if names[-1:] == ["Command"] and {"PID", "TGID"} & set(names):
            header = names
            if split is not None:
                of_day = split[0]
                found.add_interval(header, clock.host, clock.at(header, of_day) + delay)
            continue
        if split is not None:
            cells = split[1]
            delay = split[0] - of_day if split[0] >= of_day else delay
        elif _EPOCH.fullmatch(words[0]):
            cells = words[1:]
        else:
            continue  # the averages at the end
        values = fit_row(number, header, cells, log, last_is_text=True)
        if values is not None:
            stamp = words[0] if split is None else str(int(clock.at(header, split[0]).timestamp()))
            found.add(number, stamp, clock.host, values)
    yield from found.with_idle_rows(log)


class _ProcessRows:
    """The lines of all blocks, joined by time and process."""

    def __init__(self) -> None:
        self.rows: dict[tuple[str, ...], Row] = {}
        self._intervals: set[tuple[str, str]] = set()

    def add_interval(self, header: Sequence[str], host: str, end: datetime) -> None:
        """Remember an interval for which CPU is printed, even if no process used any."""
        if "%CPU" in header:
            self._intervals.add((host, str(int(end.timestamp()))))

    def with_idle_rows(self, log: ProblemLog) -> Iterator[Row]:
        """The rows in the order of the file, and those of intervals in which a process used no CPU."""
        cells = [row.cells for row in self.rows.values() if "cpu_percent" in row.cells]
        intervals = self._intervals | {(one["hostname"], one["timestamp"]) for one in cells}
        idle = IdleRows(log, prints_idle=self._prints_idle())
        for host, stamp in sorted(intervals, key=lambda one: float(one[1])):
            idle.begin_frame(stamp, host)
        yield from (row for row in self.rows.values() if "cpu_percent" not in row.cells)
        for row in self.rows.values():
            if "cpu_percent" in row.cells:
                yield from idle.add(row)
        idle.report()

    def _prints_idle(self) -> bool:
        """Whether idle processes are printed as well, as they are with ``-p``."""
        cells = [row.cells["cpu_percent"] for row in self.rows.values() if "cpu_percent" in row.cells]
        return sum(cell.strip("0.") == "" for cell in cells) > _MAX_ZEROS * len(cells)

    def add(self, number: int, stamp: str, host: str, cells: dict[str, str]) -> None:
        """Add a line; one that measures again what is known stays a row of its own."""
        if cells.get("TID", "-") != "-":
            return
        process = {"hostname": host, "timestamp": stamp, "command": cells["Command"]}
        process["pid"] = cells.get("PID") or cells["TGID"]
        usage = {
            _NAMES.get(name, name): _COMMA.sub(r"\1.\2", cell)
            for name, cell in cells.items()
            if name not in _NO_USAGE
        }
        if "cpu_percent" in usage:
            usage["cpu_percent"] = _correct_cpu(usage)
        key: tuple[str, ...] = tuple(process.values())
        if key in self.rows and self.rows[key].cells.keys() & usage.keys():
            key = (*key, str(number))
        self.rows.setdefault(key, Row(number, process)).cells.update(usage)


def _correct_cpu(usage: Mapping[str, str]) -> str:
    """The usage of a process in percent of one core: ``pidstat -I`` divides it, and not its parts."""
    percent_text = usage["cpu_percent"]
    try:
        whole, parts = float(percent_text), sum(float(usage[name]) for name in _PARTS if name in usage)
    except ValueError:
        return percent_text
    is_divided = whole >= 0 and parts > _DIVIDED * whole + _ROUNDED
    return f"{parts:.2f}" if is_divided else percent_text


_DSTAT = re.compile(r'(?i)"?(?:pcp[- ]?)?(?:dstat|dool)[^,\n"]{0,40}CSV output')
_DSTAT_COLUMNS = {
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


def parse_dstat(lines: Iterable[Line], log: ProblemLog) -> Iterator[Row]:
    """Rows of samples; the first one of every start of dstat is left out."""
    host, year, groups = "", "", list[str]()
    names: list[tuple[str, str]] = []
    is_first, month = True, 0
    for number, text in lines:
        cells = _dstat_cells(text)
        facts = dict(pairwise(cells))
        if not any(cells) or _DSTAT.match(text) or "Author:" in facts:
            continue
        if "Host:" in facts:
            host = facts["Host:"]
        elif "Cmdline:" in facts:
            year_match = _YEAR.search(cells[-1]) or _YEAR.search(text)
            year, month = year_match[1] if year_match else "", 0
        elif not _is_dstat_sample(cells):
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
            yield Row(number, {"hostname": host, **_dstat_moment(values, year), **_dstat_sample(values)})


def _dstat_cells(text: str) -> list[str]:
    """The cells of a line; none where it is no line of a table."""
    try:
        return next(csv.reader([text]), [])
    except csv.Error:
        return []


def _is_dstat_sample(cells: Sequence[str]) -> bool:
    return any(re.fullmatch(r"-?\d+(?:\.\d*)?(?:[eE][+-]?\d+)?", cell.strip()) for cell in cells)


def _spread_groups(cells: Sequence[str]) -> list[str]:
    """The group of every column: it stands above its first one only."""
    groups_, last_group = list[str](), ""
    for cell in cells:
        last_group = cell.strip() or last_group
        groups_.append(last_group)
    return [*groups_, *[last_group] * 64]


def _dstat_sample(values: dict[tuple[str, str], str]) -> dict[str, str]:
    cells = {name: values[column].strip() for column, name in _DSTAT_COLUMNS.items() if column in values}
    idle = next((values[group, "idl"].strip() for group in _CPU if (group, "idl") in values), None)
    if idle is None:
        return cells
    return {"busy": f"{100 - float(idle):.6g}" if re.fullmatch(r"\d+(?:\.\d+)?", idle) else idle, **cells}


def _dstat_moment(values: dict[tuple[str, str], str], year: str) -> dict[str, str]:
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


MACHINE_FACTS = ToolFacts(
    "sar",
    "sar or dstat",
    (
        ToolColumn("busy_cores", Role.CPU, "cores"),
        ToolColumn("busy", Role.CPU, "percent_of_machine"),
        ToolColumn("kbmemused", Role.MEMORY, "kib"),
        ToolColumn("memory_used_bytes", Role.MEMORY, "bytes"),
        ToolColumn("net_in_bytes_per_s", Role.NETWORK_IN, "bytes_per_s"),
        ToolColumn("net_out_bytes_per_s", Role.NETWORK_OUT, "bytes_per_s"),
        ToolColumn("block_in_bytes_per_s", Role.BLOCK_IN, "bytes_per_s"),
        ToolColumn("block_out_bytes_per_s", Role.BLOCK_OUT, "bytes_per_s"),
        ToolColumn("%(iowait|system|memused)", Role.OTHER, "percent_of_machine"),
        ToolColumn("(bread|bwrtn)/s"),
    ),
    executions=("hostname",),
)
PROCESS_FACTS = ToolFacts(
    "processes",
    "pidstat or top",
    (
        ToolColumn("cpu_percent", Role.CPU, "percent_of_core"),
        ToolColumn("memory_kib", Role.MEMORY, "kib"),
        ToolColumn("memory_bytes", Role.MEMORY, "bytes"),
        ToolColumn("virtual_kib", Role.OTHER, "kib"),
        ToolColumn("(virtual|shared)_bytes", Role.OTHER, "bytes"),
        ToolColumn("read_kib_per_s", Role.BLOCK_IN, "kib_per_s"),
        ToolColumn("write_kib_per_s", Role.BLOCK_OUT, "kib_per_s"),
    ),
    executions=("command", "pid"),
    place="hostname",
)

FORMATS = (
    tool_format(
        "pidstat",
        "pidstat",
        (".txt", ".log"),
        rf"{BANNER.pattern}(?:.*\n)*?.*\s(?:PID|TGID)\s.*\sCommand\s*(?:\n|$)",
        parse,
        facts=replace(PROCESS_FACTS, time_unit="s"),
    ),
    tool_format(
        "sadf", "sar", (".txt",), r"#?\s*hostname;interval;timestamp;", parse_sadf, facts=MACHINE_FACTS
    ),
    tool_format("sar", "sar", (".txt",), BANNER.pattern, parse_sar, facts=MACHINE_FACTS),
    tool_format("dstat", "dstat", (".csv",), _DSTAT.pattern, parse_dstat, facts=MACHINE_FACTS),
)
