"""What Docker prints and answers: ``docker stats`` as table, JSON lines or cells, and its API's statistics.

Percentages are of one core, sizes like ``1.2GiB / 4GiB`` become bytes. A line may carry its own time
(a column before the table, a field of the JSON) or have it on a line above; without one, rows of a container
are counted.

Where a container has no memory limit, Docker prints the memory of its host in the limit's place. A size that
nobody sets by hand, such as ``15.53GiB``, is taken for that and is no limit.

Answers of ``GET /containers/ID/stats`` have a counter of CPU in nanoseconds. What is reclaimable at once,
``inactive_file``, is no use of memory, as the ``docker`` command computes it. Source: the Engine API's
documentation of ``ContainerStats``.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from core.errors import InputError
from core.reading.formats.json_lines import read_objects
from core.reading.formats.text_table import (
    Row,
    json_parser,
    parse_time_line,
    parse_under_headers,
    tool_format,
)
from core.reading.numbers import EMPTY
from core.reading.tool_facts import ToolColumn, ToolFacts, is_set_size
from core.traces.model import Role
from core.units import SUFFIX_FACTORS, Unit, plural

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from core.reading.formats.text_table import Line
    from core.traces.validation import ProblemLog


_SIZE = re.compile(r"(\d+(?:\.\d*)?|\.\d+)\s*([kKMGTP]i?B|B)")
_HOSTS = frozenset(("host", "hostname", "node", "server", "machine", "vm"))
_TIME_KEYS = ("timestamp", "Timestamp", "time", "Time", "read", "ts")
_COLUMNS = {
    "CONTAINER ID": "id", "CONTAINER": "id", "NAME": "name", "CPU %": "CPUPerc",
    "MEM USAGE / LIMIT": "MemUsage", "MEM %": "MemPerc", "NET I/O": "NetIO", "BLOCK I/O": "BlockIO",
    "PIDS": "PIDs",
}  # fmt: skip


def parse_json(lines: Iterable[Line], log: ProblemLog) -> Iterator[Row]:
    """Rows of ``docker stats --format '{{json .}}'``, a container or a list of them on each line."""

    def read(entries: Any) -> list[dict[str, str]]:
        return [dict(entry) for entry in (entries if isinstance(entries, list) else [entries])]

    for number, entry in json_parser(read, "docker stats")(lines, log):
        yield make_row(number, entry, entry.get("timestamp", ""), log)


def parse_table(lines: Iterable[Line], log: ProblemLog) -> Iterator[Row]:
    """Rows of the table, whose columns begin where their names do."""

    def find_names(text: str) -> list[str]:
        cells = split_columns(text)
        return [_COLUMNS.get(cell, cell) for cell in cells] if "CPU %" in cells else []

    split_columns = re.compile(r"\s{2,}").split
    for number, stamp, entry in parse_under_headers(lines, log, find_names, split_columns):
        yield make_row(number, entry, stamp, log)


def make_row(number: int, entry: dict[str, Any], stamp: str, log: ProblemLog) -> Row:
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
            left, right = _split_pair(entry[key])
            cells[first], cells[second] = parse_bytes(left), parse_bytes(right)
    cells = clear_host_limit(cells, _split_pair(entry.get("MemUsage", ""))[1].strip(), number, log)
    if "PIDs" in entry:
        cells["pids"] = entry["PIDs"].replace("--", "")
    return Row(number, cells)


def _split_pair(text: str) -> tuple[str, str]:
    """Split two sizes; what is none, such as ``N/A``, stays whole."""
    left, _, right = text.partition("/")
    is_pair = any(_SIZE.fullmatch(part.strip()) or part.strip() == "--" for part in (left, right))
    return (left, right) if is_pair else (text, "")


def clear_host_limit(cells: dict[str, str], size: str, row: int, log: ProblemLog) -> dict[str, str]:
    """Return the cells of a sample without a memory limit that is the memory of the host; report that."""
    if _is_set(cells.get("memory_limit_bytes", "")):
        return cells
    message = f"“{cells['name']}” has no memory limit: {size} is the memory of its host."
    log.add("host_memory", message, row=row)
    return {name: cell for name, cell in cells.items() if name != "memory_limit_bytes"}


def parse_bytes(text: str) -> str:
    """A size as a plain number of bytes; what is not a size stays for the report."""
    bare = text.strip()
    found = _SIZE.fullmatch(bare)
    if found is None:
        return "" if bare == "--" else bare
    return repr(float(found[1]) * SUFFIX_FACTORS[Unit.BYTES][found[2].lower()])


def _is_set(limit: str) -> bool:
    try:
        return is_set_size(float(limit))
    except ValueError:
        return True


_INACTIVE = ("inactive_file", "total_inactive_file")
"""What control groups of version 2 and 1 call it."""


def parse_api(lines: Iterable[Line], log: ProblemLog) -> Iterator[Row]:
    """Rows of the answers; what an answer does not have stays empty."""

    def read(answer: dict[str, Any]) -> list[dict[str, object]]:
        return [_read_answer(answer)] if "cpu_stats" in answer or "memory_stats" in answer else []

    for number, cells in json_parser(read, "Docker’s stats")(lines, log):
        yield Row(number, clear_host_limit(cells, cells.get("memory_limit_bytes", ""), number, log))


def _read_answer(answer: dict[str, Any]) -> dict[str, object]:
    memory, pids = answer.get("memory_stats") or {}, answer.get("pids_stats") or {}
    cpu = (answer.get("cpu_stats") or {}).get("cpu_usage") or {}
    networks = list((answer.get("networks") or {}).values())
    moved = (answer.get("blkio_stats") or {}).get("io_service_bytes_recursive") or []
    return {
        "name": str(answer.get("name") or answer.get("id", "")[:12]).strip("/"),
        "timestamp": answer.get("read"),
        "cpu_nanoseconds_total": "" if (usage := cpu.get("total_usage")) is None else usage,
        # CPU and memory that no answer has are named in the report; the others are often not there
        "memory_bytes": "" if (used := _used(memory)) is None else used,
        "memory_limit_bytes": memory.get("limit"),
        "net_in_bytes": sum(one["rx_bytes"] for one in networks) if networks else None,
        "net_out_bytes": sum(one["tx_bytes"] for one in networks) if networks else None,
        "block_in_bytes": _moved(moved, "read"),
        "block_out_bytes": _moved(moved, "write"),
        "pids": pids.get("current"),
    }


def _used(memory: dict[str, Any]) -> int | None:
    """Return the bytes that are not reclaimable at once; None where memory is not measured."""
    if memory.get("usage") is None:
        return None
    statistics = memory.get("stats") or {}
    inactive = next((statistics[key] for key in _INACTIVE if key in statistics), 0)
    return int(memory["usage"]) - int(inactive)


def _moved(entries: list[dict[str, Any]], direction: str) -> int | None:
    values = [int(one["value"]) for one in entries if one.get("op", "").lower() == direction]
    return sum(values) if values else None


INSPECTED_CHARS, INSPECTED_LINES = 4_000, 1_000
"""From so many lines it is told which column is what."""
_PAIR = re.compile(r"[\d.,]+\s*[kKMGTP]?i?B\s*/\s*[\d.,]+\s*[kKMGTP]?i?B|-- / --")
_SHARE = re.compile(r"(?<!\d)\d[\d.,'\s]*+%|--")
_HEADER = re.compile(r"CPU|MEM", re.IGNORECASE)
_HOST = re.compile(r"^(?:docker[ _]?)?(?:host|hostname|node|server|machine|vm)(?:[ _]?name)?$")
_ID = re.compile(r"[0-9a-f]{12}|[0-9a-f]{64}")
_MISSING = frozenset(("", "--", "-- / --"))
_HINT = "Write a line with the columns' names above the rows, such as time,name,cpu,mem,net."
# by what a column's cells are: docker's name of a field, and what its header has in it
_FIELDS = {
    "share": (("CPUPerc", r"cpu"), ("MemPerc", r"mem|\bram")),
    "pair": (("MemUsage", r"mem|\bram"), ("NetIO", r"net"), ("BlockIO", r"block|blk|disk")),
    "text": (("Name", r"^(container[ _]?)?names?$|^(container|service|task)$"),),
    "id": (("ID", r""),),
    "time": (("stamp", r"time|date|^ts$|^when$|^read$"),),
    "number": (("PIDs", r"pid"), ("stamp", r"time|^ts$|second|elapsed"), ("Name", r"name|container")),
}


def is_csv(start: str) -> bool:
    """Tell whether a text begins with cells of docker stats between commas, semicolons or tabs."""
    first = [line for line in start[:INSPECTED_CHARS].splitlines() if line.strip()]
    separator = _find_separator(first)
    return len(first) > 1 and any(_is_sample(_cells(line, separator)) for line in first)


def parse_csv(lines: Iterable[Line], log: ProblemLog) -> Iterator[Row]:
    """Rows of ``docker stats --format`` with a separator.

    Raises InputError if nothing tells which percentage is CPU or which sizes are memory, or where the columns
    change.
    """
    lines = iter(lines)
    first = list(islice(lines, INSPECTED_LINES))
    separator = _find_separator([line.text for line in first])
    columns = _columns([_cells(line.text, separator) for line in first])
    if columns is None:
        return
    columns.report(log)
    stamp_above = ""
    for number, text in chain(first, lines):
        cells = _cells(text, separator)
        if len(cells) == columns.width and (_is_sample(cells) or not _is_header(cells)):
            entry = columns.entry(cells)
            yield make_row(number, entry, entry.get("stamp", stamp_above), log)
        elif time_alone := parse_time_line(text):
            stamp_above = time_alone
        elif len(cells) == columns.width and _is_header(cells):
            if tuple(cells) != columns.header:
                raise InputError(
                    f"Row {number} names other columns than the rows before it have.",
                    "Split the file there and import its parts.",
                )
        elif text.strip() and number > 1:
            log.add("ragged", f"Row {number} has no cells of docker stats.", row=number)


_LIMIT = re.compile(r"limit|quota|request")


@dataclass(frozen=True)
class _Columns:
    """Which cell of a line is what."""

    #: Cells of a line.
    width: int
    #: The line with the columns' names; empty where there is none.
    header: tuple[str, ...]
    #: By docker's name of a field, the position of its cell.
    places: Mapping[str, int]
    #: The positions of the cells that name the container together.
    names: tuple[int, ...]
    #: Positions of sizes that may be of network or disk.
    unnamed_sizes: tuple[int, ...]
    #: Percent of one core in the unit of CPU that the header names; 0 for percentages.
    cpu_factor: float = 0.0
    #: Whether neither cells nor header say that CPU is in percent.
    is_bare_cpu: bool = False

    def report(self, log: ProblemLog) -> None:
        """Report what nothing in the file says."""
        if self.unnamed_sizes:
            count = plural(len(self.unnamed_sizes), "column")
            message = f"{count} of sizes: nothing says whether of network or disk."
            log.add("unnamed_io", message, count=len(self.unnamed_sizes))
        if self.is_bare_cpu:
            name = self.header[self.places["CPUPerc"]]
            message = f"Column “{name}” has no unit in the file; it was read as percent of one core."
            log.add("assumed_unit", message, column="cpu_percent")

    def entry(self, cells: Sequence[str]) -> dict[str, str]:
        """The cells of a line by docker's names of fields, with the name of the container."""
        entry = {field: cells[place] for field, place in self.places.items()}
        if self.cpu_factor and _NUMBER.fullmatch(entry["CPUPerc"]):
            entry["CPUPerc"] = repr(float(entry["CPUPerc"]) * self.cpu_factor)
        return entry | {"Name": "/".join(dict.fromkeys(cells[i] for i in self.names if cells[i]))}


_SEPARATORS = (",", ";", "\t", "|")


def _find_separator(lines: Sequence[str]) -> str:
    """The separator that parts most pairs of sizes from what is beside them."""
    return max(_SEPARATORS, key=lambda mark: sum(_is_sample(_cells(line, mark)) for line in lines))


def _cells(text: str, separator: str) -> list[str]:
    if separator not in text:
        return []
    cells = next(csv.reader([text], delimiter=separator)) if '"' in text else text.split(separator)
    return [cell.strip() for cell in cells]


def _is_sample(cells: Sequence[str]) -> bool:
    """Whether a cell is a pair of sizes, which nothing else prints."""
    return any(map(_PAIR.fullmatch, cells))


def _is_header(cells: Sequence[str]) -> bool:
    return any(map(_HEADER.search, cells)) and not any(
        re.fullmatch(r"[\d.]+\D{0,3}", cell) or parse_time_line(cell) for cell in cells
    )


def _columns(lines: Sequence[Sequence[str]]) -> _Columns | None:
    """What the columns are, from the first lines; None where none of these is a sample."""
    samples = [cells for cells in lines if _is_sample(cells)]
    if not samples:
        return None
    width = Counter(map(len, samples)).most_common(1)[0][0]
    rows = [cells for cells in samples if len(cells) == width]
    header = next((tuple(cells) for cells in lines if len(cells) == width and _is_header(cells)), ())
    kinds = [_kind([row[i] for row in rows]) for i in range(width)]
    places = _fields_of_header(header, kinds)
    places |= _find_unmeasured_fields(header, kinds, places)
    if "stamp" not in places and "time" in kinds:
        places["stamp"] = kinds.index("time")
    places |= _infer_fields(rows, kinds, places)
    unnamed_sizes = [i for i, kind in enumerate(kinds) if kind == "pair" and i not in places.values()]
    cpu = places.get("CPUPerc")
    is_bare = cpu is not None and kinds[cpu] == "number"
    title = header[cpu].lower() if is_bare and cpu is not None else ""
    factor = next((factor for words, factor in _CPU_UNITS if words.search(title)), 0.0)
    return _Columns(
        width, header, places, _find_name_columns(header, rows, kinds, places), tuple(unnamed_sizes), factor,
        is_bare and not factor and not re.search("%|perc|pct", title),
    )  # fmt: skip


_CPU_UNITS = ((re.compile(r"milli|mcpu|mcore"), 0.1), (re.compile(r"core|cpus"), 100.0))


def _kind(cells: Sequence[str]) -> str:
    """What the cells of a column are; those of a container that does not run say nothing.

    A few measured cells are enough: where a measurement fails, words such as ``N/A`` are in its place.
    """
    filled = [cell for cell in cells if cell not in _MISSING and cell not in EMPTY]
    if not filled:
        return "pair" if "-- / --" in cells else "text"
    kinds: tuple[tuple[str, Callable[[str], object], float], ...] = (
        ("pair", _PAIR.fullmatch, _MIN_MEASURED),
        ("share", _SHARE.fullmatch, _MIN_MEASURED),
        ("id", _ID.fullmatch, 1.0),
        ("time", parse_time_line, 0.5),
        ("number", _NUMBER.fullmatch, 0.5),
    )
    found = (kind for kind, fits, least in kinds if sum(map(bool, map(fits, filled))) >= least * len(filled))
    return next(found, "text")


_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_MIN_MEASURED = 0.05
"""The least share of a column's cells that are percentages or sizes."""


def _fields_of_header(header: Sequence[str], kinds: Sequence[str]) -> dict[str, int]:
    """The fields that a header names, where the cells below can be them."""
    places: dict[str, int] = {}
    for i, (name, kind) in enumerate(zip(header, kinds, strict=False)):
        if kind == "share" and _LIMIT.search(name.lower()):
            continue
        fits = (field for field, words in _FIELDS[kind] if re.search(words, name.lower()))
        field = next(fits, None)
        if field is not None:
            places.setdefault(field, i)
    return places


_UNMEASURED = (
    ("CPUPerc", re.compile(r"cpu")),
    ("MemUsage", re.compile(r"mem(?!.*(?:%|perc|pct|share))|\bram")),
)


def _find_unmeasured_fields(
    header: Sequence[str], kinds: Sequence[str], places: Mapping[str, int]
) -> dict[str, int]:
    """CPU and memory of a header whose cells are words, or numbers without their unit."""
    found: dict[str, int] = {}
    for i, (name, kind) in enumerate(zip(header, kinds, strict=False)):
        field = next((field for field, words in _UNMEASURED if words.search(name.lower())), None)
        if kind in ("text", "number") and field is not None and field not in places:
            found.setdefault(field, i)
    return found


def _find_name_columns(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    kinds: Sequence[str],
    places: Mapping[str, int],
) -> tuple[int, ...]:
    """The cells that name the container: the one called so, else the id, or texts that say as much as it."""
    if "Name" in places:
        where = (i for i, name in enumerate(header) if _HOST.search(name.lower()) and kinds[i] == "text")
        return (*where, places["Name"])
    texts, ids = (tuple(i for i, kind in enumerate(kinds) if kind == wanted) for wanted in ("text", "id"))
    if not ids or not texts:
        return texts or ids[:1]
    pairs = {(row[ids[0]], *(row[i] for i in texts)) for row in rows}
    is_equivalent = len(pairs) == len({pair[0] for pair in pairs}) == len({pair[1:] for pair in pairs})
    return texts if is_equivalent else ids[:1]


def _infer_fields(
    rows: Sequence[Sequence[str]], kinds: Sequence[str], named: Mapping[str, int]
) -> dict[str, int]:
    """Memory and the percentages that no header names.

    Raises InputError if they could be more than one of the columns.
    """
    unassigned = [i for i in range(len(kinds)) if i not in named.values()]
    shares, pairs = ([i for i in unassigned if kinds[i] == kind] for kind in ("share", "pair"))
    found: dict[str, int] = {}
    if "MemUsage" not in named and pairs:
        found["MemUsage"] = _memory(rows, pairs, shares)
    memory = {**named, **found}.get("MemUsage")
    if "CPUPerc" in named or not shares:
        return found
    if "MemPerc" not in named and memory is not None:
        return found | _percentages(rows, memory, shares)
    if len(shares) > 1:
        raise InputError("Nothing says which of the percentages is CPU.", _HINT)
    return found | {"CPUPerc": shares[0]}


def _memory(rows: Sequence[Sequence[str]], pairs: Sequence[int], shares: Sequence[int]) -> int:
    """The sizes that are memory: those in KiB, MiB and GiB, else those of which a percentage is the share."""
    binary = [i for i in pairs if any("iB" in row[i] for row in rows)]
    if len(binary) == 1:
        return binary[0]
    matching = [i for i in binary or pairs if any(_is_share(rows, i, share) for share in shares)]
    if len(matching) != 1:
        raise InputError("Nothing says which of the sizes are memory.", _HINT)
    return matching[0]


def _percentages(rows: Sequence[Sequence[str]], memory: int, shares: Sequence[int]) -> dict[str, int]:
    """CPU is the percentage that is not the share of memory in use."""
    fits = {i: _is_share(rows, memory, i) for i in shares}
    if len(shares) == 1:
        return {"MemPerc" if fits[shares[0]] else "CPUPerc": shares[0]}
    others = [i for i in shares if fits[i] is False]
    if len(shares) != 2 or len(others) != 1:
        raise InputError("Nothing says which percentage is CPU and which is memory.", _HINT)
    return {"CPUPerc": others[0], "MemPerc": next(i for i in shares if i not in others)}


def _is_share(rows: Sequence[Sequence[str]], pair: int, share: int) -> bool | None:
    """Whether a percentage is the first of two sizes in the second; None where it is about zero."""
    tolerance, is_telling, n_compared = 0, False, 0
    for row in rows:
        used, limit = (parse_bytes(text) for text in row[pair].partition("/")[::2])
        percent = row[share].rstrip("%")
        try:
            ratio, percent_value = float(used) / float(limit) * 100, float(percent)
        except (ValueError, ZeroDivisionError):
            continue
        # sizes have four digits or fewer, percentages as many as are written
        rounding = 10.0 ** -len(percent.partition(".")[2]) + 0.005 * ratio
        n_compared += 1
        tolerance += abs(ratio - percent_value) > rounding
        is_telling = is_telling or ratio > 4 * rounding
    if tolerance > 0.1 * n_compared:
        return False
    return True if is_telling else None


DOCKER_COLUMNS = (
    ToolColumn("memory_bytes", Role.MEMORY, "bytes"),
    ToolColumn("memory_limit_bytes", Role.MEMORY_LIMIT, "bytes"),
    ToolColumn("net_in_bytes", Role.NETWORK_IN, "bytes_total"),
    ToolColumn("net_out_bytes", Role.NETWORK_OUT, "bytes_total"),
    ToolColumn("block_in_bytes", Role.BLOCK_IN, "bytes_total"),
    ToolColumn("block_out_bytes", Role.BLOCK_OUT, "bytes_total"),
)
"""What Docker's answers have, whoever prints them."""

FACTS = ToolFacts(
    "docker_stats",
    "docker stats or systemd-cgtop",
    (
        ToolColumn("cpu_percent", Role.CPU, "percent_of_core"),
        *DOCKER_COLUMNS,
        ToolColumn("read_bytes_per_s", Role.BLOCK_IN, "bytes_per_s"),
        ToolColumn("write_bytes_per_s", Role.BLOCK_OUT, "bytes_per_s"),
        ToolColumn("pids"),
    ),
    executions=("name",),
)

_API = replace(
    FACTS,
    name="docker_api",
    label="Docker's API",
    columns=(ToolColumn("cpu_nanoseconds_total", Role.CPU, "cpu_nanoseconds_total"), *FACTS.columns[1:]),
)

FORMATS = (
    tool_format(
        "docker_stats_csv",
        "docker stats",
        (".csv", ".txt"),
        r"(?s).{0,4000}?(?:B\s{0,9}/\s{0,9}[\d.]|-- / --)",
        parse_csv,
        check=is_csv,
        facts=FACTS,
    ),
    tool_format(
        "docker_stats_json",
        "docker stats",
        (".json",),
        r'(?:.*\n){0,99}?[^{\[\n]{0,100}[{\[].{0,3900}?"CPUPerc"',
        parse_json,
        facts=FACTS,
    ),
    tool_format(
        "docker_stats",
        "docker stats",
        (".txt",),
        r"(?s)(?=.{0,4000}?CPU %).{0,4000}?MEM USAGE / LIMIT",
        parse_table,
        facts=FACTS,
    ),
    tool_format(
        "docker_api",
        "Docker's API",
        (".jsonl", ".json"),
        r'(?s)[\s\[]*\{.{0,2000}?"(?:pre)?cpu_stats"\s*:',
        parse_api,
        facts=_API,
        lines=read_objects,
    ),
)
