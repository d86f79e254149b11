"""What the labels of series say: which container each is of, and what its column is called.

Prometheus has more series of a pod than it has containers: cAdvisor counts the pod as a whole, too, and the
container that only keeps its network open (``POD``). Where a pod's containers are read, these say no more.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from core.errors import InputError, format_names
from core.traces.guessing.order import is_identity
from core.traces.model import Role
from core.traces.raw import Coded, RawTable
from core.traces.validation import MOST_ROWS, problem
from core.units import TIME_FACTORS, plural

if TYPE_CHECKING:
    from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence

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


_KINDS = ("mode", "resource", "le", "quantile")
"""Labels that say what is measured, and not of whom."""
_PAUSE = "POD"
_SCRAPED = ("job", "service", "app", "project")
"""Labels that tell who measures as often as who is measured."""
_RESTARTED = ("id", "name")
"""Labels that differ where one container of a pod was started again."""


@dataclass(frozen=True)
class OfContainers:
    """Those of some series that are of containers."""

    #: Their positions among all.
    kept: tuple[int, ...]
    #: The execution and the column of each that is kept.
    names: tuple[tuple[str, str], ...]
    #: What was left out.
    problems: tuple[Problem, ...]


def of_containers(labels: Sequence[Mapping[str, str]], metrics: Sequence[str]) -> OfContainers:
    """The series of containers, named; without what counts a pod whose containers are there as well."""
    metrics = [_of_kind(one, metric) for one, metric in zip(labels, metrics, strict=True)]
    labels = [{key: text for key, text in one.items() if key not in _KINDS} for one in labels]
    known: dict[tuple[str, str], set[str]] = {}
    counted: set[tuple[tuple[str, str], str]] = set()
    for one, metric in zip(labels, metrics, strict=True):
        place, container = _place(one)
        if place[1] and container not in ("", _PAUSE):
            known.setdefault(place, set()).add(container)
            counted.add((place, metric))
    groups = _groups(labels, metrics)
    kept: dict[int, Mapping[str, str]] = {}
    sums, shared = list[str](), list[str]()
    for i, (one, metric) in enumerate(zip(labels, metrics, strict=True)):
        place, container = _place(one)
        network = "network" in metric.lower()
        if i in groups:
            continue
        if container in ("", _PAUSE) and (place, metric) in counted:
            sums.append(place[1])
        elif container in ("", _PAUSE) and network and len(known.get(place, ())) > 1:
            shared.append(place[1])
        else:
            kept[i] = _without_container(one) if container == _PAUSE and network else one
    names, unclear = named(list(kept.values()), [metrics[i] for i in kept])
    said = (*_left_out(sums, shared, [labels[i]["id"] for i in groups]), *unclear)
    return OfContainers(tuple(kept), tuple(names), said)


def _groups(labels: Sequence[Mapping[str, str]], metrics: Sequence[str]) -> dict[int, None]:
    """The series of groups of containers: known by a path alone, and beside what is in them.

    cAdvisor counts every level of the tree of control groups: the machine ``/``, the kubelet, a pod's class.
    """
    bare = [_is_group(one) for one in labels]
    told = {metric for metric, group in zip(metrics, bare, strict=True) if not group}
    ids = {one["id"] for one in labels if one.get("id", "").startswith("/")}
    above = {
        f"{'/'.join(parts[:i])}/" for parts in (one.split("/") for one in ids) for i in range(1, len(parts))
    }
    return {
        i: None
        for i, (one, metric) in enumerate(zip(labels, metrics, strict=True))
        if bare[i] and (metric in told or (f"{one['id'].rstrip('/')}/" in above and len(ids) > 1))
    }


def _is_group(labels: Mapping[str, str]) -> bool:
    """Whether a series is known by the path of its control group alone."""
    own = any(labels.get(key) for key in _ALONE[: _ALONE.index("id")])
    return labels.get("id", "").startswith("/") and not own and not any(_pod_and_container(labels))


def _of_kind(labels: Mapping[str, str], metric: str) -> str:
    """A metric with what its labels say of its kind: idle time is no usage, and a quantile no container."""
    return " ".join([metric, *(f"{key} {labels[key]}" for key in _KINDS if labels.get(key))])


def _left_out(sums: Sequence[str], shared: Sequence[str], groups: Sequence[str]) -> tuple[Problem, ...]:
    said = []
    if groups:
        message = f"{len(groups):,} series of groups of containers, first of “{groups[0]}”."
        said.append(problem("group_sums", message, count=len(groups)))
    if sums:
        message = f"{len(sums):,} series of pods as a whole beside their containers, first of “{sums[0]}”."
        said.append(problem("pod_sums", message, count=len(sums)))
    if shared:
        message = (
            f"{len(shared):,} series of a network that several containers share, first of “{shared[0]}”."
        )
        said.append(problem("pod_network", message, count=len(shared)))
    return tuple(said)


def _place(labels: Mapping[str, str]) -> tuple[tuple[str, str], str]:
    """The namespace and the pod, and the container in it."""
    before = _EXPORTED if _is_exported(labels) else ""
    pod, container = _pod_and_container(labels)
    return (labels.get(f"{before}namespace", ""), pod), container


def _without_container(labels: Mapping[str, str]) -> Mapping[str, str]:
    return {key: text for key, text in labels.items() if key.removeprefix(_EXPORTED) not in _CONTAINER}


def execution_of(labels: Mapping[str, str]) -> str:
    """The container that labels identify: pod and container, or a name, or all labels."""
    return _own_name(labels) or all_labels(labels, [key for key in labels if key not in _PARTS])


def _own_name(labels: Mapping[str, str]) -> str:
    """The pod and container, or the name, that labels say; empty where they say none."""
    said = "/".join(part for part in _pod_and_container(labels) if part)
    return said or next((labels[key] for key in _ALONE if labels.get(key)), "")


def all_labels(labels: Mapping[str, str], keys: Iterable[str]) -> str:
    """A name from several labels: ``container=a, pod=b``."""
    return ", ".join(f"{key}={labels[key]}" for key in sorted(keys) if labels.get(key)) or "all"


def named(
    labels: Sequence[Mapping[str, str]], metrics: Sequence[str]
) -> tuple[list[tuple[str, str]], tuple[Problem, ...]]:
    """The execution and the column of every series, and which labels tell executions apart unclearly."""
    labels = _with_containers(labels, metrics)
    names = [(execution_of(one), metric) for one, metric in zip(labels, metrics, strict=True)]
    if len(set(names)) == len(names):
        nameless = [(one, metric) for one, metric in zip(labels, metrics, strict=True) if not _own_name(one)]
        keys = {key for one, _ in nameless for key in one} - set(_PARTS)
        return names, _unclear([("", metric) for _, metric in nameless], [one for one, _ in nameless], keys)
    keys = {key for one in labels for key in one}
    varying = {
        key
        for key in keys
        if len({one[key] for one in labels if one.get(key)}) > 1 or _tells_apart(names, labels, key)
    }
    parts = [key for key in _PARTS if key in varying and _tells_apart(names, labels, key)]
    names = [
        (name, f"{metric} {' '.join(_part(one, parts[:1]))}".strip())
        for (name, metric), one in zip(names, labels, strict=True)
    ]
    if len(set(names)) == len(names):
        return names, ()
    others = [key for key in varying if key not in parts[:1]]
    made = [(all_labels(one, others), metric) for one, (_, metric) in zip(labels, names, strict=True)]
    return made, _unclear(names, labels, others)


def _unclear(
    names: Sequence[tuple[str, str]], labels: Sequence[Mapping[str, str]], keys: Collection[str]
) -> tuple[Problem, ...]:
    """That series differ in labels of which nobody knows whether they name executions."""
    known = [key for key in keys if is_identity(key) and key not in (*_SCRAPED, *_RESTARTED)]
    by_known = [(name, *(one.get(key) for key in known)) for name, one in zip(names, labels, strict=True)]
    if len(set(by_known)) == len(by_known):
        return ()
    unknown = next(
        (key for key in sorted(set(keys) - set(known)) if _tells_apart(by_known, labels, key)), None
    )
    if unknown is None:
        return ()
    texts = sorted({one[unknown] for one in labels if one.get(unknown)})
    message = f"Series differ in “{unknown}”, such as {format_names(texts[:2])}: are these executions?"
    return (problem("unclear_label", message, column=unknown, count=len(texts)),)


def _tells_apart(names: Sequence[Hashable], labels: Sequence[Mapping[str, str]], key: str) -> bool:
    """Whether a label differs between series that share execution and metric."""
    seen: dict[Hashable, set[str | None]] = {}
    for name, one in zip(names, labels, strict=True):
        seen.setdefault(name, set()).add(one.get(key))
    return any(len(values) > 1 for values in seen.values())


def _part(labels: Mapping[str, str], keys: Sequence[str]) -> list[str]:
    return [f"{key.lower()} {labels[key]}" for key in keys if labels.get(key)]


def _with_containers(
    labels: Sequence[Mapping[str, str]], metrics: Sequence[str]
) -> Sequence[Mapping[str, str]]:
    """Labels in which a metric that knows only pods gets the container of a pod that has one."""
    known: dict[tuple[str, str], set[str]] = {}
    labelled: set[tuple[tuple[str, str], str]] = set()
    places = [_place(one) for one in labels]
    for (pod, container), metric in zip(places, metrics, strict=True):
        if pod[1] and container:
            known.setdefault(pod, set()).add(container)
            labelled.add((pod, metric))
    completed = []
    for one, (pod, container), metric in zip(labels, places, metrics, strict=True):
        alone = pod[1] and not container and len(known.get(pod, ())) == 1
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
        message = f"{format_names(late[:4])} first appear{'s' if len(late) == 1 else ''} too late to be seen."
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
