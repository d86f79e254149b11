"""Phases of running containers by a model, as samples arrive.

A model reads samples at the period that it was trained at. Where that is longer than the watcher's second,
samples are averaged over it, as the resampling of files does, and the phase holds until the next one.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from core.phases.matching import match
from core.phases.model import WARM_UP
from core.phases.online import OnlineDetector
from core.runtime.live.sampling.ring_buffer import FIELDS
from core.traces.model import Feature, Role, TraceSet
from core.units import Unit

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from core.phases import PhaseModel

LIVE_FEATURES = (
    Feature("cpu_cores", Role.CPU, Unit.CORES),
    Feature("cpu_limit_cores", Role.CPU_LIMIT, Unit.CORES),
    Feature("memory_bytes", Role.MEMORY, Unit.BYTES),
    Feature("memory_limit_bytes", Role.MEMORY_LIMIT, Unit.BYTES),
    Feature("loss", Role.LOSS),
    Feature("throttled", Role.OTHER, Unit.SHARE),
    Feature("io_bytes_per_second"),
    Feature("network_bytes_per_second"),
    Feature("gpu_share", Role.GPU, Unit.SHARE),
    Feature("gpu_memory_bytes", Role.GPU_MEMORY, Unit.BYTES),
    Feature("gpu_power_watts", Role.GPU_POWER, Unit.WATTS),
)
"""What is sampled of a container, as a trace set has it: one feature for each of the ring's `FIELDS`."""

KNOWN_ZERO = ("throttled", "io", "network")
"""Of `FIELDS`, those that are 0 where they were not measured: no period passed, or no device was there."""

_FORGET_AFTER = 60.0


class PhaseTracker:
    """Labels containers by one model.

    Parameters
    ----------
    model
        The model.

    Raises
    ------
    MismatchError
        If it reads something that is not sampled of running containers.
    """

    def __init__(self, model: PhaseModel) -> None:
        names = [feature.name for feature in LIVE_FEATURES]
        self._columns = [names.index(name) for name in match(model.features, _blank(), model.scaler)]
        self._known_zero = frozenset(FIELDS.index(name) for name in KNOWN_ZERO)
        self._period = max(1.0, model.training.period)
        self._detector = OnlineDetector(model)
        self._waiting: dict[str, list[Sequence[float]]] = {}
        self._seen: dict[str, float] = {}
        self._phases: dict[str, int] = {}
        self._due = -np.inf

    def push(self, at: float, rows: Mapping[str, Sequence[float]]) -> dict[str, int]:
        """Take one sample of each of some containers, and give the phase of those that are in one.

        Parameters
        ----------
        at
            Seconds; samples come about once a second.
        rows
            The values of `FIELDS` by container id.
        """
        for name, row in rows.items():
            self._waiting.setdefault(name, []).append([self._value(row, column) for column in self._columns])
            self._seen[name] = at
        if not np.isfinite(self._due):
            self._due = at + self._period - 1.0
        if at >= self._due - 0.5:
            self._due = max(self._due + self._period, at)
            self._detect()
            self._forget(at)
        return {name: self._phases[name] for name in rows if self._phases.get(name, WARM_UP) != WARM_UP}

    def _value(self, row: Sequence[float], column: int) -> float:
        value = row[column]
        return 0.0 if column in self._known_zero and math.isnan(value) else value

    def _detect(self) -> None:
        names = list(self._waiting)
        if not names:
            return
        samples = np.array([sample for name in names for sample in self._waiting[name]])
        counts = np.array([len(self._waiting[name]) for name in names])
        starts = np.cumsum(counts) - counts
        means = np.add.reduceat(samples, starts, axis=0) / counts[:, None]
        labels = self._detector.push(names, means)
        self._phases.update(zip(names, labels.tolist(), strict=True))
        self._detector.gap([name for name in self._phases if name not in self._waiting])
        self._waiting.clear()

    def _forget(self, at: float) -> None:
        gone = [name for name, seen in self._seen.items() if at - seen > max(_FORGET_AFTER, self._period)]
        self._detector.forget(gone)
        for name in gone:
            del self._seen[name]
            self._phases.pop(name, None)


def _blank() -> TraceSet:
    empty = np.empty(0)
    return TraceSet(LIVE_FEATURES, (empty,) * len(FIELDS), empty, (), np.zeros(1, np.int64), 1.0)
