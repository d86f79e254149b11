"""Forecasts the distribution of demand over a horizon with a forest whose leaves hold it.

Trees are grown on statistics of the past (`recent`) to predict for which share of the coming time
demand stays under each of a few levels. Splitting on these shares at once lowers the continuous ranked
probability score instead of the error of a mean. A leaf then holds F(g), the share of the coming time
with D ≤ g·level, on a fine grid of g, averaged over its training samples; a forest's F is the mean of its
trees' (Meinshausen 2006, "Quantile regression forests", with the extremely randomised trees of Geurts,
Ernst and Wehenkel 2006).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from core.phases.kernels.compiling import compiled
from core.provisioning.advice import serializable
from core.provisioning.evaluation.splitting import folds
from core.provisioning.policy import cold_start
from core.provisioning.recent import Recent, Watch, recent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from core.provisioning.advice import Sample
    from core.provisioning.fleet import Demand, Fleet, Floats, Integers, Truths


if TYPE_CHECKING:
    import numpy.typing as npt

    from core.provisioning.fleet import Demand, Floats, Integers

    Shares = npt.NDArray[np.float32]

TREES = 10
_COARSE = 10
_LEAF = 20
_MAX_RATIO = 1e3


@serializable
@dataclass(frozen=True, eq=False)
class Forest:
    """A fitted conditional distribution."""

    #: Levels g as ratios to the recent level, increasing, shape (n_grid,).
    grid: Floats
    #: What each node asks: whether a statistic is at most a limit; feature −1 is a leaf.
    feature: Integers
    threshold: Floats
    #: The nodes that follow; in a leaf `yes` is its row of `shares`.
    yes: Integers
    no: Integers
    #: The first node of each tree.
    roots: Integers
    #: F of each leaf, shape (n_leaves, n_grid).
    shares: Shares

    def __call__(self, rows: Shares) -> Shares:
        """F of each row, shape (len(rows), n_grid), increasing along the grid."""
        shares = np.zeros((len(rows), len(self.grid)), np.float32)
        features = np.ascontiguousarray(rows, np.float32)
        descend(features, (self.feature, self.threshold, self.yes, self.no, self.roots), self.shares, shares)
        return shares


def levels_of(ratios: Floats) -> Floats:
    """The grid: quantiles of ratios that were seen, dense where allocations will be; 1; and some beyond."""
    usable = np.minimum(ratios[np.isfinite(ratios)], _MAX_RATIO)
    if not len(usable):
        return np.array([0.5, 1.0, 1.05])
    chances = np.concatenate([np.linspace(0.02, 0.5, 9), 1.0 - np.geomspace(0.47, 0.0005, 33)])
    levels = np.quantile(usable, chances)
    top = max(1.0, float(levels[-1]))
    beyond = np.geomspace(1.05 * top, max(1.1 * top, float(usable.max())), 5)
    return np.unique(np.concatenate([levels, [1.0], beyond]))


def coming(demand: Demand, level: Floats, at: Integers, horizon: float, grid: Floats) -> Shares:
    """The share of the time from samples `at` to a horizon later with D ≤ g·level.

    Parameters
    ----------
    demand
        D of n samples.
    level
        The recent level of each sample, shape (n,).
    at
        The samples to look ahead from; each counts itself, and a container's end ends its horizon.
    horizon
        Seconds.
    grid
        Levels g.

    Returns
    -------
    ndarray
        Shape (len(at), len(grid)).
    """
    fleet = demand.fleet
    shares = np.zeros((len(at), len(grid)), np.float32)
    ends = fleet.offsets[1:][fleet.container[at]]
    look_ahead((demand.values, fleet.time, fleet.seconds), level[at], at, ends, horizon, grid, shares)
    return shares


def grow(
    rows: Shares,
    shares: Shares,
    weight: Floats,
    grid: Floats,
    seed: int,
    trees: int = TREES,
    leaf: int = _LEAF,
) -> Forest:
    """Grow a forest.

    Parameters
    ----------
    rows
        Statistics of the past, shape (n, n_features).
    shares
        What came (`coming`), shape (n, n_grid).
    weight
        The seconds that each row stands for, shape (n,).
    grid
        Levels g, shape (n_grid,).
    seed
        Seeds the trees.
    trees
        The number of trees.
    leaf
        The minimum number of samples in a leaf; fewer where there are few rows.
    """
    # scikit-learn takes two seconds to import, which only those who fit should wait for
    from sklearn.ensemble import ExtraTreesRegressor

    coarse = np.unique(np.linspace(0, len(grid) - 1, _COARSE).astype(np.int64))
    smallest = int(np.clip(len(rows) // 8, 1, leaf))
    model = ExtraTreesRegressor(trees, min_samples_leaf=smallest, max_features=0.5, random_state=seed)
    model.fit(rows, shares[:, coarse], sample_weight=weight)
    leaves = np.asarray(model.apply(rows))
    return joined(
        [_tree(each.tree_, leaves[:, k], shares, weight, grid) for k, each in enumerate(model.estimators_)]
    )


def _tree(tree: Any, leaves: Integers, shares: Shares, weight: Floats, grid: Floats) -> Forest:
    """One tree with the mean shares of each leaf's rows."""
    is_leaf = tree.children_left < 0
    number = np.cumsum(is_leaf) - 1
    order = np.argsort(number[leaves], kind="stable")
    member, weights = number[leaves][order], weight[order]
    starts = np.searchsorted(member, np.arange(int(is_leaf.sum())))
    sums = np.add.reduceat(shares[order] * weights[:, None], starts)
    return Forest(
        grid,
        np.where(is_leaf, -1, tree.feature).astype(np.int64),
        tree.threshold.astype(np.float64),
        np.where(is_leaf, number, tree.children_left).astype(np.int64),
        tree.children_right.astype(np.int64),
        np.zeros(1, np.int64),
        (sums / np.add.reduceat(weights, starts)[:, None]).astype(np.float32),
    )


def joined(trees: list[Forest]) -> Forest:
    """One forest of several forests' trees, all on the same grid."""
    nodes = np.cumsum([0, *(len(each.feature) for each in trees)])[:-1]
    leaves = np.cumsum([0, *(len(each.shares) for each in trees)])[:-1]
    yes = [
        each.yes + np.where(each.feature < 0, leaf, node)
        for each, node, leaf in zip(trees, nodes, leaves, strict=True)
    ]
    return Forest(
        trees[0].grid,
        np.concatenate([each.feature for each in trees]),
        np.concatenate([each.threshold for each in trees]),
        np.concatenate(yes),
        np.concatenate([each.no + node for each, node in zip(trees, nodes, strict=True)]),
        np.concatenate([each.roots + node for each, node in zip(trees, nodes, strict=True)]),
        np.concatenate([each.shares for each in trees]),
    )


@compiled
def descend(rows: Any, nodes: Any, shares: Any, sums: Any) -> None:
    """Add up the leaves that each row falls into."""
    feature, threshold, yes, no, roots = nodes
    width, part = shares.shape[1], np.float32(1.0 / len(roots))
    for i in range(len(rows)):
        for root in roots:
            node = root
            while feature[node] >= 0:
                node = yes[node] if rows[i, feature[node]] <= threshold[node] else no[node]
            leaf = yes[node]
            for k in range(width):
                sums[i, k] += shares[leaf, k] * part


@compiled
def look_ahead(
    samples: Any, level: Floats, at: Integers, ends: Integers, horizon: float, grid: Floats, shares: Any
) -> None:
    """Fill `shares` with shares of time under each level of the grid."""
    values, time, seconds = samples
    for i in range(len(at)):
        t, total = at[i], 0.0
        until = time[t] + horizon * (1.0 - 1e-9)
        while t == at[i] or (t < ends[i] and time[t] < until):
            place = np.searchsorted(grid, values[t] / level[i])
            if place < len(grid):
                shares[i, place] += seconds[t]
            total += seconds[t]
            t += 1
        running = 0.0
        for k in range(len(grid)):
            running += shares[i, k]
            shares[i, k] = running / total


# Cross-fitted demand forecasts, so that policies can be calibrated without overfitting.
#
# A forest knows the containers it was grown on. Prices are therefore fitted on predictions for each fold of
# training containers by a forest grown on the other folds (whole groups at a time), while containers never
# seen get the trees of all folds. Rows to grow on, and containers to calibrate on, are samples of bounded
# size, so the time to learn does not grow with the data; of long containers only the beginning is taken,
# because many containers say more about others than a few whole ones.

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
        """The forecaster for one running container."""
        watch = Watch(self.demand.fleet.cycle, self.unit, self.start)
        return Forecaster(self.forest, watch, self.features, self.phases)

    def by_parts(
        self,
        demand: Demand,
        may: Callable[[Fleet], Truths],
        give: Callable[[Demand, Recent, Integers, Shares], Floats],
    ) -> Floats:
        """Allocate for a few containers at a time, so that F never fills the memory."""
        allocations = np.full(demand.fleet.n_samples, np.nan)
        for samples, part in parts(demand):
            past = recent(part, self.unit, self.start)
            resizable = may(part.fleet)
            rows = with_features(part, past, self.features, self.phases)[resizable]
            allocations[samples] = give(part, past, numbered(resizable), self.forest(rows))
        return allocations

    def calibrated(
        self, may: Callable[[Fleet], Truths], give: Callable[[Demand, Recent, Integers, Shares], Floats]
    ) -> Floats:
        """Allocate for the calibration containers, with forests that were grown without them."""
        resizable = may(self.demand.fleet)
        return give(self.demand, self.past, np.where(resizable, np.arange(len(resizable)), -1), self.shares)


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
        extra: Any = ()
        if self.features == "phase":
            extra = last.phase == np.arange(self.phases)
        elif self.features == "code" and last.code is not None:
            extra = np.nan_to_num(last.code)
        forecast: Shares = self.forest(np.append(row, extra).astype(np.float32)[None])[0]
        return forecast


def at_warm_samples(fleet: Fleet) -> Truths:
    """Mark every sample except those of a container's first cycle, shape (n,)."""
    return ~fleet.cold


def numbered(selected: Truths) -> Integers:
    """The number of each true value among the true ones, −1 for the others."""
    return np.where(selected, np.cumsum(selected) - 1, -1)


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
    usable = np.flatnonzero(past.has_past)
    if not len(usable):
        usable = np.arange(used.fleet.n_samples)
    at = np.sort(rng.choice(usable, min(_ROWS, len(usable)), replace=False))
    seconds = horizon * used.fleet.cycle
    later = np.minimum(at + _steps(used, seconds, rng, len(at)), used.fleet.n_samples - 1)
    grid = levels_of(
        (used.values[later] / past.level[at])[used.fleet.container[later] == used.fleet.container[at]]
    )
    future_shares, weight = coming(used, past.level, at, seconds, grid), used.fleet.seconds[at]
    shares = np.zeros((used.fleet.n_samples, len(grid)), np.float32)
    forests = []
    for number, (inside, held_out) in enumerate(_folds(used, at, seed)):
        forests.append(grow(rows[at[inside]], future_shares[inside], weight[inside], grid, seed + number))
        shares[held_out] = forests[-1](rows[held_out])
    return Outlook(joined(forests), unit, start, features, phases, used, past, shares)


def _folds(used: Demand, at: Integers, seed: int) -> list[tuple[Truths, Integers]]:
    """Pairs of rows to grow on and samples to predict; one pair with everything if there is one group."""
    parts = []
    for part in folds(used.fleet, _PARTS, seed):
        inside = np.isin(used.fleet.container[at], part.training)
        parts.append((inside, used.fleet.samples_of(part.held_out)))
    usable = [(inside if inside.any() else ~inside, held_out) for inside, held_out in parts]
    return usable or [(np.ones(len(at), bool), np.arange(used.fleet.n_samples))]


def sample_of(training: Demand, seed: int) -> Demand:
    """At most `_CALIBRATION` samples to learn from: random containers, long ones cut."""
    fleet = training.fleet
    if fleet.n_samples <= _CALIBRATION:
        return training
    max_samples = max(_CALIBRATION // _CONTAINERS, _CYCLES * fleet.n_samples // fleet.n_cycles)
    order = np.random.default_rng(seed).permutation(fleet.n_containers)
    lasting = np.cumsum(np.minimum(fleet.lengths, max_samples)[order])
    n_containers = max(int(np.searchsorted(lasting, _CALIBRATION, side="right")), min(2, len(order)))
    return beginnings(training.only(np.sort(order[:n_containers])), max_samples)


def beginnings(demand: Demand, max_samples: int) -> Demand:
    """The first samples of each container, at most `max_samples` of them (a copy)."""
    fleet = demand.fleet
    number = np.arange(fleet.n_samples) - np.repeat(fleet.offsets[:-1], fleet.lengths)
    indices = np.flatnonzero(number < max_samples)
    shorter = replace(
        fleet,
        time=fleet.time[indices],
        seconds=fleet.seconds[indices],
        offsets=np.append(0, np.cumsum(np.minimum(fleet.lengths, max_samples))).astype(np.int64),
        breaks=np.flatnonzero(np.isin(indices, fleet.breaks)),
        labels=None if fleet.labels is None else fleet.labels[indices],
        codes=None if fleet.codes is None else fleet.codes[indices],
        columns={name: values[indices] for name, values in fleet.columns.items()},
    )
    return demand.on(shorter, indices)


def _steps(demand: Demand, seconds: float, rng: np.random.Generator, count: int) -> Integers:
    """Random distances in samples, each within a horizon."""
    steps = max(1, round(seconds / max(float(np.median(demand.fleet.seconds)), 1e-300)))
    return rng.integers(0, steps, count)


def with_features(demand: Demand, past: Recent, features: str, phases: int) -> Shares:
    """Statistics of the past, and the last sample's phase or code, shape (n, n_features)."""
    fleet = demand.fleet
    if features == "phase" and fleet.labels is not None:
        last = np.where(past.has_past, np.roll(fleet.labels, 1), -1)
        one_hot = last[:, None] == np.arange(phases)
        return np.hstack([past.rows, one_hot.astype(np.float32)])
    if features == "code" and fleet.codes is not None:
        last_code = np.where(past.has_past[:, None], np.roll(fleet.codes, 1, axis=0), 0.0)
        return np.hstack([past.rows, np.nan_to_num(last_code).astype(np.float32)])
    return past.rows
