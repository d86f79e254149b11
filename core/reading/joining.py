"""Samples of several files as one set: stacked if their columns are the same, else joined by time.

Two samples of one execution match where each is the other's nearest and they are less than half of the
smaller sampling period apart. Nothing is interpolated: rows without a partner are dropped and counted by
file.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from core.errors import InputError, format_names
from core.reading.cleaning.resample import median_steps
from core.traces.validation import MAX_HARMLESS_SHARE, problem
from core.units import format_duration, plural

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from core.traces.model import FloatArray, IntArray, TraceSet
    from core.traces.validation import Problem

_METRIC_WORDS = (
    r"(?i)(?<![a-z])(?:usage|used|util(?:i[sz]ation)?|cores?|bytes|percent|metrics?|stats?|data|export|cpus?|"
    r"mem(?:ory)?|ram|rss|gpus?|net(?:work)?|disk|block|io)(?![a-z])"
)


class NotJoinedError(InputError):
    """The files do not belong together."""


@dataclass(frozen=True, slots=True)
class FilePart:
    """The samples of one file before a join."""

    #: The file's name.
    file: str
    #: Its cleaned samples, not resampled.
    traces: TraceSet
    #: Whether no column names the execution, so that it is named after the file.
    is_unnamed: bool = False

    @property
    def columns(self) -> frozenset[str]:
        """The names of its features."""
        return frozenset(feature.name for feature in self.traces.features)


@dataclass(frozen=True, slots=True)
class JoinedFiles:
    """The join of several files."""

    #: The executions with every file's columns, not resampled.
    traces: TraceSet
    #: Samples without a partner, and names that were matched.
    problems: tuple[Problem, ...]
    #: Rows of the files that one sample stands for.
    weight: int


@dataclass(frozen=True, slots=True)
class _Stack:
    """Files with the same columns as one set; `owner` is each sample's position in `files`."""

    files: tuple[str, ...]
    traces: TraceSet
    owner: IntArray

    @property
    def name(self) -> str:
        """The files, for a sentence."""
        return self.files[0] if len(self.files) == 1 else f"{self.files[0]} and {len(self.files) - 1} like it"


def strip_endings(file: str) -> str:
    """Return a file's name without its endings."""
    return re.sub(r"(\.\w{1,7})+$", "", file) or file


def strip_metric(file: str) -> str:
    """Return a file's name without words for metrics: ``train-1`` of ``cpu_train-1.csv``."""
    text = re.sub(_METRIC_WORDS, "", strip_endings(file))
    return re.sub(r"[\s_.-]{2,}", "-", text).strip(" _.-")


def join_files(parts: Sequence[FilePart]) -> JoinedFiles:
    """Join the samples of several files by execution and time.

    Raises NotJoinedError if two files do not belong together.
    """
    groups: dict[frozenset[str], list[FilePart]] = {}
    named, problems = _name_executions(parts)
    for part in named:
        groups.setdefault(part.columns, []).append(part)
    _check_columns([group[0] for group in groups.values()])
    stacks = [_stack_files(group, problems) for group in groups.values()]
    if len(stacks) == 1:
        return JoinedFiles(stacks[0].traces, tuple(problems), 1)
    common = _find_common(stacks)
    matched = _match_rows(stacks, common)
    if not any(map(len, matched[0])):
        spans = "; ".join(f"{stack.name} has {_format_span(stack.traces.time)}" for stack in stacks)
        raise NotJoinedError(
            f"No times of {' and '.join(stack.name for stack in stacks)} match: {spans}.",
            "Check whether one of them is in another time zone or counts from its own start; "
            "import them one by one if they do not belong together.",
        )
    problems += _report_unmatched(stacks, matched)
    return JoinedFiles(_combine(stacks, matched, common), tuple(problems), len(stacks))


def _name_executions(parts: Sequence[FilePart]) -> tuple[list[FilePart], list[Problem]]:
    """Name executions that no column names after their files, without what only these measure."""
    unnamed = [part for part in parts if part.is_unnamed]
    if not unnamed or len({part.columns for part in parts}) == 1:
        return list(parts), []
    joint_name = " + ".join(strip_endings(part.file) for part in unnamed)
    names = {part.file: strip_metric(part.file) or joint_name for part in unnamed}
    if max(Counter((names[part.file], part.columns) for part in unnamed).values()) > 1:
        names = {part.file: strip_endings(part.file) for part in unnamed}
    problems = []
    for name, count in Counter(names.values()).items():
        if count > 1:
            files = ", ".join(file for file, own in names.items() if own == name)
            message = f"{files} name no execution and were taken for one, “{name}”."
            problems.append(problem("named_by_files", message, count=count))
    return [
        replace(part, traces=replace(part.traces, ids=(names[part.file],))) if part.is_unnamed else part
        for part in parts
    ], problems


def _check_columns(parts: Sequence[FilePart]) -> None:
    for i, part in enumerate(parts):
        for other in parts[:i]:
            if both := part.columns & other.columns:
                lacks, has = (part, other) if other.columns - part.columns else (other, part)
                missing = format_names(sorted(part.columns ^ other.columns)[:3])
                raise NotJoinedError(
                    f"{lacks.file} and {has.file} both have {format_names(sorted(both)[:3])}, but "
                    f"{lacks.file} has no {missing}.",
                    "Leave out the columns that only one of them has, or import the files one by one.",
                )


def _stack_files(parts: Sequence[FilePart], problems: list[Problem]) -> _Stack:
    """Stack files with the same columns; the samples of an execution may go on from file to file.

    Raises NotJoinedError if two of them have the same execution at the same time.
    """
    pieces: dict[str, list[tuple[int, slice]]] = {}
    for p, part in enumerate(parts):
        for name in part.traces.ids:
            pieces.setdefault(name, []).append((p, part.traces.slice_of(name)))
    for name, found in pieces.items():
        found.sort(key=lambda piece: float(parts[piece[0]].traces.time[piece[1].start]))
        for (p, before), (q, after) in pairwise(found):
            if parts[p].traces.time[before.stop - 1] >= parts[q].traces.time[after.start]:
                columns = format_names([feature.name for feature in parts[p].traces.features][:3])
                raise NotJoinedError(
                    f"{parts[p].file} and {parts[q].file} both have {columns} of “{name}” at the same time.",
                    "Leave one of them out; if they are of two containers, give these different names.",
                )
    flat = [piece for found in pieces.values() for piece in found]
    sizes = [part.stop - part.start for _, part in flat]
    lengths = [sum(part.stop - part.start for _, part in found) for found in pieces.values()]
    first = [(parts[found[0][0]].traces, name) for name, found in pieces.items()]
    keys = dict.fromkeys(key for part in parts for key in part.traces.attributes)
    traces = replace(
        parts[0].traces,
        columns=tuple(
            np.concatenate([parts[p].traces.column(feature.name)[part] for p, part in flat])
            for feature in parts[0].traces.features
        ),
        time=np.concatenate([parts[p].traces.time[part] for p, part in flat]),
        ids=tuple(pieces),
        offsets=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        attributes={
            key: [
                own.attributes[key][own.position(name)] if key in own.attributes else ""
                for own, name in first
            ]
            for key in keys
        },
    )
    owner = np.repeat([p for p, _ in flat], sizes).astype(np.int64)
    stack = _Stack(tuple(part.file for part in parts), traces, owner)
    if goes_on := sum(len(found) > 1 for found in pieces.values()):
        message = f"{plural(goes_on, 'execution')} of {stack.name} went on from one file to the next."
        problems.append(problem("goes_on", message, count=goes_on))
    return stack


def _find_common(stacks: Sequence[_Stack]) -> tuple[str, ...]:
    first = stacks[0]
    common = tuple(name for name in first.traces.ids if all(name in one.traces.ids for one in stacks[1:]))
    if common:
        return common
    other = next((one for one in stacks[1:] if not set(one.traces.ids) & set(first.traces.ids)), stacks[1])
    raise NotJoinedError(
        f"No execution of {other.name} is in {first.name}: it has {_list_some(other.traces.ids)}, and "
        f"{first.name} has {_list_some(first.traces.ids)}.",
        "Import the files one by one and choose the column that names the same containers in each, "
        "or give the containers the same names in the files.",
    )


def _list_some(names: Sequence[str]) -> str:
    return format_names(names[:3]) + (f" and {len(names) - 3:,} more" if len(names) > 3 else "")


def _match_rows(stacks: Sequence[_Stack], common: Sequence[str]) -> list[list[IntArray]]:
    """Return for each stack and common execution the rows that have a partner in every other stack."""
    limits = 0.5 * np.min([_find_periods(stack.traces, common) for stack in stacks], axis=0)
    matched: list[list[IntArray]] = [[] for _ in stacks]
    for name, limit in zip(common, limits.tolist(), strict=True):
        slices = [stack.traces.slice_of(name) for stack in stacks]
        times = [stack.traces.time[part] for stack, part in zip(stacks, slices, strict=True)]
        pairs = [match_samples(times[0], other, limit) for other in times[1:]]
        rows = np.arange(len(times[0]))
        for own, _ in pairs:
            rows = rows[np.isin(rows, own)]
        found = [rows, *(other_rows[np.searchsorted(own, rows)] for own, other_rows in pairs)]
        for of_stack, own, part in zip(matched, found, slices, strict=True):
            of_stack.append(own + part.start)
    return matched


def _find_periods(traces: TraceSet, names: Sequence[str]) -> FloatArray:
    """Return the usual step of each execution in seconds; that of the others for one sample."""
    medians = median_steps(traces.time, traces.offsets)
    usual = float(np.nanmedian(medians)) if np.isfinite(medians).any() else np.inf
    own = medians[[traces.position(name) for name in names]]
    return np.where(np.isfinite(own), own, usual)


def match_samples(a: FloatArray, b: FloatArray, limit: float) -> tuple[IntArray, IntArray]:
    """Match the samples of two recordings that are each other's nearest and less than `limit` apart."""
    nearest_of_a, nearest_of_b = _find_nearest(a, b), _find_nearest(b, a)
    mutual = nearest_of_b[nearest_of_a] == np.arange(len(a))
    own = np.flatnonzero(mutual & (np.abs(a - b[nearest_of_a]) < limit))
    return own, nearest_of_a[own]


def _find_nearest(a: FloatArray, b: FloatArray) -> IntArray:
    """Return for each of `a` the position of the nearest of `b`."""
    after = np.searchsorted(b, a)
    left, right = np.maximum(after - 1, 0), np.minimum(after, len(b) - 1)
    return np.asarray(np.where(np.abs(a - b[left]) <= np.abs(b[right] - a), left, right))


def _combine(
    stacks: Sequence[_Stack], matched: Sequence[Sequence[IntArray]], common: Sequence[str]
) -> TraceSet:
    """Combine the matched rows: the columns of every stack and the times of the first."""
    kept = [e for e in range(len(common)) if len(matched[0][e])]
    index = [np.concatenate([own[e] for e in kept]) for own in matched]
    attributes: dict[str, list[str]] = {}
    for stack in reversed(stacks):
        places = [stack.traces.position(common[e]) for e in kept]
        attributes |= {key: [texts[i] for i in places] for key, texts in stack.traces.attributes.items()}
    return replace(
        stacks[0].traces,
        features=tuple(feature for stack in stacks for feature in stack.traces.features),
        columns=tuple(
            values[rows] for stack, rows in zip(stacks, index, strict=True) for values in stack.traces.columns
        ),
        time=stacks[0].traces.time[index[0]],
        ids=tuple(common[e] for e in kept),
        offsets=np.concatenate([[0], np.cumsum([len(matched[0][e]) for e in kept])]).astype(np.int64),
        attributes=attributes,
    )


def _report_unmatched(stacks: Sequence[_Stack], matched: Sequence[Sequence[IntArray]]) -> Iterator[Problem]:
    """Report the rows of each file without a partner; a few are one for each execution, or 1% of them."""
    for stack, rows in zip(stacks, matched, strict=True):
        traces, is_matched = stack.traces, np.zeros(stack.traces.n_samples, dtype=bool)
        is_matched[np.concatenate(rows)] = True
        others = " and ".join(other.name for other in stacks if other is not stack)
        for f, file in enumerate(stack.files):
            own = stack.owner == f
            n_own = np.add.reduceat(own, traces.offsets[:-1], dtype=np.int64)
            n_lost = np.add.reduceat(own & ~is_matched, traces.offsets[:-1], dtype=np.int64)
            lost = [traces.ids[i] for i in np.flatnonzero((n_own > 0) & (n_lost == n_own))]
            count, total = int(n_lost.sum()), int(n_own.sum())
            if not count:
                continue
            message = f"{file}: {count:,} of {plural(total, 'row')} have no partner in {others}"
            if lost:
                what = f"{len(lost):,} {'execution is' if len(lost) == 1 else 'executions are'}"
                message += f"; {what} lost with them, {_list_some(lost)}"
            is_few = not lost and (n_lost.max() <= 1 or count <= MAX_HARMLESS_SHARE * total)
            yield problem("few_without_partner" if is_few else "no_partner", f"{message}.", count=count)


def _format_span(time: FloatArray) -> str:
    low, high = float(time.min()), float(time.max())
    if 1e8 < low <= high < 1e11:
        first, last = (datetime.fromtimestamp(one, UTC).strftime("%Y-%m-%d %H:%M:%S") for one in (low, high))
        return f"{first} to {last}"
    return f"{format_duration(low)} to {format_duration(high)} from its start"
