"""Phases of running containers by a model, as samples arrive.

A model reads samples at the period that it was trained at. Where that is longer than the watcher's second,
samples are averaged over it, as the resampling of files does, and the phase holds until the next one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from core.phases.matching import match_features
from core.phases.model import WARM_UP
from core.phases.online import OnlineDetector
from core.sampling.values import FIELDS
from core.traces.model import Feature, Role, TraceSet
from core.units import Unit

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from core.phases import PhaseModel
    from core.traces.model import FloatArray

LIVE_FEATURES = (
    Feature("cpu_cores", Role.CPU, Unit.CORES),
    Feature("cpu_limit_cores", Role.CPU_LIMIT, Unit.CORES),
    Feature("memory_bytes", Role.MEMORY, Unit.BYTES),
    Feature("memory_limit_bytes", Role.MEMORY_LIMIT, Unit.BYTES),
    Feature("loss", Role.LOSS),
    Feature("throttled", Role.THROTTLED, Unit.SHARE),
    Feature("io_bytes_per_second"),
    Feature("network_bytes_per_second"),
    Feature("gpu_share", Role.GPU, Unit.SHARE),
    Feature("gpu_memory_bytes", Role.GPU_MEMORY, Unit.BYTES),
    Feature("gpu_power_watts", Role.GPU_POWER, Unit.WATTS),
    Feature("cpu_withheld_cores", Role.WITHHELD, Unit.CORES),
    Feature("host_pressure", Role.HOST_PRESSURE, Unit.SHARE),
)
"""What is sampled of a container, as a trace set has it: a feature for each of `FIELDS`."""

THROTTLED = FIELDS.index("throttled")
"""Of `FIELDS`, the one that is 0 where there is none: no period of a quota passed."""

_FORGET_AFTER = 60.0
_ZERO = (THROTTLED, FIELDS.index("withheld"), FIELDS.index("pressure"))


class PeriodMeans:
    """Averages the samples of some containers over a period, as the resampling of files does."""

    def __init__(self, period: float) -> None:
        self.period = max(1.0, period)
        self._waiting: dict[str, list[Sequence[float]]] = {}
        self._due = -np.inf

    def push(self, at: float, rows: Mapping[str, Sequence[float]]) -> dict[str, FloatArray] | None:
        """Add a sample of each; at the end of a period return the means, else None."""
        for name, row in rows.items():
            self._waiting.setdefault(name, []).append(row)
        if not np.isfinite(self._due):
            self._due = at + self.period - 1.0
        if at < self._due - 0.5:
            return None
        self._due = max(self._due + self.period, at)
        means = {name: _mean_row(samples) for name, samples in self._waiting.items()}
        self._waiting.clear()
        return means


def _mean_row(rows: Sequence[Sequence[float]]) -> FloatArray:
    values = np.array(rows, np.float64)
    values[:, _ZERO] = np.nan_to_num(values[:, _ZERO], nan=0.0)
    return np.asarray(values.mean(axis=0))


class PeriodLabels(NamedTuple):
    """A model's labels of containers at the end of a period."""

    #: By container.
    phases: Mapping[str, int]
    #: By container; empty unless the labeller also computes these.
    codes: Mapping[str, tuple[float, ...]]
    #: The out-of-distribution containers; empty unless the labeller also computes these.
    strange: frozenset[str]


class PhaseLabeller:
    """Labels the means of periods by a model.

    Raises MismatchError if it reads something that is not sampled of running containers.
    """

    def __init__(self, model: PhaseModel, *, whole: bool = False) -> None:
        names = [feature.name for feature in LIVE_FEATURES]
        self._columns = [
            names.index(name) for name in match_features(model.features, _empty_traces(), model.scaler)
        ]
        self._detector = OnlineDetector(model)
        self._whole = whole
        self._last_samples: dict[str, float] = {}

    @property
    def followed(self) -> Collection[str]:
        """The recently sampled containers."""
        return self._last_samples.keys()

    def label(self, at: float, means: Mapping[str, FloatArray], period: float) -> PeriodLabels:
        """Label the containers that had samples; the windows of all others begin anew."""
        if not means:
            return PeriodLabels({}, {}, frozenset())
        names = list(means)
        samples = np.array([means[name][self._columns] for name in names])
        codes: dict[str, tuple[float, ...]] = {}
        strange: frozenset[str] = frozenset()
        if self._whole:
            labels, latest_codes, is_strange = self._detector.latest(names, samples)
            codes = dict(zip(names, map(tuple, latest_codes.tolist()), strict=True))
            strange = frozenset(name for name, is_odd in zip(names, is_strange, strict=True) if is_odd)
        else:
            labels = self._detector.push(names, samples)
        self._detector.gap([name for name in self._last_samples if name not in means])
        self._last_samples.update(dict.fromkeys(names, at))
        forgotten = [
            name
            for name, last_sample in self._last_samples.items()
            if at - last_sample > max(_FORGET_AFTER, period)
        ]
        self._detector.forget(forgotten)
        for name in forgotten:
            del self._last_samples[name]
        return PeriodLabels(dict(zip(names, labels.tolist(), strict=True)), codes, strange)


class PhaseTracker:
    """The phases of containers by one model, sample by sample.

    Raises MismatchError if it reads something that is not sampled of running containers.
    """

    def __init__(self, model: PhaseModel) -> None:
        self._labeller = PhaseLabeller(model)
        self._means = PeriodMeans(model.training.period)
        self._phases: dict[str, int] = {}

    def push(self, at: float, rows: Mapping[str, Sequence[float]]) -> dict[str, int]:
        """Add one sample of each container, and return the phase of those that are in one."""
        means = self._means.push(at, rows)
        if means is not None:
            period_labels = self._labeller.label(at, means, self._means.period)
            phases = {**self._phases, **period_labels.phases}
            self._phases = {name: each for name, each in phases.items() if name in self._labeller.followed}
        return {name: self._phases[name] for name in rows if self._phases.get(name, WARM_UP) != WARM_UP}


def _empty_traces() -> TraceSet:
    empty = np.empty(0)
    return TraceSet(LIVE_FEATURES, (empty,) * len(LIVE_FEATURES), empty, (), np.zeros(1, np.int64), 1.0)
