"""Fixed amounts: what one request that never changes has to be, learned from training containers.

Most policies change what they give, which no manifest can say. What is exported for them is a fixed
amount that keeps the same promise: for CPU the least that is exceeded for the tolerated share of time,
for memory the highest use plus headroom, because too little memory kills. It is judged as policies are,
on containers that it was not made from.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from core.provisioning.evaluation.matched_violation import factors
from core.provisioning.fleet import Resource
from core.provisioning.recommendation.recommend import rounded_up

if TYPE_CHECKING:
    from core.provisioning.fleet import Demand


def fixed_amount(demand: Demand, tolerance: float, headroom: float) -> float:
    """The amount to give to containers like these for their whole life, rounded up to what can be given.

    Parameters
    ----------
    demand
        The containers that it is made from.
    tolerance
        The share of time that CPU may fall short.
    headroom
        What memory gets above the highest use, as a share of it.
    """
    if demand.resource is Resource.MEMORY:
        return rounded_up(float(demand.values.max()) * (1.0 + headroom), demand.unit)
    least = factors(demand, np.ones(demand.fleet.n_samples), (tolerance,))[0]
    return rounded_up(least, demand.unit)
