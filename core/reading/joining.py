"""Files as stacks of one set of columns: names of their executions, their clocks, consecutive files.

Executions of several files are matched by their own names, by their pods, or by the names of the files.
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
from core.reading.dates import CLOCK, MINUTES, is_date
from core.traces.model import Role
from core.traces.validation import MAX_HARMLESS_SHARE, problem
from core.units import TIME_FACTORS, format_duration, plural

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from core.traces.model import FloatArray, IntArray, TraceSet
    from core.traces.validation import Problem


_METRIC_WORDS = {
    Role.CPU: "cpus?",
    Role.MEMORY: "mem(?:ory)?|ram|rss",
    Role.GPU: "gpus?",
    Role.NETWORK_IN: "net(?:work)?",
    Role.BLOCK_IN: "disk|block|io",
}
_METRIC_ROLES = {
    **dict.fromkeys((Role.CPU, Role.CPU_LIMIT), Role.CPU),
    **dict.fromkeys((Role.MEMORY, Role.MEMORY_LIMIT), Role.MEMORY),
    **dict.fromkeys((Role.GPU, Role.GPU_MEMORY, Role.GPU_POWER), Role.GPU),
    **dict.fromkeys((Role.NETWORK_IN, Role.NETWORK_OUT), Role.NETWORK_IN),
    **dict.fromkeys((Role.BLOCK_IN, Role.BLOCK_OUT), Role.BLOCK_IN),
}
_GENERAL_WORDS = "usage|used|util(?:i[sz]ation)?|cores?|bytes|percent|metrics?|stats?|data|export"
_FILE_ENDING = re.compile(r"(\.\w{1,7})+$")


def strip_endings(file: str) -> str:
    """Return a file's name without its endings."""
    return _FILE_ENDING.sub("", file) or file


def strip_metric(file: str, roles: Iterable[Role] = ()) -> str:
    """Return a file's name without the words for its metrics: ``train-1`` of ``cpu_train-1.csv``."""
    known = {_METRIC_ROLES[role] for role in roles if role in _METRIC_ROLES} or set(_METRIC_WORDS)
    metric = "|".join([_GENERAL_WORDS, *(_METRIC_WORDS[role] for role in sorted(known))])
    text = re.sub(rf"(?i)(?<![a-z])(?:{metric})(?![a-z])", "", strip_endings(file))
    return re.sub(r"[\s_.-]{2,}", "-", text).strip(" _.-")


def _own_name(part: FilePart) -> str:
    return strip_metric(part.file, [feature.role for feature in part.traces.features])


def name_executions(parts: Sequence[FilePart]) -> tuple[list[FilePart], list[Problem]]:
    """Name the executions of files without a column of names."""
    unnamed = [part for part in parts if part.is_unnamed]
    shapes = {frozenset(feature.name for feature in part.traces.features) for part in parts}
    if not unnamed or len(shapes) == 1:
        return list(parts), []
    names = _find_file_names(unnamed)
    joint_name = " + ".join(strip_endings(part.file) for part in unnamed)
    result = [
        replace(part, traces=replace(part.traces, ids=(names[part.file] or joint_name,)))
        if part.is_unnamed
        else part
        for part in parts
    ]
    shared = Counter(names.values())
    problems = [
        problem(
            "named_by_files",
            f"{', '.join(part.file for part in unnamed if names[part.file] == name)} name no execution and "
            f"were taken for one, “{name or joint_name}”.",
            count=count,
        )
        for name, count in shared.items()
        if count > 1
    ]
    return result, problems


def _find_file_names(parts: Sequence[FilePart]) -> dict[str, str]:
    """Return file names without their metrics, unless files with the same columns would share one."""
    names = {part.file: _own_name(part) for part in parts}
    name_counts = Counter(
        (names[part.file], frozenset(feature.name for feature in part.traces.features)) for part in parts
    )
    return (
        names if max(name_counts.values()) == 1 else {part.file: strip_endings(part.file) for part in parts}
    )


def match_pods(stacks: Sequence[Stack]) -> tuple[list[Stack], list[Problem]]:
    """Match executions named by pod alone to that pod's only container in the first stack."""
    first, result = stacks[0], [stacks[0]]
    problems: list[Problem] = []
    for stack in stacks[1:]:
        unknown = set(stack.traces.ids) - set(first.traces.ids)
        other = {
            name: _find_container(name, first.traces.ids, stack.traces.ids) if name in unknown else name
            for name in stack.traces.ids
        }
        changed = [name for name, new in other.items() if new != name]
        if changed and len(set(other.values())) == len(other):
            message = (
                f"{stack.name}: {plural(len(changed), 'execution')} known by pod alone, the first of them "
                f"“{changed[0]}”, taken for “{other[changed[0]]}”."
            )
            problems.append(problem("named_by_pods", message, count=len(changed)))
            stack = replace(stack, traces=replace(stack.traces, ids=tuple(other.values())))  # noqa: PLW2901
        result.append(stack)
    return result, problems


def _find_container(name: str, known: Sequence[str], from_start: Sequence[str]) -> str:
    """Return the only known execution of the same pod, or the name itself."""
    pod = name.partition("/")[0]
    found = [one for one in known if one.partition("/")[0] == pod and ("/" in one) != ("/" in name)]
    is_alone = sum(one.partition("/")[0] == pod for one in from_start) == 1
    return found[0] if len(found) == 1 and is_alone else name


START, LOCAL, ZONED, EPOCH = "start", "local", "zoned", "epoch"
"""Kinds of clocks: times from a start, dates without a zone, dates with a zone, times from 1970."""
_ZONE = re.compile(r".*:\d\d.*?(?:Z|UTC|GMT|[+-]\d\d:?(?:\d\d)?)(?:\s*\((?:UTC|GMT)\))?(?:\s+\d{4})?")
MIN_EPOCH = 1e8
"""Smaller times in seconds count from a start, not from 1970."""
ZONE_STEP, MIN_SHIFT = 900.0, 1800.0
"""The step between time zones and their minimum difference, in seconds."""


def find_clock(unit: str, cells: Sequence[str], first: float) -> str:
    """Find the kind of clock of a file's times."""
    if unit in (*TIME_FACTORS, MINUTES):
        return START if first < MIN_EPOCH else EPOCH
    zoned = any(is_date(cell) and _ZONE.fullmatch(cell.strip()) for cell in cells)
    return ZONED if zoned and unit != CLOCK else LOCAL


def find_clock_differences(clocks: Mapping[str, str]) -> Iterator[Problem]:
    """Yield doubts about joined files with different kinds of clocks."""
    from_start, local, zoned = (
        [file for file, clock in clocks.items() if clock == which] for which in (START, LOCAL, ZONED)
    )
    if from_start:
        names = format_names(from_start[:3])
        message = f"The times of {names} count from a start: is it the same moment in all files?"
        yield problem("own_starts", message, count=len(from_start))
    if local and zoned:
        message = f"{zoned[0]} names a time zone, and {local[0]} names none: is it the same?"
        yield problem("mixed_zones", message, count=len(local))


def find_shifts(
    stacks: Sequence[Stack], matched: Sequence[Sequence[IntArray]], common: Sequence[str], period: float
) -> Iterator[Problem]:
    """Yield doubts about files that begin and end without partners for the difference of time zones."""
    first = next(e for e in range(len(common)) if len(matched[0][e]))
    ends = []
    for stack, rows in zip(stacks, matched, strict=True):
        time, matched_times = stack.traces.time, stack.traces.time[rows[first]]
        times = time[stack.traces.slice_of(common[first])]
        ends.append((stack.name, float(matched_times[0] - times[0]), float(times[-1] - matched_times[-1])))
    for name, gap_before, _ in ends:
        shift = ZONE_STEP * round(gap_before / ZONE_STEP)
        if shift < max(MIN_SHIFT, 2 * period) or abs(gap_before - shift) > period:
            continue
        for other, _, gap_after in ends:
            if other != name and abs(gap_after - shift) <= period:
                message = (
                    f"{name} begins, and {other} ends, {format_duration(shift)} without the other: "
                    "are they of two time zones?"
                )
                yield problem("mixed_zones", message)


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
    #: Whether the first sample of each execution only starts a counter.
    starts_counter: bool = False


@dataclass(frozen=True, slots=True)
class Stack:
    """Files with the same columns as one set; `owner` is each sample's position in `files`."""

    files: tuple[str, ...]
    traces: TraceSet
    owner: IntArray
    starts_counter: bool

    @property
    def name(self) -> str:
        """The files, for a sentence."""
        return self.files[0] if len(self.files) == 1 else f"{self.files[0]} and {len(self.files) - 1} like it"


def stack_files(parts: Sequence[FilePart]) -> tuple[list[Stack], list[Problem]]:
    """Stack files with the same columns.

    Raises NotJoinedError if two of them have the same execution at the same time, or if two files share only
    some columns.
    """
    groups: dict[frozenset[str], list[FilePart]] = {}
    for part in parts:
        groups.setdefault(frozenset(feature.name for feature in part.traces.features), []).append(part)
    _check_columns([(names, group[0].file) for names, group in groups.items()])
    result = [_stack_parts(group) for group in groups.values()]
    return [stack for stack, _ in result], [one for _, problems in result for one in problems]


def _check_columns(groups: Sequence[tuple[frozenset[str], str]]) -> None:
    for i, (names, file) in enumerate(groups):
        for others, other in groups[:i]:
            if names & others:
                lacks, has = (file, other) if others - names else (other, file)
                missing = sorted(others ^ names)
                both = format_names(sorted(names & others)[:3])
                raise NotJoinedError(
                    f"{lacks} and {has} both have {both}, but {lacks} has no {format_names(missing[:3])}.",
                    "Leave out the columns that only one of them has, or import the files one by one.",
                )


def _stack_parts(parts: Sequence[FilePart]) -> tuple[Stack, list[Problem]]:
    first = parts[0].traces
    if len(parts) == 1:
        owner = np.zeros(first.n_samples, dtype=np.int64)
        return Stack((parts[0].file,), first, owner, parts[0].starts_counter), []
    pieces = _find_pieces(parts)
    flat = [piece for found in pieces.values() for piece in found]
    names = [feature.name for feature in first.features]
    lengths = [sum(part.stop - part.start for _, part in found) for found in pieces.values()]
    traces = replace(
        first,
        columns=tuple(
            _concatenate([parts[p].traces.column(name)[part] for p, part in flat]) for name in names
        ),
        time=_concatenate([parts[p].traces.time[part] for p, part in flat]),
        ids=tuple(pieces),
        offsets=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        attributes=_combine_attributes(parts, pieces),
    )
    owner = np.repeat([p for p, _ in flat], [part.stop - part.start for _, part in flat]).astype(np.int64)
    stack = Stack(
        tuple(part.file for part in parts), traces, owner, any(part.starts_counter for part in parts)
    )
    return stack, _report_continued(pieces, stack)


def _find_pieces(parts: Sequence[FilePart]) -> dict[str, list[tuple[int, slice]]]:
    """Find the samples of every execution in the files, in the order of time."""
    pieces: dict[str, list[tuple[int, slice]]] = {}
    for p, part in enumerate(parts):
        for name in part.traces.ids:
            pieces.setdefault(name, []).append((p, part.traces.slice_of(name)))
    for name, found in pieces.items():
        found.sort(key=lambda piece: float(parts[piece[0]].traces.time[piece[1].start]))
        for (p, gap_before), (q, after) in pairwise(found):
            if parts[p].traces.time[gap_before.stop - 1] >= parts[q].traces.time[after.start]:
                columns = format_names([feature.name for feature in parts[p].traces.features][:3])
                raise NotJoinedError(
                    f"{parts[p].file} and {parts[q].file} both have {columns} of “{name}” at the same time.",
                    "Leave one of them out; if they are of two containers, give these different names.",
                )
    return pieces


def _combine_attributes(
    parts: Sequence[FilePart], pieces: dict[str, list[tuple[int, slice]]]
) -> dict[str, list[str]]:
    keys = dict.fromkeys(key for part in parts for key in part.traces.attributes)
    first = [(parts[found[0][0]].traces, name) for name, found in pieces.items()]
    return {
        key: [
            traces.attributes[key][traces.position(name)] if key in traces.attributes else ""
            for traces, name in first
        ]
        for key in keys
    }


def _report_continued(pieces: dict[str, list[tuple[int, slice]]], stack: Stack) -> list[Problem]:
    goes_on = [name for name, found in pieces.items() if len(found) > 1]
    if not goes_on:
        return []
    message = f"{plural(len(goes_on), 'execution')} of {stack.name} went on from one file to the next."
    return [problem("goes_on", message, count=len(goes_on))]


def _concatenate(arrays: Sequence[FloatArray]) -> FloatArray:
    return np.concatenate(arrays)


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
