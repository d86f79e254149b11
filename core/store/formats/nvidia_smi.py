"""What ``nvidia-smi`` says of GPUs: ``--query-gpu=… --format=csv``, once or in a loop, and ``dmon``.

``dcgmi dmon`` prints nearly what ``nvidia-smi dmon`` does, under names of its own (``GPUTL``) and by entity.

There is a line per GPU and sample; the lines of one sample become one row that keeps each GPU, ``gpu 0
utilization`` beside ``gpu 1 utilization``. The GPUs of one sample are asked one after the other, so that
their times differ by milliseconds: a sample ends where a GPU comes again. MiB in headers are 1024² bytes.
"""

from __future__ import annotations

import csv
import re
from typing import TYPE_CHECKING

from core.store.formats.base import Format
from core.store.formats.text_table import Row, TextTable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from core.store.formats.text_table import Line
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


def is_dmon(start: str) -> bool:
    """Tell whether a text begins like the output of ``nvidia-smi dmon``."""
    pattern = r"#\s*(?:Date\s+Time\s+)?(?:Time\s+)?gpu\s+(?!\s|pid\s).*\b(?:sm|pwr|fb)\b"
    return re.match(pattern, start) is not None


def is_dcgmi(start: str) -> bool:
    """Tell whether a text begins like the output of ``dcgmi dmon``."""
    return re.match(r"#\s*Entity\s+.*\b(?:GPUTL|FBUSD|POWER)\b", start) is not None


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
    header: list[str] = []

    def entries() -> Iterator[tuple[int, str, str, dict[str, str]]]:
        nonlocal header
        for number, text in lines:
            if not text.strip():
                continue
            cells = _cells(text)
            if not header or _names(text) == header:
                header = _names(text)
                continue
            if len(cells) != len(header):
                message = f"Row {number} has {len(cells)} cells instead of the {len(header)} of its header."
                log.add("ragged", message, row=number)
                continue
            values = dict(zip(header, (cell.strip() for cell in cells), strict=True))
            gpu = next((values[name] for name in _GPU if name in values), "0")
            found = {_FIELDS[name]: _clear_missing(values[name]) for name in _FIELDS if name in values}
            yield number, values.get("timestamp", ""), gpu, found

    return _merge_samples(entries())


def parse_dmon(lines: Iterable[Line], log: ProblemLog) -> Iterator[Row]:
    """Rows of ``dmon`` of either program, a row per sample."""
    header: list[str] = []

    def entries() -> Iterator[tuple[int, str, str, dict[str, str]]]:
        nonlocal header
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
            if len(cells) != len(header):
                message = f"Row {number} has {len(cells)} cells instead of the {len(header)} of its header."
                log.add("ragged", message, row=number)
                continue
            values = dict(zip(header, cells, strict=True))
            stamp = " ".join(_date(values[name]) for name in ("date", "time") if name in values)
            found = {_DMON[name]: _clear_missing(values[name]) for name in _DMON if name in values}
            yield number, stamp, values.get("gpu", values.get("entity", "0")), found

    return _merge_samples(entries())


def _date(text: str) -> str:
    """``20260131``, as dmon writes dates, with dashes."""
    return f"{text[:4]}-{text[4:6]}-{text[6:]}" if re.fullmatch(r"\d{8}", text) else text


def _clear_missing(text: str) -> str:
    return "" if text in _MISSING else text


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


FORMATS = (
    Format(
        "nvidia_smi",
        "nvidia-smi",
        (".csv", ".txt"),
        lambda start: is_query(start.text),
        lambda start: TextTable.open(start.path, parse_query, "the answer of nvidia-smi", "gpus"),
        "timestamp, index, utilization.gpu [%], memory.used [MiB]\n"
        + "".join(f"2026/01/31 12:00:0{i}.000, 0, 9{i} %, 1000 MiB\n" for i in range(6)),
    ),
    Format(
        "nvidia_dmon",
        "nvidia-smi",
        (".txt", ".log"),
        lambda start: is_dmon(start.text),
        lambda start: TextTable.open(start.path, parse_dmon, "the output of nvidia-smi dmon", "gpus"),
        "#Date Time gpu pwr sm mem\n#YYYYMMDD HH:MM:SS Idx W % %\n"
        + "".join(f"20260131 12:00:0{i} 0 250 9{i} 40\n" for i in range(6)),
    ),
    Format(
        "dcgmi_dmon",
        "dcgmi dmon",
        (".txt", ".log"),
        lambda start: is_dcgmi(start.text),
        lambda start: TextTable.open(start.path, parse_dmon, "the output of dcgmi dmon", "gpus"),
        "#Entity GPUTL MCUTL POWER\nID W\n" + "".join(f"GPU 0 9{i} 40 250.{i}\n" for i in range(6)),
    ),
)
