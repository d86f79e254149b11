"""Series by their labels: names of executions and columns, and a table of rows by container and time.

Prometheus has more series of a pod than containers: cAdvisor also counts the pod as a whole and the container
that only keeps its network open (``POD``). If a pod's containers are read, these are redundant.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass, replace
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from core.errors import InputError, format_names
from core.reading.guessing.cpu_and_memory_columns import guess_other_role, guess_usage_role
from core.reading.guessing.order import is_identity_name
from core.reading.table import CodedColumn, RawTable, concatenate
from core.traces.model import Role
from core.traces.validation import MAX_ROWS, problem
from core.units import TIME_FACTORS, plural

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence

    from core.reading.cleaning.rows import Mask
    from core.reading.mapping import ColumnMapping
    from core.traces.model import FloatArray, IntArray
    from core.traces.validation import Problem


_POD = ("pod", "pod_name", "pod_id")
_CONTAINER = ("container", "container_name")
_EXPORTED = "exported_"
"""The prefix of labels of a container measured by another one, such as a job's GPUs by DCGM's exporter."""
_EXPORTED_KEYS = tuple(f"{_EXPORTED}{key}" for key in (*_POD, *_CONTAINER))
_ALONE = ("name", "container_label_com_docker_compose_service", "run", "run_id", "Series", "series", "id",
          "Hostname", "hostname", "instance")  # fmt: skip
# parts of one container, each with a column
_PARTS = ("gpu", "GPU", "minor_number", "index", "device", "interface", "UUID", "uuid", "direction")


_KINDS = ("mode", "resource", "le", "quantile")
"""Labels of the quantity, not of the container."""
_PAUSE = "POD"
_SCRAPED = ("job", "service", "app", "project")
"""Labels that name the measuring as often as the measured program."""
_SCRAPE = frozenset(
    ("instance", "job", "endpoint", "metrics_path", "service", "prometheus", "prometheus_replica", "node",
     "kubernetes_node")
)  # fmt: skip
"""Labels of the target that was scraped, not of the container."""
_RESTARTED = ("id", "name")
"""Labels that differ after a restart of a container."""


@dataclass(frozen=True)
class ContainerSeries:
    """The series of containers among all series."""

    #: Their positions among all.
    positions: tuple[int, ...]
    #: The execution and the column of each.
    names: tuple[tuple[str, str], ...]
    #: The omitted series.
    problems: tuple[Problem, ...]


def select_container_series(
    labels: Sequence[Mapping[str, str]],
    metrics: Sequence[str],
    spans: Sequence[tuple[float, float]] = (),
) -> ContainerSeries:
    """Select and name the series of containers, without those of pods whose containers are present.

    `spans` are the first and last times of the series, where they are known.
    """
    metrics = [_add_kind(one, metric) for one, metric in zip(labels, metrics, strict=True)]
    labels = [{key: text for key, text in one.items() if key not in _KINDS} for one in labels]
    containers_by_pod: dict[tuple[str, str], set[str]] = {}
    counted_metrics: set[tuple[tuple[str, str], str]] = set()
    for one, metric in zip(labels, metrics, strict=True):
        place, container = _find_place(one)
        if place[1] and container not in ("", _PAUSE):
            containers_by_pod.setdefault(place, set()).add(container)
            counted_metrics.add((place, metric))
    groups = _groups(labels, metrics)
    kept_series: dict[int, Mapping[str, str]] = {}
    pod_sums, shared_networks = list[str](), list[str]()
    for i, (one, metric) in enumerate(zip(labels, metrics, strict=True)):
        place, container = _find_place(one)
        network = "network" in metric.lower()
        if i in groups:
            continue
        if container in ("", _PAUSE) and (place, metric) in counted_metrics:
            pod_sums.append(place[1])
        elif container in ("", _PAUSE) and network and len(containers_by_pod.get(place, ())) > 1:
            shared_networks.append(place[1])
        else:
            kept_series[i] = _without_container(one) if container == _PAUSE and network else one
    targets = _group_targets(kept_series, metrics)
    seconds = [i for same in targets for i in _find_repeated(same, spans)]
    firsts = [same[0] for same in targets]
    names_of_firsts, unclear = name_series([kept_series[i] for i in firsts], [metrics[i] for i in firsts])
    name_of = {i: name for same, name in zip(targets, names_of_firsts, strict=True) for i in same}
    kept_series = {i: one for i, one in kept_series.items() if i not in seconds}
    names = [name_of[i] for i in kept_series]
    problems = (
        *_report_second_targets([name_of[i][0] for i in seconds]),
        *_report_left_out(pod_sums, shared_networks, [labels[i]["id"] for i in groups]),
        *unclear,
    )
    return ContainerSeries(tuple(kept_series), tuple(names), problems)


def _group_targets(labels: Mapping[int, Mapping[str, str]], metrics: Sequence[str]) -> list[list[int]]:
    """Group the series of a pod's container that differ only in labels of the scrape.

    A namespace has a pod's name once, so that two targets with it measure the same container.
    """
    groups: dict[tuple[str, frozenset[tuple[str, str]]], list[int]] = {}
    for i, one in labels.items():
        scrape = _SCRAPE if all(_find_place(one)[0]) else ()
        own = frozenset((key, text) for key, text in one.items() if key not in scrape)
        groups.setdefault((metrics[i], own), []).append(i)
    return list(groups.values())


def _find_repeated(same: Sequence[int], spans: Sequence[tuple[float, float]]) -> list[int]:
    """Find the series that measure a time for which an earlier one has samples; others continue it."""
    if not spans:
        return list(same[1:])
    kept_spans: list[tuple[float, float]] = []  # in order, without overlaps
    repeated = []
    for i in same:
        begin, end = spans[i]
        place = bisect_right(kept_spans, (end, math.inf))
        if place and begin <= kept_spans[place - 1][1]:
            repeated.append(i)
        elif begin <= end:  # a series without samples measures no time
            kept_spans.insert(place, (begin, end))
    return repeated


def _report_second_targets(seconds: Sequence[str]) -> tuple[Problem, ...]:
    if not seconds:
        return ()
    names = sorted(set(seconds))
    message = f"{plural(len(names), 'container')} scraped through more than one target, first “{names[0]}”."
    return (problem("second_target", message, count=len(seconds)),)


def _groups(labels: Sequence[Mapping[str, str]], metrics: Sequence[str]) -> dict[int, None]:
    """Find the series of groups of containers, which have only a path and are beside their members.

    cAdvisor counts every level of the tree of control groups: the machine ``/``, the kubelet, a pod's class.
    """
    are_groups = [_is_group(one) for one in labels]
    labelled_metrics = {metric for metric, group in zip(metrics, are_groups, strict=True) if not group}
    paths = sorted({f"{one['id'].rstrip('/')}/" for one in labels if one.get("id", "").startswith("/")})
    # of sorted paths, the next one is below a path that has any below it
    above = {path for path, after in pairwise(paths) if after.startswith(path)}
    return {
        i: None
        for i, (one, metric) in enumerate(zip(labels, metrics, strict=True))
        if are_groups[i] and (metric in labelled_metrics or f"{one['id'].rstrip('/')}/" in above)
    }


def _is_group(labels: Mapping[str, str]) -> bool:
    """Whether a series has only the path of its control group for a name."""
    has_name = any(labels.get(key) for key in _ALONE[: _ALONE.index("id")])
    return labels.get("id", "").startswith("/") and not has_name and not any(_pod_and_container(labels))


def _add_kind(labels: Mapping[str, str], metric: str) -> str:
    """Return a metric with its labels of the quantity: idle time is not usage, a quantile not a container."""
    return " ".join([metric, *(f"{key} {labels[key]}" for key in _KINDS if labels.get(key))])


def _report_left_out(
    pod_sums: Sequence[str], shared_networks: Sequence[str], groups: Sequence[str]
) -> tuple[Problem, ...]:
    problems = []
    if groups:
        message = f"{len(groups):,} series of groups of containers, first of “{groups[0]}”."
        problems.append(problem("group_sums", message, count=len(groups)))
    if pod_sums:
        message = (
            f"{len(pod_sums):,} series of pods as a whole beside their containers, first of “{pod_sums[0]}”."
        )
        problems.append(problem("pod_sums", message, count=len(pod_sums)))
    if shared_networks:
        count, first = len(shared_networks), shared_networks[0]
        message = f"{count:,} series of a network that several containers share, first of “{first}”."
        problems.append(problem("pod_network", message, count=len(shared_networks)))
    return tuple(problems)


def _find_place(labels: Mapping[str, str]) -> tuple[tuple[str, str], str]:
    prefix = _EXPORTED if _is_exported(labels) else ""
    pod, container = _pod_and_container(labels)
    return (labels.get(f"{prefix}namespace", ""), pod), container


def _without_container(labels: Mapping[str, str]) -> Mapping[str, str]:
    return {key: text for key, text in labels.items() if key.removeprefix(_EXPORTED) not in _CONTAINER}


def name_execution(labels: Mapping[str, str]) -> str:
    """Name the container of a series: pod and container, or a name, or all labels."""
    return _find_name(labels) or format_labels(labels, [key for key in labels if key not in _PARTS])


def _find_name(labels: Mapping[str, str]) -> str:
    """Return pod and container, or the name, in labels; empty without one."""
    problems = "/".join(part for part in _pod_and_container(labels) if part)
    return problems or next((labels[key] for key in _ALONE if labels.get(key)), "")


def format_labels(labels: Mapping[str, str], keys: Collection[str]) -> str:
    """Return a name from several labels: ``container=a, pod=b``."""
    return ", ".join(f"{key}={labels[key]}" for key in sorted(labels) if key in keys and labels[key]) or "all"


def name_series(
    labels: Sequence[Mapping[str, str]], metrics: Sequence[str]
) -> tuple[list[tuple[str, str]], tuple[Problem, ...]]:
    """Name the execution and the column of every series; also report unclear labels."""
    labels = _with_containers(labels, metrics)
    names = [(name_execution(one), metric) for one, metric in zip(labels, metrics, strict=True)]
    if len(set(names)) == len(names):
        nameless = [(one, metric) for one, metric in zip(labels, metrics, strict=True) if not _find_name(one)]
        keys = {key for one, _ in nameless for key in one} - set(_PARTS)
        return names, _find_unclear_labels(
            [("", metric) for _, metric in nameless], [one for one, _ in nameless], keys
        )
    texts_by_key: dict[str, set[str]] = {}
    for key, text in {(key, text) for one in labels for key, text in one.items() if text}:
        texts_by_key.setdefault(key, set()).add(text)
    distinguishing_keys = _find_distinguishing_keys(names, labels)
    varying_keys = {key for key, texts in texts_by_key.items() if len(texts) > 1} | distinguishing_keys
    parts = [key for key in _PARTS if key in distinguishing_keys]
    names = [
        (name, f"{metric} {' '.join(_format_parts(one, parts[:1]))}".strip())
        for (name, metric), one in zip(names, labels, strict=True)
    ]
    if len(set(names)) == len(names):
        return names, ()
    other_keys = varying_keys.difference(parts[:1])
    labelled_names = [
        (format_labels(one, other_keys), metric) for one, (_, metric) in zip(labels, names, strict=True)
    ]
    return labelled_names, _find_unclear_labels(names, labels, other_keys)


def _find_unclear_labels(
    names: Sequence[tuple[str, str]], labels: Sequence[Mapping[str, str]], keys: Collection[str]
) -> tuple[Problem, ...]:
    """Report that series differ in a label that may not identify executions."""
    known_keys = {key for key in keys if is_identity_name(key) and key not in (*_SCRAPED, *_RESTARTED)}
    by_known = [
        (name, frozenset(item for item in one.items() if item[0] in known_keys))
        for name, one in zip(names, labels, strict=True)
    ]
    if len(set(by_known)) == len(by_known):
        return ()
    unknown_keys = _find_distinguishing_keys(by_known, labels) & (set(keys) - known_keys)
    unknown = min(unknown_keys, default=None)
    if unknown is None:
        return ()
    texts = sorted({one[unknown] for one in labels if one.get(unknown)})
    message = f"Series differ in “{unknown}”, such as {format_names(texts[:2])}: are these executions?"
    return (problem("unclear_label", message, column=unknown, count=len(texts)),)


def _find_distinguishing_keys(names: Sequence[Hashable], labels: Sequence[Mapping[str, str]]) -> set[str]:
    """Find the labels that differ between series of the same name, or that only some of them have."""
    n_series = Counter(names)
    texts: dict[tuple[Hashable, str], list[str]] = {}
    for name, one in zip(names, labels, strict=True):
        for key, text in one.items():
            texts.setdefault((name, key), []).append(text)
    return {key for (name, key), found in texts.items() if len(found) < n_series[name] or len(set(found)) > 1}


def _format_parts(labels: Mapping[str, str], keys: Sequence[str]) -> list[str]:
    return [f"{key.lower()} {labels[key]}" for key in keys if labels.get(key)]


def _with_containers(
    labels: Sequence[Mapping[str, str]], metrics: Sequence[str]
) -> Sequence[Mapping[str, str]]:
    """Add the container to labels of metrics by pod if the pod has only one."""
    containers_by_pod: dict[tuple[str, str], set[str]] = {}
    labelled: set[tuple[tuple[str, str], str]] = set()
    places = [_find_place(one) for one in labels]
    for (pod, container), metric in zip(places, metrics, strict=True):
        if pod[1] and container:
            containers_by_pod.setdefault(pod, set()).add(container)
            labelled.add((pod, metric))
    completed = []
    for one, (pod, container), metric in zip(labels, places, metrics, strict=True):
        is_loss_only = pod[1] and not container and len(containers_by_pod.get(pod, ())) == 1
        takes_container = is_loss_only and (pod, metric) not in labelled
        key = f"{_EXPORTED if _is_exported(one) else ''}container"
        completed.append({**one, key: next(iter(containers_by_pod[pod]))} if takes_container else one)
    return completed


def _pod_and_container(labels: Mapping[str, str]) -> tuple[str, str]:
    """Return the measured pod and container, not the measuring ones."""
    prefix = _EXPORTED if _is_exported(labels) else ""
    pod, container = (
        next((labels[f"{prefix}{key}"] for key in keys if labels.get(f"{prefix}{key}")), "")
        for keys in (_POD, _CONTAINER)
    )
    return pod, container


def _is_exported(labels: Mapping[str, str]) -> bool:
    return any(map(labels.get, _EXPORTED_KEYS))


@dataclass(frozen=True)
class Series:
    """One metric of one container: its labels, times in seconds and values, both of shape (n,).

    `metric` is the name of a series without one, such as an expression's result.
    """

    labels: dict[str, str]
    time: FloatArray
    values: FloatArray
    metric: str = "value"


@dataclass(frozen=True)
class SeriesTable:
    """Rows by container and time, with a value in the columns of some metrics.

    A metric may have times of its own, so that most cells are empty; only those with a value are stored, in
    `blocks` of rows and there metric by metric: values, their rows, and the limits of each metric's, shape
    (n_metrics + 1,). `merged` are rows whose value another one replaced, `left_out` reports omitted series.
    """

    executions: CodedColumn
    time: FloatArray
    rows: IntArray
    merged: IntArray
    metrics: tuple[str, ...]
    blocks: tuple[tuple[FloatArray, IntArray, IntArray], ...]
    left_out: tuple[Problem, ...] = ()

    def metric_cells(self, metric: int) -> Iterator[tuple[IntArray, FloatArray]]:
        """Yield rows, and the values of a metric by its position in them."""
        for values, places, bounds in self.blocks:
            part = slice(bounds[metric], bounds[metric + 1])
            yield places[part], values[part]

    def column(self, metric: int) -> FloatArray:
        """Return the values of a metric by its position, shape (n_rows,), NaN in empty cells."""
        column = np.full(len(self.time), np.nan)
        for rows, values in self.metric_cells(metric):
            column[rows] = values
        return column

    def cells(self, rows: IntArray) -> FloatArray:
        """Return the values of all metrics in some rows, shape (n_metrics, n_selected)."""
        position = np.full(len(self.time), -1)
        position[rows] = np.arange(len(rows))
        cells = np.full((len(self.metrics), len(rows)), np.nan)
        for values, places, bounds in self.blocks:
            column, metric = position[places], np.repeat(np.arange(len(self.metrics)), np.diff(bounds))
            is_selected = column >= 0
            cells[metric[is_selected], column[is_selected]] = values[is_selected]
        return cells

    def raw(
        self, mapping: ColumnMapping, name: str, header: Sequence[str], long: RawTable | None = None
    ) -> RawTable:
        """Return the mapped columns of this table.

        Raises InputError if the mapping names a missing column, or maps one to something that it cannot be.
        """
        mapping.require(("execution", "timestamp", *self.metrics))
        place = {metric: i for i, metric in enumerate(self.metrics)}
        wrong = [one.column for one in mapping.features if one.column not in place]
        wrong += mapping.attributes
        for taken, has_name in ((mapping.execution, "execution"), (mapping.time, "timestamp")):
            if taken is not None and taken != has_name:
                wrong.append(taken)
        if wrong:
            raise InputError(
                f"Column “{wrong[0]}” of “{name}” cannot be mapped: it is execution, timestamp or a metric.",
                "Map only metrics to features, and no attributes.",
            )
        columns = [self.column(place[one.column]) for one in mapping.features]
        codes, time, rows = self.executions.codes, self.time, self.rows
        is_loss_only = self._hold_losses(mapping, columns)
        if is_loss_only is not None:
            columns = [values[~is_loss_only] for values in columns]
            codes, time, rows = codes[~is_loss_only], time[~is_loss_only], rows[~is_loss_only]
        n = len(time)
        return RawTable(
            n_rows=n,
            executions=CodedColumn(codes, self.executions.names)
            if mapping.execution
            else CodedColumn.constant(name.partition(".")[0], n),
            time=time if mapping.time else None,
            columns=columns,
            rows=rows,
            rows_read=n if long is None else long.rows_read - long.n_rows + n,
            problems=(
                *(() if long is None else long.problems),
                *self._report_late_metrics(header),
                *self._problems(),
            ),
        )

    def _hold_losses(self, mapping: ColumnMapping, columns: list[FloatArray]) -> Mask | None:
        """Carry losses to later rows; return which rows have only a loss, None if they are to stay.

        A program logs its loss at the end of a step, its tracker logs the machine's metrics at other times.
        """
        losses = [i for i, one in enumerate(mapping.features) if one.role is Role.LOSS]
        others = [i for i, one in enumerate(mapping.features) if one.role is not Role.LOSS]
        if not losses or not others:
            return None
        sampled = np.isfinite([columns[i] for i in others]).any(axis=0)
        logged = np.isfinite([columns[i] for i in losses]).any(axis=0)
        is_sampled = np.bincount(self.executions.codes, sampled, len(self.executions.names)) > 0
        is_loss_only: Mask = logged & ~sampled & is_sampled[self.executions.codes]
        if not is_loss_only.any():
            return None
        starts = np.searchsorted(self.executions.codes, self.executions.codes)
        for i in losses:
            columns[i] = _hold_last(columns[i], starts)
        return is_loss_only

    def _report_late_metrics(self, header: Sequence[str]) -> tuple[Problem, ...]:
        """Report the metrics missing in the file's first part, which could not be mapped."""
        known = frozenset(header)
        late = [metric for metric in self.metrics if metric not in known]
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
                rows=np.sort(self.merged)[:MAX_ROWS].tolist(),
            ),
        )


def _hold_last(values: FloatArray, starts: IntArray) -> FloatArray:
    """Each row's last number at or before it, back to the row at which its execution starts."""
    place = np.maximum.accumulate(np.where(np.isfinite(values), np.arange(len(values)), -1))
    return np.where(place >= starts, values[place], np.nan)


def pivot_series(series: list[Series], mapping: ColumnMapping | None) -> SeriesTable:
    """Bring series together by container and time; the list is emptied, which frees them one by one."""
    metrics = [one.labels.get("__name__") or one.metric for one in series]
    labels = [{k: v for k, v in one.labels.items() if k != "__name__"} for one in series]
    spans = [tuple(one.time[[0, -1]].tolist()) if len(one.time) else (np.nan, np.nan) for one in series]
    found = select_container_series(labels, metrics, spans)
    selected = {i: series[position] for i, position in enumerate(found.positions)}
    series.clear()
    first_rows = np.cumsum([1, *(len(one.time) for one in selected.values())])
    scale = TIME_FACTORS.get(mapping.time_unit, 1.0) if mapping is not None else 1.0

    def load(i: int) -> tuple[FloatArray, FloatArray, IntArray]:
        one = selected.pop(i)
        return one.time * scale, one.values, np.arange(first_rows[i], first_rows[i + 1])

    return replace(gather_series(found.names, load), left_out=found.problems)


BLOCK_SAMPLES = 2**18
"""Samples that are gathered at once: whole executions, so that sorting them takes little memory."""


def gather_series(
    names: Sequence[tuple[str, str]], load: Callable[[int], tuple[FloatArray, FloatArray, IntArray]]
) -> SeriesTable:
    """Return one row per container and time, with the later of two values of a metric.

    `names` are the execution and the metric of each series; `load` returns the times, values and row numbers
    of one by its position, and is called once for each.
    """
    positions: dict[str, list[int]] = {}
    for i, (execution, _) in enumerate(names):
        positions.setdefault(execution, []).append(i)
    metrics = {metric: code for code, metric in enumerate(dict.fromkeys(metric for _, metric in names))}
    blocks, parts = list[tuple[Any, ...]](), list[tuple[Any, ...]]()
    n_samples = n_rows = 0
    for code, of_execution in enumerate(positions.values()):
        for i in of_execution:
            time, values, rows = load(i)
            codes = (np.full(len(time), one, np.int32) for one in (code, metrics[names[i][1]]))
            parts.append((*codes, time, values, rows))
            n_samples += len(time)
        if n_samples >= BLOCK_SAMPLES or code + 1 == len(positions):
            blocks.append(_gather_block(parts, n_rows, len(metrics)))
            parts, n_samples, n_rows = [], 0, n_rows + len(blocks[-1][0])
    kinds: tuple[type[Any], ...] = (np.int32, np.float64, np.int64, np.int64)
    owner, time, rows, merged = (concatenate([one[i] for one in blocks], kinds[i]) for i in range(len(kinds)))
    cells = tuple(one[len(kinds) :] for one in blocks)
    return SeriesTable(CodedColumn(owner, tuple(positions)), time, rows, merged, tuple(metrics), cells)


def _gather_block(parts: Sequence[tuple[Any, ...]], first_row: int, n_metrics: int) -> tuple[Any, ...]:
    """Return the arrays of `SeriesTable` for the samples of whole executions."""
    executions, metrics, time, values, rows = map(np.concatenate, zip(*parts, strict=True))
    order = np.lexsort((time, executions))
    owner, moment = executions[order], time[order]
    new = np.ones(len(order), dtype=bool)
    new[1:] = (np.diff(owner) != 0) | (np.diff(moment) != 0)
    place = np.empty(len(order), dtype=np.int32)
    place[order] = np.cumsum(new) - 1 + first_row
    by_cell = np.lexsort((place, metrics))
    # the last of several values in one cell replaces the others
    is_last = np.ones(len(order), dtype=bool)
    is_last[:-1] = (np.diff(metrics[by_cell]) != 0) | (np.diff(place[by_cell]) != 0)
    kept = by_cell[is_last]
    bounds = np.searchsorted(metrics[kept], np.arange(n_metrics + 1))
    merged = rows[by_cell[~is_last]]
    return owner[new], moment[new], rows[order][new], merged, values[kept], place[kept], bounds


MAX_PREVIEW_CELLS, MIN_PREVIEW_ROWS, ROWS_OF_METRIC = 200_000, 20, 10


def select_preview_rows(
    candidates: Sequence[int], rows_by_metric: Mapping[str, Sequence[int]]
) -> Sequence[int]:
    """Select the rows of a preview: all, or the first ones of some metrics if that were too many cells.

    Where thousands of metrics have times of their own, their rows grow with the square of their number. The
    rows of metrics that are called usage come first.
    """
    max_rows = max(MIN_PREVIEW_ROWS, MAX_PREVIEW_CELLS // max(len(rows_by_metric), 1))
    if len(candidates) <= max_rows:
        return candidates
    ranked = []
    for metric, rows in rows_by_metric.items():
        is_other = guess_usage_role(metric) is None and guess_other_role(metric) is Role.OTHER
        ranked += [(is_other, number, row) for number, row in enumerate(rows[:ROWS_OF_METRIC])]
    return sorted(islice(dict.fromkeys(row for _, _, row in sorted(ranked)), max_rows))
