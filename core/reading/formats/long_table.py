"""Tables with one value per row, pivoted to one column per metric, and the base of pivoted tables."""

from __future__ import annotations

import csv
import io
import re
from contextlib import suppress
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import TYPE_CHECKING

import numpy as np

from core.errors import InputError
from core.reading.dates import is_date
from core.reading.formats.base import Format, Source, open_content
from core.reading.formats.csv import MAX_LINE, CsvSource
from core.reading.formats.csv_dialect import EVIDENCE_ROWS
from core.reading.formats.series_table import (
    SeriesTable,
    gather_series,
    select_container_series,
    select_preview_rows,
)
from core.reading.mapping import ColumnMapping, MappedColumn
from core.reading.numbers import (
    AS_WRITTEN,
    BINARY_UNITS,
    EMPTY,
    find_style_of_rows,
    find_written_unit,
    parse_number,
    parse_numbers,
)
from core.units import Unit, file_unit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from core.reading.formats.base import FileStart
    from core.reading.table import RawTable
    from core.traces.model import FloatArray, IntArray
    from core.traces.validation import Problem


@dataclass(frozen=True, kw_only=True)
class PivotedTable(Source):
    """A text table of series after pivoting: ``execution``, ``timestamp`` and a column per metric."""

    #: The table of the file.
    source: CsvSource

    def as_read(self, mapping: ColumnMapping) -> ColumnMapping:
        """Return the mapping with sizes in bytes for cells with units, as series are read.

        Grafana means 1000³ by GB and writes GiB for 1024³.
        """
        style = find_style_of_rows(self.rows)

        def in_bytes(column: str) -> bool:
            place = self.header.index(column)
            return find_written_unit(parse_numbers((row[place] for row in self.rows), style)) is Unit.BYTES

        features = tuple(
            replace(one, unit_key="bytes") if one.unit_key in BINARY_UNITS and in_bytes(one.column) else one
            for one in mapping.features
        )
        return replace(mapping, features=features)


_METRIC = (
    "__name__",
    "metric",
    "metric_name",
    "key",
    "_field",
    "measurement",
    "counter",
    "variable",
    "field",
)
_TIME = ("timestamp", "time", "_time", "datetime", "date", "ts")
_VALUE = ("value", "_value", "val", "metric_value")
_SERIES = ("series", "metric", "legend")
# columns that are neither labels nor values
_IGNORED = frozenset(("step", "is_nan", "result", "table", "_start", "_stop", "", "index"))
_MEASUREMENT = "_measurement"
_UNITS = frozenset(("unit", "units", "uom", "einheit", "unité", "unidad", "unità"))
_NO_UNITS = frozenset(("count", "none", "1", "short", "-", "null"))
"""Cells for no unit in a column of units."""
ROWS_OF_SERIES, MAX_FOUND_ROWS = 10, 50_000
MAX_SEARCHED_CHARS = 2**25
"""Number of characters to search for series that the first rows do not have."""
_LEGEND = re.compile(r"\s*([A-Za-z_:][\w:.]*)?\s*\{(.*)\}\s*")
MAX_LEGEND = 4_000
_EXPRESSION = re.compile(r"\s*([a-z_]+\([^{}]*(?<=[\w:.]))\{([^{}]*)\}([^{}]*\))\s*")
_LABEL = re.compile(r'([A-Za-z_]\w*)\s*[=:]\s*"?([^",}]*)"?')


def parse_legend(text: str) -> tuple[str, dict[str, str]] | None:
    """Parse the metric and the labels of a series, ``name{pod="a"}``; None for other texts.

    The metric of an expression such as ``rate(name{pod="a"}[5m])`` is the expression without the labels.
    """
    if len(text) > MAX_LEGEND:
        return None
    found = _LEGEND.fullmatch(text)
    if found is not None:
        return found[1] or "", dict(_LABEL.findall(found[2]))
    found = _EXPRESSION.fullmatch(text)
    return None if found is None else (f"{found[1]}{found[3]}", dict(_LABEL.findall(found[2])))


@dataclass(frozen=True)
class _Shape:
    """The columns of the metric ("" for a single metric), the time, the value and the labels."""

    metric: str
    time: str
    value: str
    labels: tuple[str, ...]


def _shape(names: Sequence[str], rows: Sequence[Sequence[str]]) -> _Shape | None:
    """Find the shape of a table; None if it does not have one value per row."""
    lower = {name.strip().lower(): name for name in reversed(names)}
    time = next((lower[name] for name in _TIME if name in lower), None)
    value = next((lower[name] for name in _VALUE if name in lower), None)
    if time is None or value is None:
        return None
    texts = {name: [row[i].strip() for row in rows if i < len(row)] for i, name in enumerate(names)}
    metric = next((lower[name] for name in _METRIC if name in lower and _is_text(texts[lower[name]])), "")
    other_labels = [
        name for name in names if name not in (metric, time, value) and name.lower() not in _IGNORED
    ]
    if any(
        not _is_text(texts[name]) and name.lower() not in ("gpu", "cpu", "index") for name in other_labels
    ):
        return None  # other numbers beside the value: a row has several measurements
    if not metric:
        metric = next((lower[name] for name in _SERIES if name in lower and lower[name] in other_labels), "")
        other_labels = [name for name in other_labels if name != metric]
    return _Shape(metric, time, value, tuple(other_labels)) if metric or other_labels else None


def _is_text(cells: Sequence[str]) -> bool:
    filled = [cell for cell in cells if cell not in EMPTY]
    return not filled or sum(parse_number(cell) is None and not is_date(cell) for cell in filled) * 2 > len(
        filled
    )


def _split_series(metric: str, labels: Mapping[str, str]) -> tuple[str, dict[str, str]]:
    """Split a row into metric and labels, including those in the metric's legend.

    The metric includes InfluxDB's measurement before a field and a unit behind it.
    """
    found = parse_legend(metric)
    own_name, other_labels = (metric, {**labels}) if found is None else (found[0], {**labels, **found[1]})
    measurement = other_labels.pop(_MEASUREMENT, "") if own_name else ""
    units = [other_labels.pop(key) for key in tuple(other_labels) if key.lower() in _UNITS]
    full_name = f"{measurement} {own_name or 'value'}".strip()
    unit_suffix = " ".join(f"[{unit}]" for unit in units if unit.lower() not in _NO_UNITS)
    return f"{full_name} {unit_suffix}".strip(), other_labels


@dataclass(frozen=True, kw_only=True)
class LongSource(PivotedTable):
    """A text table with one value per row, pivoted to one column per metric."""

    shape: _Shape

    @classmethod
    def measurement(cls, source: CsvSource, search_further: bool = False) -> LongSource | None:
        """Pivot a table with one value per row; None for any other table."""
        whole = [row for row in source.rows if len(row) == len(source.header)]
        shape = _shape(source.header, whole)
        if shape is None or not whole:
            return None
        if search_further and len(source.rows) >= EVIDENCE_ROWS:
            whole += _find_later_series(source, shape, whole)
        place = {name: i for i, name in enumerate(source.header)}

        def cell(row: Sequence[str], name: str) -> str:
            return row[place[name]].strip() if name else ""

        row_keys = [
            (cell(row, shape.metric), tuple(cell(row, name) for name in shape.labels)) for row in whole
        ]
        pairs, _ = _pairs(list(dict.fromkeys(row_keys)), shape)
        metrics = tuple(dict.fromkeys(pairs[one][1] for one in row_keys if one in pairs))
        seen: dict[tuple[str, str], dict[str, str]] = {}
        for one, row in zip(row_keys, whole, strict=True):
            if one not in pairs:
                continue
            execution, metric = pairs[one]
            seen.setdefault((execution, cell(row, shape.time)), {})[metric] = cell(row, shape.value)
        rows = preview_rows(list(seen), list(seen.values()), metrics)
        header = ("execution", "timestamp", *metrics)
        return cls(
            path=source.path, header=header, rows=rows, problems=source.problems, source=source, shape=shape
        )

    def read(self, mapping: ColumnMapping, progress: Callable[[float, str], None] | None = None) -> RawTable:
        """Read the mapped columns; a row is a time of a container.

        Raises InputError if a column is mapped to something that it cannot be.
        """
        check_written(mapping, self.header, self.rows, self.path.name)
        shape = self.shape
        keys = tuple(name for name in (shape.metric, *shape.labels) if name)
        long = self.source.read(
            ColumnMapping(
                features=(MappedColumn(shape.value, unit_key=AS_WRITTEN),),
                time=shape.time,
                time_unit=mapping.time_unit if mapping.time else "s",
                attributes=keys,
            ),
            progress,
        )
        return _table(long, shape).raw(mapping, self.path.name, self.header, long)


def preview_rows(
    keys: Sequence[tuple[str, ...]], cells_by_metric: Sequence[Mapping[str, str]], metrics: Sequence[str]
) -> tuple[tuple[str, ...], ...]:
    """Return the rows of a preview: the key of each, such as execution and time, and a cell per metric."""
    rows_by_metric: dict[str, list[int]] = {metric: [] for metric in metrics}
    for row, cells in enumerate(cells_by_metric):
        for metric in cells:
            rows_by_metric[metric].append(row)
    selected = select_preview_rows(range(len(keys)), rows_by_metric)
    return tuple((*keys[i], *(cells_by_metric[i].get(one, "") for one in metrics)) for i in selected)


def _find_later_series(
    source: CsvSource, shape: _Shape, known: Sequence[Sequence[str]]
) -> list[tuple[str, ...]]:
    """Find the first rows of series that begin later, since one metric may follow another."""
    width = len(source.header)
    indices = [source.header.index(name) for name in (shape.metric, *shape.labels) if name]
    series = itemgetter(*indices)
    # remaining rows to take by series; none of known series and repeated headers
    n_wanted = dict.fromkeys((series(row) for row in (source.header, *known)), 0)
    found: list[tuple[str, ...]] = []
    with open_content(source.path) as stream, suppress(csv.Error):
        text = io.TextIOWrapper(stream, source.head.encoding, errors="replace", newline="")
        for _ in range(source.head.header_lines):
            text.readline(MAX_LINE)
        for row in csv.reader(_lines(text), delimiter=source.head.separator):
            if len(row) == width and (n_left := n_wanted.setdefault(series(row), ROWS_OF_SERIES)):
                n_wanted[series(row)] = n_left - 1
                found.append(tuple(row))
            if len(found) >= MAX_FOUND_ROWS:
                break
    return found


def _lines(text: io.TextIOWrapper) -> Iterator[str]:
    n_chars = 0
    while n_chars < MAX_SEARCHED_CHARS and (line := text.readline(MAX_LINE)):
        n_chars += len(line)
        yield line


def check_written(
    mapping: ColumnMapping, header: Sequence[str], rows: Sequence[Sequence[str]], name: str
) -> None:
    """Check that mapped units agree with the units in cells.

    Raises InputError if they differ: cells in GiB, for instance, are read as bytes, not as MB.
    """
    style = find_style_of_rows(rows)
    for one in mapping.features:
        place, unit = header.index(one.column) if one.column in header else None, file_unit(one.unit_key)
        written = (
            None if place is None else find_written_unit(parse_numbers([row[place] for row in rows], style))
        )
        fits = unit.factor == 0.01 if written is Unit.SHARE else unit.factor == 1.0 and unit.unit is written
        if written is not None and not fits and unit.key not in ("plain", "share"):
            canonical = "percent" if written is Unit.SHARE else str(written)
            raise InputError(
                f"The cells of “{one.column}” in “{name}” have units and are read as {canonical}.",
                f"Choose {canonical} as the unit of this column.",
            )


def _pairs(
    row_keys: Sequence[tuple[str, tuple[str, ...]]],
    shape: _Shape,
    spans: Sequence[tuple[float, float]] = (),
) -> tuple[dict[tuple[str, tuple[str, ...]], tuple[str, str]], tuple[Problem, ...]]:
    """Return the execution and the column of every kind of row of a container; also report the others."""
    series = [
        _split_series(metric, {key: text for key, text in zip(shape.labels, labels, strict=True) if text})
        for metric, labels in row_keys
    ]
    found = select_container_series([labels for _, labels in series], [metric for metric, _ in series], spans)
    return dict(zip((row_keys[i] for i in found.positions), found.names, strict=True)), found.problems


def _table(long: RawTable, shape: _Shape) -> SeriesTable:
    """Pivot the rows of a file with one value per row."""
    codes = np.column_stack([one.codes for one in long.attributes])
    unique, inverse = np.unique(codes, axis=0, return_inverse=True)
    texts = [
        tuple(one.names[code] if code >= 0 else "" for one, code in zip(long.attributes, row, strict=True))
        for row in unique
    ]
    row_keys = [(text[0], text[1:]) if shape.metric else ("", text) for text in texts]
    time = long.time if long.time is not None else np.zeros(long.n_rows)
    pairs, left_out = _pairs(row_keys, shape, _find_spans(time, inverse, len(unique)))
    kept_kinds = [kind for kind, key in enumerate(row_keys) if key in pairs]
    by_kind = np.argsort(inverse, kind="stable")
    bounds = np.searchsorted(inverse[by_kind], np.arange(len(unique) + 1))
    rows = long.rows if long.rows is not None else np.arange(long.n_rows) + long.first_row

    def load(i: int) -> tuple[FloatArray, FloatArray, IntArray]:
        own = by_kind[bounds[kept_kinds[i]] : bounds[kept_kinds[i] + 1]]
        return time[own], long.columns[0][own], rows[own]

    table = gather_series([pairs[row_keys[kind]] for kind in kept_kinds], load)
    return replace(table, left_out=left_out)


def _find_spans(time: FloatArray, kinds: IntArray, count: int) -> list[tuple[float, float]]:
    first, last = np.full(count, np.inf), np.full(count, -np.inf)
    np.fmin.at(first, kinds, time)
    np.fmax.at(last, kinds, time)
    return list(zip(first.tolist(), last.tolist(), strict=True))


def _open(start: FileStart) -> LongSource:
    found = LongSource.measurement(start.open_once(CsvSource.open), search_further=True)
    if found is None:
        raise InputError(f"“{start.path.name}” is not a table of metrics.", "Import it as it was recognised.")
    return found


FORMATS = (
    Format(
        "long_table",
        "CSV of Prometheus, Grafana and MLflow",
        (".csv", ".gz"),
        _open,
        check=lambda start: LongSource.measurement(start.open_once(CsvSource.open)) is not None,
        is_pivoted=True,
    ),
)
