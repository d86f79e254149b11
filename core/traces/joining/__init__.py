"""Which samples of two recordings are of the same moment."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import numpy as np

from core.errors import format_names
from core.traces.cleaning.resample import median_steps
from core.traces.joining.stacks import NotJoinedError, Part, Stack, renamed, same_pods, shifts, stacked
from core.traces.validation import HARMLESS, problem
from core.units import format_duration, plural

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.traces.model import FloatArray, IntArray, TraceSet
    from core.traces.validation import Problem


def partners(a: FloatArray, b: FloatArray, limit: float) -> tuple[IntArray, IntArray]:
    """The samples of two recordings that are each other's nearest and less than `limit` apart."""
    there, back = _nearest(a, b), _nearest(b, a)
    mutual = back[there] == np.arange(len(a))
    mine = np.flatnonzero(mutual & (np.abs(a - b[there]) < limit))
    return mine, there[mine]


def _nearest(a: FloatArray, b: FloatArray) -> IntArray:
    """For each of `a`, the position of the nearest of `b`."""
    after = np.searchsorted(b, a)
    left, right = np.maximum(after - 1, 0), np.minimum(after, len(b) - 1)
    return np.asarray(np.where(np.abs(a - b[left]) <= np.abs(b[right] - a), left, right))


__all__ = ["Joined", "NotJoinedError", "Part", "join"]

_BEFORE_COUNTER = 1.5
"""How many sampling periods before a counter's first rate its start may be."""


@dataclass(frozen=True, slots=True)
class Joined:
    """What several files are together."""

    #: The executions with every file's columns, not resampled.
    traces: TraceSet
    #: What found no partner, and what was put together.
    problems: tuple[Problem, ...]
    #: Rows of the files that one sample stands for.
    weight: int


def join(parts: Sequence[Part]) -> Joined:
    """Bring the samples of several files together by execution and time.

    Raises
    ------
    NotJoinedError
        If two files do not belong together; it names them and says what to do.
    """
    named, said = renamed(parts)
    stacks, more = stacked(named)
    said += more
    if len(stacks) == 1:
        return Joined(stacks[0].traces, tuple(said), 1)
    stacks, more = same_pods(stacks)
    said += more
    common = _common(stacks)
    rows = [_rows(stack, common) for stack in stacks]
    periods = np.array([_periods(stack, common) for stack in stacks])
    kept, starts = _matched(stacks, rows, periods)
    if not any(len(found) for found in kept[0]):
        raise _no_time(stacks)
    traces = _together(stacks, kept, common)
    longest = float(periods[np.isfinite(periods)].max(initial=0.0))
    said += shifts(stacks, kept, common, longest)
    return Joined(traces, (*said, *_without_partner(stacks, kept, starts)), len(stacks))


def _common(stacks: Sequence[Stack]) -> tuple[str, ...]:
    """The executions that every stack has."""
    others = [set(one.traces.ids) for one in stacks[1:]]
    common = tuple(name for name in stacks[0].traces.ids if all(name in ids for ids in others))
    if common:
        return common
    first = stacks[0]
    other = next((one for one in stacks[1:] if not set(one.traces.ids) & set(first.traces.ids)), stacks[1])
    raise NotJoinedError(
        f"No execution of {other.name} is in {first.name}: it has {_some(other)}, and {first.name} has "
        f"{_some(first)}.",
        "Import the files one by one and choose the column that names the same containers in each, "
        "or give the containers the same names in the files.",
    )


def _some(stack: Stack) -> str:
    more = stack.traces.n_executions - 3
    return format_names(stack.traces.ids[:3]) + (f" and {more:,} more" if more > 0 else "")


def _rows(stack: Stack, common: Sequence[str]) -> list[slice]:
    return [stack.traces.slice_of(name) for name in common]


def _periods(stack: Stack, common: Sequence[str]) -> FloatArray:
    """The usual step of each execution in seconds; that of the others where it has one sample only."""
    medians = median_steps(stack.traces.time, stack.traces.offsets)
    usual = float(np.nanmedian(medians)) if np.isfinite(medians).any() else np.inf
    mine = medians[[stack.traces.position(name) for name in common]]
    return np.where(np.isfinite(mine), mine, usual)


def _matched(
    stacks: Sequence[Stack], rows: Sequence[Sequence[slice]], periods: FloatArray
) -> tuple[list[list[IntArray]], list[int]]:
    """Per stack and common execution the rows that stay; per stack how many rows are of counters' starts."""
    limits = 0.5 * periods.min(axis=0)
    kept: list[list[IntArray]] = [[] for _ in stacks]
    starts = [0] * len(stacks)
    for e in range(len(limits)):
        times = [stack.traces.time[part[e]] for stack, part in zip(stacks, rows, strict=True)]
        found = _of_one(times, float(limits[e]))
        for s, here in enumerate(found):
            kept[s].append(here + rows[s][e].start)
            starts[s] += max(
                (
                    _before(times[s], times[o], float(limits[e]), float(periods[o, e]))
                    for o, other in enumerate(stacks)
                    if o != s and other.counted
                ),
                default=0,
            )
    return kept, starts


def _of_one(times: Sequence[FloatArray], limit: float) -> list[IntArray]:
    """The rows of one execution that have a partner in every stack, aligned."""
    base = np.arange(len(times[0]))
    matches = [partners(times[0], other, limit) for other in times[1:]]
    for mine, _ in matches:
        base = base[np.isin(base, mine)]
    return [base, *(theirs[np.searchsorted(mine, base)] for mine, theirs in matches)]


def _before(mine: FloatArray, other: FloatArray, limit: float, period: float) -> int:
    """How many samples are of the time at which the other file's counter started."""
    early = mine < other[0] - limit
    return int((early & (mine > other[0] - _BEFORE_COUNTER * period)).sum())


def _together(stacks: Sequence[Stack], kept: Sequence[Sequence[IntArray]], common: Sequence[str]) -> TraceSet:
    """The rows that have partners, with the columns of every stack and the times of the first."""
    stay = [e for e in range(len(common)) if len(kept[0][e])]
    lengths = [len(kept[0][e]) for e in stay]
    index = [np.concatenate([mine[e] for e in stay]) for mine in kept]
    attributes: dict[str, list[str]] = {}
    for stack in reversed(stacks):
        places = [stack.traces.position(common[e]) for e in stay]
        attributes |= {key: [texts[i] for i in places] for key, texts in stack.traces.attributes.items()}
    return replace(
        stacks[0].traces,
        features=tuple(feature for stack in stacks for feature in stack.traces.features),
        columns=tuple(
            values[rows] for stack, rows in zip(stacks, index, strict=True) for values in stack.traces.columns
        ),
        time=stacks[0].traces.time[index[0]],
        ids=tuple(common[e] for e in stay),
        offsets=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        attributes=attributes,
    )


def _without_partner(
    stacks: Sequence[Stack], kept: Sequence[Sequence[IntArray]], starts: Sequence[int]
) -> list[Problem]:
    """What of each file found no partner."""
    said = []
    for s, stack in enumerate(stacks):
        stays = np.zeros(stack.traces.n_samples, dtype=bool)
        stays[np.concatenate(kept[s])] = True
        others = " and ".join(other.name for o, other in enumerate(stacks) if o != s)
        for f, file in enumerate(stack.files):
            mine = stack.owner == f
            lost, total = int((mine & ~stays).sum()), int(mine.sum())
            if lost:
                said += _of_file(file, stack, mine, stays, lost, total, others, min(starts[s], lost))
    return said


def _of_file(
    file: str, stack: Stack, mine: IntArray, stays: IntArray, lost: int, total: int, others: str, starts: int
) -> list[Problem]:
    traces, said = stack.traces, []
    if starts and len(stack.files) == 1:
        message = f"{file}: {plural(starts, 'row')} of times at which a counter of {others} only starts."
        said.append(problem("counter_start", message, count=starts))
        lost -= starts
    if not lost:
        return said
    gone = [
        name
        for i, name in enumerate(traces.ids)
        if mine[traces.offsets[i] : traces.offsets[i + 1]].any()
        and not stays[traces.offsets[i] : traces.offsets[i + 1]].any()
    ]
    message = f"{file}: {lost:,} of {plural(total, 'row')} have no partner in {others}"
    if gone:
        message += (
            f"; {plural(len(gone), 'execution')} is" if len(gone) == 1 else f"; {len(gone):,} executions are"
        )
        more = f" and {len(gone) - 3:,} more" if len(gone) > 3 else ""
        message += f" lost with them, {format_names(gone[:3])}{more}"
    kind = "no_partner" if lost > HARMLESS * total or gone else "few_without_partner"
    return [*said, problem(kind, f"{message}.", count=lost)]


def _no_time(stacks: Sequence[Stack]) -> NotJoinedError:
    """That no times match, with what each file has."""
    spans = "; ".join(f"{stack.name} has {_span(stack.traces.time)}" for stack in stacks)
    return NotJoinedError(
        f"No times of {' and '.join(stack.name for stack in stacks)} match: {spans}.",
        "Check whether one of them is in another time zone or counts from its own start; "
        "import them one by one if they do not belong together.",
    )


def _span(time: FloatArray) -> str:
    low, high = float(time.min()), float(time.max())
    if 1e8 < low <= high < 1e11:
        first, last = (datetime.fromtimestamp(one, UTC).strftime("%Y-%m-%d %H:%M:%S") for one in (low, high))
        return f"{first} to {last}"
    return f"{format_duration(low)} to {format_duration(high)} from its start"
