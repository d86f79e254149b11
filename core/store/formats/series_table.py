"""Series of metrics brought together: one row per container and time, one column per metric."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from core.errors import InputError
from core.traces.mapping import TIME_FACTORS
from core.traces.raw import Coded, RawTable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from core.traces.mapping import ColumnMapping
    from core.traces.model import FloatArray, IntArray

_NAMES = (("pod", "pod_name"), ("container", "container_name"))
_ALONE = ("name", "container_label_com_docker_compose_service", "id", "instance")


@dataclass(frozen=True)
class Series:
    """One metric of one container: its labels, times in seconds and values, both of shape (n,)."""

    labels: dict[str, str]
    time: FloatArray
    values: FloatArray


@dataclass(frozen=True)
class SeriesTable:
    """Rows by container and time, one column per metric."""

    executions: Coded
    time: FloatArray
    metrics: tuple[str, ...]
    columns: tuple[FloatArray, ...]
    rows: IntArray

    def raw(self, mapping: ColumnMapping, name: str, long: RawTable | None = None) -> RawTable:
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
        n = len(self.time)
        return RawTable(
            n_rows=n,
            executions=self.executions if mapping.execution else Coded.constant(name.partition(".")[0], n),
            time=self.time if mapping.time else None,
            columns=tuple(self.columns[place[one.column]] for one in mapping.features),
            rows=self.rows,
            rows_read=n if long is None else long.rows_read,
            problems=() if long is None else long.problems,
        )


def execution_of(labels: dict[str, str]) -> str:
    """The container that labels identify: pod and container, or a name, or all labels."""
    parts = [next((labels[key] for key in keys if labels.get(key)), "") for keys in _NAMES]
    named = "/".join(part for part in parts if part)
    if not named:
        named = next((labels[key] for key in _ALONE if labels.get(key)), "")
    return named or all_labels(labels, labels)


def all_labels(labels: dict[str, str], keys: Iterable[str]) -> str:
    """A name from several labels: ``container=a, pod=b``."""
    return ", ".join(f"{key}={labels[key]}" for key in sorted(keys) if labels.get(key)) or "all"


def _names(labels: Sequence[dict[str, str]], metrics: Sequence[str]) -> list[str]:
    """One name per series; where two series of a metric would share one, all labels that differ."""
    names = [execution_of(one) for one in labels]
    if len(set(zip(names, metrics, strict=True))) == len(names):
        return names
    keys = set().union(*labels)
    varying = [key for key in keys if len({one.get(key) for one in labels}) > 1]
    return [all_labels(one, varying) for one in labels]


def pivot(series: Sequence[Series], mapping: ColumnMapping | None) -> SeriesTable:
    """Bring series together by container and time."""
    metrics = [one.labels.get("__name__", "value") for one in series]
    labels = [{k: v for k, v in one.labels.items() if k != "__name__"} for one in series]
    lengths = [len(one.time) for one in series]
    executions = coded(_names(labels, metrics), lengths)
    time = np.concatenate([one.time for one in series])
    scale = TIME_FACTORS.get(mapping.time_unit, 1.0) if mapping is not None else 1.0
    values = np.concatenate([one.values for one in series])
    rows = np.arange(1, len(time) + 1)
    return gather(executions, coded(metrics, lengths), time * scale, values, rows)


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
    columns = []
    for code in range(len(metrics.names)):
        mine = metrics.codes == code
        column = np.full(n, np.nan)
        column[place[mine]] = values[mine]
        columns.append(column)
    return SeriesTable(
        Coded(owner[new], executions.names), moment[new], metrics.names, tuple(columns), rows[order][new]
    )
