"""Compiling every kernel once; Numba keeps the results on the disk, where other processes find them."""

from __future__ import annotations

import numpy as np

from core.phases import PhaseSettings, fit, predict
from core.phases.dwell import merge_short_runs
from core.provisioning.evaluation.evaluate import EvaluationSettings, evaluate
from tests.synthetic import synthetic_traces


def compile_kernels() -> None:
    """Train, label and compare something small, in every way that has a kernel of its own."""
    traces = synthetic_traces(8, 1, samples=60)[0]
    small = {"phases": 2, "hidden": 4, "epochs": 1}
    for solver in ("online", "momentum", "minibatch"):
        model = fit(traces, PhaseSettings(solver=solver, **small))
    predict(model, traces)
    merge_short_runs(np.array([0, 1]), np.zeros(1, np.int16), np.zeros(1), np.ones(1), 1.0)
    settings = EvaluationSettings(cycle=10 * traces.period, draws=10)
    evaluate(traces, model, settings, ("event", "quantile", "phasedock"))


if __name__ == "__main__":
    compile_kernels()
