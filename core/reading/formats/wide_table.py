"""Tables with one column per container, pivoted to one column per metric.

Grafana exports panels with columns named by legends: ``{pod="a"}``, ``train-1``, ``CPU train-1``. The legends
name the executions, and their common part names the metric.

W&B exports charts in the same way, ``run-1 - system.cpu``, with columns of extremes, ``__MIN`` and ``__MAX``,
which are omitted. Its axis may be steps, which are not times.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from core.errors import InputError, format_names
from core.reading.formats.base import Format
from core.reading.formats.csv import CsvSource
from core.reading.formats.long_table import PivotedTable, check_written, parse_legend, preview_rows
from core.reading.formats.series_table import gather_series, select_container_series
from core.reading.guessing.column_names import MAX_NAME_LENGTH, score_cpu_name, score_memory_name
from core.reading.guessing.cpu_and_memory_columns import guess_other_role
from core.reading.guessing.order import is_identity_name
from core.reading.guessing.times import can_be_times
from core.reading.guessing.units import Column
from core.reading.mapping import ColumnMapping, MappedColumn
from core.reading.numbers import AS_WRITTEN, EMPTY, parse_number, split_columns
from core.traces.model import Role
from core.traces.validation import problem

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Container, Mapping, Sequence

    from core.reading.formats.base import FileStart
    from core.reading.table import RawTable
    from core.traces.model import FloatArray, IntArray
    from core.traces.validation import Problem

_TIMES = ("time", "timestamp", "datetime", "date", "_time")
# W&B's axes that are times; the relative ones are in seconds
_RUN_TIMES = ("relative time (process)", "relative time (wall)", "wall time", "_timestamp", "_runtime")
_RUN = re.compile(r"(?P<name>.*\S) - (?P<metric>\S.*)")
_EXTREMES = ("__MIN", "__MAX")
_METRIC_PATTERN = (
    r"(?:container|pod|node|process)?[ _.]*(?:cpu|mem|memory|ram|gpu|network|net|disk|rss)"
    r"(?:[ _.%]*(?:usage|used|utili[sz]ation|util|percent|pct|bytes|cores|millicores|seconds|total|working|"
    r"set|in|out|receive|received|transmit|transmitted|read|write|memory|power|mib|gib|mb|gb|rate|load))*"
    r"\s*(?:[\[(][^\])]*[\])])?"
)
_BEFORE = re.compile(rf"(?P<metric>{_METRIC_PATTERN})[ _.:/|-]+(?P<name>.+)", re.IGNORECASE)
_AFTER = re.compile(rf"(?P<name>.+?)[ _.:/|-]+(?P<metric>{_METRIC_PATTERN})", re.IGNORECASE)
_STATISTIC = re.compile(
    r"(?i)[pq]\d+[_ .-]?\w*|(?:i?rate)?\d+[smhd]|(?:mean|max|min|avg|std|var|sum|median|total)[_ .-]?\w*"
)
_NOT_USAGE_WORDS = frozenset(
    ("limit", "limits", "request", "requests", "requested", "reserved", "capacity", "allocatable", "quota",
     "idle", "free", "available", "unused")
)  # fmt: skip
"""Words that are never names of containers."""
_MEMORY_KINDS = frozenset(("cache", "cached", "buffers", "swap"))
_SEPARATED = re.compile(r"[ _.:/|-]+")
_FIRST = re.compile(r"(?P<kind>[A-Za-z]+)[ _.:/|-]+(?P<name>.+)")
_LAST = re.compile(r"(?P<name>.+)[ _.:/|-]+(?P<kind>[A-Za-z]+)")
# the name of a container has letters, and a digit or a dash
_DEVICE = re.compile(
    r"(?i)(?:eth|ens|eno|enp|wlan|veth|docker|br|sd[a-z]|nvme|vd[a-z]|thread|core|cpu|socket|numa|package|die)"
    r"[-_ .]?\d+(?:[a-z]\d+)*"
)
"""A part of one container or machine."""
_INSTANCE = re.compile(r"(?=.*[A-Za-z])(?=.*[\d/-])[\w./:@-]{3,253}")
_COUNTED = re.compile(r"(?P<kind>[A-Za-z]+)[ #]+\d+")
"""The name of an execution by its kind and number: ``Pod 1``."""


def split_series_name(name: str) -> tuple[str, dict[str, str]] | None:
    """Split a column's name into metric and labels; None if it is not a legend."""
    if len(name) > MAX_NAME_LENGTH:
        return None
    found = parse_legend(name)
    if found is not None:
        return found[0] or "value", found[1]
    parts = _BEFORE.fullmatch(name.strip()) or _AFTER.fullmatch(name.strip())
    return None if parts is None else (parts["metric"].strip(), {"name": parts["name"].strip()})


def _split_names(names: Sequence[str]) -> list[tuple[str, dict[str, str]]] | None:
    """Split the names of all columns beside the time; None if one is not a series."""
    parts = [split_series_name(name) for name in names]
    if all(part is not None for part in parts):
        found = [part for part in parts if part is not None]
        braces = any(parse_legend(name) is not None for name in names)
        found = _kinds_to_metrics(found)
        instances = len(names) > 1 and all(_can_be_instance(labels.get("name", "")) for _, labels in found)
        return found if braces or instances else None
    roles = [
        score_cpu_name(name) or score_memory_name(name) or guess_other_role(name) is not Role.OTHER
        for name in names
    ]
    if len(names) > 1 and not any(roles) and all(_can_be_instance(name) for name in names):
        return [("value", {"name": name.strip()}) for name in names]
    return None


def _kinds_to_metrics(series_of_names: list[tuple[str, dict[str, str]]]) -> list[tuple[str, dict[str, str]]]:
    """Move words such as ``limit`` and ``free`` from names to metrics.

    Such a word at an end of a name belongs to the metric if another column is named by the rest, or if all
    names begin or end with it.
    """
    names = {labels["name"] for _, labels in series_of_names if "name" in labels}
    if not names:
        return series_of_names
    result = []
    for metric, labels in series_of_names:
        kind, name_rest = _split_kind(labels.get("name", ""), names)
        result.append((f"{metric} {kind}".strip(), {**labels, "name": name_rest} if kind else labels))
    return result


def _split_kind(name: str, names: Collection[str]) -> tuple[str, str]:
    """Split a name into the word that belongs to its metric, "" without one, and the rest."""
    for place, pattern in ((0, _FIRST), (-1, _LAST)):
        found = pattern.fullmatch(name)
        if found is None or found["kind"].lower() not in _NOT_USAGE_WORDS | _MEMORY_KINDS:
            continue
        kind, name_rest = found["kind"], found["name"]
        shared = len(names) > 1 and all(_SEPARATED.split(one)[place] == kind for one in names)
        if name_rest in names or (
            shared and kind.lower() in _NOT_USAGE_WORDS and _can_be_instance(name_rest)
        ):
            return kind, name_rest
    return "", name


def _can_be_instance(name: str) -> bool:
    """Whether a name can be a container's, and is not a statistic such as ``p95``."""
    stripped = name.strip()
    counted = _COUNTED.fullmatch(stripped)
    return (
        bool(_INSTANCE.fullmatch(stripped) or (counted and is_identity_name(counted["kind"])))
        and not _STATISTIC.fullmatch(stripped)
        and not _DEVICE.fullmatch(stripped)
    )


def _split_run_names(names: Sequence[str]) -> list[tuple[str, dict[str, str]]] | None:
    """Split the columns of a chart of W&B; None if one has no run and metric."""
    found = [_RUN.fullmatch(name.strip()) for name in names]
    if not all(found):
        return None
    return [(one["metric"], {"run": one["name"]}) for one in found if one is not None]


@dataclass(frozen=True)
class _Shape:
    """The column of time, None without one, and metric and labels of each of the others."""

    time: str | None
    series_of_names: dict[str, tuple[str, dict[str, str]]]
    #: Columns that are a mean, a sum or an extreme of the others.
    summaries: tuple[str, ...] = ()


_SUMMARIES: dict[str, Callable[[Sequence[float]], float]] = {
    **dict.fromkeys(("avg", "average", "mean"), lambda values: sum(values) / len(values)),
    **dict.fromkeys(("sum", "total"), math.fsum),
    **dict.fromkeys(("min", "minimum"), min),
    **dict.fromkeys(("max", "maximum"), max),
}
_SUMMARY_TOLERANCE, _MIN_SUMMARY_ROWS = 0.005, 3


def _find_summaries(names: Sequence[str], cells: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Find the columns that are called a statistic and are that statistic of the others in every row."""
    called = {name: fits for name in names if (fits := _SUMMARIES.get(name.strip().lower()))}
    others = [name for name in names if name not in called]
    if not called or len(others) < 2:
        return ()
    rows = list(zip(*(map(_to_number, cells[name]) for name in (*called, *others)), strict=False))
    confirmed = []
    for place, (name, summarise) in enumerate(called.items()):
        pairs = [
            (row[place], summarise(values))
            for row in rows
            if (values := [value for value in row[len(called) :] if value is not None])
        ]
        compared = [(own, other) for own, other in pairs if own is not None]
        if len(compared) >= _MIN_SUMMARY_ROWS and all(
            abs(own - other) <= _SUMMARY_TOLERANCE * abs(other) + 1e-9 for own, other in compared
        ):
            confirmed.append(name)
    return tuple(confirmed)


def _to_number(cell: str) -> float | None:
    number = parse_number(cell)
    return None if number is None else number.value


def _shape(cells: Mapping[str, Sequence[str]]) -> _Shape | None:
    """Find the shape of a table; None if its columns are not series."""
    chart = _find_chart_shape(cells)
    if chart is not None:
        return chart
    time = next((name for name in cells if name.strip().lower() in _TIMES), None)
    if time is None or not can_be_times(cells[time]):
        return None
    all_names = [name for name in cells if name != time]
    summaries = _find_summaries(all_names, cells)
    all_names = [name for name in all_names if name not in summaries]
    filled = [name for name in all_names if _has_cells(cells[name])]
    # a container that begins after the first rows has empty cells there and a name like the others
    for names in (all_names, filled):
        series_of_names = _split_names(names) if filled else None
        if series_of_names is not None:
            return _Shape(time, dict(zip(names, series_of_names, strict=True)), summaries)
    if summaries:  # what is summed up is one quantity, whatever its columns are called
        return _Shape(time, {name: ("value", {"name": name.strip()}) for name in all_names}, summaries)
    return None


def _find_chart_shape(cells: Mapping[str, Sequence[str]]) -> _Shape | None:
    """Find the shape of a chart exported by W&B; None for any other table."""
    axis, *others = cells
    names = [name for name in others if not _is_extreme(name, cells)]
    series_of_names = _split_run_names(names) if names else None
    has_time = axis.strip().lower() in (*_RUN_TIMES, *_TIMES) and can_be_times(cells[axis])
    has_extremes = len(names) < len(others) or axis.strip().lower() in _RUN_TIMES
    if series_of_names is None or not has_extremes or _RUN.fullmatch(axis):
        return None
    return _Shape(axis if has_time else None, dict(zip(names, series_of_names, strict=True)))


def _is_extreme(name: str, cells: Container[str]) -> bool:
    return any(name.endswith(end) and name.removesuffix(end) in cells for end in _EXTREMES)


def _has_cells(cells: Sequence[str]) -> bool:
    return any(cell.strip() not in EMPTY for cell in cells)


@dataclass(frozen=True, kw_only=True)
class WideSource(PivotedTable):
    """A text table with one column per container, pivoted to one column per metric."""

    time: str | None
    series: tuple[tuple[str, tuple[str, str]], ...]
    left_out: tuple[Problem, ...] = ()

    @classmethod
    def of(cls, source: CsvSource) -> WideSource | None:
        """Pivot a table with one column per container; None for any other table."""
        cells = dict(zip(source.header, split_columns(source.rows, len(source.header)), strict=True))
        shape = _shape(cells)
        if shape is None:
            return None
        style = source.head.style
        columns = (Column(name, cells[name], style) for name in shape.series_of_names)
        if not all(column.numeric for column in columns if _has_cells(column.cells)):
            return None
        series_of_names = tuple(shape.series_of_names.values())
        found = select_container_series(
            [labels for _, labels in series_of_names], [metric for metric, _ in series_of_names]
        )
        names, pairs = tuple(shape.series_of_names), found.names
        if len(set(pairs)) < len(pairs):
            return None  # two columns of one name are ambiguous
        metrics = tuple(dict.fromkeys(metric for _, metric in pairs))
        series = tuple(zip((names[i] for i in found.positions), pairs, strict=True))
        header = ("execution", *(("timestamp",) if shape.time else ()), *metrics)
        rows = _rows(cells, shape.time, series, metrics)
        left_out = (*found.problems, *_report_summaries(shape.summaries))
        return cls(
            path=source.path,
            problems=(*source.problems, *left_out),
            source=source,
            time=shape.time,
            series=series,
            header=header,
            rows=rows,
            left_out=left_out,
        )

    def read(self, mapping: ColumnMapping, progress: Callable[[float, str], None] | None = None) -> RawTable:
        """Read the mapped columns; a row is a time of a container.

        Raises InputError if a column is mapped to something that it cannot be.
        """
        check_written(mapping, self.header, self.rows, self.path.name)
        wide = self.source.read(
            ColumnMapping(
                features=tuple(MappedColumn(name, unit_key=AS_WRITTEN) for name, _ in self.series),
                time=self.time,
                time_unit=("none" if self.time is None else mapping.time_unit if mapping.time else "s"),
                period=mapping.period or 1.0,
            ),
            progress,
        )
        time = wide.time if wide.time is not None else np.arange(wide.n_rows, dtype=np.float64)
        rows = wide.rows if wide.rows is not None else np.arange(wide.n_rows) + wide.first_row

        def load(i: int) -> tuple[FloatArray, FloatArray, IntArray]:
            is_present = np.isfinite(wide.columns[i])  # a container that does not run has empty cells
            return time[is_present], wide.columns[i][is_present], rows[is_present]

        table = gather_series([names for _, names in self.series], load)
        return replace(table, left_out=self.left_out).raw(mapping, self.path.name, self.header, wide)


def _report_summaries(names: Sequence[str]) -> tuple[Problem, ...]:
    if not names:
        return ()
    message = f"Statistics of the other columns: {format_names(names)}."
    return (problem("summary_columns", message, column=names[0], count=len(names)),)


def _rows(
    cells: Mapping[str, Sequence[str]],
    time: str | None,
    series: Sequence[tuple[str, tuple[str, str]]],
    metrics: Sequence[str],
) -> tuple[tuple[str, ...], ...]:
    """Return the first pivoted rows, container by container."""
    columns: dict[str, dict[str, Sequence[str]]] = {}
    for name, (execution, metric) in series:
        columns.setdefault(execution, {})[metric] = cells[name]
    max_rows = max(20, 2_000 // max(len(columns), 1))
    times = cells[time] if time else [""] * max(map(len, cells.values()), default=0)
    keys, rows = [], []
    for execution, own_columns in columns.items():
        for i, time_cell in enumerate(times[:max_rows]):
            values = {name: texts[i] for name, texts in own_columns.items() if i < len(texts)}
            if any(value.strip() not in EMPTY for value in values.values()):
                keys.append((execution, *((time_cell,) if time else ())))
                rows.append(values)
    return preview_rows(keys, rows, metrics)


def _open(start: FileStart) -> WideSource:
    found = WideSource.of(start.open_once(CsvSource.open))
    if found is None:
        raise InputError(f"“{start.path.name}” is not a table of series.", "Import it as it was recognised.")
    return found


FORMATS = (
    Format(
        "wide_table",
        "CSV of Prometheus, Grafana and MLflow",
        (".csv", ".gz"),
        _open,
        check=lambda start: WideSource.of(start.open_once(CsvSource.open)) is not None,
        is_pivoted=True,
    ),
)
