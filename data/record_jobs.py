"""Records the bundled samples: real training jobs in containers on this machine, and a model.

Run from the repository, on a machine with two processors, with the images of ``make jobs-image``:
``PYTHONPATH=. .venv/bin/python data/record_jobs.py record FOLDER`` runs what is not in FOLDER yet, four jobs
beside each other, in eighty minutes; ``… assemble FOLDER`` makes the files in ``data`` of it.
"""

from __future__ import annotations

import json
import random
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from core.bootstrap import open_workspace, worker_for
from core.config import load_settings
from core.engines.docker_host.host import Host
from core.engines.errors import HostLost
from core.engines.run import ContainerCreation
from core.errors import ConflictError
from core.files.phase_models.archive import save_model
from core.jobs.catalogue import CATALOGUE
from core.jobs.programs.batches import STEPS_PER_EPOCH
from core.phases import PhaseSettings, fit
from core.reading import read_traces
from core.units import MIB
from core.workspace.samples import RECORDED, make_preview, write_checksums, write_preview

if TYPE_CHECKING:
    from core.application import Workspace
    from core.workspace.samples import Sample

LANES = 4
"""Jobs beside each other. On average they use two thirds of the two processors."""
STAGGER = 45.0
"""Seconds between the first starts of the lanes."""
EPOCHS = (
    (2, 2, 40), (3, 2, 40), (2, 2, 36), (3, 1, 36), (3, 1, 36), (2, 2, 36), (3, 1, 36), (3, 1, 36),
)  # fmt: skip
"""Epochs of both stages, and how many seconds one of the first stage lasts, by run."""
LEAKING = 2
"""Runs of the workload that leaks."""
LONGEST = 900.0
"""Seconds after which a job counts as stuck."""

SETTINGS = PhaseSettings()
FEATURES = ("cpu_cores", "memory_bytes")
"""What is throttled or read from disks follows from limits and caches, not from what a job does."""
NAMES = ("Import", "Upload", "Validation", "Training", "Decode")
"""The names of the phases, in their order: by CPU, then memory."""
ROUNDING = {"cpu_cores": 1e-3, "memory_bytes": MIB / 16, "io_bytes_per_second": 1024.0, "loss": 1e-5}
DROPPED = ("network_bytes_per_second", "throttled", "cpu_limit_cores")
"""The containers have neither a network nor a limit of cores, so these say nothing."""


@dataclass(frozen=True, slots=True)
class Workload:
    """A program with its data pipeline and what its owner requests.

    Rates are in thousands of images per second; see ``core/jobs/course.py``. They make every workload use
    about the same cores in the same phase: 0.95 while it decodes, 0.38 while it trains, 0.62 with large
    batches, 0.18 while it validates.
    """

    program: str
    #: Rates of training, of its second stage, and of validation.
    feed: float
    second_feed: float
    judge_rate: float
    #: Images at size 1, shards to import, and variations of each image.
    examples: int
    shards: int
    views: int
    #: MB/s of the object store for checkpoints.
    upload: float
    #: Requested cores and MiB.
    cores: float
    memory: int
    #: MiB that every step forgets to free; such a job has its request as its limit.
    leak: float = 0.0

    def command(self, number: int) -> tuple[str, ...]:
        """What the container of its run `number` (from 1) does: the same with other sizes and rates."""
        rng = random.Random(f"{self.program}-{number}")  # noqa: S311 - repeatable

        def vary(value: float, share: float = 0.15) -> float:
            return float(f"{value * rng.uniform(1 - share, 1 + share):.4g}")

        first, second, seconds = EPOCHS[number - 1] if not self.leak else (9, 1, 40)
        options = {
            "seed": number,
            "steps": STEPS_PER_EPOCH * (first + second),
            "size": vary(1000 * seconds * self.feed / self.examples),
            "threads": 1,
            "shards": round(vary(self.shards, 0.04)),
            "views": self.views,
            "store": vary(0.0142 * self.shards),
            "workers": 3,
            "decode": vary(19.5, 0.05),
            "feed": vary(self.feed, 0.03),
            "second": first / (first + second),
            "second-feed": vary(self.second_feed, 0.03),
            "judge": vary(18 * self.judge_rate),
            "judge-rate": self.judge_rate,
            "staging": 320,
            "upload": vary(self.upload),
            "leak": self.leak,
            "checkpoint": f"checkpoint.{'pt' if self.image.endswith('torch') else 'npz'}",
        }
        words = (word for name, value in options.items() for word in (f"--{name}", str(value)))
        return ("python3", "-m", "phasedock_jobs", self.program, *words)

    @property
    def image(self) -> str:
        """The image that has its program."""
        return f"phasedock-jobs:{CATALOGUE[self.program].image}"


WORKLOADS = (
    Workload("mlp", 1.7, 5.0, 5.3, 20_000, 97, 4, 1.6, cores=2.0, memory=4096),
    Workload("classifier", 1.5, 2.2, 1.3, 8_000, 97, 3, 0.47, cores=1.25, memory=3072),
    Workload("tf-vae", 6.6, 11.5, 6.3, 40_000, 75, 3, 0.72, cores=1.0, memory=1024),
    Workload("autoencoder", 10.5, 21.0, 18.0, 60_000, 97, 4, 0.7, cores=4.0, memory=2048),
    Workload("birnn", 0.88, 1.4, 1.4, 8_000, 97, 3, 0.52, cores=2.0, memory=4096),
    Workload("tf-classifier", 1.68, 2.2, 2.3, 12_000, 75, 3, 0.39, cores=1.5, memory=1536, leak=5.5),
)
"""Two programs each in NumPy, PyTorch and TensorFlow; the last one leaks until it is killed."""

RUNS = tuple(
    (f"{each.program}-{number}", each, number)
    for number in range(1, len(EPOCHS) + 1)
    for each in WORKLOADS
    if not each.leak or number in range(1, 2 * LEAKING, 2)
)
"""Eight runs of each, two of the one that leaks."""


def record(folder: Path) -> None:
    """Run and record what is not in the folder yet."""
    folder.mkdir(parents=True, exist_ok=True)
    waiting = [run for run in RUNS if not (folder / f"{run[0]}.json").exists()]
    settings = replace(load_settings(), home=folder / "home", database_url="", control=True)
    workspace = open_workspace(settings)
    worker = worker_for(workspace)
    worker.start()
    try:
        engine = workspace.live.engines.names[0]
        with suppress(ConflictError):  # that of an earlier call
            workspace.live.recordings.record(engine, "Recorded training jobs")
        with workspace.live.engines.host(engine, None, lambda _: True) as host:
            if not isinstance(host, Host):
                raise TypeError("The jobs are started as containers of Docker.")
            _run_lanes(workspace, host, engine, folder, waiting)
        workspace.live.recordings.stop(engine)
    finally:
        worker.stop()
        workspace.close()


def _run_lanes(
    workspace: Workspace, host: Host, engine: str, folder: Path, waiting: list[tuple[str, Workload, int]]
) -> None:
    running = _started_before(host, waiting)
    waiting = [run for run in waiting if run[0] not in running]
    may_start, started = time.monotonic(), len(running)
    while waiting or running:
        if waiting and len(running) < LANES and time.monotonic() >= may_start:
            name, workload, number = waiting.pop(0)
            memory = round(workload.memory * MIB) if workload.leak else None
            # a running job's data are in memory: nothing of an earlier try is of use
            container = host.create(
                ContainerCreation(name, workload.image, workload.command(number), memory=memory)
            )
            host.start(container)
            running[name] = (container, workload, time.time())
            started += 1
            may_start = time.monotonic() + (STAGGER if started < LANES else 5.0)
        time.sleep(0.5)
        for name, (container, workload, began) in list(running.items()):
            try:
                state = host.inspect(container)
            except HostLost:  # Docker answers nothing of a container while it writes back its files
                continue
            if state.state == "running" and time.time() - began < LONGEST:
                continue
            del running[name]
            time.sleep(2.0)
            _store(workspace, engine, folder, name, container, began)
            ending = {0: "finished", 137: "killed"}.get(state.exit_code, f"exit code {state.exit_code}")
            facts = {"workload": workload.program, "ended": ending, "began": began}
            (folder / f"{name}.json").write_text(json.dumps(facts), encoding="utf-8")
            sys.stdout.write(f"{name}: {time.time() - began:.0f} s, {ending}\n")
            sys.stdout.flush()
            with suppress(HostLost):
                host.remove(container)


def _started_before(
    host: Host, waiting: list[tuple[str, Workload, int]]
) -> dict[str, tuple[str, Workload, float]]:
    """What an earlier call started: containers, workloads and starts."""
    workloads = {name: workload for name, workload, _ in waiting}
    return {
        each.name: (each.id, workloads[each.name], each.started or time.time())
        for each in host.containers()
        if each.name in workloads
    }


def _store(workspace: Workspace, engine: str, folder: Path, name: str, container: str, began: float) -> None:
    """Keep the samples of one run."""
    task = workspace.live.recordings.keep_past(engine, name, began - 1, time.time(), [container])
    while not workspace.tasks.get(task).state.ended:
        time.sleep(0.2)
    stored = next(each for each in workspace.traces.list() if each.name == name)
    traces = workspace.traces.load(stored.id)
    columns: dict[str, Any] = {"timestamp": traces.time}
    columns |= {feature.name: values for feature, values in zip(traces.features, traces.columns, strict=True)}
    pd.DataFrame(columns).to_parquet(folder / f"{name}.parquet", index=False)


def table(folder: Path) -> pd.DataFrame:
    """All recorded runs as one table, a row per sample."""
    requests = {each.program: each for each in WORKLOADS}
    parts = []
    for name, workload, _ in sorted(RUNS, key=lambda run: WORKLOADS.index(run[1])):
        path = folder / f"{name}.json"
        if not path.exists():
            continue
        facts, samples = json.loads(path.read_text()), pd.read_parquet(folder / f"{name}.parquet")
        asked = requests[workload.program]
        head = {"execution": name, "workload": workload.program, "ended": facts["ended"]}
        part = pd.DataFrame({**head, "timestamp": np.round(samples["timestamp"], 2)}, index=samples.index)
        for column in samples.columns.drop("timestamp"):
            if column in DROPPED:
                continue
            step, values = ROUNDING.get(column), samples[column]
            part[column] = values if step is None else np.round(values / step) * step
        part["cpu_request_cores"] = asked.cores
        part["memory_request_bytes"] = asked.memory * MIB
        parts.append(part)
    return pd.concat(parts, ignore_index=True)


def assemble(folder: Path) -> None:
    """Write the trace file, the model, and the checksums."""
    table(folder).to_parquet(
        RECORDED.folder / RECORDED.traces, compression="zstd", compression_level=19, index=False
    )
    train(RECORDED)


def train(sample: Sample) -> None:
    """Train the model on the trace file, name its phases, and write the preview and the checksums."""
    traces = read_traces(sample.folder / sample.traces)
    model = replace(fit(traces, SETTINGS, FEATURES), names=dict(enumerate(NAMES)))
    write_preview(sample, make_preview(traces, model))
    save_model(model, sample.folder / sample.model)
    write_checksums(sample)


if __name__ == "__main__":
    {"record": record, "assemble": assemble}[sys.argv[1]](Path(sys.argv[2]))
