"""The phase sequences of a trace set: per execution, its runs (phase, samples, seconds) in order.

All runs of all executions lie in the same flat arrays, one execution after the other, as samples do in
a trace set, so that everything built on them is a few array operations.

Warm-up is not a phase of a container but the wait for its first full window, so by default it is skipped, and
the runs around a gap in the sampling, which has a warm-up after it, become one. With `Warmup.OWN` it
counts like a phase.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from core.phases import WARM_UP

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.phases import Runs
    from core.traces.model import FloatArray, IntArray


class Warmup(StrEnum):
    """The treatment of samples without a full window."""

    SKIP = "skip"
    OWN = "own"


@dataclass(frozen=True, eq=False)
class PhaseSequences:
    """The runs of many executions; two neighbours in one execution are never of the same phase."""

    #: The executions' names.
    ids: tuple[str, ...]
    #: All possible phases, in the order in which they are shown; all that occur are in it.
    phases: tuple[int, ...]
    #: Shape (n_executions + 1,): runs ``offsets[i]:offsets[i + 1]`` are those of execution i. An execution
    #: that never leaves its warm-up may have none.
    offsets: IntArray
    #: Each run's phase id, number of samples and duration, shape (n_runs,).
    phase: IntArray
    length: IntArray
    seconds: FloatArray
    #: How long each execution lasted in seconds, warm-up included, shape (n_executions,).
    durations: FloatArray

    @property
    def n_executions(self) -> int:
        """The number of executions."""
        return len(self.ids)

    @property
    def n_runs(self) -> int:
        """The number of runs of all executions."""
        return len(self.phase)

    @cached_property
    def owner(self) -> IntArray:
        """The execution of each run, shape (n_runs,)."""
        return np.repeat(np.arange(self.n_executions), np.diff(self.offsets))

    @cached_property
    def code(self) -> IntArray:
        """Each run's phase as its index in `phases`, shape (n_runs,)."""
        order = np.argsort(self.phases)
        return order[np.searchsorted(np.array(self.phases)[order], self.phase)] if self.n_runs else self.phase

    def runs_of(self, execution: int) -> list[tuple[int, int, float]]:
        """One execution's runs as (phase, samples, seconds)."""
        part = slice(int(self.offsets[execution]), int(self.offsets[execution + 1]))
        return list(
            zip(
                self.phase[part].tolist(),
                self.length[part].tolist(),
                self.seconds[part].tolist(),
                strict=True,
            )
        )


def phase_sequences(
    runs: Runs,
    run_offsets: IntArray,
    ids: Sequence[str],
    phases: Sequence[int],
    *,
    durations: FloatArray | None = None,
    warmup: Warmup = Warmup.SKIP,
) -> PhaseSequences:
    """The sequences of a labelled trace set.

    Parameters
    ----------
    runs
        As `core.phases.phase_runs` gives them; their neighbours across a gap may be of one phase.
    run_offsets
        Where each execution's runs begin, shape (n_executions + 1,).
    ids
        The executions' names.
    phases
        The model's phases in order.
    durations
        How long each execution lasted; the sum of its runs when left out.
    warmup
        What becomes of warm-up.
    """
    n = len(ids)
    owner = np.repeat(np.arange(n), np.diff(run_offsets))
    if durations is None:
        durations = np.bincount(owner, runs.seconds, minlength=n).astype(np.float64)
    selected = np.flatnonzero(runs.phase != WARM_UP) if warmup is Warmup.SKIP else np.arange(len(owner))
    all_phases = (*((WARM_UP,) if warmup is Warmup.OWN and WARM_UP in runs.phase else ()), *phases)
    owner, phase = owner[selected], runs.phase[selected].astype(np.int64)
    first = np.flatnonzero((np.diff(owner, prepend=-1) != 0) | (np.diff(phase, prepend=WARM_UP - 1) != 0))
    length, seconds = runs.length[selected], runs.seconds[selected]
    if len(first):
        length, seconds = np.add.reduceat(length, first), np.add.reduceat(seconds, first)
    offsets = np.searchsorted(owner[first], np.arange(n + 1))
    return PhaseSequences(tuple(ids), all_phases, offsets, phase[first], length, seconds, durations)
