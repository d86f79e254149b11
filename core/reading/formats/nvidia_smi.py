"""What ``nvidia-smi`` says of GPUs: ``--query-gpu=… --format=csv``, once or in a loop, and ``dmon``.

``dcgmi dmon`` prints nearly what ``nvidia-smi dmon`` does, under names of its own (``GPUTL``) and by entity.

There is a line per GPU and sample; the lines of one sample become one row that keeps each GPU, ``gpu 0
utilization`` beside ``gpu 1 utilization``. The GPUs of one sample are asked one after the other, so that
their times differ by milliseconds: a sample ends where a GPU comes again. MiB in headers are 1024² bytes.
"""

from __future__ import annotations

import csv
import math
import re
from itertools import chain, islice, pairwise
from typing import TYPE_CHECKING

from core.errors import format_names
from core.reading.dates import parse_named_date
from core.reading.formats.text_table import Line, Row, fit_row, tool_format
from core.reading.tool_facts import ToolColumn, ToolFacts
from core.traces.model import Role

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from core.traces.validation import ProblemLog

# the fields of `nvidia-smi --help-query-gpu` that are read, and what they are called here
_FIELDS = {"utilization.gpu": "utilization", "memory.used": "memory_mib", "power.draw": "power_watts",
           "utilization.memory": "memory_bandwidth"}  # fmt: skip
_GPU = ("index", "uuid", "gpu_uuid", "pci.bus_id", "gpu_bus_id", "gpu_serial", "serial")
_DMON = {"sm": "utilization", "fb": "memory_mib", "pwr": "power_watts", "mem": "memory_bandwidth",
         "gputl": "utilization", "fbusd": "memory_mib", "power": "power_watts",
         "mcutl": "memory_bandwidth"}  # fmt: skip
_FOREIGN = frozenset(
    ("host", "hostname", "node", "machine", "server", "instance", "pod", "pod_name", "container",
     "container_name", "namespace", "job", "job_id", "jobid", "run", "run_id", "user", "vm", "task", "rank")
)  # fmt: skip
"""Columns that people add, by which lines are of different things; such a table is read as any other."""
_OTHER_UNIT = re.compile(r"memory\.(?:used|total)\s*\[(?!mib\])")
_MISSING = ("-", "[N/A]", "N/A", "[Not Supported]", "[Unknown Error]", "")


def is_query(start: str) -> bool:
    """Tell whether a text begins like the answer of ``nvidia-smi --query-gpu``."""
    first = start[:4_000].partition("\n")[0]
    names = _names(first)
    if _FOREIGN & set(names) or _OTHER_UNIT.search(first.lower()):
        return False
    return "utilization.gpu" in names or (
        "memory.used" in names and bool({"index", "power.draw"} & set(names))
    )


_NO_HEADER_LINES = 20
_CELLS = {
    "time": re.compile(r"\d{4}[/-]\d\d[/-]\d\d \d\d:\d\d:\d\d(?:\.\d+)?"),
    "percent": re.compile(r"\d{1,3} %"),
    "mib": re.compile(r"\d+ MiB"),
    "watts": re.compile(r"\d+\.\d+ W"),
    "uuid": re.compile(r"GPU-[0-9a-f-]{36}"),
    "bus": re.compile(r"[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.\d"),
    "number": re.compile(r"\d+"),
}
"""What cells with ``--format=csv,noheader`` are."""


def _find_columns(lines: Sequence[str]) -> list[str] | None:
    """Name the columns of a query without a header by units and order; None for any other text."""
    rows = [[cell.strip() for cell in _cells(line)] for line in lines if line.strip()]
    if len(rows) < 2 or len({len(row) for row in rows}) > 1:
        return None
    columns = list(zip(*rows, strict=True))
    kinds = [
        next(
            (
                kind
                for kind, pattern in _CELLS.items()
                if all(pattern.fullmatch(cell) or cell in _MISSING for cell in cells)
                and not all(cell in _MISSING for cell in cells)
            ),
            "text",
        )
        for cells in columns
    ]
    if "time" not in kinds or not {"percent", "mib", "watts"} & set(kinds):
        return None
    names = [{"time": "timestamp", "uuid": "uuid", "bus": "pci.bus_id"}.get(kind, "") for kind in kinds]
    for kind, wanted in (("percent", ("utilization.gpu", "utilization.memory")), ("watts", ("power.draw",))):
        places = [i for i, one in enumerate(kinds) if one == kind]
        for i, name in zip(places, wanted, strict=False):
            names[i] = name
    sizes = {i: [int(cell.split()[0]) for cell in columns[i] if cell not in _MISSING]
             for i, kind in enumerate(kinds) if kind == "mib"}  # fmt: skip
    names_of_sizes = _name_sizes(list(sizes.values()))
    for i, name in zip(sizes, names_of_sizes, strict=True):
        names[i] = name
    index = next((i for i, kind in enumerate(kinds) if kind == "number" and _counts_gpus(columns[i])), None)
    if index is not None and "uuid" not in names and "pci.bus_id" not in names:
        names[index] = "index"
    return [name or f"column {i + 1}" for i, name in enumerate(names)]


def _name_sizes(sizes: Sequence[Sequence[int]]) -> list[str]:
    """Name columns of MiB: the total is the largest and never changes, used and free add up to it."""
    if len(sizes) == 1:
        return ["memory.used"]
    largest = max(range(len(sizes)), key=lambda i: max(sizes[i]))
    others = [i for i in range(len(sizes)) if i != largest]
    if len(set(sizes[largest])) > 1 or len(others) > 2:
        return [""] * len(sizes)
    # of two that add up to the total, a job's use begins low
    used = min(others, key=lambda i: sizes[i][0])
    return ["memory.total" if i == largest else "memory.used" if i == used else "" for i in range(len(sizes))]


def _counts_gpus(cells: Sequence[str]) -> bool:
    """Whether numbers count GPUs from 0, each as often as the others."""
    kinds = sorted(set(map(int, cells)))
    return kinds == list(range(len(kinds))) and len(kinds) < len(cells)


def has_no_header(start: str) -> bool:
    """Tell whether a text begins like a query with ``--format=csv,noheader``."""
    lines = start[:8_000].splitlines()[:_NO_HEADER_LINES]
    return len(lines) > 1 and _find_columns(lines) is not None


def parse_without_header(lines: Iterable[Line], log: ProblemLog) -> Iterator[Row]:
    """Rows of a query without a header, a row per sample."""
    lines = iter(lines)
    first = list(islice(lines, _NO_HEADER_LINES))
    names = _find_columns([line.text for line in first]) or []
    known = [name for name in names if name in _FIELDS]
    log.add(
        "unnamed_gpu_columns",
        f"No line names the {len(names)} columns; {format_names(known)} were found by their units.",
        row=1,
        count=len(names),
    )
    header = Line(0, ", ".join(names))
    return parse_query(chain([header], first, lines), log)


def _names(line: str) -> list[str]:
    return [_without_unit(cell.strip()).lower() for cell in _cells(line)]


def _without_unit(name: str) -> str:
    """A column's name without the unit in brackets at its end."""
    return name.partition("[")[0].strip() if name.endswith("]") and "[" in name else name


def _cells(line: str) -> list[str]:
    """The cells of a line; none where it is no line of a table."""
    try:
        return next(csv.reader([line], skipinitialspace=True), [])
    except csv.Error:
        return []


def parse_query(lines: Iterable[Line], log: ProblemLog) -> Iterator[Row]:
    """Rows of ``--query-gpu``, a row per sample."""
    lines = iter(lines)
    first = list(islice(lines, _SEEN_LINES))
    turns = _Turns.of([_cells(text) for _, text in first])

    def entries() -> Iterator[tuple[int, str, str, dict[str, str]]]:
        header: list[str] = []
        for number, text in chain(first, lines):
            if not text.strip():
                continue
            if not header or _names(text) == header:
                header = _names(text)
            elif values := fit_row(number, header, [cell.strip() for cell in _cells(text)], log):
                stamp = values.get("timestamp", "")
                gpu = next((values[name] for name in _GPU if name in values), None)
                yield number, stamp, turns.next(stamp) if gpu is None else gpu, _rename(values, _FIELDS)

    return _merge_samples(entries())


def _rename(values: Mapping[str, str], names: Mapping[str, str]) -> dict[str, str]:
    """Return the known cells under their names here."""
    return {
        new: "" if values[old] in _MISSING else values[old] for old, new in names.items() if old in values
    }


_SEEN_LINES = 1_000
_SAME_SAMPLE = 0.5
"""Lines are of one sample if they are closer than this share of the longest step."""


class _Turns:
    """The GPUs of lines that do not name them: those of one sample follow each other within milliseconds."""

    def __init__(self, step: float) -> None:
        self._step, self._before, self._turn = step, math.nan, 0

    @classmethod
    def of(cls, rows: Sequence[Sequence[str]]) -> _Turns:
        """Learn from the first lines how far apart samples are."""
        times = [time for row in rows for cell in row[:1] if (time := parse_named_date(cell)) is not None]
        steps = [after - before for before, after in pairwise(times)]
        return cls(_SAME_SAMPLE * max(steps, default=0.0))

    def next(self, stamp: str) -> str:
        """Return the number of the GPU of the next line."""
        time = parse_named_date(stamp)
        if time is None:
            return "0"
        self._turn = self._turn + 1 if time - self._before < self._step else 0
        self._before = time
        return str(self._turn)


def parse_dmon(lines: Iterable[Line], log: ProblemLog) -> Iterator[Row]:
    """Rows of ``dmon`` of either program, a row per sample."""

    def entries() -> Iterator[tuple[int, str, str, dict[str, str]]]:
        header: list[str] = []
        for number, text in lines:
            cells = text.replace("#", " ", 1).split()
            if text.lstrip().startswith("#"):
                names = [cell.lower() for cell in cells]
                header = names if {"gpu", "entity"} & set(names) else header
                continue
            if not cells or cells[0] == "ID":
                continue
            if header[:1] == ["entity"] and cells[0] == "GPU":
                cells = cells[1:]
            if values := fit_row(number, header, cells, log):
                date = re.sub(r"^(\d{4})(\d\d)(\d\d)$", r"\1-\2-\3", values.get("date", ""))
                stamp = f"{date} {values.get('time', '')}".strip()
                yield number, stamp, values.get("gpu", values.get("entity", "0")), _rename(values, _DMON)

    return _merge_samples(entries())


def _merge_samples(entries: Iterator[tuple[int, str, str, dict[str, str]]]) -> Iterator[Row]:
    """The lines of one sample as one row; it ends where a GPU comes again."""
    first, cells, gpus = 0, dict[str, str](), set[str]()
    for number, stamp, gpu, values in entries:
        if gpu in gpus:
            yield Row(first, cells)
            cells, gpus = {}, set()
        if not gpus:
            first = number
            cells = {"timestamp": stamp} if stamp else {}
        gpus.add(gpu)
        cells |= {f"gpu {gpu} {name}": text for name, text in values.items()}
    if gpus:
        yield Row(first, cells)


_FACTS = ToolFacts(
    "gpus",
    "nvidia-smi",
    (
        ToolColumn(r"gpu (\S+) utilization", Role.GPU, "percent"),
        ToolColumn(r"gpu (\S+) memory_mib", Role.GPU_MEMORY, "mib"),
        ToolColumn(r"gpu (\S+) power_watts", Role.GPU_POWER, "watts"),
        ToolColumn(r"gpu \S+ memory_bandwidth", Role.OTHER, "percent"),
    ),
)

FORMATS = (
    tool_format(
        "nvidia_smi",
        "nvidia-smi",
        (".csv", ".txt"),
        r"(?i).{0,4000}?(?:utilization\.gpu|memory\.used)",
        parse_query,
        check=is_query,
        facts=_FACTS,
    ),
    tool_format(
        "nvidia_smi_noheader",
        "nvidia-smi",
        (".csv", ".txt"),
        rf".{{0,2000}}?{_CELLS['time'].pattern}",
        parse_without_header,
        check=has_no_header,
        facts=_FACTS,
    ),
    tool_format(
        "nvidia_dmon",
        "nvidia-smi",
        (".txt", ".log"),
        r"#\s*(?:Date\s+Time\s+)?(?:Time\s+)?gpu\s+(?!\s|pid\s).*\b(?:sm|pwr|fb)\b",
        parse_dmon,
        facts=_FACTS,
    ),
    tool_format(
        "dcgmi_dmon",
        "dcgmi dmon",
        (".txt", ".log"),
        r"#\s*Entity\s+.*\b(?:GPUTL|FBUSD|POWER)\b",
        parse_dmon,
        facts=_FACTS,
    ),
)
