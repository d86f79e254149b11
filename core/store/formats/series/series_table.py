"""Series of metrics brought together: one row per container and time, one column per metric."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from core.errors import InputError, listed
from core.store.formats.series.names import of_containers
from core.traces.mapping import TIME_FACTORS
from core.traces.model import Role
from core.traces.raw import Coded, RawTable
from core.traces.validation import MOST_ROWS, problem
from core.units import plural

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.traces.mapping import ColumnMapping
    from core.traces.model import FloatArray, IntArray
    from core.traces.validation import Problem


@dataclass(frozen=True)
class Series:
    """One metric of one container: its labels, times in seconds and values, both of shape (n,).

    `metric` is its name where the labels have none: an expression's result has lost it.
    """

    labels: dict[str, str]
    time: FloatArray
    values: FloatArray
    metric: str = "value"


@dataclass(frozen=True)
class SeriesTable:
    """Rows by container and time, a column per metric.

    `merged` are rows whose value another one replaced, `left_out` says which series are not in it.
    """

    executions: Coded
    time: FloatArray
    metrics: tuple[str, ...]
    columns: tuple[FloatArray, ...]
    rows: IntArray
    merged: IntArray
    left_out: tuple[Problem, ...] = ()

    def raw(
        self, mapping: ColumnMapping, name: str, header: Sequence[str], long: RawTable | None = None
    ) -> RawTable:
        """The mapped columns of this table.

        Raises
        ------
        InputError
            If the mapping names a column that is missing, or takes one for what it is not.
        """
        mapping.require(("execution", "timestamp", *self.metrics))
        wrong = [one.column for one in mapping.features if one.column not in self.metrics]
        wrong += mapping.attributes
        for taken, own in ((mapping.execution, "execution"), (mapping.time, "timestamp")):
            if taken is not None and taken != own:
                wrong.append(taken)
        if wrong:
            raise InputError(
                f"Column “{wrong[0]}” of “{name}” cannot be mapped: it is execution, timestamp or a metric.",
                "Map only metrics to features, and no attributes.",
            )
        place = {metric: i for i, metric in enumerate(self.metrics)}
        table = self._with_steps(mapping)
        n = len(table.time)
        return RawTable(
            n_rows=n,
            executions=table.executions if mapping.execution else Coded.constant(name.partition(".")[0], n),
            time=table.time if mapping.time else None,
            columns=tuple(table.columns[place[one.column]] for one in mapping.features),
            rows=table.rows,
            rows_read=n if long is None else long.rows_read - long.n_rows + n,
            problems=(*(() if long is None else long.problems), *self._late(header), *self._problems()),
        )

    def _with_steps(self, mapping: ColumnMapping) -> SeriesTable:
        """The table without rows of nothing but a loss; the last loss is in the rows behind them.

        A program logs its loss when a step ends, and its tracker the machine's metrics at times of their own.
        """
        where = {metric: i for i, metric in enumerate(self.metrics)}
        losses = [where[one.column] for one in mapping.features if one.role is Role.LOSS]
        others = [where[one.column] for one in mapping.features if one.role is not Role.LOSS]
        if not losses or not others:
            return self
        sampled = np.isfinite([self.columns[i] for i in others]).any(axis=0)
        logged = np.isfinite([self.columns[i] for i in losses]).any(axis=0)
        known = np.bincount(self.executions.codes, sampled, len(self.executions.names)) > 0
        alone = logged & ~sampled & known[self.executions.codes]
        if not alone.any():
            return self
        starts = np.searchsorted(self.executions.codes, self.executions.codes)
        columns = [
            (_last(values, starts) if i in losses else values)[~alone]
            for i, values in enumerate(self.columns)
        ]
        return replace(
            self,
            executions=Coded(self.executions.codes[~alone], self.executions.names),
            time=self.time[~alone],
            columns=tuple(columns),
            rows=self.rows[~alone],
        )

    def _late(self, header: Sequence[str]) -> tuple[Problem, ...]:
        """The metrics that the file's first part did not show, so that nobody could map them."""
        late = [metric for metric in self.metrics if metric not in header]
        if not late:
            return ()
        message = f"{listed(late[:4])} first appear{'s' if len(late) == 1 else ''} too late to be seen."
        return (problem("late_column", message, column=late[0], count=len(late)),)

    def _problems(self) -> tuple[Problem, ...]:
        if not len(self.merged):
            return self.left_out
        message = (
            f"{plural(len(self.merged), 'value')} of a metric, container and time that have another one, too."
        )
        return (
            *self.left_out,
            problem(
                "duplicate_time",
                message,
                count=len(self.merged),
                rows=np.sort(self.merged)[:MOST_ROWS].tolist(),
            ),
        )


def _last(values: FloatArray, starts: IntArray) -> FloatArray:
    """Each row's last number at or before it, back to the row at which its execution starts."""
    place = np.maximum.accumulate(np.where(np.isfinite(values), np.arange(len(values)), -1))
    return np.where(place >= starts, values[place], np.nan)


def pivot(series: Sequence[Series], mapping: ColumnMapping | None) -> SeriesTable:
    """Bring series together by container and time."""
    metrics = [one.labels.get("__name__") or one.metric for one in series]
    labels = [{k: v for k, v in one.labels.items() if k != "__name__"} for one in series]
    found = of_containers(labels, metrics)
    series, pairs = [series[i] for i in found.kept], found.names
    lengths = [len(one.time) for one in series]
    time = np.concatenate([one.time for one in series])
    scale = TIME_FACTORS.get(mapping.time_unit, 1.0) if mapping is not None else 1.0
    values = np.concatenate([one.values for one in series])
    rows = np.arange(1, len(time) + 1)
    which = np.repeat(np.arange(len(pairs)), lengths)
    executions, columns = (coded([pair[i] for pair in pairs], which) for i in (0, 1))
    return replace(gather(executions, columns, time * scale, values, rows), left_out=found.problems)


def coded(names: Sequence[str], which: IntArray) -> Coded:
    """The coded column of some names."""
    known: dict[str, int] = {}
    codes = np.array([known.setdefault(name, len(known)) for name in names], dtype=np.int64)
    return Coded(codes[which], tuple(known))


def gather(
    executions: Coded, metrics: Coded, time: FloatArray, values: FloatArray, rows: IntArray
) -> SeriesTable:
    """One row per container and time; of two values of a metric the later one is kept."""
    order = np.lexsort((time, executions.codes))
    owner, moment = executions.codes[order], time[order]
    new = np.ones(len(order), dtype=bool)
    new[1:] = (np.diff(owner) != 0) | (np.diff(moment) != 0)
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.cumsum(new) - 1
    n = int(new.sum())
    columns, merged = [], []
    for code in range(len(metrics.names)):
        mine = np.flatnonzero(metrics.codes == code)
        column = np.full(n, np.nan)
        column[place[mine]] = values[mine]
        columns.append(column)
        # the last of several stays: those that another one of the same place follows are replaced
        _, last = np.unique(place[mine][::-1], return_index=True)
        merged.append(np.delete(mine, len(mine) - 1 - last))
    return SeriesTable(
        Coded(owner[new], executions.names),
        moment[new],
        metrics.names,
        tuple(columns),
        rows[order][new],
        rows[np.concatenate(merged)] if merged else rows[:0],
    )
