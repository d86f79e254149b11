"""Tables with one column per container: a time, and the same measurement of each beside it.

Grafana exports panels so, its columns named by legends: ``{pod="a"}``, ``train-1``, ``CPU train-1``.
They are turned: the legends name the executions, and what they share names the column.

W&B exports its charts so, too: ``run-1 - system.cpu``, and beside it the lowest and highest value of what it
drew as one point, ``__MIN`` and ``__MAX``, which are left out. Its axis may be steps, which are no times.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from core.errors import InputError
from core.store.formats.base import Format
from core.store.formats.csv import CsvSource
from core.store.formats.long_table import TurnedTable, check_written, legend
from core.store.formats.series_table import coded, gather, of_containers
from core.traces.cells.numbers import EMPTY, WRITTEN, columns_of_rows
from core.traces.guessing.column_names import MOST_NAME, cpu_score, memory_score
from core.traces.guessing.cpu_and_memory_columns import further_role
from core.traces.guessing.times import is_time
from core.traces.guessing.units import Column
from core.traces.mapping import ColumnMapping, MappedColumn
from core.traces.model import Role

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Container, Mapping, Sequence

    from core.store.formats.base import Beginning
    from core.traces.raw import RawTable
    from core.traces.validation import Problem

_TIMES = ("time", "timestamp", "datetime", "date", "_time")
# W&B's axes that are times; the relative ones are in seconds
_RUN_TIMES = ("relative time (process)", "relative time (wall)", "wall time", "_timestamp", "_runtime")
_RUN = re.compile(r"(?P<name>.*\S) - (?P<metric>\S.*)")
_EXTREMES = ("__MIN", "__MAX")
_QUANTITY = (
    r"(?:container|pod|node|process)?[ _.]*(?:cpu|mem|memory|ram|gpu|network|net|disk|rss)"
    r"(?:[ _.%]*(?:usage|used|utili[sz]ation|util|percent|pct|bytes|cores|millicores|seconds|total|working|"
    r"set|in|out|receive|received|transmit|transmitted|read|write|memory|power|mib|gib|mb|gb|rate|load))*"
    r"\s*(?:[\[(][^\])]*[\])])?"
)
_BEFORE = re.compile(rf"(?P<metric>{_QUANTITY})[ _.:/|-]+(?P<name>.+)", re.IGNORECASE)
_AFTER = re.compile(rf"(?P<name>.+?)[ _.:/|-]+(?P<metric>{_QUANTITY})", re.IGNORECASE)
_STATISTIC = re.compile(
    r"(?i)[pq]\d+[_ .-]?\w*|(?:i?rate)?\d+[smhd]|(?:mean|max|min|avg|std|var|sum|median|total)[_ .-]?\w*"
)
_PROMISED = frozenset(
    ("limit", "limits", "request", "requests", "requested", "reserved", "capacity", "allocatable", "quota",
     "idle", "free", "available", "unused")
)  # fmt: skip
"""What no container is called."""
_MEMORY_KINDS = frozenset(("cache", "cached", "buffers", "swap"))
_SEPARATED = re.compile(r"[ _.:/|-]+")
_FIRST = re.compile(r"(?P<kind>[A-Za-z]+)[ _.:/|-]+(?P<name>.+)")
_LAST = re.compile(r"(?P<name>.+)[ _.:/|-]+(?P<kind>[A-Za-z]+)")
# the name of a container: letters, and a number or a dash that tells it from others
_DEVICE = re.compile(
    r"(?i)(?:eth|ens|eno|enp|wlan|veth|docker|br|sd[a-z]|nvme|vd[a-z]|thread|core|cpu|socket|numa|package|die)"
    r"[-_ .]?\d+(?:[a-z]\d+)*"
)
"""A part of one container or machine."""
_INSTANCE = re.compile(r"(?=.*[A-Za-z])(?=.*[\d/-])[\w./:@-]{3,253}")


def split(name: str) -> tuple[str, dict[str, str]] | None:
    """The metric and the labels that a column's name says; None where it is no legend."""
    if len(name) > MOST_NAME:
        return None
    found = legend(name)
    if found is not None:
        return found[0] or "value", found[1]
    parts = _BEFORE.fullmatch(name.strip()) or _AFTER.fullmatch(name.strip())
    return None if parts is None else (parts["metric"].strip(), {"name": parts["name"].strip()})


def _said(names: Sequence[str]) -> list[tuple[str, dict[str, str]]] | None:
    """What the columns beside the time are, if all of them are series."""
    parts = [split(name) for name in names]
    if all(part is not None for part in parts):
        found = [part for part in parts if part is not None]
        braces = any(legend(name) is not None for name in names)
        found = _kinds_to_metrics(found)
        instances = len(names) > 1 and all(_instance(labels.get("name", "")) for _, labels in found)
        return found if braces or instances else None
    roles = [cpu_score(name) or memory_score(name) or further_role(name) is not Role.OTHER for name in names]
    if len(names) > 1 and not any(roles) and all(_instance(name) for name in names):
        return [("value", {"name": name.strip()}) for name in names]
    return None


def _kinds_to_metrics(said: list[tuple[str, dict[str, str]]]) -> list[tuple[str, dict[str, str]]]:
    """The metrics with the words that say what of a container is not used: its limit, or what is free.

    Such a word at an end of a name is the metric's where another column has the rest alone for a name, or
    where all names begin or end with it.
    """
    names = {labels["name"] for _, labels in said if "name" in labels}
    if not names:
        return said
    made = []
    for metric, labels in said:
        kind, rest = _kind(labels.get("name", ""), names)
        made.append((f"{metric} {kind}".strip(), {**labels, "name": rest} if kind else labels))
    return made


def _kind(name: str, names: Collection[str]) -> tuple[str, str]:
    """The word of a name that is of its metric, and the name without it; empty where there is none."""
    for place, pattern in ((0, _FIRST), (-1, _LAST)):
        found = pattern.fullmatch(name)
        if found is None or found["kind"].lower() not in _PROMISED | _MEMORY_KINDS:
            continue
        kind, rest = found["kind"], found["name"]
        shared = len(names) > 1 and all(_SEPARATED.split(one)[place] == kind for one in names)
        if rest in names or (shared and kind.lower() in _PROMISED and _instance(rest)):
            return kind, rest
    return "", name


def _instance(name: str) -> bool:
    """Whether a name can be that of a container, and is no statistic such as ``p95``."""
    bare = name.strip()
    return bool(_INSTANCE.fullmatch(bare)) and not _STATISTIC.fullmatch(bare) and not _DEVICE.fullmatch(bare)


def _runs(names: Sequence[str]) -> list[tuple[str, dict[str, str]]] | None:
    """What the columns of a chart of W&B are; None where one has no run and metric."""
    found = [_RUN.fullmatch(name.strip()) for name in names]
    if not all(found):
        return None
    return [(one["metric"], {"run": one["name"]}) for one in found if one is not None]


@dataclass(frozen=True)
class _Shape:
    """The column of time (None where there is none), and what each of the others is."""

    time: str | None
    said: dict[str, tuple[str, dict[str, str]]]


def _shape(cells: Mapping[str, Sequence[str]]) -> _Shape | None:
    """What the columns of a table are; None where they are no series."""
    chart = _chart(cells)
    if chart is not None:
        return chart
    time = next((name for name in cells if name.strip().lower() in _TIMES), None)
    if time is None or not is_time(cells[time]):
        return None
    every = [name for name in cells if name != time]
    filled = [name for name in every if _filled(cells[name])]
    # a container that begins after the first rows has empty cells there, and a name like the others
    for names in (every, filled):
        said = _said(names) if filled else None
        if said is not None:
            return _Shape(time, dict(zip(names, said, strict=True)))
    return None


def _chart(cells: Mapping[str, Sequence[str]]) -> _Shape | None:
    """The shape of a chart that W&B exported, None where it is none."""
    axis, *others = cells
    names = [name for name in others if not _is_extreme(name, cells)]
    said = _runs(names) if names else None
    timed = axis.strip().lower() in (*_RUN_TIMES, *_TIMES) and is_time(cells[axis])
    drawn = len(names) < len(others) or axis.strip().lower() in _RUN_TIMES
    if said is None or not drawn or _RUN.fullmatch(axis):
        return None
    return _Shape(axis if timed else None, dict(zip(names, said, strict=True)))


def _is_extreme(name: str, cells: Container[str]) -> bool:
    return any(name.endswith(end) and name.removesuffix(end) in cells for end in _EXTREMES)


def _filled(cells: Sequence[str]) -> bool:
    return any(cell.strip() not in EMPTY for cell in cells)


@dataclass(frozen=True, kw_only=True)
class WideSource(TurnedTable):
    """A text table with one column per container, seen with one column per metric."""

    time: str | None
    series: tuple[tuple[str, tuple[str, str]], ...]
    left_out: tuple[Problem, ...] = ()

    @classmethod
    def of(cls, source: CsvSource) -> WideSource | None:
        """The same file with one column per metric, where it is a table with one column per container."""
        cells = dict(zip(source.header, columns_of_rows(source.rows, len(source.header)), strict=True))
        shape = _shape(cells)
        if shape is None:
            return None
        style = source.head.style
        columns = (Column(name, cells[name], style) for name in shape.said)
        if not all(column.numeric for column in columns if _filled(column.cells)):
            return None
        said = tuple(shape.said.values())
        found = of_containers([labels for _, labels in said], [metric for metric, _ in said])
        names, pairs = tuple(shape.said), found.names
        if len(set(pairs)) < len(pairs):
            return None  # two columns of one name: nobody can say which is which
        metrics = tuple(dict.fromkeys(metric for _, metric in pairs))
        series = tuple(zip((names[i] for i in found.kept), pairs, strict=True))
        header = ("execution", *(("timestamp",) if shape.time else ()), *metrics)
        rows = _rows(cells, shape.time, series, metrics)
        return cls(
            source=source,
            time=shape.time,
            series=series,
            header=header,
            rows=rows,
            left_out=found.problems,
        )

    def read(self, mapping: ColumnMapping, progress: Callable[[float, str], None] | None = None) -> RawTable:
        """Read the mapped columns; a row is a time of a container.

        Raises
        ------
        InputError
            If the mapping takes a column for what it is not.
        """
        check_written(mapping, self.header, self.rows, self.path.name)
        wide = self.source.read_exactly(
            ColumnMapping(
                features=tuple(MappedColumn(name, unit_key=WRITTEN) for name, _ in self.series),
                time=self.time,
                time_unit=("none" if self.time is None else mapping.time_unit if mapping.time else "s"),
            ),
            progress,
        )
        n = wide.n_rows
        which = np.repeat(np.arange(len(self.series)), n)
        executions, metrics = (coded([pair[i] for _, pair in self.series], which) for i in (0, 1))
        time = wide.time if wide.time is not None else np.arange(n, dtype=np.float64)
        rows = wide.rows if wide.rows is not None else np.arange(n) + wide.first_row
        every = len(self.series)
        values = np.concatenate(wide.columns)
        there = np.isfinite(values)  # a container that does not run has empty cells
        table = gather(
            type(executions)(executions.codes[there], executions.names),
            type(metrics)(metrics.codes[there], metrics.names),
            np.tile(time, every)[there],
            values[there],
            np.tile(rows, every)[there],
        )
        return replace(table, left_out=self.left_out).raw(mapping, self.path.name, self.header, wide)


def _rows(
    cells: Mapping[str, Sequence[str]],
    time: str | None,
    series: Sequence[tuple[str, tuple[str, str]]],
    metrics: Sequence[str],
) -> tuple[tuple[str, ...], ...]:
    """The first rows as they will be, container by container."""
    columns: dict[str, dict[str, Sequence[str]]] = {}
    for name, (execution, metric) in series:
        columns.setdefault(execution, {})[metric] = cells[name]
    few = max(20, 2_000 // max(len(columns), 1))
    rows = []
    for execution, there in columns.items():
        moments = cells[time] if time else [""] * len(next(iter(cells.values())))
        for i, moment in enumerate(moments[:few]):
            values = [
                there[metric][i] if metric in there and i < len(there[metric]) else "" for metric in metrics
            ]
            if any(value.strip() not in EMPTY for value in values):
                rows.append((execution, *((moment,) if time else ()), *values))
    return tuple(rows)


def _open(start: Beginning) -> WideSource:
    found = WideSource.of(start.opened(CsvSource.open))
    if found is None:
        raise InputError(f"“{start.path.name}” is not a table of series.", "Import it as it was recognised.")
    return found


FORMATS = (
    Format(
        "wide_table",
        "CSV of Prometheus, Grafana and MLflow",
        (".csv", ".gz"),
        lambda start: WideSource.of(start.opened(CsvSource.open)) is not None,
        _open,
        "Time,cpu train-1,cpu train-2\n" + "".join(f"{10 * i},0.{i},0.5\n" for i in range(6)),
        turns=True,
    ),
)
