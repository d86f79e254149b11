"""What a core-second for a job is worth: the best prefix of its chain of points, each where it may be."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from core.scheduling.forecasting.chains import best_prefix

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.scheduling.forecasting.forecast import Left

_UNLIKELY = 0.02


def index(known: Left, weights: Sequence[float]) -> float:
    """Worth per core-second of serving a job to its best point (`core.scheduling.forecasting.chains`).

    Where a point is nobody knows for sure: every place where it may be counts with its chance.
    """
    works, chance = known.ahead()
    return best_prefix(np.append(works, known.end), np.append(chance * np.array(weights), 1.0))


def way(known: Left, weights: Sequence[float]) -> tuple[tuple[float, float], ...]:
    """What is ahead of a job: where each point is on average, and its worth times the chance that it is."""
    works, chance = known.ahead()
    likely = chance.sum(axis=0)
    places = (works * chance).sum(axis=0) / np.maximum(likely, _UNLIKELY)
    points = [
        (min(place, known.end), weight * chance)
        for place, weight, chance in zip(places.tolist(), weights, likely.tolist(), strict=True)
        if chance > _UNLIKELY
    ]
    return (*sorted(points), (known.end, 1.0))
