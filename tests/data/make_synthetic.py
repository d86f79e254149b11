"""Makes the tests' sample: a synthetic trace set with known phases, and a model trained on it.

Run from the repository: ``.venv/bin/python -m tests.data.make_synthetic [FOLDER]``. The seed decides every
value; the true stage of each sample is `tests.synthetic.synthetic_traces` with the same arguments.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from core.files.phase_models.archive import save_model
from core.phases import PhaseSettings, fit
from core.reading import read_traces
from core.units import MIB
from core.workspace.samples import Sample, write_checksums
from tests.synthetic import synthetic_traces

SYNTHETIC = Sample(
    Path(__file__).resolve().parent,
    "synthetic_jobs.parquet",
    "synthetic_jobs_model",
    "Synthetic training jobs",
    "Synthetic training jobs, 5 phases",
)
EXECUTIONS, SEED, SAMPLES, PERIOD = 60, 20, 240, 10.0
SETTINGS = PhaseSettings(phases=5, hidden=10, history=3, epochs=100, seed=123)
ROUNDING = {"cpu_cores": 1e-3, "memory_bytes": MIB / 8, "loss": 1e-4}


def table() -> pd.DataFrame:
    """The trace set as one table, a row per sample."""
    traces, _ = synthetic_traces(EXECUTIONS, SEED, samples=SAMPLES, period=PERIOD)
    owner = np.repeat(np.arange(traces.n_executions), np.diff(traces.offsets))
    columns: dict[str, object] = {
        "execution": np.array(traces.ids)[owner],
        "time": traces.time,
        "workload": np.array(traces.attributes["workload"])[owner],
    }
    for feature, values in zip(traces.features, traces.columns, strict=True):
        step = ROUNDING.get(feature.name)
        columns[feature.name] = values if step is None else np.round(values / step) * step
    return pd.DataFrame(columns)


def make(folder: Path) -> None:
    """Write the trace file, the model, and the checksums of both."""
    folder.mkdir(parents=True, exist_ok=True)
    made = replace(SYNTHETIC, folder=folder)
    table().to_parquet(folder / made.traces, compression="zstd", compression_level=19, index=False)
    save_model(fit(read_traces(folder / made.traces), SETTINGS), folder / made.model)
    write_checksums(made)


if __name__ == "__main__":
    make(Path(sys.argv[1]) if len(sys.argv) > 1 else SYNTHETIC.folder)
