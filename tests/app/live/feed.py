"""An engine as its watcher would leave it: a sample and ten minutes of history in the workspace's files."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from core.live.history.chunks import RecordedContainer
from core.live.history.writer import HistoryWriter
from core.live.view import LiveFiles, write
from core.sampling.values import FIELDS, TOTALS, ContainerRow, EngineInfo, EngineState, LiveView, Totals
from core.units import GIB

if TYPE_CHECKING:
    from pathlib import Path

NAMES = (
    *("bert-finetune", "vae-celeba", "gan-faces", "mnist-p", "yolo-nano", "gru-ptb", "lstm-gcp-trace"),
    *("resnet18-cifar", "birnn-imdb", "xgb-churn", "tabnet-fraud"),
)
LISTS = ("NL", "NL", "NL", "NL", "CL", "WL", "CL", "CL", "CL", "CL", "CL")
PHASES = (4, 4, 3, 4, 1, 2, 0, 3, 1, 0, 0)
USES = (2.21, 1.63, 1.45, 1.06, 0.86, 0.73, 0.73, 0.73, 0.73, 0.73, 0.73)
LIMITS = (3.49, 1.63, 1.45, 8.90, 0.86, 0.73, 0.73, 0.73, 0.73, 0.73, 0.73)
MEMORIES = (9.59, 3.08, 4.42, 0.86, 5.59, 1.36, 1.88, 4.18, 2.18, 2.69, 2.51)
ROOMS = (11.5, 3.25, 5.5, 1.5, 6.5, 2.0, 2.5, 5.0, 3.0, 3.5, 3.0)
LOSSES = (0.221, 0.146, 0.142, 0.391, 0.101, 0.04, 0.041, 0.044, 0.041, 0.039, 0.04)


def container(at, *, bare=False):
    """One of the containers, the same for the same number; a bare one has no policy, model or limits."""
    i = at % len(NAMES)
    row = ContainerRow(
        id=f"{at:064x}",
        name=NAMES[i] if at < len(NAMES) else f"{NAMES[i]}-{at // len(NAMES)}",
        image="phasedock-base",
        labelled=True,
        cpu=USES[i],
        memory=MEMORIES[i] * GIB,
        throttled=0.03,
        io=1e6,
        network=0.0,
        malleable=True,
    )
    if bare:
        return replace(row, loss_why="It carries no label phasedock.loss.")
    return replace(row, cpu_limit=LIMITS[i], memory_limit=ROOMS[i] * GIB, loss=LOSSES[i], label=LISTS[i],
                   growth=0.1, phase=PHASES[i], held=i < 4)  # fmt: skip


@dataclass
class Feed:
    """The files of one engine, a second at a time."""

    home: Path
    engine: str = "gpu-box-2"
    rows: tuple[ContainerRow, ...] = ()
    foreign: tuple[ContainerRow, ...] = ()
    cores: float = 16.0
    seed: int = 7
    generator: np.random.Generator = field(init=False)

    def __post_init__(self):
        (self.home / "live").mkdir(parents=True, exist_ok=True)
        self.files = LiveFiles(self.home, self.engine)
        self.history = HistoryWriter(self.files.history, remembers=False)
        self.generator = np.random.default_rng(self.seed)

    def second(self, at, age=0.0):
        """Append one second to the history; `age` makes losses of the past larger."""
        noise = 1 + 0.06 * self.generator.standard_normal(len(self.rows))
        rows = tuple(
            replace(
                row,
                cpu=min((row.cpu or 0) * wiggle, row.cpu_limit or 1e9),
                loss=None if row.loss is None else row.loss * (1 + age / 400),
            )
            for row, wiggle in zip(self.rows, noise.tolist(), strict=True)
        )
        nan = float("nan")
        lines = {
            row.id: [nan if (v := getattr(row, name)) is None else float(v) for name in FIELDS]
            for row in rows
        }
        used = sum(row.cpu or 0 for row in rows)
        memory = sum(row.memory or 0 for row in rows)
        throttled = 0.03 + 0.01 * float(np.sin(at / 40))
        lines[TOTALS] = [
            used,
            self.cores,
            memory,
            62.7 * GIB,
            nan,
            throttled,
            0.0,
            0.0,
            nan,
            nan,
            nan,
            nan,
            nan,
        ]
        self.history.add(at, lines, {row.id: RecordedContainer(row.id, row.name) for row in rows})
        self.last, self.throttled = rows, throttled
        return rows

    def past(self, now, seconds=600):
        """Fill the history up to now."""
        for ago in range(seconds, 0, -1):
            self.second(now - ago, float(ago))

    def publish(self, at=None):
        """Append a second and write the sample that the page reads."""
        moment = time.time() if at is None else at
        rows = self.second(moment)
        view = LiveView(
            EngineInfo(self.engine, "", EngineState.READY, cores=self.cores, memory=62.7 * GIB),
            moment,
            rows,
            len(self.foreign),
            self.foreign,
            Totals(sum(row.cpu or 0 for row in rows), self.cores, sum(row.memory or 0 for row in rows),
                   62.7 * GIB, self.throttled, containers=len(rows))
        )  # fmt: skip
        write(self.files.snapshot, view)
        return view
