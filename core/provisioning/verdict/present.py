"""What containers have now: the limit that the traces give, or else their own peak.

Without a limit a container takes what it needs, so its own peak stands for what is reserved today: the
least fixed amount with which it would never have fallen short. Whoever shows it says which one it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from core.provisioning.building import ROLES, is_limit
from core.provisioning.policies.static import own_peak

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.provisioning.fleet import Demand, Floats, Truths
    from core.traces.model import Feature


def present_amount(demand: Demand, features: Sequence[Feature]) -> tuple[Floats, Truths]:
    """What each container has at each sample, and which containers' limits the traces give.

    Returns
    -------
    amount, given
        Shapes (n,) and (n_containers,). A limit counts where somebody set it throughout a container's life
        (`core.provisioning.building.is_limit`).
    """
    fleet, (_, role) = demand.fleet, ROLES[demand.resource]
    limit = next((f for f in features if f.role is role and f.unit is demand.unit), None)
    peak = own_peak(demand)
    if limit is None or limit.name not in fleet.columns:
        return peak, np.zeros(fleet.n_containers, bool)
    values = fleet.columns[limit.name]
    usable = is_limit(values, limit.unit)
    given = np.logical_and.reduceat(usable, fleet.offsets[:-1])
    return np.where(np.repeat(given, fleet.lengths), values, peak), given
