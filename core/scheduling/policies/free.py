"""``free``: every job starts at once, without limits, and competes freely. The thesis' NA.

On several workers the default scheduler chooses the worker; the same policy is registered under each of its
rules, because a result of a policy that migrates means little without its default scheduler beside it.
Source: Zheng, "Efficient resource management for deep learning applications", 6.1 (NA) and 6.2 (DS).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from core.scheduling.placement import PLACEMENTS, Placer, place, placement_setting, placer
from core.scheduling.ports import Decision, SchedulingPolicy

if TYPE_CHECKING:
    from core.scheduling.model import Observation

__all__ = ["DEFAULT_SCHEDULERS", "FREE", "POLICIES", "FreeSettings"]


@dataclass(frozen=True)
class FreeSettings:
    """The settings of a policy that limits nothing."""

    placement: str = placement_setting()


@dataclass(frozen=True, slots=True)
class FreeState:
    """The last observation's number, the next wake-up time, and the default scheduler."""

    number: int
    wake: float | None
    placer: Placer


def begin(settings: FreeSettings, seed: int) -> FreeState:
    """Return the state before the first observation."""
    return FreeState(-1, None, placer(settings.placement, seed))


def decide(state: FreeState, observation: Observation) -> Decision[FreeState]:
    """Start what waits; limit nothing."""
    if observation.number <= state.number:
        return Decision(state, wake=state.wake)
    placing = place(state.placer, observation)
    after = FreeState(observation.number, placing.wake, placing.placer)
    return Decision(after, placing.actions, placing.reasons, wake=placing.wake)


FREE = SchedulingPolicy(
    name="free",
    title="No policy",
    about="Every job starts at once and competes freely: no limits, no migration (the thesis' NA).",
    begin=begin,
    decide=decide,
    settings=FreeSettings,
)

_TITLES = {
    "fewest": "Fewest jobs",
    "random": "Random worker",
    "half": "Default (half)",
    "requested": "Least requested",
}

DEFAULT_SCHEDULERS = tuple(
    SchedulingPolicy(
        name=rule,
        title=_TITLES[rule],
        about=f"The default scheduler without limits or migration. {text}.",
        begin=begin,
        decide=decide,
        settings=FreeSettings,
        defaults={"placement": rule},
    )
    for rule, text in PLACEMENTS.items()
)
POLICIES = (FREE, *DEFAULT_SCHEDULERS)
