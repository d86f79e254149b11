"""Forecasts the next phases: P(phase after h steps | last m phases).

A state's own transitions are used where it was seen at least 20 times; otherwise those of the state
without its oldest phase, down to the present phase alone (*back-off*). h steps are h products with the
transition matrix of this chain, which is its h-th power applied to the state one starts from. The end of
an execution is an absorbing state.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from core.errors import InputError, NotFoundError
from core.sequences.graph import END, MAX_MEMORY, Step, transition_graph
from core.sequences.packing import Element

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.sequences.graph import State, TransitionGraph
    from core.sequences.runs import PhaseSequences
    from core.traces.model import FloatArray, IntArray


# How long a phase lasts: P(leave within s seconds) from the empirical hazard of run lengths.
#
# At each duration t at which runs ended, the hazard is d/n: runs that ended then, over runs that had lasted
# at least that long. S(t) = Π (1 − d/n) is the product-limit estimate (Kaplan and Meier, 1958), and
# P(leave within s | stayed a) = 1 − S(a + s)/S(a). The end of an execution counts as leaving; with
# ``ends_leave=False`` an execution's last run is only known to have lasted at least that long.


@dataclass(frozen=True, eq=False)
class DwellTimes:
    """The dwell times in a phase."""

    #: The durations of all runs that were looked at, ascending, shape (n_runs,).
    seconds: FloatArray
    #: The distinct durations after which runs were left, ascending, shape (n,).
    times: FloatArray
    #: How many were left then, and how many had lasted at least that long, shape (n,).
    counts: IntArray
    at_risk: IntArray

    @property
    def n_runs(self) -> int:
        """The number of runs."""
        return len(self.seconds)

    @property
    def median(self) -> float:
        """The median duration in seconds; NaN without runs."""
        return float(np.median(self.seconds)) if self.n_runs else float("nan")

    @property
    def mean(self) -> float:
        """The mean duration in seconds; NaN without runs."""
        return float(self.seconds.mean()) if self.n_runs else float("nan")

    @property
    def hazard(self) -> FloatArray:
        """P(ended at this duration | lasted that long), shape (n,)."""
        return self.counts / np.maximum(self.at_risk, 1)

    @property
    def share_ended_by(self) -> FloatArray:
        """P(ended by this duration), shape (n,)."""
        return 1.0 - np.cumprod(1.0 - self.hazard)

    def leave_within(self, seconds: float, elapsed: float = 0.0) -> float:
        """P(leave within `seconds` more | `elapsed` seconds passed); NaN where no run lasted that long."""
        if not self.n_runs or elapsed >= self.seconds[-1]:
            return float("nan")
        inside = (self.times > elapsed) & (self.times <= elapsed + seconds)
        return float(1.0 - np.prod(1.0 - self.hazard[inside]))


def runs_after(sequences: PhaseSequences, after: Sequence[int]) -> IntArray:
    """The runs of the last of some phases that directly followed the others."""
    runs = np.flatnonzero(sequences.phase == after[-1])
    for back, phase in enumerate(reversed(after[:-1]), 1):
        runs = runs[runs >= back]
        same_owner = sequences.owner[runs - back] == sequences.owner[runs]
        runs = runs[same_owner & (sequences.phase[runs - back] == phase)]
    return runs


def dwell_times_after(
    sequences: PhaseSequences, after: Sequence[int], *, ends_leave: bool = True
) -> DwellTimes:
    """The dwell times in the last of some phases where it directly followed the others.

    Parameters
    ----------
    sequences
        The sequences to count.
    after
        One phase or more, the present one last.
    ends_leave
        Whether the end of an execution counts as leaving.
    """
    runs = runs_after(sequences, after)
    seconds = sequences.seconds[runs].astype(np.float64)
    has_ended = np.ones(len(runs), bool)
    if not ends_leave:
        has_ended = runs != sequences.offsets[1:][sequences.owner[runs]] - 1
    times, inverse = np.unique(seconds[has_ended], return_inverse=True)
    ordered = np.sort(seconds)
    at_risk = len(ordered) - np.searchsorted(ordered, times, side="left")
    return DwellTimes(ordered, times, np.bincount(inverse, minlength=len(times)), at_risk)


MIN_COUNT = 20
MAX_STEPS = 1000


@dataclass(frozen=True, slots=True)
class NextPhase:
    """A phase that may come: its id (`END` for the end), its probability, how often it came next."""

    phase: int
    probability: float
    count: int


@dataclass(frozen=True, slots=True)
class PhaseForecast:
    """A forecast of the phases that follow."""

    #: The phases it starts from, the present one last.
    after: State
    #: The part of them that was seen often enough and is used.
    used: State
    #: How often `used` was seen.
    count: int
    #: The number of steps ahead.
    steps: int
    #: The possible phases, the most probable first. Counts are those of the next step.
    phases: tuple[NextPhase, ...]


class Forecaster:
    """Forecasts from counted transitions.

    Parameters
    ----------
    graphs
        The graphs of memory 1, 2 and so on of the same sequences, up to the longest memory; their steps are
        `Step.RUN`, or `Step.SAMPLE`, where a phase may follow itself.
    min_count
        The fewest observations of a state for its own transitions to be used.

    Raises
    ------
    InputError
        If the graphs remember samples instead of runs.
    """

    def __init__(self, graphs: Sequence[TransitionGraph], min_count: int = MIN_COUNT) -> None:
        if graphs[0].step is Step.WINDOW:
            raise InputError("Forecasts remember runs, not samples.", "Choose steps of runs or of samples.")
        self.memory, self.min_count = len(graphs), min_count
        self.phases = graphs[0].phases
        self._rows: dict[State, dict[int, int]] = defaultdict(dict)
        for length, graph in enumerate(graphs, 1):
            self._add(graph, length)

    def _add(self, graph: TransitionGraph, length: int) -> None:
        for source, target, count in zip(
            graph.source.tolist(), graph.target.tolist(), graph.count.tolist(), strict=True
        ):
            state = graph.states[source]
            if len(state) == length:
                row = self._rows[state]
                phase = int(graph.last[target])
                row[phase] = row.get(phase, 0) + count

    def count_state(self, state: State) -> int:
        """The number of occurrences of a state."""
        return sum(self._rows.get(state, {}).values())

    def usable_state(self, state: State) -> State:
        """The longest suffix of a state that was seen often enough; the present phase at least."""
        state = state[-self.memory :]
        while len(state) > 1 and self.count_state(state) < self.min_count:
            state = state[1:]
        return state

    def forecast(self, after: Sequence[int], steps: int = 1) -> PhaseForecast:
        """P(phase after `steps` steps | the last phases).

        Parameters
        ----------
        after
            The last phases, the present one last; those beyond the memory are ignored.
        steps
            How far ahead, from 1.

        Raises
        ------
        InputError
            If there is no phase to start from, or the steps are out of bounds.
        NotFoundError
            If the present phase was never seen.
        """
        if not after or not 1 <= steps <= MAX_STEPS:
            raise InputError(
                "A forecast starts from at least one phase and looks at least one step ahead.",
                f"Name one to {self.memory} phases, and 1 to {MAX_STEPS} steps.",
            )
        used = self.usable_state(tuple(after))
        if not self.count_state(used):
            raise NotFoundError(
                f"No execution of this trace set is ever in {Element(used[-1:])}.", "Choose another phase."
            )
        chances: dict[State, float] = {tuple(after)[-self.memory :]: 1.0}
        for _ in range(steps):
            chances = self._advance(chances)
        total: dict[int, float] = defaultdict(float)
        for state, chance in chances.items():
            total[state[-1]] += chance
        row = self._rows[used]
        order = {phase: place for place, phase in enumerate((*self.phases, END))}
        next_phases = [NextPhase(phase, chance, row.get(phase, 0)) for phase, chance in total.items()]
        next_phases.sort(key=lambda each: (-round(each.probability, 12), order[each.phase]))
        return PhaseForecast(tuple(after), used, self.count_state(used), steps, tuple(next_phases))

    def _advance(self, chances: dict[State, float]) -> dict[State, float]:
        after: dict[State, float] = defaultdict(float)
        for state, chance in chances.items():
            if state == (END,):
                after[state] += chance
                continue
            row = self._rows[self.usable_state(state)]
            total = sum(row.values())
            for phase, count in row.items():
                after[self._moved(state, phase)] += chance * count / total
        return dict(after)

    def _moved(self, state: State, phase: int) -> State:
        if phase == END:
            return (END,)
        return state if phase == state[-1] else (*state, phase)[-self.memory :]


def forecaster(
    sequences: PhaseSequences, memory: int = MAX_MEMORY, step: Step = Step.RUN, min_count: int = MIN_COUNT
) -> Forecaster:
    """A forecaster for sequences, with a memory and a kind of step.

    Raises
    ------
    InputError
        If the memory is not 1, 2 or 3, or the steps remember samples.
    """
    return Forecaster(
        [transition_graph(sequences, length, step) for length in range(1, memory + 1)], min_count
    )
