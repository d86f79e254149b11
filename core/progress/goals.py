"""Turning a printed value into E(t), where lower is always better."""

from __future__ import annotations

from enum import StrEnum

from core.errors import InputError


class Goal(StrEnum):
    """How E comes from the printed value."""

    MIN = "min"
    MAX = "max"
    BEST = "best"


def read_goal(text: str) -> Goal:
    """Return the goal that a container's label names.

    Raises
    ------
    InputError
        If it is none of them.
    """
    word = text.strip().lower() or Goal.MIN
    try:
        return Goal(word)
    except ValueError:
        raise InputError(
            f"“{text}” is not a goal for a printed value.",
            "Label it phasedock.goal=min for a loss, max for a score up to 1, best for another score.",
        ) from None


class Evaluation:
    """Turns printed values into E, one after the other (docs/docker/progress.md).

    ``min``: E is the value. ``max``: E = 1 − value, which is 0 at a perfect score. ``best``: E is the
    distance between the value and the best one before it, |v_t − max(v_0 … v_{t−1})|; the first value has
    none. A score that nears its unknown end like 1 − e^(−kt) has an E that falls like e^(−kt), as losses do.
    """

    def __init__(self, goal: Goal) -> None:
        self._goal = goal
        self._best: float | None = None

    def __call__(self, value: float) -> float | None:
        """Return E of the next value, or None where it has none."""
        if self._goal is Goal.MIN:
            return value
        if self._goal is Goal.MAX:
            return 1 - value
        best, self._best = self._best, value if self._best is None else max(value, self._best)
        return None if best is None else abs(value - best)
