"""Lossless packing: alternations of one to three phases, repeated at least twice, become one element.

``φ3 φ5 φ1 φ5 φ1 φ5 φ1`` is packed to ``φ3 (φ5·φ1)×3``. From the left, at each run the repetition that
covers most runs is taken, the shorter unit where two cover as many, and a single run where nothing
repeats. This is deterministic, depends on nothing but which phases are equal, and takes time linear in the
number of runs. Unpacking writes every unit as often as it was repeated and gives the phases back; the
lengths of the runs stay where they are, in `PhaseSequences`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from core.sequences.runs import PhaseSequences
    from core.traces.model import IntArray


_MAX_SYMBOLS = 1 << 16


def group_keys(keys: IntArray, bound: int) -> tuple[IntArray, IntArray]:
    """The distinct keys, ascending, and the index of each key among them.

    Parameters
    ----------
    keys
        Shape (n,), each from 0 to below `bound`.
    bound
        Where it is not much larger than n, nothing is sorted.
    """
    if bound > len(keys) + _MAX_SYMBOLS:
        distinct, place = np.unique(keys, return_inverse=True)
        return distinct, place
    occurs = np.zeros(bound, bool)
    occurs[keys] = True
    distinct = np.flatnonzero(occurs)
    places = np.zeros(bound, np.int64)
    places[distinct] = np.arange(len(distinct))
    return distinct, places[keys]


MAX_UNIT_LENGTH = 3


@dataclass(frozen=True, slots=True)
class Element:
    """One packed element: a unit of one to three phases, and how often it is repeated."""

    phases: tuple[int, ...]
    repeats: int = 1

    def __str__(self) -> str:
        """The element as text: ``φ3``, or ``(φ5·φ1)×4``."""
        return self.to_text(str(self.repeats))

    def to_text(self, times: str) -> str:
        """The element as text, with `times` for the number of repetitions."""
        inner = "·".join("warm-up" if phase < 0 else f"φ{phase + 1}" for phase in self.phases)
        return inner if self.repeats == 1 else f"({inner})×{times}"


@dataclass(frozen=True, eq=False)
class PackedSequences:
    """The packed elements of many executions, in flat arrays."""

    #: What was packed.
    sequences: PhaseSequences
    #: The first run of each element, shape (n_elements,).
    start: IntArray
    #: Its number of phases and of repetitions, shape (n_elements,).
    unit: IntArray
    repeats: IntArray
    #: Where each execution's elements begin, shape (n_executions + 1,).
    offsets: IntArray

    @cached_property
    def owner(self) -> IntArray:
        """The execution of each element, shape (n_elements,)."""
        return np.repeat(np.arange(self.sequences.n_executions), np.diff(self.offsets))

    @cached_property
    def _symbols(self) -> tuple[IntArray, tuple[Element, ...]]:
        code, n = self.sequences.code, len(self.sequences.phases) + 1
        key = (self.repeats > 1).astype(np.int64)
        for place in range(MAX_UNIT_LENGTH):
            inside = self.unit > place
            at = np.where(inside, self.start + place, 0)
            key = key * n + np.where(inside, code[at] + 1 if len(code) else 0, 0)
        keys, symbol = group_keys(key, 2 * n**MAX_UNIT_LENGTH)
        first = np.empty(len(keys), np.int64)
        first[symbol[::-1]] = np.arange(len(symbol))[::-1]
        phase = self.sequences.phase
        table = tuple(
            Element(tuple(phase[self.start[i] : self.start[i] + self.unit[i]].tolist()), 1 + is_repeated)
            for i, is_repeated in zip(first.tolist(), (self.repeats[first] > 1).tolist(), strict=True)
        )
        return symbol, table

    @property
    def symbol(self) -> IntArray:
        """The index of each element in `symbols`, shape (n_elements,)."""
        return self._symbols[0]

    @property
    def symbols(self) -> tuple[Element, ...]:
        """The distinct elements without their repetition counts: 2 stands for any number of them."""
        return self._symbols[1]

    def elements_of(self, execution: int) -> tuple[Element, ...]:
        """One execution's packed sequence."""
        part = range(int(self.offsets[execution]), int(self.offsets[execution + 1]))
        phase = self.sequences.phase
        return tuple(
            Element(tuple(phase[self.start[i] : self.start[i] + self.unit[i]].tolist()), int(self.repeats[i]))
            for i in part
        )


def _find_repetitions(phase: IntArray, owner: IntArray, unit: int) -> IntArray:
    """The number of repetitions in a row of the `unit` runs from each run on, shape (n_runs,)."""
    n = len(phase)
    if n <= unit:
        return np.ones(n, np.int64)
    equals_next = np.zeros(n, bool)
    equals_next[:-unit] = (phase[unit:] == phase[:-unit]) & (owner[unit:] == owner[:-unit])
    place = np.arange(n)
    end = np.minimum.accumulate(np.where(equals_next, n, place)[::-1])[::-1]
    return 1 + (end - place) // unit


def _build_elements(
    phase: IntArray, owner: IntArray, min_size: int = 1
) -> tuple[IntArray, IntArray, IntArray]:
    """Start, unit and repeats of the elements of flat runs; no repeated unit is shorter than `min_size`."""
    unit, repeats = np.ones(len(phase), np.int64), np.ones(len(phase), np.int64)
    for size in range(min_size, MAX_UNIT_LENGTH + 1):
        repetitions = _find_repetitions(phase, owner, size)
        better = (repetitions > 1) & (repetitions * size > unit * repeats)
        unit[better], repeats[better] = size, repetitions[better]
    start = _walk_covered(unit * repeats)
    return start, unit[start], repeats[start]


def _walk_covered(covered: IntArray) -> IntArray:
    """The start of each element, if elements take the runs that they cover from the left."""
    longer = np.flatnonzero(covered > 1)
    inside = np.zeros(len(covered) + 1, np.int64)
    free, begins = 0, []
    for at, size in zip(longer.tolist(), covered[longer].tolist(), strict=True):
        if at >= free:
            begins.append(at)
            free = at + size
    begin = np.array(begins, np.int64)
    inside[begin + 1] += 1
    np.subtract.at(inside, begin + covered[begin], 1)
    return np.flatnonzero(np.cumsum(inside[:-1]) == 0)


def pack_sequences(sequences: PhaseSequences) -> PackedSequences:
    """Pack the sequences of all executions at once."""
    start, unit, repeats = _build_elements(sequences.phase, sequences.owner, min_size=2)
    offsets = np.searchsorted(start, sequences.offsets)
    return PackedSequences(sequences, start, unit, repeats, offsets)


def pack(phases: Sequence[int]) -> tuple[Element, ...]:
    """Pack the phases of one execution's runs; equal neighbours are packed too."""
    values = np.array(phases, np.int64)
    elements = zip(
        *(part.tolist() for part in _build_elements(values, np.zeros(len(values), np.int64))), strict=True
    )
    return tuple(Element(tuple(values[at : at + unit].tolist()), repeats) for at, unit, repeats in elements)


def unpack(elements: Iterable[Element]) -> tuple[int, ...]:
    """The phases that were packed."""
    return tuple(phase for each in elements for phase in each.phases * each.repeats)
