"""What demand will be over a horizon, as a distribution: a forest whose leaves hold it.

Trees are grown on statistics of the past (`recent`) to predict for which share of the coming time
demand stays under each of a few levels. Splitting on these shares at once lowers the continuous ranked
probability score instead of the error of a mean. A leaf then holds F(g), the share of the coming time
with D ≤ g·level, on a fine grid of g, averaged over its training samples; a forest's F is the mean of its
trees' (Meinshausen 2006, "Quantile regression forests", with the extremely randomised trees of Geurts,
Ernst and Wehenkel 2006).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from core.phases.kernels.compiling import compiled
from core.provisioning.advice import serializable

if TYPE_CHECKING:
    import numpy.typing as npt

    from core.provisioning.fleet import Demand, Floats, Integers

    Shares = npt.NDArray[np.float32]

TREES = 10
_COARSE = 10
_LEAF = 20
_MOST = 1e3


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
        found = np.zeros((len(rows), len(self.grid)), np.float32)
        given = np.ascontiguousarray(rows, np.float32)
        descend(given, (self.feature, self.threshold, self.yes, self.no, self.roots), self.shares, found)
        return found


def levels_of(ratios: Floats) -> Floats:
    """The grid: quantiles of ratios that were seen, dense where allocations will be; 1; and some beyond."""
    usable = np.minimum(ratios[np.isfinite(ratios)], _MOST)
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
    found = np.zeros((len(at), len(grid)), np.float32)
    ends = fleet.offsets[1:][fleet.container[at]]
    look_ahead((demand.values, fleet.time, fleet.seconds), level[at], at, ends, horizon, grid, found)
    return found


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
    where = np.asarray(model.apply(rows))
    return joined(
        [_tree(each.tree_, where[:, k], shares, weight, grid) for k, each in enumerate(model.estimators_)]
    )


def _tree(tree: Any, where: Integers, shares: Shares, weight: Floats, grid: Floats) -> Forest:
    """One tree with the mean shares of each leaf's rows."""
    is_leaf = tree.children_left < 0
    number = np.cumsum(is_leaf) - 1
    order = np.argsort(number[where], kind="stable")
    member, weights = number[where][order], weight[order]
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
def descend(rows: Any, nodes: Any, shares: Any, found: Any) -> None:
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
                found[i, k] += shares[leaf, k] * part


@compiled
def look_ahead(
    samples: Any, level: Floats, at: Integers, ends: Integers, horizon: float, grid: Floats, found: Any
) -> None:
    """Fill `found` with shares of time under each level of the grid."""
    values, time, seconds = samples
    for i in range(len(at)):
        t, total = at[i], 0.0
        until = time[t] + horizon * (1.0 - 1e-9)
        while t == at[i] or (t < ends[i] and time[t] < until):
            place = np.searchsorted(grid, values[t] / level[i])
            if place < len(grid):
                found[i, place] += seconds[t]
            total += seconds[t]
            t += 1
        running = 0.0
        for k in range(len(grid)):
            running += found[i, k]
            found[i, k] = running / total
