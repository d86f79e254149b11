"""The order of jobs that have several points on their way, each worth something: best prefixes first.

On one machine let every job be a chain of tasks, to its first point, from there to its second, and so on, and
let w_i be what reaching point i is worth. The order that minimises the sum over all points of w_i times the
moment when it is reached always serves the job with the largest ratio

    max over k of (w_1 + … + w_k) / (work to point k)

up to that point (Horn 1972; Sidney 1975; with one point it is Smith's rule of 1956, weight over work). What
is served in one go that way is a block, and the blocks of a chain have ever smaller ratios.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.scheduling.forecasting.loss_curve import Floats

Way: TypeAlias = "Sequence[tuple[float, float]]"
"""Work to each point of a chain, core-seconds, ascending and above zero, and what reaching it is worth."""


def best_prefix(works: Floats, worths: Floats) -> float:
    """The largest ratio of a chain.

    Parameters
    ----------
    works
        Work to each point that is still ahead, core-seconds, above zero; at least one, in any order.
    worths
        What reaching each is worth.
    """
    order = np.argsort(works)
    return float((np.cumsum(worths[order]) / works[order]).max())


def blocks(way: Way) -> list[tuple[float, float]]:
    """A chain in blocks: of each its ratio, in falling order, and the work to its last point."""
    found: list[tuple[float, float, float]] = []  # work and worth of a block, and the work to its end
    before = 0.0
    for end, at_end in way:
        work, worth, before = end - before, at_end, end
        while found and worth * found[-1][0] >= found[-1][1] * work:
            earlier = found.pop()
            work, worth = work + earlier[0], worth + earlier[1]
        found.append((work, worth, end))
    return [(worth / work, end) for work, worth, end in found]
