"""What executions are called in several files: by their own names, by their pods, or by their files."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from core.errors import InputError, format_names
from core.traces.cells.dates import CLOCK, MINUTES, is_date
from core.traces.model import Role
from core.traces.validation import problem
from core.units import TIME_FACTORS, format_duration, plural

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from core.traces.model import FloatArray, IntArray, TraceSet
    from core.traces.validation import Problem


_WORDS = {
    Role.CPU: "cpus?",
    Role.MEMORY: "mem(?:ory)?|ram|rss",
    Role.GPU: "gpus?",
    Role.NETWORK_IN: "net(?:work)?",
    Role.BLOCK_IN: "disk|block|io",
}
_ALIKE = {
    **dict.fromkeys((Role.CPU, Role.CPU_LIMIT), Role.CPU),
    **dict.fromkeys((Role.MEMORY, Role.MEMORY_LIMIT), Role.MEMORY),
    **dict.fromkeys((Role.GPU, Role.GPU_MEMORY, Role.GPU_POWER), Role.GPU),
    **dict.fromkeys((Role.NETWORK_IN, Role.NETWORK_OUT), Role.NETWORK_IN),
    **dict.fromkeys((Role.BLOCK_IN, Role.BLOCK_OUT), Role.BLOCK_IN),
}
_ANY = "usage|used|util(?:i[sz]ation)?|cores?|bytes|percent|metrics?|stats?|data|export"
_ENDING = re.compile(r"(\.\w{1,7})+$")


def stem(file: str) -> str:
    """A file's name without its endings."""
    return _ENDING.sub("", file) or file


def bare(file: str, roles: Iterable[Role] = ()) -> str:
    """What a file's name says beside what it measures: ``train-1`` of ``cpu_train-1.csv``."""
    known = {_ALIKE[role] for role in roles if role in _ALIKE} or set(_WORDS)
    metric = "|".join([_ANY, *(_WORDS[role] for role in sorted(known))])
    text = re.sub(rf"(?i)(?<![a-z])(?:{metric})(?![a-z])", "", stem(file))
    return re.sub(r"[\s_.-]{2,}", "-", text).strip(" _.-")


def _bare(part: Part) -> str:
    return bare(part.file, [feature.role for feature in part.traces.features])


def renamed(parts: Sequence[Part]) -> tuple[list[Part], list[Problem]]:
    """Name the executions of files that name none."""
    unnamed = [part for part in parts if part.unnamed]
    shapes = {frozenset(feature.name for feature in part.traces.features) for part in parts}
    if not unnamed or len(shapes) == 1:
        return list(parts), []
    names = _bare_names(unnamed)
    whole = " + ".join(stem(part.file) for part in unnamed)
    made = [
        replace(part, traces=replace(part.traces, ids=(names[part.file] or whole,))) if part.unnamed else part
        for part in parts
    ]
    shared = Counter(names.values())
    said = [
        problem(
            "named_by_files",
            f"{', '.join(part.file for part in unnamed if names[part.file] == name)} name no execution and "
            f"were taken for one, “{name or whole}”.",
            count=count,
        )
        for name, count in shared.items()
        if count > 1
    ]
    return made, said


def _bare_names(parts: Sequence[Part]) -> dict[str, str]:
    """The names of files without what they measure, unless files with the same columns would share one."""
    names = {part.file: _bare(part) for part in parts}
    taken = Counter(
        (names[part.file], frozenset(feature.name for feature in part.traces.features)) for part in parts
    )
    return names if max(taken.values()) == 1 else {part.file: stem(part.file) for part in parts}


def same_pods(stacks: Sequence[Stack]) -> tuple[list[Stack], list[Problem]]:
    """Let an execution that is known by its pod alone be that pod's only container in the first stack."""
    first, made = stacks[0], [stacks[0]]
    said: list[Problem] = []
    for stack in stacks[1:]:
        strangers = set(stack.traces.ids) - set(first.traces.ids)
        other = {
            name: _container(name, first.traces.ids, stack.traces.ids) if name in strangers else name
            for name in stack.traces.ids
        }
        changed = [name for name, new in other.items() if new != name]
        if changed and len(set(other.values())) == len(other):
            message = (
                f"{stack.name}: {plural(len(changed), 'execution')} known by pod alone, the first of them "
                f"“{changed[0]}”, taken for “{other[changed[0]]}”."
            )
            said.append(problem("named_by_pods", message, count=len(changed)))
            stack = replace(stack, traces=replace(stack.traces, ids=tuple(other.values())))  # noqa: PLW2901
        made.append(stack)
    return made, said


def _container(name: str, known: Sequence[str], own: Sequence[str]) -> str:
    """The one known execution that is the same pod, or the name itself."""
    pod = name.partition("/")[0]
    found = [one for one in known if one.partition("/")[0] == pod and ("/" in one) != ("/" in name)]
    alone = sum(one.partition("/")[0] == pod for one in own) == 1
    return found[0] if len(found) == 1 and alone else name


START, LOCAL, ZONED, EPOCH = "start", "local", "zoned", "epoch"
"""What times count from: a start, or 1970; dates that name no zone, or one."""
_ZONE = re.compile(r".*:\d\d.*?(?:Z|UTC|GMT|[+-]\d\d:?(?:\d\d)?)(?:\s*\((?:UTC|GMT)\))?(?:\s+\d{4})?")
EARLIEST = 1e8
"""Seconds before this count from a start, and not from 1970."""
ZONES, LEAST_SHIFT = 900.0, 1800.0
"""Time zones are a multiple of this apart, and this at least."""


def clock_of(unit: str, cells: Sequence[str], first: float) -> str:
    """What the times of a file count from."""
    if unit in (*TIME_FACTORS, MINUTES):
        return START if first < EARLIEST else EPOCH
    zoned = any(is_date(cell) and _ZONE.fullmatch(cell.strip()) for cell in cells)
    return ZONED if zoned and unit != CLOCK else LOCAL


def differing(clocks: Mapping[str, str]) -> Iterator[Problem]:
    """What is doubtful about the clocks of files that were joined."""
    own, local, zoned = (
        [file for file, clock in clocks.items() if clock == which] for which in (START, LOCAL, ZONED)
    )
    if own:
        message = (
            f"The times of {format_names(own[:3])} count from a start: is it the same moment in all files?"
        )
        yield problem("own_starts", message, count=len(own))
    if local and zoned:
        message = f"{zoned[0]} names a time zone, and {local[0]} names none: is it the same?"
        yield problem("mixed_zones", message, count=len(local))


def shifts(
    stacks: Sequence[Stack], kept: Sequence[Sequence[IntArray]], common: Sequence[str], period: float
) -> Iterator[Problem]:
    """Where one file begins and another ends without partners, for as long as time zones are apart."""
    first = next(e for e in range(len(common)) if len(kept[0][e]))
    ends = []
    for stack, rows in zip(stacks, kept, strict=True):
        time, there = stack.traces.time, stack.traces.time[rows[first]]
        mine = time[stack.traces.slice_of(common[first])]
        ends.append((stack.name, float(there[0] - mine[0]), float(mine[-1] - there[-1])))
    for begins, before, _ in ends:
        apart = ZONES * round(before / ZONES)
        if apart < max(LEAST_SHIFT, 2 * period) or abs(before - apart) > period:
            continue
        for other, _, behind in ends:
            if other != begins and abs(behind - apart) <= period:
                message = (
                    f"{begins} begins, and {other} ends, {format_duration(apart)} without the other: "
                    "are they of two time zones?"
                )
                yield problem("mixed_zones", message)


class NotJoinedError(InputError):
    """Files that do not belong together."""


@dataclass(frozen=True, slots=True)
class Part:
    """What was read of one file."""

    #: Its name.
    file: str
    #: Its checked samples, not resampled.
    traces: TraceSet
    #: Whether it names no execution: its own is named after the file.
    unnamed: bool = False
    #: Whether the first sample of each execution only started a counter.
    counted: bool = False


@dataclass(frozen=True, slots=True)
class Stack:
    """Files with the same columns as one set; `owner` is the position in `files` that each sample is from."""

    files: tuple[str, ...]
    traces: TraceSet
    owner: IntArray
    counted: bool

    @property
    def name(self) -> str:
        """Its files, for a sentence."""
        return self.files[0] if len(self.files) == 1 else f"{self.files[0]} and {len(self.files) - 1} like it"


def stacked(parts: Sequence[Part]) -> tuple[list[Stack], list[Problem]]:
    """Put files with the same columns together.

    Raises
    ------
    NotJoinedError
        If two of them are of one execution at the same time, or if some of a file's columns are in another.
    """
    groups: dict[frozenset[str], list[Part]] = {}
    for part in parts:
        groups.setdefault(frozenset(feature.name for feature in part.traces.features), []).append(part)
    _check_apart([(names, group[0].file) for names, group in groups.items()])
    made = [_stack(group) for group in groups.values()]
    return [stack for stack, _ in made], [one for _, said in made for one in said]


def _check_apart(groups: Sequence[tuple[frozenset[str], str]]) -> None:
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


def _stack(parts: Sequence[Part]) -> tuple[Stack, list[Problem]]:
    first = parts[0].traces
    if len(parts) == 1:
        owner = np.zeros(first.n_samples, dtype=np.int64)
        return Stack((parts[0].file,), first, owner, parts[0].counted), []
    pieces = _pieces(parts)
    flat = [piece for found in pieces.values() for piece in found]
    names = [feature.name for feature in first.features]
    lengths = [sum(part.stop - part.start for _, part in found) for found in pieces.values()]
    traces = replace(
        first,
        columns=tuple(_gathered([parts[p].traces.column(name)[part] for p, part in flat]) for name in names),
        time=_gathered([parts[p].traces.time[part] for p, part in flat]),
        ids=tuple(pieces),
        offsets=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        attributes=_attributes(parts, pieces),
    )
    owner = np.repeat([p for p, _ in flat], [part.stop - part.start for _, part in flat]).astype(np.int64)
    stack = Stack(tuple(part.file for part in parts), traces, owner, any(part.counted for part in parts))
    return stack, _said(pieces, stack)


def _pieces(parts: Sequence[Part]) -> dict[str, list[tuple[int, slice]]]:
    """Where the samples of every execution are, in the order of time."""
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
    return pieces


def _attributes(parts: Sequence[Part], pieces: dict[str, list[tuple[int, slice]]]) -> dict[str, list[str]]:
    keys = dict.fromkeys(key for part in parts for key in part.traces.attributes)
    first = [(parts[found[0][0]].traces, name) for name, found in pieces.items()]
    return {
        key: [
            traces.attributes[key][traces.position(name)] if key in traces.attributes else ""
            for traces, name in first
        ]
        for key in keys
    }


def _said(pieces: dict[str, list[tuple[int, slice]]], stack: Stack) -> list[Problem]:
    goes_on = [name for name, found in pieces.items() if len(found) > 1]
    if not goes_on:
        return []
    message = f"{plural(len(goes_on), 'execution')} of {stack.name} went on from one file to the next."
    return [problem("goes_on", message, count=len(goes_on))]


def _gathered(arrays: Sequence[FloatArray]) -> FloatArray:
    return np.concatenate(arrays)
