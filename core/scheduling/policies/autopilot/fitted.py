"""A provisioning policy that was fitted to steer by, with what it was fitted on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from core.provisioning.advising.keeping import kept

if TYPE_CHECKING:
    from core.provisioning.advising.advice import Adviser
    from core.scheduling.policies.autopilot.growth import Growth


class Clock(NamedTuple):
    """Seconds between the samples that a policy was fitted on, and of a rescaling cycle."""

    period: float
    cycle: float


@kept
@dataclass(frozen=True)
class FittedPolicy:
    """What steers, and by which clock.

    Parameters
    ----------
    name
        The policy's.
    cycle, period
        Seconds of a rescaling cycle, and between the samples that it was fitted on.
    cpu, memory
        What says how many cores and bytes a container is given; None where it was not fitted on these.
    fallback
        The reactive rule for containers that the phase model has seen nothing like, or None.
    growth
        By how much the memory of recorded containers still grew; None where it was not fitted on bytes.
    """

    name: str
    cycle: float
    period: float
    cpu: Adviser | None
    memory: Adviser | None
    fallback: FittedPolicy | None = None
    growth: Growth | None = None

    @property
    def clock(self) -> Clock:
        """Both together."""
        return Clock(self.period, self.cycle)
