"""Files with the same columns, put beside and behind each other."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from core.errors import InputError, listed
from core.traces.validation import problem
from core.units import plural

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.traces.model import FloatArray, IntArray, TraceSet
    from core.traces.validation import Problem


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
                raise NotJoinedError(
                    f"{lacks} and {has} both have {listed(sorted(names & others)[:3])}, but {lacks} has no "
                    f"{listed(missing[:3])}.",
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
                columns = listed([feature.name for feature in parts[p].traces.features][:3])
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
