"""What tables of series have in common: a text table that is seen with one column per metric."""

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
from core.store.formats.base import Format, open_content
from core.store.formats.csv import CsvSource
from core.store.formats.csv_dialect import EVIDENCE_ROWS
from core.store.formats.parse_exact import MOST_LINE
from core.store.formats.series_table import SeriesTable, coded, gather, of_containers
from core.traces.cells.dates import is_date
from core.traces.cells.numbers import BINARY, EMPTY, WRITTEN, numbers_of, read, style_of_rows, written_unit
from core.traces.mapping import ColumnMapping, MappedColumn
from core.units import Unit, file_unit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from core.store.formats.base import Beginning
    from core.traces.raw import RawTable
    from core.traces.validation import Problem


@dataclass(frozen=True, kw_only=True)
class TurnedTable:
    """A text table as it is seen after turning."""

    #: The table as it is written.
    source: CsvSource
    #: ``execution``, ``timestamp`` and one name per metric.
    header: tuple[str, ...]
    #: The first rows under that header.
    rows: tuple[tuple[str, ...], ...]

    @property
    def path(self) -> Path:
        """The file."""
        return self.source.path

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What was odd about the beginning of the table as it is written."""
        return self.source.problems

    @property
    def types(self) -> tuple[str, ...]:
        """Empty: text files state no types."""
        return ()

    @property
    def n_rows(self) -> int | None:
        """Unknown before the end: how many rows become one is not known."""
        return None

    def as_read(self, mapping: ColumnMapping) -> ColumnMapping:
        """The mapping in which sizes that cells write are in bytes, since series are read so.

        Who writes legends and units (Grafana) means 1000³ by GB, and has GiB for 1024³.
        """
        style = style_of_rows(self.rows)

        def in_bytes(column: str) -> bool:
            place = self.header.index(column)
            return written_unit(numbers_of((row[place] for row in self.rows), style)) is Unit.BYTES

        features = tuple(
            replace(one, unit_key="bytes") if one.unit_key in BINARY and in_bytes(one.column) else one
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
# tables of tools have columns that are neither labels nor values
_IGNORED = frozenset(("step", "is_nan", "result", "table", "_start", "_stop", "", "index"))
_MEASUREMENT = "_measurement"
_UNITS = frozenset(("unit", "units", "uom", "einheit", "unité", "unidad", "unità"))
_NO_UNITS = frozenset(("count", "none", "1", "short", "-", "null"))
"""What stands for no unit in a column of units."""
ROWS_OF_SERIES, MOST_FOUND = 10, 50_000
LOOKED_THROUGH = 2**25
"""Characters of a table in which series are looked for that its first rows do not have."""
_LEGEND = re.compile(r"\s*([A-Za-z_:][\w:.]*)?\s*\{(.*)\}\s*")
MOST_LEGEND = 4_000
_EXPRESSION = re.compile(r"\s*([a-z_]+\([^{}]*(?<=[\w:.]))\{([^{}]*)\}([^{}]*\))\s*")
_LABEL = re.compile(r'([A-Za-z_]\w*)\s*[=:]\s*"?([^",}]*)"?')


def legend(text: str) -> tuple[str, dict[str, str]] | None:
    """The metric and the labels of a series as Prometheus and Grafana write it: ``name{pod="a"}``.

    Of an expression of one metric, ``rate(name{pod="a"}[5m])``, the metric is the same without the labels.
    """
    if len(text) > MOST_LEGEND:
        return None
    found = _LEGEND.fullmatch(text)
    if found is not None:
        return found[1] or "", dict(_LABEL.findall(found[2]))
    found = _EXPRESSION.fullmatch(text)
    return None if found is None else (f"{found[1]}{found[3]}", dict(_LABEL.findall(found[2])))


@dataclass(frozen=True)
class _Shape:
    """Which column is what: the metric's ("" where there is one metric), the time, the value, the labels."""

    metric: str
    time: str
    value: str
    labels: tuple[str, ...]


def _shape(names: Sequence[str], rows: Sequence[Sequence[str]]) -> _Shape | None:
    """The shape of a table, None where it is no long one."""
    lower = {name.strip().lower(): name for name in reversed(names)}
    time = next((lower[name] for name in _TIME if name in lower), None)
    value = next((lower[name] for name in _VALUE if name in lower), None)
    if time is None or value is None:
        return None
    texts = {name: [row[i].strip() for row in rows if i < len(row)] for i, name in enumerate(names)}
    metric = next((lower[name] for name in _METRIC if name in lower and _is_text(texts[lower[name]])), "")
    rest = [name for name in names if name not in (metric, time, value) and name.lower() not in _IGNORED]
    if any(not _is_text(texts[name]) and name.lower() not in ("gpu", "cpu", "index") for name in rest):
        return None  # other numbers stand beside the value: a row is more than one measurement
    if not metric:
        metric = next((lower[name] for name in _SERIES if name in lower and lower[name] in rest), "")
        rest = [name for name in rest if name != metric]
    return _Shape(metric, time, value, tuple(rest)) if metric or rest else None


def _is_text(cells: Sequence[str]) -> bool:
    filled = [cell for cell in cells if cell not in EMPTY]
    return not filled or sum(read(cell) is None and not is_date(cell) for cell in filled) * 2 > len(filled)


def _series(metric: str, labels: Mapping[str, str]) -> tuple[str, dict[str, str]]:
    """A row's metric and labels, those inside its metric's legend included.

    What says what a metric measures is its own: InfluxDB's measurement before a field, a unit behind it.
    """
    found = legend(metric)
    own, rest = (metric, {**labels}) if found is None else (found[0], {**labels, **found[1]})
    of = rest.pop(_MEASUREMENT, "") if own else ""
    units = [rest.pop(key) for key in tuple(rest) if key.lower() in _UNITS]
    named = f"{of} {own or 'value'}".strip()
    behind = " ".join(f"[{unit}]" for unit in units if unit.lower() not in _NO_UNITS)
    return f"{named} {behind}".strip(), rest


@dataclass(frozen=True, kw_only=True)
class LongSource(TurnedTable):
    """A text table with one value per row, seen with one column per metric."""

    shape: _Shape

    @classmethod
    def of(cls, source: CsvSource, further: bool = False) -> LongSource | None:
        """The same file with one column per metric, where it is a table with one value per row."""
        whole = [row for row in source.rows if len(row) == len(source.header)]
        shape = _shape(source.header, whole)
        if shape is None or not whole:
            return None
        if further and len(source.rows) >= EVIDENCE_ROWS:
            whole += _begun(source, shape, whole)
        place = {name: i for i, name in enumerate(source.header)}

        def cell(row: Sequence[str], name: str) -> str:
            return row[place[name]].strip() if name else ""

        said = [(cell(row, shape.metric), tuple(cell(row, name) for name in shape.labels)) for row in whole]
        pairs, _ = _pairs(list(dict.fromkeys(said)), shape)
        metrics = tuple(dict.fromkeys(pairs[one][1] for one in said if one in pairs))
        seen: dict[tuple[str, str], dict[str, str]] = {}
        for one, row in zip(said, whole, strict=True):
            if one not in pairs:
                continue
            execution, metric = pairs[one]
            seen.setdefault((execution, cell(row, shape.time)), {})[metric] = cell(row, shape.value)
        rows = tuple((*key, *(cells.get(one, "") for one in metrics)) for key, cells in seen.items())
        header = ("execution", "timestamp", *metrics)
        return cls(source=source, shape=shape, header=header, rows=rows)

    def read(self, mapping: ColumnMapping, progress: Callable[[float, str], None] | None = None) -> RawTable:
        """Read the mapped columns; a row is a time of a container.

        Raises
        ------
        InputError
            If the mapping takes a column for what it is not.
        """
        check_written(mapping, self.header, self.rows, self.path.name)
        shape = self.shape
        keys = tuple(name for name in (shape.metric, *shape.labels) if name)
        long = self.source.read_exactly(
            ColumnMapping(
                features=(MappedColumn(shape.value, unit_key=WRITTEN),),
                time=shape.time,
                time_unit=mapping.time_unit if mapping.time else "s",
                attributes=keys,
            ),
            progress,
        )
        return _table(long, shape).raw(mapping, self.path.name, self.header, long)


def _begun(source: CsvSource, shape: _Shape, known: Sequence[Sequence[str]]) -> list[tuple[str, ...]]:
    """The first rows of series that the first rows of the table lack: one metric may be behind another."""
    width = len(source.header)
    places = [source.header.index(name) for name in (shape.metric, *shape.labels) if name]
    series = itemgetter(*places)
    # how many rows of a series are still to be taken; none of those that are known, or of a header again
    wanted = dict.fromkeys((series(row) for row in (source.header, *known)), 0)
    found: list[tuple[str, ...]] = []
    with open_content(source.path) as stream, suppress(csv.Error):
        text = io.TextIOWrapper(stream, source.head.encoding, errors="replace", newline="")
        for _ in range(source.head.header_lines):
            text.readline(MOST_LINE)
        for row in csv.reader(_lines(text), delimiter=source.head.separator):
            if len(row) == width and (left := wanted.setdefault(series(row), ROWS_OF_SERIES)):
                wanted[series(row)] = left - 1
                found.append(tuple(row))
            if len(found) >= MOST_FOUND:
                break
    return found


def _lines(text: io.TextIOWrapper) -> Iterator[str]:
    done = 0
    while done < LOOKED_THROUGH and (line := text.readline(MOST_LINE)):
        done += len(line)
        yield line


def check_written(
    mapping: ColumnMapping, header: Sequence[str], rows: Sequence[Sequence[str]], name: str
) -> None:
    """Check that no mapped column is given another unit than its cells write.

    Raises
    ------
    InputError
        If cells say GiB, for instance, and the mapping says MB: they are read as bytes.
    """
    style = style_of_rows(rows)
    for one in mapping.features:
        place, unit = header.index(one.column) if one.column in header else None, file_unit(one.unit_key)
        written = None if place is None else written_unit(numbers_of([row[place] for row in rows], style))
        fits = unit.factor == 0.01 if written is Unit.SHARE else unit.factor == 1.0 and unit.unit is written
        if written is not None and not fits and unit.key not in ("plain", "share"):
            canonical = "percent" if written is Unit.SHARE else str(written)
            raise InputError(
                f"The cells of “{one.column}” in “{name}” say their unit; they are read as {canonical}.",
                f"Choose {canonical} as the unit of this column.",
            )


def _pairs(
    said: Sequence[tuple[str, tuple[str, ...]]], shape: _Shape
) -> tuple[dict[tuple[str, tuple[str, ...]], tuple[str, str]], tuple[Problem, ...]]:
    """The execution and the column of every kind of row that is of a container, and which are of none."""
    series = [
        _series(metric, {key: text for key, text in zip(shape.labels, labels, strict=True) if text})
        for metric, labels in said
    ]
    found = of_containers([labels for _, labels in series], [metric for metric, _ in series])
    return dict(zip((said[i] for i in found.kept), found.names, strict=True)), found.problems


def _table(long: RawTable, shape: _Shape) -> SeriesTable:
    """The table of a file with one value per row."""
    codes = [one.codes for one in long.attributes]
    unique, inverse = np.unique(np.column_stack(codes), axis=0, return_inverse=True)
    texts = [
        tuple(one.names[code] if code >= 0 else "" for one, code in zip(long.attributes, row, strict=True))
        for row in unique
    ]
    said = [(text[0], text[1:]) if shape.metric else ("", text) for text in texts]
    pairs, left_out = _pairs(said, shape)
    there = np.array([one in pairs for one in said], bool)
    kept = there[inverse.reshape(-1)]
    which = (np.cumsum(there) - 1)[inverse.reshape(-1)[kept]]
    executions, metrics = (coded([pairs[one][i] for one in said if one in pairs], which) for i in (0, 1))
    time = long.time if long.time is not None else np.zeros(long.n_rows)
    rows = long.rows if long.rows is not None else np.arange(long.n_rows)
    table = gather(executions, metrics, time[kept], long.columns[0][kept], rows[kept])
    return replace(table, left_out=left_out)


def _open(start: Beginning) -> LongSource:
    found = LongSource.of(start.opened(CsvSource.open), further=True)
    if found is None:
        raise InputError(f"“{start.path.name}” is not a table of metrics.", "Import it as it was recognised.")
    return found


FORMATS = (
    Format(
        "long_table",
        "CSV of Prometheus, Grafana and MLflow",
        (".csv", ".gz"),
        lambda start: LongSource.of(start.opened(CsvSource.open)) is not None,
        _open,
        "timestamp,__name__,container,value\n"
        + "".join(f"{10 * i},container_memory_usage_bytes,a,{i}\n" for i in range(6)),
        turns=True,
    ),
)
