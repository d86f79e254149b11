"""The order of jobs that have several points on their way, each worth something: best prefixes first.

On one machine let every job be a chain of tasks, to its first point, from there to its second, and so on, and
let w_i be what reaching point i is worth. The order that minimises the sum over all points of w_i times the
moment when it is reached always serves the job with the largest ratio

    max over k of (w_1 + … + w_k) / (work to point k)

up to that point (Horn 1972; Sidney 1975; with one point it is Smith's rule of 1956, weight over work).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from core.scheduling.forecasting.loss_curve import Floats


def best_prefix(works: Floats, worths: Floats) -> float:
    """The largest ratio of a chain.

    Parameters
    ----------
    works
        Work to each point that is still ahead, core-seconds, above zero; at least one, in any order.
    worths
        What reaching each is worth.

    Returns
    -------
    float
        Worth per core-second.
    """
    order = np.argsort(works)
    return float((np.cumsum(worths[order]) / works[order]).max())
