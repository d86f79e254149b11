"""Prometheus tables with one metric value per row, its metric and its labels beside it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from core.errors import InputError
from core.store.formats.base import Format
from core.store.formats.csv.reader import CsvSource
from core.store.formats.series_table import SeriesTable, all_labels, coded, execution_of, gather
from core.traces.mapping import ColumnMapping, MappedColumn
from core.traces.raw import Coded, RawTable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from core.store.formats.opening import Beginning
    from core.traces.validation import Problem


@dataclass(frozen=True)
class LongSource:
    """A text table with one value per row, its metric and its labels beside it."""

    source: CsvSource
    metric: str
    time: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    problems: tuple[Problem, ...] = ()
    types: tuple[str, ...] = ()
    n_rows: int | None = None

    @property
    def path(self) -> Path:
        """The file."""
        return self.source.path

    @classmethod
    def of(cls, source: CsvSource) -> LongSource | None:
        """The same file as a table of metrics, where it is one."""
        names = source.header
        metric = next((name for name in ("__name__", "metric", "metric_name") if name in names), None)
        time = next((name for name in ("timestamp", "time", "Time") if name in names), None)
        if metric is None or time is None or "value" not in names:
            return None
        place = {name: i for i, name in enumerate(names)}
        metrics = tuple(dict.fromkeys(row[place[metric]] for row in source.rows if len(row) == len(names)))
        if not metrics:
            return None
        labels = [name for name in names if name not in (metric, time, "value")]
        rows = []
        for row in source.rows:
            if len(row) == len(names):
                name = execution_of({label: row[place[label]] for label in labels})
                cells = (row[place["value"]] if row[place[metric]] == one else "" for one in metrics)
                rows.append((name, row[place[time]], *cells))
        header = ("execution", "timestamp", *metrics)
        return cls(source, metric, time, header, tuple(rows), source.problems)

    def read(self, mapping: ColumnMapping, progress: Callable[[float, str], None] | None = None) -> RawTable:
        """Read the mapped columns; a row is a time of a container."""
        labels = [name for name in self.source.header if name not in (self.metric, self.time, "value")]
        long = self.source.read_exactly(
            ColumnMapping(
                features=(MappedColumn("value"),),
                time=self.time,
                time_unit=mapping.time_unit,
                attributes=(self.metric, *labels),
            ),
            progress,
        )
        return _from_long(long, labels).raw(mapping, self.path.name, long)


def _from_long(long: RawTable, labels: Sequence[str]) -> SeriesTable:
    """The table of a file with one value per row."""
    metric, *others = long.attributes
    stacked = (
        np.column_stack([one.codes for one in others]) if others else np.zeros((long.n_rows, 1), np.int64)
    )
    unique, inverse = np.unique(stacked, axis=0, return_inverse=True)
    texts = [
        {key: one.names[code] for key, one, code in zip(labels, others, row, strict=False) if code >= 0}
        for row in unique
    ]
    names = [execution_of(one) for one in texts]
    if len(set(names)) < len(names):
        names = [all_labels(one, one) for one in texts]
    executions = coded(names, [1] * len(names))
    codes = executions.codes[inverse.reshape(-1)]
    time = long.time if long.time is not None else np.zeros(long.n_rows)
    good = metric.codes >= 0
    rows = long.rows if long.rows is not None else np.arange(long.n_rows)
    kept = Coded(codes[good], executions.names)
    return gather(
        kept, Coded(metric.codes[good], metric.names), time[good], long.columns[0][good], rows[good]
    )


def _recognise(start: Beginning) -> bool:
    return LongSource.of(start.opened(CsvSource.open)) is not None


def _open(start: Beginning) -> LongSource:
    table = start.opened(CsvSource.open)
    found = LongSource.of(table)
    if found is None:
        raise InputError(f"“{start.path.name}” is not a table of metrics.", "Import it as it was recognised.")
    return found


FORMATS = (
    Format(
        "prometheus_csv",
        "Prometheus CSV",
        (".csv", ".gz"),
        _recognise,
        _open,
        "timestamp,__name__,container,value\n"
        + "".join(f"{10 * i},container_memory_usage_bytes,a,{i}\n" for i in range(6)),
    ),
)
