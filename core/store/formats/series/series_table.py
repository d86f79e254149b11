"""Series of metrics brought together: one row per container and time, one column per metric."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from core.errors import InputError, listed
from core.traces.mapping import TIME_FACTORS
from core.traces.model import Role
from core.traces.raw import Coded, RawTable
from core.traces.validation import MOST_ROWS, many, problem

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from core.traces.mapping import ColumnMapping
    from core.traces.model import FloatArray, IntArray
    from core.traces.validation import Problem

_POD = ("pod", "pod_name", "pod_id")
_CONTAINER = ("container", "container_name")
_EXPORTED = "exported_"
"""What labels of a container begin with that another one measures, as DCGM's exporter does a job's GPUs."""
_ALONE = ("name", "container_label_com_docker_compose_service", "run", "run_id", "Series", "series", "id",
          "Hostname", "hostname", "instance")  # fmt: skip
# what one container has several of: each is a column of its own
_PARTS = ("gpu", "GPU", "minor_number", "index", "device", "interface", "UUID", "uuid", "direction")


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
    """Rows by container and time, a column per metric; `merged` are rows whose value another one replaced."""

    executions: Coded
    time: FloatArray
    metrics: tuple[str, ...]
    columns: tuple[FloatArray, ...]
    rows: IntArray
    merged: IntArray

    def raw(
        self, mapping: ColumnMapping, name: str, header: Sequence[str], long: RawTable | None = None
    ) -> RawTable:
        """The mapped columns of this table.

        Parameters
        ----------
        mapping
            Which they are.
        name
            The file's name.
        header
            The columns that its first part showed: others came too late to be mapped, which is said.
        long
            The table as it is written, where it is one.

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
            return ()
        message = (
            f"{many(len(self.merged), 'value')} of a metric, container and time that have another one, too."
        )
        return (
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


def execution_of(labels: Mapping[str, str]) -> str:
    """The container that labels identify: pod and container, or a name, or all labels."""
    named = "/".join(part for part in _pod_and_container(labels) if part)
    if not named:
        named = next((labels[key] for key in _ALONE if labels.get(key)), "")
    return named or all_labels(labels, [key for key in labels if key not in _PARTS])


def all_labels(labels: Mapping[str, str], keys: Iterable[str]) -> str:
    """A name from several labels: ``container=a, pod=b``."""
    return ", ".join(f"{key}={labels[key]}" for key in sorted(keys) if labels.get(key)) or "all"


def named(labels: Sequence[Mapping[str, str]], metrics: Sequence[str]) -> list[tuple[str, str]]:
    """The execution and the column of every series.

    Parameters
    ----------
    labels, metrics
        Of each series, its labels without the metric's name, and that name.

    Returns
    -------
    list
        All different, as long as the labels are. Series of one container that differ in a label of its parts
        (two GPUs, two network interfaces) are two columns of it, other ones are two executions.
    """
    labels = _with_containers(labels, metrics)
    names = [(execution_of(one), metric) for one, metric in zip(labels, metrics, strict=True)]
    if len(set(names)) == len(names):
        return names
    keys = {key for one in labels for key in one}
    varying = {key for key in keys if len({one.get(key) for one in labels}) > 1}
    parts = [key for key in _PARTS if key in varying and _tells_apart(names, labels, key)]
    names = [
        (name, f"{metric} {' '.join(_part(one, parts[:1]))}".strip())
        for (name, metric), one in zip(names, labels, strict=True)
    ]
    if len(set(names)) == len(names):
        return names
    others = [key for key in varying if key not in parts[:1]]
    return [(all_labels(one, others), metric) for one, (_, metric) in zip(labels, names, strict=True)]


def _tells_apart(names: Sequence[tuple[str, str]], labels: Sequence[Mapping[str, str]], key: str) -> bool:
    """Whether a label differs between series that share execution and metric."""
    seen: dict[tuple[str, str], set[str | None]] = {}
    for name, one in zip(names, labels, strict=True):
        seen.setdefault(name, set()).add(one.get(key))
    return any(len(values) > 1 for values in seen.values())


def _part(labels: Mapping[str, str], keys: Sequence[str]) -> list[str]:
    return [f"{key.lower()} {labels[key]}" for key in keys if labels.get(key)]


def _with_containers(
    labels: Sequence[Mapping[str, str]], metrics: Sequence[str]
) -> Sequence[Mapping[str, str]]:
    """Labels in which a metric that knows only pods gets the container of a pod that has one."""
    known: dict[str, set[str]] = {}
    labelled: set[tuple[str, str]] = set()
    for one, metric in zip(labels, metrics, strict=True):
        pod, container = _pod_and_container(one)
        if pod and container:
            known.setdefault(pod, set()).add(container)
            labelled.add((pod, metric))
    completed = []
    for one, metric in zip(labels, metrics, strict=True):
        pod, container = _pod_and_container(one)
        alone = pod and not container and len(known.get(pod, ())) == 1
        take = alone and (pod, metric) not in labelled
        key = f"{_EXPORTED if _is_exported(one) else ''}container"
        completed.append({**one, key: next(iter(known[pod]))} if take else one)
    return completed


def _pod_and_container(labels: Mapping[str, str]) -> tuple[str, str]:
    """The pod and the container that were measured, not those of who measured them."""
    before = _EXPORTED if _is_exported(labels) else ""
    pod, container = (
        next((labels[f"{before}{key}"] for key in keys if labels.get(f"{before}{key}")), "")
        for keys in (_POD, _CONTAINER)
    )
    return pod, container


def _is_exported(labels: Mapping[str, str]) -> bool:
    return any(labels.get(f"{_EXPORTED}{key}") for key in (*_POD, *_CONTAINER))


def pivot(series: Sequence[Series], mapping: ColumnMapping | None) -> SeriesTable:
    """Bring series together by container and time."""
    metrics = [one.labels.get("__name__") or one.metric for one in series]
    labels = [{k: v for k, v in one.labels.items() if k != "__name__"} for one in series]
    lengths = [len(one.time) for one in series]
    pairs = named(labels, metrics)
    time = np.concatenate([one.time for one in series])
    scale = TIME_FACTORS.get(mapping.time_unit, 1.0) if mapping is not None else 1.0
    values = np.concatenate([one.values for one in series])
    rows = np.arange(1, len(time) + 1)
    executions, columns = (coded([pair[i] for pair in pairs], lengths) for i in (0, 1))
    return gather(executions, columns, time * scale, values, rows)


def coded(names: Sequence[str], lengths: Sequence[int]) -> Coded:
    """The coded column in which each name is repeated as often as its series has samples."""
    known: dict[str, int] = {}
    codes = [known.setdefault(name, len(known)) for name in names]
    return Coded(np.repeat(np.array(codes, dtype=np.int64), lengths), tuple(known))


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
