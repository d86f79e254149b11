"""Small trace sets whose phases are known, for the tests of this folder."""

import numpy as np

from core.traces.model import Feature, Role, TraceSet
from core.units import Unit

GIB = 1024.0**3
CPU = Feature("cpu", Role.CPU, Unit.CORES)
MEMORY = Feature("memory", Role.MEMORY, Unit.BYTES)


def trace_set(executions, features=(CPU, MEMORY), breaks=(), period=10.0):
    """A trace set of arrays of shape (length, n_features)."""
    lengths = [len(rows) for rows in executions]
    values = np.concatenate([np.asarray(rows, float).reshape(-1, len(features)) for rows in executions])
    return TraceSet(
        features=tuple(features),
        columns=tuple(np.ascontiguousarray(values[:, i]) for i in range(len(features))),
        time=np.concatenate([np.arange(length) * period for length in lengths]),
        ids=tuple(f"e{i}" for i in range(len(lengths))),
        offsets=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        period=period,
        breaks=np.array(breaks, np.int64),
    )


def three_phases(n_executions=6, seed=0, stay=20):
    """Loading (little CPU, memory growing), idling, and computing (much CPU, much memory)."""
    rng = np.random.default_rng(seed)
    executions = []
    for _ in range(n_executions):
        n = stay + int(rng.integers(0, 5))
        loading = np.column_stack([np.full(n, 0.6), np.linspace(0.2, 2.0, n) * GIB])
        idling = np.column_stack([np.full(n, 0.05), np.full(n, 2.0 * GIB)])
        computing = np.column_stack([np.full(n, 3.5), np.full(n, 4.0 * GIB)])
        rows = np.concatenate([loading, computing, idling, computing])
        executions.append(np.abs(rows * (1 + 0.02 * rng.normal(size=rows.shape))))
    return trace_set(executions)
