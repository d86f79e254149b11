"""Records the bundled samples: real training jobs in containers on this machine, and a model.

Run from the repository, on a machine with two processors that does nothing else, with the images of
``make jobs-image``: ``.venv/bin/python data/record_jobs.py [FOLDER]``. It takes a quarter of an hour. Every
container is pinned to one processor; two processors work through their lists side by side. What runs alone,
with a limit, or beside another on the same processor is decided by `SLOTS`, in order.
"""

from __future__ import annotations

import sys
import tempfile
import threading
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from core.config import load_settings
from core.engines.docker_host import Creation, Limits
from core.phases import PhaseSettings, fit
from core.runtime.bootstrap import open_workspace
from core.runtime.samples import DATA, RECORDED, write_checksums
from core.runtime.tasks.worker import Worker
from core.store import read_traces
from core.store.phase_models.archive import save_model
from core.units import MIB

if TYPE_CHECKING:
    from core.engines.docker_host import Host
    from core.runtime.samples import Sample
    from core.runtime.workspace import Workspace
    from core.traces.model import TraceSet

NAME = "Recorded training jobs"
SETTINGS = PhaseSettings(phases=5, hidden=10, history=3, epochs=100, seed=123)
FEATURES = ("cpu_cores", "memory_bytes", "throttled")
"""Checkpoints make I/O a spike every few seconds, which would make a phase of each."""
ROUNDING = {
    "cpu_cores": 1e-3,
    "memory_bytes": MIB / 16,
    "io_bytes_per_second": 1024.0,
    "throttled": 1e-3,
    "loss": 1e-5,
}
DROPPED = ("network_bytes_per_second",)
"""The containers have no network, so this says nothing."""

STEP_SECONDS = {
    "mlp": 0.14, "autoencoder": 0.145, "elman": 0.275, "factors": 0.155, "vae": 0.125,
    "classifier": 0.115, "birnn": 0.155, "rnn": 0.11, "lstm": 0.145, "gru": 0.155,
}  # fmt: skip
"""Core-seconds of one step at size 1 (docs/docker/jobs.md), from which the number of steps follows."""
LIGHT = ("mlp", "autoencoder", "elman", "factors")


@dataclass(frozen=True, slots=True)
class Job:
    """One container: its program, about how many core-seconds it needs, its size, and its limit."""

    program: str
    seconds: float
    size: float = 1.0
    cores: float | None = None

    @property
    def command(self) -> tuple[str, ...]:
        """What its container runs."""
        power = 2 if self.program == "factors" else 1
        steps = max(round(self.seconds / (STEP_SECONDS[self.program] * self.size**power)), 10)
        return (
            "python3", "-m", "phasedock_jobs", self.program,
            "--steps", str(steps), "--size", str(self.size), "--seed", "{seed}",
            "--checkpoint", f"checkpoint.{'npz' if self.program in LIGHT else 'pt'}",
        )  # fmt: skip


def _slots() -> list[tuple[str, tuple[Job, ...]]]:
    """What is run, in order: the arrangement, and the jobs that run beside each other."""
    names = tuple(STEP_SECONDS)
    alone = [
        ("alone", (Job(name, 55, size),)) for name, size in zip(names, (1, 0.5, 1, 1.5, 1) * 2, strict=True)
    ]
    cut = [("limited", (Job(name, 26, 1.0, cores=0.5),)) for name in names[::-1]]
    pairs = [
        ("beside", (Job(first, 30), Job(second, 26, 0.5)))
        for first, second in zip(names, names[3:] + names[:3], strict=True)
    ]
    return [slot for row in zip(alone, pairs, cut, strict=True) for slot in row]


SLOTS = _slots()


class Lane(threading.Thread):
    """One processor: takes the next slot as long as there is one, and waits for all of its jobs."""

    def __init__(self, host: Host, cpu: int, waiting: list[tuple[int, str, tuple[Job, ...]]]) -> None:
        super().__init__(name=f"cpu-{cpu}")
        self.host, self.cpu, self.waiting = host, cpu, waiting
        self.names: dict[str, tuple[str, Job]] = {}

    def run(self) -> None:
        """Work through the slots."""
        while self.waiting:
            number, arrangement, jobs = self.waiting.pop(0)
            started = [self._start(number, at, arrangement, job) for at, job in enumerate(jobs)]
            while any(self.host.inspect(each).state == "running" for each in started):
                time.sleep(0.5)
            time.sleep(2.5)
            for each in started:
                self.host.remove(each)

    def _start(self, number: int, at: int, arrangement: str, job: Job) -> str:
        name = f"{job.program}-{number + 1:02d}{'ab'[at] if len(SLOTS[number][1]) > 1 else ''}"
        limits = Limits().with_cores(job.cores)
        command = tuple(part.format(seed=100 * number + at) for part in job.command)
        image = f"phasedock-jobs:{'light' if job.program in LIGHT else 'torch'}"
        container = self.host.create(Creation(name, image, command, limits=limits, cpuset=str(self.cpu)))
        self.host.start(container)
        self.names[name] = (arrangement, job)
        time.sleep(3.0 * at)
        return container


def record(workspace: Workspace) -> tuple[TraceSet, dict[str, tuple[str, Job]]]:
    """Run every slot while everything is recorded; gives the traces and what each container was."""
    engine = workspace.live.engine_registry.names[0]
    task = workspace.live.record(engine, NAME)
    waiting = [(number, arrangement, jobs) for number, (arrangement, jobs) in enumerate(SLOTS)]
    with workspace.live.engine_registry.host(engine, None, lambda _: True) as host:
        lanes = [Lane(host, cpu, waiting) for cpu in (0, 1)]
        for lane in lanes:
            lane.start()
            time.sleep(5)
        for lane in lanes:
            lane.join()
    workspace.live.stop_recording(engine)
    while not workspace.tasks.get(task).state.ended:
        time.sleep(0.5)
    stored = workspace.traces.list()[0]
    return workspace.traces.load(stored.id), lanes[0].names | lanes[1].names


def table(traces: TraceSet, what: dict[str, tuple[str, Job]]) -> pd.DataFrame:
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
        worker = Worker(workspace)
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
