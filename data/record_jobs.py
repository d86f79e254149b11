"""Records the bundled samples: real training jobs in containers on this machine, and a model.

Run from the repository, on a machine with two processors that does nothing else, with the images of
``make jobs-image``: ``PYTHONPATH=. .venv/bin/python data/record_jobs.py [FOLDER]``. It takes seventy minutes.
What runs alone, with a limit, or beside others is decided by `SLOTS`, one after the other.
"""

from __future__ import annotations

import sys
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from core.bootstrap import open_workspace, worker_for
from core.config import load_settings
from core.engines.docker_host import ContainerCreation, Limits
from core.engines.docker_host.host import Host
from core.files.phase_models.archive import save_model
from core.jobs.catalogue import CATALOGUE
from core.jobs.programs.batches import STEPS_PER_EPOCH
from core.phases import PhaseSettings, fit
from core.reading import read_traces
from core.units import MIB
from core.workspace.samples import DATA, RECORDED, write_checksums

if TYPE_CHECKING:
    from core.application import Workspace
    from core.traces.model import TraceSet
    from core.workspace.samples import Sample

NAME = "Recorded training jobs"
SETTINGS = PhaseSettings(phases=4, hidden=10, history=3, epochs=100, seed=123)
FEATURES = ("cpu_cores", "memory_bytes")
"""What is throttled follows from a limit, not from what a job does: a model that reads it would call every
container strange that gets another limit. Checkpoints make I/O a spike in every epoch, which would make a
phase of each."""
ROUNDING = {
    "cpu_cores": 1e-3,
    "memory_bytes": MIB / 16,
    "io_bytes_per_second": 1024.0,
    "throttled": 1e-3,
    "loss": 1e-5,
}
DROPPED = ("network_bytes_per_second",)
"""The containers have no network, so this says nothing."""

STAGGER = 20.0
"""Seconds between the starts of those that run beside each other: their epochs shall not fall together."""


@dataclass(frozen=True, slots=True)
class Run:
    """One container: its program, what it goes through, and its limits.

    Parameters
    ----------
    program
        Its name (docs/docker/jobs.md); the plain ones of `PLAIN` only train.
    epochs
        Of 20 steps each; after half of them batches are four times as large.
    size
        The amount of data.
    renew
        Epochs between two variations of the images, which two processes make.
    judge
        Thousands of held-out images that are looked at after each epoch.
    threads
        With which it trains: one, as beside a graphics card, or as many as it has cores (``follow``).
    cores, memory
        Its limits, cores and MiB.
    """

    program: str
    epochs: int
    size: float
    renew: int = 1
    judge: int = 40
    threads: str = "1"
    cores: float | None = None
    memory: int | None = None

    @property
    def image(self) -> str:
        """The image that has its program."""
        return f"phasedock-jobs:{CATALOGUE[self.program].image}"

    def command(self, seed: int) -> tuple[str, ...]:
        """What its container runs."""
        course = (
            "--load", "150", "--augment", "2", "--renew", str(self.renew), "--judge", str(self.judge),
            "--second", "0.5",
        )  # fmt: skip
        return (
            "python3", "-m", "phasedock_jobs", self.program, "--seed", str(seed),
            "--steps", str(STEPS_PER_EPOCH * self.epochs), "--size", str(self.size),
            "--threads", self.threads, *(() if self.program in PLAIN else course),
            "--checkpoint", f"checkpoint.{'npz' if self.image.endswith('light') else 'pt'}",
        )  # fmt: skip


PLAIN = ("elman", "lstm")

SLOTS: tuple[tuple[str, tuple[Run, ...]], ...] = (
    ("alone", (Run("mlp", 10, 4, 2, judge=60),)),
    ("alone", (Run("vae", 40, 1, 5, judge=100),)),
    ("alone", (Run("tf-classifier", 10, 3),)),
    ("alone", (Run("classifier", 15, 4, threads="follow"),)),
    ("alone", (Run("autoencoder", 32, 1, 8, judge=200),)),
    ("alone", (Run("birnn", 12, 3),)),
    ("alone", (Run("tf-vae", 35, 1, 5, judge=100),)),
    ("limited", (Run("mlp", 8, 4, 2, judge=60, cores=1.0, memory=2048),)),
    ("limited", (Run("classifier", 6, 2, cores=0.5, memory=1024),)),
    ("limited", (Run("tf-classifier", 7, 3, cores=1.0),)),
    ("limited", (Run("vae", 18, 1, 6, judge=50, cores=0.5, memory=1536),)),
    ("beside", (Run("birnn", 10, 3), Run("mlp", 10, 3, 2, memory=1536))),
    ("beside", (Run("tf-vae", 30, 1, 5, judge=100, memory=2048), Run("classifier", 14, 3, threads="follow"))),
    ("beside", (Run("autoencoder", 24, 1, 8, judge=200), Run("tf-classifier", 9, 2.5, memory=1280))),
    ("beside", (Run("vae", 36, 1, 5, judge=100), Run("elman", 36, 1))),
    ("beside", (Run("mlp", 9, 3, 2), Run("classifier", 9, 3), Run("lstm", 50, 1))),
    ("beside", (Run("birnn", 8, 3, memory=1280), Run("tf-vae", 22, 1, 5), Run("autoencoder", 24, 1, 5))),
)  # fmt: skip


def record(workspace: Workspace) -> tuple[TraceSet, dict[str, tuple[str, Run]]]:
    """Run every slot while everything is recorded; gives the traces and what each container was."""
    engine = workspace.live.engines.names[0]
    task = workspace.live.recordings.record(engine, NAME)
    names: dict[str, tuple[str, Run]] = {}
    with workspace.live.engines.host(engine, None, lambda _: True) as host:
        if not isinstance(host, Host):
            raise TypeError("The jobs are started as containers of Docker.")
        for number, (arrangement, runs) in enumerate(SLOTS, start=1):
            names |= _slot(host, number, arrangement, runs)
    workspace.live.recordings.stop(engine)
    while not workspace.tasks.get(task).state.ended:
        time.sleep(0.5)
    stored = workspace.traces.list()[0]
    return workspace.traces.load(stored.id), names


def _slot(host: Host, number: int, arrangement: str, runs: tuple[Run, ...]) -> dict[str, tuple[str, Run]]:
    """Run these beside each other to their ends, and say of each how long it took."""
    started: dict[str, tuple[str, float]] = {}
    for at, run in enumerate(runs):
        name = f"{run.program}-{number:02d}{'abc'[at] if len(runs) > 1 else ''}"
        limits = Limits().with_cores(run.cores)
        limits = limits if run.memory is None else limits.with_memory(round(run.memory * MIB))
        container = host.create(
            ContainerCreation(name, run.image, run.command(10 * number + at), limits=limits)
        )
        host.start(container)
        started[name] = (container, time.monotonic())
        if at + 1 < len(runs):
            time.sleep(STAGGER)
    running = dict(started)
    while running:
        time.sleep(0.5)
        for name, (container, begun) in list(running.items()):
            state = host.inspect(container)
            if state.state != "running":
                sys.stdout.write(f"{name}: {time.monotonic() - begun:.0f} s, exit code {state.exit_code}\n")
                sys.stdout.flush()
                del running[name]
    time.sleep(2.5)
    for container, _ in started.values():
        host.remove(container)
    return {name: (arrangement, run) for name, run in zip(started, runs, strict=True)}


def table(traces: TraceSet, what: dict[str, tuple[str, Run]]) -> pd.DataFrame:
    """The recording as one table, a row per sample, with what each container was."""
    owner = np.repeat(np.arange(traces.n_executions), np.diff(traces.offsets))
    ids = np.array(traces.ids)[owner]
    columns: dict[str, object] = {
        "execution": ids,
        "timestamp": np.round(traces.time, 2),
        "workload": np.array([what[name][1].program for name in traces.ids])[owner],
        "arrangement": np.array([what[name][0] for name in traces.ids])[owner],
    }
    for feature, values in zip(traces.features, traces.columns, strict=True):
        if feature.name in DROPPED:
            continue
        step = ROUNDING.get(feature.name)
        columns[feature.name] = values if step is None else np.round(values / step) * step
    return pd.DataFrame(columns)


def make(folder: Path) -> None:
    """Record, and write the trace file, the model, and the checksums."""
    with tempfile.TemporaryDirectory() as home:
        workspace = open_workspace(replace(load_settings(), home=Path(home), database_url="", control=True))
        worker = worker_for(workspace)
        worker.start()
        try:
            traces, what = record(workspace)
        finally:
            worker.stop()
            workspace.close()
    made = replace(RECORDED, folder=folder)
    table(traces, what).to_parquet(
        folder / made.traces, compression="zstd", compression_level=19, index=False
    )
    train(made)


def train(sample: Sample) -> None:
    """Train the model on the trace file, and write the checksums of both."""
    made = fit(read_traces(sample.folder / sample.traces), SETTINGS, FEATURES)
    save_model(made, sample.folder / sample.model)
    write_checksums(sample)


if __name__ == "__main__":
    make(Path(sys.argv[1]) if len(sys.argv) > 1 else DATA)
