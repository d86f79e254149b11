"""The large workspace on which pages are measured: 5,500 executions of 240 samples of 8 features."""

from __future__ import annotations

import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from core.bootstrap import open_workspace
from core.config import Settings
from core.phases import PhaseSettings, fit
from core.traces.model import Feature, Role, TraceSet
from core.units import Unit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from core.application import Workspace

EXECUTIONS, SAMPLES, LONGEST = 5_500, 240, 200_000


def large_set(seed: int = 7, longest: int | None = None) -> TraceSet:
    """Random walks between four levels of use; the first execution may be very long."""
    rng = np.random.default_rng(seed)
    lengths = np.full(EXECUTIONS, SAMPLES)
    if longest:
        lengths[0] = longest
    n = int(lengths.sum())
    level = np.repeat(rng.integers(0, 4, n // 30 + 1), 30)[:n]
    cpu = level * 0.8 + rng.gamma(2, 0.08, n)
    memory = (1 + level + rng.random(n) * 0.2) * 2**30
    others = [rng.random(n) * (level + 1) for _ in range(6)]
    features: tuple[Feature, ...] = (
        Feature("cpu", Role.CPU, Unit.CORES),
        Feature("memory", Role.MEMORY, Unit.BYTES),
    )
    features += tuple(Feature(f"feature_{i}") for i in range(6))
    time = np.concatenate([np.arange(length) * 15.0 for length in lengths])
    return TraceSet(
        features=features,
        columns=(cpu, memory, *others),
        time=time,
        ids=tuple(f"container-{i:05d}" for i in range(EXECUTIONS)),
        offsets=np.concatenate([[0], np.cumsum(lengths)]),
        period=15.0,
        attributes={"workload": [f"workload {i % 9}" for i in range(EXECUTIONS)]},
    )


@contextmanager
def large_workspace(longest: int | None = None) -> Iterator[tuple[Workspace, str, str]]:
    """A workspace on a folder of its own with the large set and a model; yields both ids too."""
    with tempfile.TemporaryDirectory(prefix="phasedock-bench-") as folder:
        space = open_workspace(Settings(home=Path(folder) / "home"))
        traces = large_set(longest=longest)
        model = fit(traces, PhaseSettings(epochs=2, phases=5, seed=1))
        stored = space.traces.add(traces, None, name="Large set")
        yield space, stored.id, space.models.add(model, name="Large model", trace_set=stored).id
        space.close()
