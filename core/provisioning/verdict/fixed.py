"""Fixed amounts: what one request that never changes has to be, learned from training containers.

Most policies change what they give, which no manifest can say. What is exported for them is a fixed
amount that keeps the same promise for each of the training containers: for CPU the least that none of them
exceeds for more than the tolerated share of its time, for memory the highest use plus headroom, because too
little memory kills. It is judged as policies are, on containers that it was not made from.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from core.provisioning.fleet import Resource

if TYPE_CHECKING:
    from core.provisioning.fleet import Demand, Floats

_ROUNDING = 1e-12


def least_amounts(demand: Demand, tolerance: float, headroom: float) -> Floats:
    """The least fixed amount that is enough for each container, shape (n_containers,)."""
    fleet = demand.fleet
    if demand.resource is Resource.MEMORY:
        return np.maximum.reduceat(demand.values, fleet.offsets[:-1]) * (1.0 + headroom)
    order = np.lexsort((-demand.values, fleet.container))
    lasting = np.cumsum(fleet.seconds[order])
    before = np.append(0.0, lasting)[fleet.offsets]
    limit = before[:-1] + tolerance * np.diff(before) * (1.0 + _ROUNDING)
    # the first sample, from the highest down, at which more than the tolerated time lies at or above it
    beyond = np.flatnonzero(lasting > np.repeat(limit, fleet.lengths))
    return demand.values[order][beyond[np.searchsorted(beyond, fleet.offsets[:-1])]]
