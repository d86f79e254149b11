"""One line per execution: how long it ran and what it used.

Statistics are taken over samples; all executions at once by `reduceat` over the flat arrays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from core.traces.model import Role

if TYPE_CHECKING:
    from core.traces.model import FloatArray, IntArray, TraceSet


def mean_of(values: FloatArray, offsets: IntArray) -> FloatArray:
    """The mean of each execution, missing values left out; NaN where all are missing."""
    if not np.isnan(values.sum()):
        return np.add.reduceat(values, offsets[:-1], dtype=np.float64) / np.diff(offsets)
    there = ~np.isnan(values)
    counts = np.add.reduceat(there, offsets[:-1], dtype=np.int64)
    sums = np.add.reduceat(np.where(there, values, 0.0), offsets[:-1], dtype=np.float64)
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)


def peak_of(values: FloatArray, offsets: IntArray) -> FloatArray:
    """The largest value of each execution, missing values left out; NaN where all are missing."""
    return np.fmax.reduceat(values, offsets[:-1]).astype(np.float64)


def summarise(traces: TraceSet) -> pd.DataFrame:
    """The table of executions."""
    offsets = traces.offsets
    n = traces.n_executions
    table: dict[str, object] = {
        "execution": pd.array(list(traces.ids), dtype="str"),
        "samples": np.diff(offsets),
        "start_s": traces.time[offsets[:-1]] if n else np.empty(0),
        "duration_s": traces.time[offsets[1:] - 1] - traces.time[offsets[:-1]] + traces.period,
        "gaps": np.diff(np.searchsorted(traces.breaks, offsets)),
    }
    for name, role in (("cpu", Role.CPU), ("memory", Role.MEMORY)):
        values = traces.values(role)
        table[f"{name}_mean"] = np.full(n, np.nan) if values is None or not n else mean_of(values, offsets)
        table[f"{name}_peak"] = np.full(n, np.nan) if values is None or not n else peak_of(values, offsets)
    for key, entries in traces.attributes.items():
        table[key if key not in table else f"{key} (attribute)"] = pd.array(list(entries), dtype="str")
    return pd.DataFrame(table)
