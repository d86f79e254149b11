"""What contention costs: the speed of all jobs of a worker falls while its cores stay busy."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.simulation.scenario import Contention


def efficiency(shares: Sequence[float], gamma: float, contention: Contention) -> float:
    """η = 1/(1 + γ(n_e − 1)), with n_e the number of jobs or (Σa)²/Σa² of shares (docs/simulator.md)."""
    if gamma == 0 or not shares:
        return 1.0
    if contention == "count":
        jobs = float(len(shares))
    else:
        squares = sum(share * share for share in shares)
        jobs = sum(shares) ** 2 / squares if squares > 0 else 1.0
    return 1.0 / (1.0 + gamma * (jobs - 1.0))
