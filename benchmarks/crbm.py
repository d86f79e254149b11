"""The phase model's speed, against AI4DL's way of computing the same.

The reference is `tests/oracles/crbm_twin.py`: for every sample a slice of the history, matrix-vector
products and CD-1 updates in NumPy float32. It runs here, in the same process and on one core, so the ratio
does not depend on the machine. It is leaner than AI4DL's own code, which was measured at 48 µs per training
step and 12 µs per prediction: here it takes about 20 µs and 5 to 8 µs. The traces are synthetic with AI4DL's
eight features (CPU and memory, each in four forms). Times are CPU time, the best of several
repeats, because other work on the machine only adds; everything here runs on one thread.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits

from core.phases import OnlineDetector, PhaseSettings, choose_k, encode, fit, predict
from core.phases.crbm import Layout, initial_parameters, train, training_copy
from core.phases.fitting import training_windows
from core.phases.kernels import loops
from core.traces.model import Feature, Role, TraceSet
from core.units import Unit
from tests.oracles import crbm_twin as twin
from tests.synthetic import synthetic_traces

if TYPE_CHECKING:
    from collections.abc import Callable

LAYOUT = Layout(features=8, history=3, hidden=10)
RATE, EPOCHS = 1e-3, 1_000
AI4DL_PREDICTION = 12.0
ROOT = Path(__file__).resolve().parent.parent


def eight_features(n_executions: int, seed: int = 0) -> TraceSet:
    """Synthetic traces with CPU and memory in four forms each, as AI4DL's files have them."""
    traces, _ = synthetic_traces(n_executions, seed)
    rng = np.random.default_rng(seed)
    cpu, memory = (traces.values(role) for role in (Role.CPU, Role.MEMORY))
    assert cpu is not None
    assert memory is not None
    noisy = [
        base * scale * (1 + 0.05 * rng.normal(size=len(base)))
        for base in (cpu, memory)
        for scale in (1, 9, 25)
    ]
    features = [Feature("cpu", Role.CPU, Unit.CORES), Feature("memory", Role.MEMORY, Unit.BYTES)]
    features += [Feature(f"form{place}") for place in range(len(noisy))]
    return replace(traces, features=tuple(features), columns=(cpu, memory, *noisy))


def best(work: Callable[[], Any], repeats: int = 5) -> float:
    """The shortest of several times, in seconds of this process's own CPU."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


def row(name: str, value: float, unit: str, target: str = "", **more: Any) -> dict[str, Any]:
    return {"name": name, "value": value, "unit": unit, "reference": None, "ratio": None, "target": target,
            "met": None, **more}  # fmt: skip


def against(name: str, value: float, unit: str, reference: float, at_least: float) -> dict[str, Any]:
    """A row whose target is a ratio to the reference."""
    ratio = reference / value
    target = f"≥ {at_least:g}× faster"
    return row(name, value, unit, target, reference=reference, ratio=ratio, met=ratio >= at_least)


def run() -> list[dict[str, Any]]:
    """Measure; one row per target."""
    with threadpool_limits(1):
        traces = eight_features(40)
        _, windows = training_windows(traces, traces.features, LAYOUT.history, "label")
        rows = windows.rows.reshape(-1, LAYOUT.features)
        executions = [rows[traces.slice_of(name)] for name in traces.ids]
        slow = best(lambda: twin.online_epoch(start(), executions[:12], RATE), 3)
        per_sample = slow / sum(len(each) - LAYOUT.history for each in executions[:12])
        table = [*_training(windows, executions, per_sample), *_whole(windows, per_sample)]
        table += [*_prediction(traces), _online(traces), *_fits(traces)]
    return [*table, _cold()]


def start() -> Any:
    """Return the same initial weights for both implementations."""
    return initial_parameters(LAYOUT, np.random.default_rng(0))


def _training(windows: Any, executions: list[Any], per_sample: float) -> list[dict[str, Any]]:
    flat, rows = LAYOUT.pack(start()), training_copy(windows.rows)

    def epoch() -> float:
        return loops.online(rows, windows.starts, LAYOUT.shape, flat, np.float32(RATE))

    epoch()
    seconds = best(epoch, 20) / len(windows.starts)
    flat[:] = LAYOUT.pack(start())
    slow, largest = start(), 0.0
    for _ in range(5):
        slow, error = twin.online_epoch(slow, executions, RATE)
        largest = max(largest, abs(epoch() / error - 1))
    return [
        against("CRBM training, per sample and epoch", 1e6 * seconds, "µs", 1e6 * per_sample, 150),
        row(
            "its error curve against the twin's, largest difference",
            largest,
            "",
            "≤ 0.001",
            met=largest <= 1e-3,
        ),
    ]


class _ReachedError(Exception):
    """The error that was to be reached is reached."""


def _whole(windows: Any, per_sample: float) -> list[dict[str, Any]]:
    online = PhaseSettings(solver="online", learning_rate=RATE, epochs=EPOCHS, patience=0)
    _, errors = train(windows, LAYOUT, online)
    goal = errors[-1]

    def until(fraction: float, message: str, /, **metrics: float) -> None:  # noqa: ARG001
        if metrics.get("error", np.inf) <= goal:
            raise _ReachedError

    def ours() -> None:
        try:
            train(windows, LAYOUT, PhaseSettings(learning_rate=RATE), until)
        except _ReachedError:
            return
        raise RuntimeError("The default solver did not reach AI4DL's error.")

    train(windows, LAYOUT, PhaseSettings(epochs=1))
    own_seconds, reference_seconds = best(ours, 3), per_sample * len(windows.starts) * EPOCHS
    _, minibatch = train(windows, LAYOUT, PhaseSettings(learning_rate=RATE))
    ratio = minibatch[-1] / goal
    return [
        against(
            "time to AI4DL's reconstruction error after 1,000 epochs",
            own_seconds,
            "s",
            reference_seconds,
            500,
        ),
        row(
            "minibatch's error after 100 epochs / online's after 1,000",
            ratio,
            "",
            "≤ 1.02",
            met=ratio <= 1.02,
        ),
    ]


def _prediction(traces: TraceSet) -> list[dict[str, Any]]:
    names = [feature.name for feature in traces.features]
    model = fit(traces, PhaseSettings(epochs=5), names)
    crbm = model.encoder.crbm  # type: ignore[attr-defined]
    values = np.column_stack(traces.columns)
    scaled = ((values - model.scaler.mean) / model.scaler.scale).astype(np.float32)
    small_set = [scaled[traces.slice_of(name)] for name in traces.ids[:12]]
    estimator = KMeans(5, n_init=1, random_state=0).fit(encode(model, traces))

    def theirs() -> None:
        for rows in small_set:
            estimator.predict(twin.encode(crbm, rows))

    slow = best(theirs, 5) / sum(len(rows) for rows in small_set)
    large_set = eight_features(1_000, seed=1)
    predict(model, large_set)
    seconds = best(lambda: predict(model, large_set), 15) / large_set.n_samples
    name = "predicting phases, per sample, from raw columns"
    return [
        against(name, 1e6 * seconds, "µs", 1e6 * slow, 150),
        row("the same against the 12 µs measured for AI4DL's own code", 1e6 * seconds, "µs",
            reference=AI4DL_PREDICTION, ratio=AI4DL_PREDICTION / (1e6 * seconds)),
    ]  # fmt: skip


def _online(traces: TraceSet) -> dict[str, Any]:
    names = [feature.name for feature in traces.features]
    detector = OnlineDetector(fit(traces, PhaseSettings(epochs=5), names))
    containers = [f"container-{place}" for place in range(1_000)]
    samples = np.column_stack(traces.columns)[:1_000]
    for _ in range(5):
        detector.push(containers, samples)
    value = 1e3 * best(lambda: detector.push(containers, samples), 20)
    return row(
        "online detection, one sample of each of 1,000 containers", value, "ms", "≤ 20 ms", met=value <= 20
    )


def _fits(traces: TraceSet) -> list[dict[str, Any]]:
    model = fit(traces)
    return [
        row(
            f"a whole fit with the defaults, {traces.n_samples:,} samples", best(lambda: fit(traces), 1), "s"
        ),
        row("choosing k on 5,000 codes, k = 2 … 12", best(lambda: choose_k(encode(model, traces)), 1), "s"),
    ]


def _cold() -> dict[str, Any]:
    """The first fit on a machine, compilers included, in a process of its own with an empty cache."""
    code = (
        f"import sys, time; sys.path.insert(0, {str(ROOT)!r})\n"
        "from benchmarks.crbm import eight_features\nfrom core.phases import PhaseSettings, fit, predict\n"
        "traces = eight_features(4)\nstart = time.process_time()\n"
        "predict(fit(traces, PhaseSettings(epochs=1)), traces)\nprint(time.process_time() - start)\n"
    )
    with tempfile.TemporaryDirectory() as cache:
        process = subprocess.run(
            [sys.executable, "-c", code],
            check=True,
            capture_output=True,
            text=True,
            env={"NUMBA_CACHE_DIR": cache, "PATH": ""},
        )
    value = float(process.stdout)
    return row("first fit and prediction with nothing compiled yet", value, "s", "≤ 10 s", met=value <= 10)
