"""Join the samples of several files by execution and time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import numpy as np

from core.errors import format_names
from core.traces.cleaning.resample import median_steps
from core.traces.joining.stacks import (
    FilePart,
    NotJoinedError,
    Stack,
    find_shifts,
    match_pods,
    name_executions,
    stack_files,
)
from core.traces.validation import MAX_HARMLESS_SHARE, problem
from core.units import format_duration, plural

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.traces.model import FloatArray, IntArray, TraceSet
    from core.traces.validation import Problem


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


__all__ = ["FilePart", "JoinedFiles", "NotJoinedError", "join_files"]

_BEFORE_COUNTER = 1.5
"""The largest number of sampling periods between a counter's start and its first rate."""


@dataclass(frozen=True, slots=True)
class JoinedFiles:
    """The join of several files."""

    #: The executions with every file's columns, not resampled.
    traces: TraceSet
    #: Samples without a partner, and names that were matched.
    problems: tuple[Problem, ...]
    #: Rows of the files that one sample stands for.
    weight: int


def join_files(parts: Sequence[FilePart]) -> JoinedFiles:
    """Join the samples of several files by execution and time.

    Raises NotJoinedError if two files do not belong together.
    """
    named_parts, problems = name_executions(parts)
    stacks, new_problems = stack_files(named_parts)
    problems += new_problems
    if len(stacks) == 1:
        return JoinedFiles(stacks[0].traces, tuple(problems), 1)
    stacks, new_problems = match_pods(stacks)
    problems += new_problems
    common = _find_common(stacks)
    rows = [_list_slices(stack, common) for stack in stacks]
    periods = np.array([_find_periods(stack, common) for stack in stacks])
    matched, starts = _match_rows(stacks, rows, periods)
    if not any(len(found) for found in matched[0]):
        raise _no_matching_times(stacks)
    traces = _combine(stacks, matched, common)
    longest = float(periods[np.isfinite(periods)].max(initial=0.0))
    problems += find_shifts(stacks, matched, common, longest)
    return JoinedFiles(traces, (*problems, *_report_unmatched(stacks, matched, starts)), len(stacks))


def _find_common(stacks: Sequence[Stack]) -> tuple[str, ...]:
    """Find the executions of all stacks."""
    others = [set(one.traces.ids) for one in stacks[1:]]
    common = tuple(name for name in stacks[0].traces.ids if all(name in ids for ids in others))
    if common:
        return common
    first = stacks[0]
    other = next((one for one in stacks[1:] if not set(one.traces.ids) & set(first.traces.ids)), stacks[1])
    raise NotJoinedError(
        f"No execution of {other.name} is in {first.name}: it has {_list_some(other)}, and {first.name} has "
        f"{_list_some(first)}.",
        "Import the files one by one and choose the column that names the same containers in each, "
        "or give the containers the same names in the files.",
    )


def _list_some(stack: Stack) -> str:
    new_problems = stack.traces.n_executions - 3
    return format_names(stack.traces.ids[:3]) + (f" and {new_problems:,} more" if new_problems > 0 else "")


def _list_slices(stack: Stack, common: Sequence[str]) -> list[slice]:
    return [stack.traces.slice_of(name) for name in common]


def _find_periods(stack: Stack, common: Sequence[str]) -> FloatArray:
    """Return the usual step of each execution in seconds; that of the others for one sample."""
    medians = median_steps(stack.traces.time, stack.traces.offsets)
    usual = float(np.nanmedian(medians)) if np.isfinite(medians).any() else np.inf
    own = medians[[stack.traces.position(name) for name in common]]
    return np.where(np.isfinite(own), own, usual)


def _match_rows(
    stacks: Sequence[Stack], rows: Sequence[Sequence[slice]], periods: FloatArray
) -> tuple[list[list[IntArray]], list[int]]:
    """Return the matched rows of each stack and execution, and each stack's number of counter starts."""
    limits = 0.5 * periods.min(axis=0)
    matched: list[list[IntArray]] = [[] for _ in stacks]
    starts = [0] * len(stacks)
    for e in range(len(limits)):
        times = [stack.traces.time[part[e]] for stack, part in zip(stacks, rows, strict=True)]
        found = _match_execution(times, float(limits[e]))
        for s, rows_of_stack in enumerate(found):
            matched[s].append(rows_of_stack + rows[s][e].start)
            starts[s] += max(
                (
                    _count_counter_starts(times[s], times[o], float(limits[e]), float(periods[o, e]))
                    for o, other in enumerate(stacks)
                    if o != s and other.starts_counter
                ),
                default=0,
            )
    return matched, starts


def _match_execution(times: Sequence[FloatArray], limit: float) -> list[IntArray]:
    """Return the aligned rows of one execution with a partner in every stack."""
    base = np.arange(len(times[0]))
    matches = [match_samples(times[0], other, limit) for other in times[1:]]
    for own, _ in matches:
        base = base[np.isin(base, own)]
    return [base, *(other_rows[np.searchsorted(own, base)] for own, other_rows in matches)]


def _count_counter_starts(own: FloatArray, other: FloatArray, limit: float, period: float) -> int:
    """Count the samples at the time when the other file's counter started."""
    is_early = own < other[0] - limit
    return int((is_early & (own > other[0] - _BEFORE_COUNTER * period)).sum())


def _combine(
    stacks: Sequence[Stack], matched: Sequence[Sequence[IntArray]], common: Sequence[str]
) -> TraceSet:
    """Combine the matched rows: the columns of every stack and the times of the first."""
    remaining = [e for e in range(len(common)) if len(matched[0][e])]
    lengths = [len(matched[0][e]) for e in remaining]
    index = [np.concatenate([own[e] for e in remaining]) for own in matched]
    attributes: dict[str, list[str]] = {}
    for stack in reversed(stacks):
        places = [stack.traces.position(common[e]) for e in remaining]
        attributes |= {key: [texts[i] for i in places] for key, texts in stack.traces.attributes.items()}
    return replace(
        stacks[0].traces,
        features=tuple(feature for stack in stacks for feature in stack.traces.features),
        columns=tuple(
            values[rows] for stack, rows in zip(stacks, index, strict=True) for values in stack.traces.columns
        ),
        time=stacks[0].traces.time[index[0]],
        ids=tuple(common[e] for e in remaining),
        offsets=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        attributes=attributes,
    )


def _report_unmatched(
    stacks: Sequence[Stack], matched: Sequence[Sequence[IntArray]], starts: Sequence[int]
) -> list[Problem]:
    """Report the rows of each file without a partner."""
    problems = []
    for s, stack in enumerate(stacks):
        is_matched = np.zeros(stack.traces.n_samples, dtype=bool)
        is_matched[np.concatenate(matched[s])] = True
        others = " and ".join(other.name for o, other in enumerate(stacks) if o != s)
        for f, file in enumerate(stack.files):
            own = stack.owner == f
            n_lost, total = int((own & ~is_matched).sum()), int(own.sum())
            if n_lost:
                problems += _report_unmatched_file(
                    file, stack, own, is_matched, n_lost, total, others, min(starts[s], n_lost)
                )
    return problems


def _report_unmatched_file(
    file: str,
    stack: Stack,
    own: IntArray,
    is_matched: IntArray,
    n_lost: int,
    total: int,
    others: str,
    starts: int,
) -> list[Problem]:
    traces, problems = stack.traces, []
    if starts and len(stack.files) == 1:
        message = f"{file}: {plural(starts, 'row')} of times at which a counter of {others} only starts."
        problems.append(problem("counter_start", message, count=starts))
        n_lost -= starts
    if not n_lost:
        return problems
    lost_executions = [
        name
        for i, name in enumerate(traces.ids)
        if own[traces.offsets[i] : traces.offsets[i + 1]].any()
        and not is_matched[traces.offsets[i] : traces.offsets[i + 1]].any()
    ]
    message = f"{file}: {n_lost:,} of {plural(total, 'row')} have no partner in {others}"
    if lost_executions:
        count, more = len(lost_executions), len(lost_executions) - 3
        message += f"; {count:,} {'execution is' if count == 1 else 'executions are'} lost with them, "
        message += format_names(lost_executions[:3]) + (f" and {more:,} more" if more > 0 else "")
    kind = "no_partner" if n_lost > MAX_HARMLESS_SHARE * total or lost_executions else "few_without_partner"
    return [*problems, problem(kind, f"{message}.", count=n_lost)]


def _no_matching_times(stacks: Sequence[Stack]) -> NotJoinedError:
    """Return the error that no times match, with the span of each file."""
    spans = "; ".join(f"{stack.name} has {_format_span(stack.traces.time)}" for stack in stacks)
    return NotJoinedError(
        f"No times of {' and '.join(stack.name for stack in stacks)} match: {spans}.",
        "Check whether one of them is in another time zone or counts from its own start; "
        "import them one by one if they do not belong together.",
    )


def _format_span(time: FloatArray) -> str:
    low, high = float(time.min()), float(time.max())
    if 1e8 < low <= high < 1e11:
        first, last = (datetime.fromtimestamp(one, UTC).strftime("%Y-%m-%d %H:%M:%S") for one in (low, high))
        return f"{first} to {last}"
    return f"{format_duration(low)} to {format_duration(high)} from its start"
