"""Cross-fitted demand forecasts, so that policies can be calibrated without overfitting.

A forest knows the containers it was grown on. Prices are therefore fitted on predictions for each fold of
training containers by a forest grown on the other folds (whole groups at a time), while containers never
seen get the trees of all folds. Rows to grow on, and containers to calibrate on, are samples of bounded
size, so the time to learn does not grow with the data; of long containers only the beginning is taken,
because many containers say more about others than a few whole ones.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from core.provisioning.advice import serializable
from core.provisioning.distribution import Forest, coming, grow, joined, levels_of
from core.provisioning.evaluation.splitting import folds
from core.provisioning.policy import cold_start
from core.provisioning.recent import Recent, Watch, recent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from core.provisioning.advice import Sample
    from core.provisioning.distribution import Shares
    from core.provisioning.fleet import Demand, Fleet, Floats, Integers, Truths

FEATURES = {
    "none": "The past of the demand alone",
    "phase": "Also the phase of the last sample",
    "code": "Also the phase model’s code of the last sample",
}
_ROWS = 20_000
_CALIBRATION = 80_000
_CHUNK = 100_000
_PARTS = 5
_CONTAINERS, _CYCLES = 200, 12


@dataclass(frozen=True, eq=False)
class Outlook:
    """A learned forecast of the demand to come."""

    #: The trees of all folds.
    forest: Forest
    #: The mean training demand, and what a container without a past gets.
    unit: float
    start: float
    #: What it looks at besides the past of the demand, a key of `FEATURES`.
    features: str
    #: How many phases there were in training.
    phases: int
    #: The containers to calibrate on, their past, and F for them by forests that never saw them.
    demand: Demand
    past: Recent
    shares: Shares

    @property
    def forecaster(self) -> Forecaster:
        """The same for one container at a time."""
        watch = Watch(self.demand.fleet.cycle, self.unit, self.start)
        return Forecaster(self.forest, watch, self.features, self.phases)

    def by_parts(
        self,
        demand: Demand,
        may: Callable[[Fleet], Truths],
        give: Callable[[Demand, Recent, Integers, Shares], Floats],
    ) -> Floats:
        """Allocate for a few containers at a time, so that F never fills the memory."""
        found = np.full(demand.fleet.n_samples, np.nan)
        for samples, part in parts(demand):
            past = recent(part, self.unit, self.start)
            wanted = may(part.fleet)
            rows = with_features(part, past, self.features, self.phases)[wanted]
            found[samples] = give(part, past, numbered(wanted), self.forest(rows))
        return found

    def calibrated(
        self, may: Callable[[Fleet], Truths], give: Callable[[Demand, Recent, Integers, Shares], Floats]
    ) -> Floats:
        """The same for the containers to calibrate on, by forests that never saw them."""
        wanted = may(self.demand.fleet)
        return give(self.demand, self.past, np.where(wanted, np.arange(len(wanted)), -1), self.shares)


@serializable
@dataclass(frozen=True, eq=False)
class Forecaster:
    """A learned forecast for one container, whose samples come one by one."""

    #: As in `Outlook`.
    forest: Forest
    #: What its past is.
    watch: Watch
    features: str
    phases: int

    def shares(self, row: Shares, last: Sample) -> Shares:
        """F of the time to come, shape (n_grid,), with the statistics of the past and the last sample."""
        more: Any = ()
        if self.features == "phase":
            more = last.phase == np.arange(self.phases)
        elif self.features == "code" and last.code is not None:
            more = np.nan_to_num(last.code)
        given: Shares = self.forest(np.append(row, more).astype(np.float32)[None])[0]
        return given


def at_warm_samples(fleet: Fleet) -> Truths:
    """Every sample but those of a container's first cycle, shape (n,)."""
    return ~fleet.cold


def numbered(wanted: Truths) -> Integers:
    """The number of each true value among the true ones, −1 for the others."""
    return np.where(wanted, np.cumsum(wanted) - 1, -1)


def at_cycles(fleet: Fleet) -> Truths:
    """The first sample of every cycle but a container's first, shape (n,)."""
    marks = np.zeros(fleet.n_samples, bool)
    marks[fleet.starts[~fleet.first]] = True
    return marks


def at_samples(fleet: Fleet) -> Truths:
    """Every sample but a container's first, shape (n,)."""
    marks = np.ones(fleet.n_samples, bool)
    marks[fleet.offsets[:-1]] = False
    return marks


MAY: dict[str, Callable[[Fleet], Truths]] = {
    "cycles": at_cycles,
    "samples": at_samples,
    "warm": at_warm_samples,
}
"""At which samples an allocation may change."""


def parts(demand: Demand) -> Iterator[tuple[slice, Demand]]:
    """Runs of neighbouring containers, about `_CHUNK` samples each."""
    offsets, begin = demand.fleet.offsets, 0
    while begin < demand.fleet.n_containers:
        end = int(np.searchsorted(offsets, offsets[begin] + _CHUNK, side="right")) - 1
        end = min(max(end, begin + 1), demand.fleet.n_containers)
        yield slice(int(offsets[begin]), int(offsets[end])), demand.only(np.arange(begin, end))
        begin = end


def learn(training: Demand, horizon: float, features: str, seed: int) -> Outlook:
    """Learn what comes within a horizon."""
    rng = np.random.default_rng(seed)
    unit, start = float(training.values.mean()), cold_start(training)
    used = sample_of(training, seed)
    labels = used.fleet.labels
    phases = 0 if labels is None else int(labels.max(initial=-1)) + 1
    past = recent(used, unit, start)
    rows = with_features(used, past, features, phases)
    known = np.flatnonzero(past.known)
    if not len(known):
        known = np.arange(used.fleet.n_samples)
    at = np.sort(rng.choice(known, min(_ROWS, len(known)), replace=False))
    seconds = horizon * used.fleet.cycle
    later = np.minimum(at + _steps(used, seconds, rng, len(at)), used.fleet.n_samples - 1)
    grid = levels_of(
        (used.values[later] / past.level[at])[used.fleet.container[later] == used.fleet.container[at]]
    )
    came, weight = coming(used, past.level, at, seconds, grid), used.fleet.seconds[at]
    shares = np.zeros((used.fleet.n_samples, len(grid)), np.float32)
    forests = []
    for number, (inside, held) in enumerate(_folds(used, at, seed)):
        forests.append(grow(rows[at[inside]], came[inside], weight[inside], grid, seed + number))
        shares[held] = forests[-1](rows[held])
    return Outlook(joined(forests), unit, start, features, phases, used, past, shares)


def _folds(used: Demand, at: Integers, seed: int) -> list[tuple[Truths, Integers]]:
    """Which rows to grow on, and the samples to predict with them; all, where there is only one group."""
    found = []
    for part in folds(used.fleet, _PARTS, seed):
        inside = np.isin(used.fleet.container[at], part.training)
        found.append((inside, used.fleet.samples_of(part.held_out)))
    usable = [(inside if inside.any() else ~inside, held) for inside, held in found]
    return usable or [(np.ones(len(at), bool), np.arange(used.fleet.n_samples))]


def sample_of(training: Demand, seed: int) -> Demand:
    """What to learn from: all, or randomly chosen containers, long ones cut: `_CALIBRATION` samples."""
    fleet = training.fleet
    if fleet.n_samples <= _CALIBRATION:
        return training
    most = max(_CALIBRATION // _CONTAINERS, _CYCLES * fleet.n_samples // fleet.n_cycles)
    order = np.random.default_rng(seed).permutation(fleet.n_containers)
    lasting = np.cumsum(np.minimum(fleet.lengths, most)[order])
    many = max(int(np.searchsorted(lasting, _CALIBRATION, side="right")), min(2, len(order)))
    return beginnings(training.only(np.sort(order[:many])), most)


def beginnings(demand: Demand, most: int) -> Demand:
    """The first samples of each container, at most `most` of them (a copy)."""
    fleet = demand.fleet
    number = np.arange(fleet.n_samples) - np.repeat(fleet.offsets[:-1], fleet.lengths)
    kept = np.flatnonzero(number < most)
    shorter = replace(
        fleet,
        time=fleet.time[kept],
        seconds=fleet.seconds[kept],
        offsets=np.append(0, np.cumsum(np.minimum(fleet.lengths, most))).astype(np.int64),
        breaks=np.flatnonzero(np.isin(kept, fleet.breaks)),
        labels=None if fleet.labels is None else fleet.labels[kept],
        codes=None if fleet.codes is None else fleet.codes[kept],
        columns={name: values[kept] for name, values in fleet.columns.items()},
    )
    return demand.on(shorter, kept)


def _steps(demand: Demand, seconds: float, rng: np.random.Generator, count: int) -> Integers:
    """Random distances in samples, each within a horizon."""
    steps = max(1, round(seconds / max(float(np.median(demand.fleet.seconds)), 1e-300)))
    return rng.integers(0, steps, count)


def with_features(demand: Demand, past: Recent, features: str, phases: int) -> Shares:
    """The statistics of the past, and what is known of the last sample's phase, shape (n, n_features)."""
    fleet = demand.fleet
    if features == "phase" and fleet.labels is not None:
        last = np.where(past.known, np.roll(fleet.labels, 1), -1)
        one_hot = last[:, None] == np.arange(phases)
        return np.hstack([past.rows, one_hot.astype(np.float32)])
    if features == "code" and fleet.codes is not None:
        last_code = np.where(past.known[:, None], np.roll(fleet.codes, 1, axis=0), 0.0)
        return np.hstack([past.rows, np.nan_to_num(last_code).astype(np.float32)])
    return past.rows
