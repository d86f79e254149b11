"""A table with one column per cAdvisor metric, as the readers of Prometheus responses make it."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass, replace
from itertools import chain, count, islice
from typing import TYPE_CHECKING, Any

import numpy as np

from core.errors import InputError
from core.reading.formats.base import (
    HEAD_BYTES,
    Format,
    Source,
    decode_text,
    open_content,
    read_head,
)
from core.reading.formats.series_table import ROWS_OF_METRIC, Series, pivot_series, select_preview_rows
from core.reading.guessing import guess_mapping
from core.reading.guessing.cpu_and_memory_columns import LOOPBACK
from core.reading.guessing.order import find_distinguishing_columns, is_identity_name
from core.reading.guessing.units import is_computed
from core.reading.mapping import MappedColumn
from core.traces.model import Role

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from core.reading.formats.series_table import SeriesTable
    from core.reading.mapping import ColumnMapping
    from core.reading.table import RawTable
    from core.reading.tool_facts import TableHead
    from core.traces.model import IntArray


def recognise(head: TableHead) -> ColumnMapping | None:
    """Return the mapping of a table with metrics of cAdvisor or DCGM."""
    guessed = guess_mapping(head.header, head.rows)
    if guessed is None:
        return None
    names = [one.column for one in guessed.features]
    memory = next((name for name in _MEMORY_METRICS if name in names), None)
    features = tuple(one if is_computed(one.column) else _metric(one, memory) for one in guessed.features)
    known = {one.column for one, before in zip(features, guessed.features, strict=True) if one != before}
    known |= {one.column for one in features if one.column.split(" ")[0] in _KNOWN}
    assumed = tuple(name for name in guessed.assumed if name not in known)
    return _of_measured(replace(guessed, features=features, assumed=assumed), head)


def _of_measured(guessed: ColumnMapping, head: TableHead) -> ColumnMapping:
    """The mapping whose executions are the containers that were measured, not those that measured them."""
    pod, container = "exported_pod", "exported_container"
    if pod not in head.header or not any(head.column(pod)):
        return guessed
    several = container in head.header and len(set(head.column(container))) > 1
    parts = (container,) if several else ()
    others = [
        name for name in head.header if is_identity_name(name) and name not in (pod, *parts, *_MEASURING)
    ]
    parts = (
        *parts,
        *find_distinguishing_columns((pod, *parts), others, guessed.time, head.header, head.rows),
    )
    return replace(
        guessed,
        execution=pod,
        execution_parts=parts,
        attributes=tuple(name for name in guessed.attributes if name not in (pod, *parts)),
        features=tuple(one for one in guessed.features if one.column not in (pod, *parts)),
    )


_MEASURING = ("pod", "container", "namespace", "instance")


# The first one present is the memory in use; the working set is what the kernel cannot reclaim.
_MEMORY_METRICS = (
    "container_memory_working_set_bytes",
    "container_memory_usage_bytes",
    "container_memory_rss",
)


METRICS = r"(?:container_(?:cpu|memory|network|fs)_|DCGM_FI_).*"
# the name of a metric whose series of one container are several is followed by what tells them apart
_KNOWN = {
    "container_network_receive_bytes_total": (Role.NETWORK_IN, "bytes_total"),
    "container_network_transmit_bytes_total": (Role.NETWORK_OUT, "bytes_total"),
    "container_fs_reads_bytes_total": (Role.BLOCK_IN, "bytes_total"),
    "container_fs_writes_bytes_total": (Role.BLOCK_OUT, "bytes_total"),
    "DCGM_FI_DEV_GPU_UTIL": (Role.GPU, "percent"),
    "DCGM_FI_DEV_FB_USED": (Role.GPU_MEMORY, "mib"),
    "DCGM_FI_DEV_POWER_USAGE": (Role.GPU_POWER, "watts"),
    "DCGM_FI_DEV_MEM_COPY_UTIL": (Role.OTHER, "percent"),
    "DCGM_FI_PROF_GR_ENGINE_ACTIVE": (Role.OTHER, "share"),
}


def _metric(mapped: MappedColumn, memory: str | None) -> MappedColumn:
    name = mapped.column
    known = _KNOWN.get(name.split(" ")[0])
    if known is not None:
        return MappedColumn(name, Role.OTHER if LOOPBACK.search(name) else known[0], known[1])
    if name == memory:
        return MappedColumn(name, Role.MEMORY, "bytes")
    if name.endswith("_seconds_total"):
        role = Role.CPU if name == "container_cpu_usage_seconds_total" else Role.OTHER
        return MappedColumn(name, role, "cpu_seconds_total")
    if name == "container_spec_memory_limit_bytes":
        return MappedColumn(name, Role.MEMORY_LIMIT, "bytes")
    if name.startswith("container_memory_"):
        return MappedColumn(name, Role.OTHER, "bytes" if name.endswith("_bytes") else "plain")
    return mapped


MAX_JSON = 2 * 2**30
SAMPLE_ROWS = 50
MAX_BARE = 2**26
"""Bytes that are looked at of series without their response."""
MAX_SEARCHED_BYTES = 2**28
"""Bytes of a large response in which the names of its series are looked for."""
_BLOCK, _OVERLAP, _FIRST_BYTES = 2**22, 2**14, 2_000
_START = re.compile(rb'"metric"\s*:\s*(\{[^{}]*\})\s*,\s*"values?"\s*:\s*\[')
_SAMPLE = re.compile(rb'\[\s*(\d+(?:\.\d+)?)\s*,\s*"([^"]*)"\s*\]')
_FILLED = re.compile(r"\S")
_NUMBER = re.compile(r"-?\d+(?:\.\d*)?(?:[eE][+-]?\d+)?")


@dataclass(frozen=True, kw_only=True)
class PrometheusSource(Source):
    """A range query's response that can be read with a mapping."""

    @classmethod
    def open(cls, path: Path) -> PrometheusSource:
        """Parse as many series as the first part of the file holds.

        Raises InputError if it is not a response to a range query.
        """
        data = read_head(path)
        whole = len(data) < HEAD_BYTES
        text = decode_text(data)
        if whole or '"result' not in text:
            data = data if whole else read_head(path, MAX_BARE)
            lines = data if len(data) < MAX_BARE else data[: data.rfind(b"\n") + 1]
            found = _series(_split_responses(decode_text(lines), path), path)
        else:
            found = _find_series(path)
        table = pivot_series(found, None)
        header = ("execution", "timestamp", *table.metrics)
        selected = _select_rows(table)
        executions = [table.executions.names[code] for code in table.executions.codes[selected]]
        columns = (table.time[selected], *table.cells(selected))
        numbers = [["" if math.isnan(one) else repr(one) for one in column.tolist()] for column in columns]
        rows = list(zip(executions, *numbers, strict=True))
        types = ("text", *(["number"] * (len(header) - 1)))
        return cls(path=path, header=header, rows=tuple(rows), types=types)

    def read(self, mapping: ColumnMapping, progress: Callable[[float, str], None] | None = None) -> RawTable:
        """Read the mapped columns; a row is a time of a container.

        Raises InputError if the file is damaged or too large for JSON, or lacks a mapped metric.
        """
        if progress is not None:
            progress(0.0, "Reading JSON")
        table = pivot_series(_series(_split_responses(_read_whole(self.path), self.path), self.path), mapping)
        return table.raw(mapping, self.path.name, self.header)


def _read_whole(path: Path) -> str:
    with open_content(path) as stream:
        data = stream.read(MAX_JSON + 1)
    if len(data) > MAX_JSON:
        raise InputError(
            f"“{path.name}” has more than {MAX_JSON >> 30} GiB of JSON.",
            "Ask Prometheus for a shorter time or fewer containers at once.",
        )
    return decode_text(data)


def _split_responses(text: str, path: Path) -> list[Any]:
    """The responses in a file: one, a list of them, or several documents, with `Series` in their places.

    A series becomes arrays as soon as it is read: the lists of its samples take ten times their memory.
    """
    numbers = count(1)

    def parse(entry: dict[str, Any]) -> Series | dict[str, Any]:
        is_series = isinstance(entry.get("metric"), dict) or isinstance(entry.get("values"), list)
        is_series = is_series and not {"data", "result"} & set(entry)
        return _parse_series(entry, next(numbers), path) if is_series else entry

    decoder, documents, end = json.JSONDecoder(object_hook=parse), list[Any](), 0
    try:
        while (start := _FILLED.search(text, end)) or not documents:
            document, end = decoder.raw_decode(text, start.start() if start else end)
            documents.append(document)
    except (ValueError, RecursionError) as error:
        place = "row 1"
        if isinstance(error, json.JSONDecodeError):
            place = f"row {error.lineno}, column {error.colno}"
        raise InputError(
            f"“{path.name}” is not valid JSON: it breaks off at {place}.",
            "Save it again as a whole; of several JSON documents, each on one line.",
        ) from None
    return documents[0] if len(documents) == 1 and isinstance(documents[0], list) else documents


def _series(answers: Sequence[object], path: Path) -> list[Series]:
    bare = [answer for answer in answers if isinstance(answer, Series)]
    if bare and len(bare) == len(answers):
        return _with_samples(_blocks_joined(bare), path)
    parts: list[list[Series]] = []
    for answer in answers:
        if not isinstance(answer, dict):
            raise _unreadable_response(path)
        if answer.get("status") == "error":
            raise InputError(
                f"“{path.name}” contains a Prometheus error: {answer.get('error', 'unknown')}.",
                "Correct the query and save its response again.",
            )
        data = answer.get("data", answer)
        result = data.get("result") if isinstance(data, dict) else None
        if not isinstance(result, list) or not all(isinstance(entry, Series) for entry in result):
            raise _unreadable_response(path)
        parts.append(result)
    return _with_samples(_distinguish(parts), path)


def _with_samples(found: list[Series], path: Path) -> list[Series]:
    if not any(len(one.time) for one in found):
        raise InputError(
            f"“{path.name}” is a Prometheus response without a single sample.",
            "Ask for a time and containers that have samples.",
        )
    return found


def _blocks_joined(found: Sequence[Series]) -> list[Series]:
    """The series, those of the same labels as one: VictoriaMetrics writes a long one in several blocks."""
    blocks: dict[tuple[tuple[str, str], ...], list[Series]] = {}
    for one in found:
        blocks.setdefault(tuple(sorted(one.labels.items())), []).append(one)
    return [
        replace(
            same[0],
            time=np.concatenate([one.time for one in same]),
            values=np.concatenate([one.values for one in same]),
        )
        if len(same) > 1
        else same[0]
        for same in blocks.values()
    ]


def _distinguish(answers: Sequence[Sequence[Series]]) -> list[Series]:
    """All series; numbered where expressions lost their names and two answers are of one container."""
    known_labels: set[tuple[tuple[str, str], ...]] = set()
    several = False
    for answer in answers:
        unnamed = {tuple(sorted(one.labels.items())) for one in answer if "__name__" not in one.labels}
        several = several or bool(known_labels & unnamed)
        known_labels |= unnamed
    if not several:
        return [one for answer in answers for one in answer]
    return [
        replace(one, metric=f"value {number}")
        for number, answer in enumerate(answers, start=1)
        for one in answer
    ]


def _unreadable_response(path: Path) -> InputError:
    return InputError(
        f"“{path.name}” is JSON, but neither a response to a Prometheus range query nor a list of samples.",
        "Save what /api/v1/query_range returns, or one object with named numbers for each sample.",
    )


def _parse_series(entry: object, number: int, path: Path) -> Series:
    try:
        labels = {str(key): str(value) for key, value in entry.get("metric", {}).items()}  # type: ignore[attr-defined]
        pairs = entry.get("values") or ([entry["value"]] if "value" in entry else [])  # type: ignore[attr-defined, index, operator]
        if "timestamps" in entry:  # type: ignore[operator]
            pairs = list(zip(entry["timestamps"], pairs, strict=True))  # type: ignore[index]
        seconds = 1e-3 if "timestamps" in entry else 1.0  # type: ignore[operator]
        time = seconds * np.array([pair[0] for pair in pairs], dtype=np.float64)
        values = np.array([pair[1] for pair in pairs], dtype=np.float64)
    except (AttributeError, TypeError, ValueError, KeyError, IndexError, OverflowError) as error:
        raise InputError(
            f"Series {number} of “{path.name}” cannot be read: {error}.",
            'Each series needs "metric" and "values": [[time, "number"], …].',
        ) from None
    return Series(labels, time, values)


def _find_series(path: Path) -> list[Series]:
    """The series of a large response, with the first samples of each."""
    known_labels: set[tuple[tuple[str, str], ...]] = set()
    found: list[Series] = []
    overlap, n_left = b"", MAX_SEARCHED_BYTES
    with open_content(path) as stream:
        while n_left > 0 and (block := stream.read(_BLOCK)):
            n_left -= len(block)
            data = overlap + block
            for start in _START.finditer(data):
                if start.end() + _FIRST_BYTES > len(data) and len(block) == _BLOCK:
                    continue  # it is in the next block again, as a whole
                labels = _labels(start[1])
                key = tuple(sorted(labels.items()))
                if labels and key not in known_labels:
                    known_labels.add(key)
                    found.append(
                        _parse_first_samples(labels, data[start.end() - 1 : start.end() + _FIRST_BYTES])
                    )
            overlap = data[-_OVERLAP:]
    if not found:
        raise _unreadable_response(path)
    return found


def _labels(text: bytes) -> dict[str, str]:
    try:
        return {str(key): str(value) for key, value in json.loads(text).items()}
    except ValueError:
        return {}


def _parse_first_samples(labels: dict[str, str], text: bytes) -> Series:
    """A series of the samples with which it begins."""
    pairs = [(float(time), value.decode("ascii", "replace")) for time, value in _SAMPLE.findall(text)]
    numbers = [(time, float(value)) for time, value in pairs if _NUMBER.fullmatch(value)]
    table = np.array(numbers, dtype=np.float64).reshape(-1, 2)
    return Series(labels, table[:, 0], table[:, 1])


def _select_rows(table: SeriesTable) -> IntArray:
    """The first rows, and the first of every metric."""
    rows_by_metric = {}
    for i, metric in enumerate(table.metrics):
        filled = (rows[np.isfinite(values)].tolist() for rows, values in table.metric_cells(i))
        rows_by_metric[metric] = list(islice(chain.from_iterable(filled), ROWS_OF_METRIC))
    first = set(range(min(SAMPLE_ROWS, len(table.time)))).union(*rows_by_metric.values())
    return np.array(select_preview_rows(sorted(first), rows_by_metric))


FORMATS = (
    Format(
        "prometheus_json",
        "Prometheus JSON",
        (".json",),
        lambda start: PrometheusSource.open(start.path),
        r"[{\[]",
    ),
)
