"""The cores of one container: what its policy says, and what keeps it from being held back for long.

It is given what the policy says when that decides anew: at the beginning of a cycle, or by the own rule of a
policy that acts on events. So it is never resized more often than the policy means to. What is used under a
limit does not show what would be used without, so a limit that holds it back grows by itself, at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from core.autopilot.asking import first, following
from core.provisioning.advice import cycle_number

if TYPE_CHECKING:
    from core.autopilot.settings import SteeringSettings
    from core.provisioning.advice import Adviser
    from core.scheduling.model import Use


class CpuState(NamedTuple):
    """What is remembered of a container's cores.

    Parameters
    ----------
    inner
        The policy's state, with all samples but the last.
    advised
        What the policy said last.
    wanted
        What the container is to have.
    last
        The last sample.
    begun, number
        When its first sample came, and the cycle that the next one is in.
    held_since
        Since when it has been held back too much, seconds; None while it is not.
    violations
        How often its limit had to grow for that.
    """

    inner: Any
    advised: float
    wanted: float
    last: Use
    begun: float
    number: int = 0
    held_since: float | None = None
    violations: int = 0


def begin(adviser: Adviser, settings: SteeringSettings, use: Use, period: float, cycle: float) -> CpuState:
    """A container's first sample; parameters as in `step`."""
    inner, advised = first(adviser, use, use.cores, period)
    number = cycle_number(use.time + period, use.time, cycle)
    return CpuState(inner, advised, max(advised, settings.floor), use, use.time, number)


def step(
    adviser: Adviser,
    settings: SteeringSettings,
    state: CpuState,
    use: Use,
    period: float,
    cycle: float,
    *,
    steers: bool,
) -> tuple[CpuState, str]:
    """The next sample of a container: what it is to have until the one after.

    Parameters
    ----------
    adviser
        The policy, fitted on cores.
    settings
        How carefully.
    state
        As it was returned last.
    use
        The sample.
    period, cycle
        Seconds between samples, and of a rescaling cycle.
    steers
        Whether what is wanted is set, so that being held back is this policy's doing.

    Returns
    -------
    tuple
        The state after that, and why it wants other cores; empty where it does not.
    """
    samples = (state.last, state.last.cores), (use, use.cores)
    inner, advised = following(adviser, state.inner, state.advised, samples, period)
    number = cycle_number(use.time + period, state.begun, cycle)
    wanted, why, violations = state.wanted, "", state.violations
    target = max(advised, settings.floor)
    if (advised != state.advised or number != state.number) and target != wanted:
        wanted, why = target, "The policy decided anew."
    held = steers and use.throttled > settings.throttled
    since = (use.time if state.held_since is None else state.held_since) if held else None
    if since is not None and use.time - since >= settings.patience:
        wanted, since, violations = max(wanted, state.wanted) * settings.step, use.time, violations + 1
        why = f"It was held back in {use.throttled:.0%} of its periods."
    return CpuState(inner, advised, wanted, use, state.begun, number, since, violations), why
