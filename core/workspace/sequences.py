"""The sequences of stored trace sets under stored models, computed when needed and kept in memory.

They depend on nothing but the labels, so they are kept under the digests of samples and model; what
depends on the warm-up is kept under that too. Graphs of each memory are made when first asked for.
"""

from __future__ import annotations

import threading
from functools import cached_property
from typing import TYPE_CHECKING

from core.sequences import (
    MAX_MEMORY,
    Forecaster,
    Step,
    Warmup,
    dwell_times_after,
    pack_sequences,
    paths_of,
    phase_sequences,
    prefix_tree,
    prototypes_of,
    transition_graph,
)
from core.workspace.cache import ByteCache, share_of_memory

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.sequences import (
        DwellTimes,
        PackedSequences,
        PhaseSequences,
        PrefixTree,
        TransitionGraph,
        TreePath,
    )
    from core.workspace.models import ModelLibrary
    from core.workspace.phase_labels import Labelling, PhaseLabels
    from core.workspace.trace_sets import TraceLibrary

_SHARE = 0.1
_ARRAYS_PER_RUN = 16
_BYTES_PER_EXECUTION = 400


class SequenceAnalysis:
    """Everything about the sequences of one trace set under one model. Shared: do not modify it."""

    def __init__(self, sequences: PhaseSequences) -> None:
        self.sequences = sequences
        self._graphs: dict[tuple[int, Step], TransitionGraph] = {}
        self._dwell_times: dict[tuple[int, ...], DwellTimes] = {}
        self._lock = threading.Lock()

    @cached_property
    def packed(self) -> PackedSequences:
        """The packed sequences."""
        return pack_sequences(self.sequences)

    @cached_property
    def tree(self) -> PrefixTree:
        """The prefix tree over them."""
        return prefix_tree(self.packed)

    @cached_property
    def paths(self) -> tuple[TreePath, ...]:
        """All paths, the most frequent first."""
        return paths_of(self.tree)

    @cached_property
    def prototypes(self) -> tuple[TreePath, ...]:
        """The fewest paths that cover 90% of the executions."""
        return prototypes_of(self.paths)

    @cached_property
    def forecaster(self) -> Forecaster:
        """The forecaster of phases, run by run."""
        return Forecaster([self.graph(memory) for memory in range(1, MAX_MEMORY + 1)])

    def graph(self, memory: int = 1, step: Step = Step.RUN) -> TransitionGraph:
        """The graph of a memory.

        Raises InputError if the memory is not 1, 2 or 3.
        """
        with self._lock:
            graph = self._graphs.get((memory, step))
            if graph is None:
                graph = self._graphs[memory, step] = transition_graph(self.sequences, memory, step)
            return graph

    def dwell_times(self, after: Sequence[int]) -> DwellTimes:
        """The dwell times in the last of some phases, when it came right after the others."""
        key = tuple(after)
        with self._lock:
            times = self._dwell_times.get(key)
            if times is None:
                times = self._dwell_times[key] = dwell_times_after(self.sequences, key)
            return times

    @property
    def n_bytes(self) -> float:
        """The bytes that it takes at most, about, once all of it was computed."""
        sequences = self.sequences
        return 8.0 * _ARRAYS_PER_RUN * sequences.n_runs + _BYTES_PER_EXECUTION * sequences.n_executions


class SequenceLibrary:
    """The sequences of a workspace."""

    def __init__(self, traces: TraceLibrary, models: ModelLibrary, labels: PhaseLabels) -> None:
        self._traces = traces
        self._models = models
        self._labels = labels
        self._kept: ByteCache[SequenceAnalysis] = ByteCache(
            share_of_memory(_SHARE), lambda analysis: analysis.n_bytes
        )

    def get(
        self, trace_set: str, model: str, warmup: Warmup = Warmup.SKIP, minimum_dwell: float = 0.0
    ) -> SequenceAnalysis:
        """The sequences of a trace set under a model.

        Raises NotFoundError if one of them is not there; MismatchError if the model does not fit the set.
        """
        key = (self._traces.fingerprint(trace_set), self._models.fingerprint(model), warmup, minimum_dwell)
        return self._kept.get(key, lambda: self._make(trace_set, model, warmup, minimum_dwell))

    def _make(self, trace_set: str, model: str, warmup: Warmup, dwell: float) -> SequenceAnalysis:
        durations = self._traces.summary(trace_set)["duration_s"].to_numpy(dtype=float)
        labelling: Labelling = self._labels.get(trace_set, model, dwell)
        return SequenceAnalysis(
            phase_sequences(
                labelling.runs,
                labelling.run_offsets,
                labelling.ids,
                labelling.phases,
                durations=durations,
                warmup=warmup,
            )
        )
