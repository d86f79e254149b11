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
    """What steers, and by which clock."""

    #: The policy's.
    name: str
    #: Seconds of a rescaling cycle, and between the samples that it was fitted on.
    cycle: float
    period: float
    #: What says how many cores and bytes a container is given; None where it was not fitted on these.
    cpu: Adviser | None
    memory: Adviser | None
    #: The reactive rule for containers that the phase model has seen nothing like, or None.
    fallback: FittedPolicy | None = None
    #: By how much the memory of recorded containers still grew; None where it was not fitted on bytes.
    growth: Growth | None = None

    @property
    def clock(self) -> Clock:
        """Both together."""
        return Clock(self.period, self.cycle)
