"""The experiments that come with PhaseDock, and what a new one begins with."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from core.errors import NotFoundError
from core.experiments.reading.experiment import read_experiment
from core.runs import bundled as stored

if TYPE_CHECKING:
    from core.experiments.spec import Experiment

NEW: dict[str, Any] = {
    "version": 1,
    "name": "My experiment",
    "workers": [{"id": "worker", "count": 2, "cores": 4.0}],
    "world": {"gamma": 0.035},
    "kinds": {
        "VAE": {"like": "VAE", "work": [200, 600], "demand": 4},
        "GRU": {"like": "GRU", "work": [150, 400], "demand": 4},
    },
    "drawn": {"count": 8},
    "arrivals": {"by": "uniform", "within": 120.0},
    "policies": [{"policy": "fewest"}, {"policy": "specon"}],
    "baseline": "fewest",
    "seeds": {"count": 5, "first": 1},
}
"""A small experiment to begin with: it takes a second or two."""


@dataclass(frozen=True, slots=True)
class Bundled:
    """An experiment under the name that addresses have for it."""

    name: str
    experiment: Experiment


@lru_cache(maxsize=1)
def bundled() -> tuple[Bundled, ...]:
    """The experiments that come with PhaseDock, in order; they do not change while it runs."""
    return tuple(Bundled(name, read_experiment(stored.text(name))) for name in stored.names())


def find(name: str) -> Bundled:
    """One of them.

    Raises
    ------
    NotFoundError
        If there is none of this name.
    """
    found = next((each for each in bundled() if each.name == name), None)
    if found is None:
        raise NotFoundError(f"There is no bundled experiment called “{name}”.", "Choose one from the list.")
    return found
