"""Sequences of 5,500 executions × 240 samples: runs, packing, tree, prototypes, graph, forecast, dwell time.

The reference is the same tree and graph made by plain loops over Python lists (tests/oracles).
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.large_set import EXECUTIONS, large_set
from core.phases import PhaseSettings, fit, phase_runs, predict
from core.sequences import (
    Forecaster,
    PhaseSequences,
    Step,
    dwell_times_after,
    pack_sequences,
    paths_of,
    phase_sequences,
    prefix_tree,
    prototypes_of,
    transition_graph,
)
from tests.oracles import slow_sequences as slow

if TYPE_CHECKING:
    from core.phases.encoders import Labels
    from core.traces.model import TraceSet

_LIMIT, _REPEATS = 1.0, 3


def _everything(traces: TraceSet, labels: Labels, phases: tuple[int, ...]) -> PhaseSequences:
    runs = phase_runs(traces, labels)
    bounds = np.searchsorted(runs.start, traces.offsets)
    sequences = phase_sequences(runs, bounds, traces.ids, phases)
    prototypes_of(paths_of(prefix_tree(pack_sequences(sequences))))
    by_run, by_sample = (
        [transition_graph(sequences, memory, step) for memory in (1, 2, 3)]
        for step in (Step.RUN, Step.SAMPLE)
    )
    for graph in (*by_run, *by_sample):
        graph.matrix()
    Forecaster(by_run).forecast(phases[:1], 3)
    dwell_times_after(sequences, phases[:1])
    return sequences


def _slow(sequences: PhaseSequences) -> None:
    executions = [sequences.runs_of(i) for i in range(sequences.n_executions)]
    slow.beginnings([tuple(slow.pack([phase for phase, _, _ in runs])) for runs in executions])
    for step in ("run", "sample"):
        for memory in (1, 2, 3):
            slow.transitions(executions, memory, step)


def _best(repeats: int, work: object, *arguments: object) -> float:
    times = []
    for _ in range(repeats):
        start = time.process_time()
        work(*arguments)  # type: ignore[operator]
        times.append(time.process_time() - start)
    return min(times)


def run() -> list[dict[str, object]]:
    """Measure all of it together, and the same by loops; processor time."""
    rows: list[dict[str, object]] = []
    calm = large_set()
    model = fit(calm, PhaseSettings(epochs=2, phases=5, seed=1))
    labels = predict(model, calm)
    restless = np.random.default_rng(3).integers(0, 5, len(labels)).astype(labels.dtype)
    for name, labels_used in (("phases of a model", labels), ("another phase at most samples", restless)):
        seconds = _best(_REPEATS, _everything, calm, labels_used, model.phases)
        sequences = _everything(calm, labels_used, model.phases)
        reference = _best(1, _slow, sequences)
        rows.append(
            {
                "name": f"{EXECUTIONS:,} executions, {sequences.n_runs:,} runs: {name}",
                "value": seconds,
                "unit": "s",
                "ratio": reference / seconds,
                "target": f"<= {_LIMIT:g} s",
                "met": seconds <= _LIMIT,
            }
        )
    return rows
