"""95% bootstrap intervals: of savings over containers and groups, and of means over seeds.

Whole units (containers, groups or seeds) are drawn with replacement, the same draw for all that is compared,
so what they have in common cancels. The interval holds 95% of the draws (percentile method).

With few units such an interval is too narrow by far (with one it has no width at all), so fewer than
`MIN_UNITS` containers have none: a reader would take it for a certainty that it does not have.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]
    Integers = npt.NDArray[np.int64]

DRAWS = 2000
LOW, HIGH = 0.025, 0.975
MIN_UNITS = 8
"""The least number of held-out containers with which an interval says anything."""
_CELLS = 4_000_000


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate with the bounds that hold 95% of its bootstrap draws; None where nothing can be drawn."""

    value: float
    low: float | None
    high: float | None


def group_numbers(groups: Sequence[str]) -> tuple[Integers, int]:
    """The number of each container's group, and how many groups there are."""
    names = {name: number for number, name in enumerate(dict.fromkeys(groups))}
    return np.array([names[name] for name in groups], np.int64), len(names)


def resampled(sums: Floats, draws: int, seed: int) -> Floats:
    """Totals of units drawn with replacement.

    Parameters
    ----------
    sums
        What each unit (container or group) adds, shape (n_units, n_columns).
    draws
        The number of bootstrap samples.
    seed
        Seeds the draws, which do not depend on the columns, so columns stay paired.

    Returns
    -------
    ndarray
        Shape (draws, n_columns).
    """
    rng, n = np.random.default_rng(seed), len(sums)
    parts, step = [], max(1, _CELLS // max(n, 1))
    for begin in range(0, draws, step):
        rows = min(step, draws - begin)
        picked = rng.integers(0, n, (rows, n)) + np.arange(rows)[:, None] * n
        counts = np.bincount(picked.ravel(), minlength=rows * n).reshape(rows, n)
        parts.append(counts @ sums)
    return np.concatenate(parts) if parts else np.empty((0, sums.shape[1]))


def by_group(sums: Floats, groups: Sequence[str]) -> Floats:
    """Containers' sums added up by group, shape (n_groups, n_columns)."""
    numbers, n = group_numbers(groups)
    table = np.zeros((n, sums.shape[1]))
    np.add.at(table, numbers, sums)
    return table


def bounds(draws: Floats) -> tuple[float | None, float | None]:
    """The bounds that hold 95% of the draws."""
    finite = draws[np.isfinite(draws)]
    if not len(finite):
        return None, None
    low, high = np.quantile(finite, [LOW, HIGH])
    return float(low), float(high)


def saving_interval(mine: float, base: float, drawn_mine: Floats, drawn_base: Floats) -> Interval:
    """The relative saving of surplus of one policy against another, 1 − mine/base, with its interval."""
    value = 1.0 - mine / base if base > 0 else float("nan")
    with np.errstate(divide="ignore", invalid="ignore"):
        low, high = bounds(1.0 - drawn_mine / drawn_base)
    return Interval(value, low, high)


def ratio_interval(part: float, whole: float, drawn_part: Floats, drawn_whole: Floats) -> Interval:
    """A ratio of sums with its interval."""
    value = part / whole if whole > 0 else float("nan")
    with np.errstate(divide="ignore", invalid="ignore"):
        low, high = bounds(drawn_part / drawn_whole)
    return Interval(value, low, high)


def mean_interval(values: Floats, draws: int) -> tuple[float | None, float | None]:
    """The 95% interval of the mean of one value per unit; none with fewer than two units."""
    if len(values) < 2:
        return None, None
    return bounds(resampled(values[:, None], draws, 0)[:, 0] / len(values))
