"""The graph of order m: where executions go from the last m phases.

A *state* is what an execution remembers: its last m entries, fewer at its beginning. `Step` chooses
what an entry is. The end of an execution is a state of its own that nothing leaves. The probability of an
edge is its count over the visits of the state it leaves, so the rows of the graph sum to 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from core.errors import InputError
from core.sequences.packing import group_keys

if TYPE_CHECKING:
    from core.sequences.runs import PhaseSequences
    from core.traces.model import FloatArray, IntArray

END = -2
MAX_MEMORY = 3
State = tuple[int, ...]


class Step(StrEnum):
    """The kinds of steps of the graph.

    ``RUN``: from one run to the next; no self-loops. ``SAMPLE``: from one sample to the next, remembering
    the last m runs, so that staying is a self-loop of probability p and the expected dwell time is 1/(1 − p)
    samples. ``WINDOW``: from one sample to the next, remembering the last m samples.
    """

    RUN = "run"
    SAMPLE = "sample"
    WINDOW = "window"


@dataclass(frozen=True, eq=False)
class TransitionGraph:
    """Counted transitions between states."""

    #: The longest state, and what a step is.
    memory: int
    step: Step
    #: The phases there may be.
    phases: tuple[int, ...]
    #: The states that were visited; the end is not among them and has the index ``len(states)``.
    states: tuple[State, ...]
    #: Every step that was taken: from which state, to which, by which execution, how many times in a row.
    #: Shape (n_steps,).
    at: IntArray
    to: IntArray
    owner: IntArray
    weight: IntArray

    @property
    def end(self) -> int:
        """The index of the end."""
        return len(self.states)

    @cached_property
    def _edges(self) -> tuple[IntArray, IntArray, IntArray]:
        width = len(self.states) + 1
        keys, inverse = group_keys(self.at * width + self.to, width * width)
        count = np.bincount(inverse, self.weight, minlength=len(keys)).astype(np.int64)
        return keys // width, keys % width, count

    @property
    def source(self) -> IntArray:
        """The state that each edge leaves, shape (n_edges,)."""
        return self._edges[0]

    @property
    def target(self) -> IntArray:
        """The state that each edge enters, shape (n_edges,)."""
        return self._edges[1]

    @property
    def count(self) -> IntArray:
        """The number of times that each edge was taken, shape (n_edges,)."""
        return self._edges[2]

    @cached_property
    def visits(self) -> IntArray:
        """The number of steps from each state, shape (n_states,)."""
        return np.bincount(self.at, self.weight, minlength=len(self.states)).astype(np.int64)

    @cached_property
    def probability(self) -> FloatArray:
        """The probability of each edge, shape (n_edges,)."""
        return self.count / np.maximum(self.visits[self.source], 1)

    @cached_property
    def numbers(self) -> dict[State, int]:
        """The index of each state."""
        return {state: number for number, state in enumerate(self.states)}

    @cached_property
    def last(self) -> IntArray:
        """The present phase of each state and of the end (`END`), shape (n_states + 1,)."""
        return np.array([*(state[-1] for state in self.states), END], np.int64)

    def name(self, number: int) -> State:
        """The state at an index; ``(END,)`` for the end."""
        return self.states[number] if number < self.end else (END,)

    def matrix(self) -> tuple[FloatArray, IntArray]:
        """P(next phase | state) and its counts, shape (n_states, n_phases + 1); the end is last.

        Staying in a phase (`Step.SAMPLE`, `Step.WINDOW`) is counted in that phase's own column.
        """
        column = {phase: place for place, phase in enumerate((*self.phases, END))}
        counts = np.zeros((len(self.states), len(column)), np.int64)
        columns = np.array([column[phase] for phase in self.last.tolist()], np.int64)
        np.add.at(counts, (self.source, columns[self.target]), self.count)
        return counts / np.maximum(self.visits, 1)[:, None], counts

    def executions(self, state: State, phase: int | None = None) -> tuple[IntArray, IntArray]:
        """The executions that visit a state, or that go from it to a phase (`END` for the end).

        A state shorter than the memory stands for all states that end with it.

        Returns
        -------
        executions, times
            Their indices in the set, those that did so most often first, and how often each did.
        """
        size = len(state)
        numbers = [number for number, each in enumerate(self.states) if each[-size:] == state]
        matches = np.isin(self.at, numbers)
        if phase is not None:
            matches &= self.last[self.to] == phase
        owners, inverse = np.unique(self.owner[matches], return_inverse=True)
        times = np.bincount(inverse, self.weight[matches], minlength=len(owners)).astype(np.int64)
        order = np.argsort(-times, kind="stable")
        return owners[order], times[order]


def transition_graph(sequences: PhaseSequences, memory: int = 1, step: Step = Step.RUN) -> TransitionGraph:
    """Count the transitions of all executions.

    Raises
    ------
    InputError
        If the memory is not 1, 2 or 3.
    """
    if not 1 <= memory <= MAX_MEMORY:
        raise InputError(f"The memory of the graph cannot be {memory}.", "Choose 1, 2 or 3.")
    code, owner, entries = sequences.code, sequences.owner, np.ones_like(sequences.length)
    if step is Step.WINDOW:
        entries = np.minimum(sequences.length, memory)
        code, owner = np.repeat(code, entries), np.repeat(owner, entries)
    states, number = _build_states(sequences.phases, code, owner, memory)
    goes_on = np.diff(owner, append=-1) == 0
    to = np.where(goes_on, np.roll(number, -1), len(states))
    loops = np.zeros_like(entries) if step is Step.RUN else sequences.length - entries
    stays = np.flatnonzero(loops > 0)
    staying = number[np.cumsum(entries)[stays] - 1]
    return TransitionGraph(
        memory,
        step,
        sequences.phases,
        states,
        at=np.concatenate([number, staying]),
        to=np.concatenate([to, staying]),
        owner=np.concatenate([owner, sequences.owner[stays]]),
        weight=np.concatenate([np.ones(len(number), np.int64), loops[stays]]),
    )


def _build_states(
    phases: tuple[int, ...], code: IntArray, owner: IntArray, memory: int
) -> tuple[tuple[State, ...], IntArray]:
    """The distinct states, and the state of each entry: its last `memory` entries in base (n_phases + 1)."""
    base, entry = len(phases) + 1, code + 1
    key = entry.astype(np.int64)
    for back in range(1, memory):
        before = np.zeros_like(key)
        same_owner = owner[back:] == owner[:-back]
        before[back:] = np.where(same_owner, entry[:-back], 0)
        key += before * base**back
    keys, number = group_keys(key, base**memory)
    digits = [[(value // base**back) % base for back in reversed(range(memory))] for value in keys.tolist()]
    states = tuple(tuple(phases[d - 1] for d in each if d) for each in digits)
    return states, number
