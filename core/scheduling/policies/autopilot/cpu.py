"""The cores of one container: what its policy says, and what keeps it from being held back for long.

It is given what the policy says when that decides anew: at the beginning of a cycle, or by the own rule of a
policy that acts on events. So it is never resized more often than the policy means to.

What is used under a limit does not show what would be used without. Where the limit is this policy's own, the
time for which its threads were throttled does (`would_use`). A limit that holds it back for long grows at
once.
"""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, Any, NamedTuple

from core.provisioning.advice import Sample, cycle_number

if TYPE_CHECKING:
    from core.provisioning.advice import Adviser
    from core.scheduling.model import Use
    from core.scheduling.policies.autopilot.settings import AutopilotSettings, Clock


MAX_GAP_PERIODS = 3.0
"""Periods without a sample that are a gap."""


# Asking a policy, at a sample, what a container is given until the next one.
#
# A policy says what is given for a sample once that comes, when it is known how long the one before has
# lasted (`core.provisioning.advice`). Here it is asked twice: with the sample that came, so that it remembers
# what an evaluation of the recording would; and for the one to come, which is expected a period later.


def begin_advice(adviser: Adviser, use: Use, value: float, period: float) -> tuple[Any, float]:
    """The state at a container's first sample, and what it is given until the next one."""
    inner, given = adviser.begin(use.time)
    return inner, _advise_next(adviser, inner, given, use, value, period)


def continue_advice(
    adviser: Adviser,
    inner: Any,
    given: float,
    samples: tuple[tuple[Use, float], tuple[Use, float]],
    period: float,
) -> tuple[Any, float]:
    """The state at a further sample, and what the container is given until the next one."""
    (last, before), (use, value) = samples
    passed = use.time - last.time
    seconds = period if passed > MAX_GAP_PERIODS * period else passed
    inner, _ = adviser.advise(inner, Sample(last.time, before, seconds, last.phase, last.code), use.time)
    return inner, _advise_next(adviser, inner, given, use, value, period)


def _advise_next(adviser: Adviser, inner: Any, given: float, use: Use, value: float, period: float) -> float:
    seen = Sample(use.time, value, period, use.phase, use.code)
    _, advised = adviser.advise(inner, seen, use.time + period)
    return advised if isfinite(advised) else given


DECIDED, ROLLBACK = "autopilot, cores", "autopilot, rollback step"
"""By which rule a container gets other cores: because the policy says so, or because it was held back."""


class CpuState(NamedTuple):
    """What is remembered of a container's cores."""

    #: The policy's state, with all samples but the last.
    inner: Any
    #: What the policy said last.
    last_advice: float
    #: What the container is to have.
    target: float
    #: The last sample, and the cores that it would have used in it.
    last: Use
    used: float
    #: When its first sample came, and the cycle that the next one is in.
    first_seen: float
    number: int = 0
    #: Since when it has been held back too much, seconds; None while it is not.
    throttled_since: float | None = None


def begin_cpu(
    adviser: Adviser, clock: Clock, settings: AutopilotSettings, use: Use, capacity: float
) -> CpuState:
    """A container's first sample; parameters as in `step`."""
    inner, advised = begin_advice(adviser, use, use.cores, clock.period)
    number = cycle_number(use.time + clock.period, use.time, clock.cycle)
    wanted = min(max(advised, settings.floor), capacity)
    return CpuState(inner, advised, wanted, use, use.cores, use.time, number)


def step_cpu(
    adviser: Adviser,
    clock: Clock,
    settings: AutopilotSettings,
    state: CpuState,
    use: Use,
    capacity: float,
    *,
    limited: bool,
) -> tuple[CpuState, str, str]:
    """The next sample of a container: what it is to have until the one after.

    Parameters
    ----------
    adviser
        The policy, fitted on cores.
    clock
        Its period and cycle.
    settings
        How carefully.
    state
        As it was returned last.
    use
        The sample.
    capacity
        Cores of its worker, which it never gets more than.
    limited
        Whether its limit is what was wanted, so that being held back is this policy's doing.

    Returns
    -------
    tuple
        The state after that; and the rule by which it wants other cores, and why, both empty where it does
        not.
    """
    used = estimate_unlimited_use(use.cores, use.withheld, capacity) if limited else use.cores
    samples = (state.last, state.used), (use, used)
    inner, advised = continue_advice(adviser, state.inner, state.last_advice, samples, clock.period)
    number = cycle_number(use.time + clock.period, state.first_seen, clock.cycle)
    wanted, rule, why = state.target, "", ""
    target = min(max(advised, settings.floor), capacity)
    if (advised != state.last_advice or number != state.number) and target != wanted:
        wanted, rule, why = target, DECIDED, "The policy decided anew."
    held = limited and use.throttled > settings.throttled
    since = (use.time if state.throttled_since is None else state.throttled_since) if held else None
    if since is not None and use.time - since >= settings.patience:
        wanted, since, rule = min(max(wanted, state.target * settings.step), capacity), use.time, ROLLBACK
        why = f"It was held back in {use.throttled:.0%} of its periods."
    return CpuState(inner, advised, wanted, use, used, state.first_seen, number, since), rule, why


def estimate_unlimited_use(cores: float, withheld: float, capacity: float) -> float:
    """What a container would use without its limit, as far as can be told.

    The kernel counts on each processor for how long threads that could run were throttled there. Had they
    run, they would have used that time as well, or less if they had slept in it.

    Parameters
    ----------
    cores
        What it uses.
    withheld
        Seconds for which its threads were throttled, per second.
    capacity
        Cores of its worker.
    """
    return max(cores, min(cores + withheld, capacity))
