"""The cores of one container: the provisioning policy's advice, and a guard against throttling.

The container gets the advice when the policy decides anew: at the beginning of a cycle, or by the rule of an
event-driven policy. So it is resized no more often than the policy intends.

Usage under a limit hides what would be used without it; the throttled time of the threads shows it
(`estimate_unlimited_use`). Where the limit is this policy's own, one that throttles for long grows at once.
A container that uses its fair part of a host under pressure may need more than it uses: it keeps its target.
"""

from __future__ import annotations

from math import inf, isfinite
from typing import TYPE_CHECKING, Any, NamedTuple

from core.provisioning.advice import Sample, cycle_number
from core.traces.censoring import PRESSURE

if TYPE_CHECKING:
    from core.provisioning.advice import Adviser
    from core.scheduling.model import Use
    from core.scheduling.policies.autopilot.settings import AutopilotSettings, Clock


MAX_GAP_PERIODS = 3.0
"""Periods without a sample that are a gap."""


# The advice for the next sample.
#
# A policy advises for a sample when that arrives and the length of the previous one is known
# (`core.provisioning.advice`). Here it advises twice: with the sample that arrived, so that its state equals
# the state in an evaluation of the recording; and for the next one, which is expected one period later.


def begin_advice(adviser: Adviser, use: Use, value: float, period: float) -> tuple[Any, float]:
    """Return the state and the advice at a container's first sample."""
    inner, default_advice = adviser.begin(use.time)
    return inner, _advise_next(adviser, inner, default_advice, use, value, period)


def continue_advice(
    adviser: Adviser,
    inner: Any,
    last_advice: float,
    samples: tuple[tuple[Use, float], tuple[Use, float]],
    period: float,
) -> tuple[Any, float]:
    """Return the state and the advice at a further sample."""
    (last, before), (use, value) = samples
    passed = use.time - last.time
    seconds = period if passed > MAX_GAP_PERIODS * period else passed
    inner, _ = adviser.advise(inner, Sample(last.time, before, seconds, last.phase, last.code), use.time)
    return inner, _advise_next(adviser, inner, last_advice, use, value, period)


def _advise_next(
    adviser: Adviser, inner: Any, fallback: float, use: Use, value: float, period: float
) -> float:
    sample = Sample(use.time, value, period, use.phase, use.code)
    _, advised = adviser.advise(inner, sample, use.time + period)
    return advised if isfinite(advised) else fallback


DECIDED, ROLLBACK = "autopilot, cores", "autopilot, rollback step"
"""The rules that change a container's cores: the policy's advice, or throttling."""


class CpuState(NamedTuple):
    """The state of a container's cores."""

    #: The policy's state, with all samples but the last.
    inner: Any
    #: The policy's last advice.
    last_advice: float
    #: The target allocation.
    target: float
    #: The last sample, and its estimated use without a limit.
    last: Use
    used: float
    #: The time of the first sample, and the cycle of the next one.
    first_seen: float
    number: int = 0
    #: When excessive throttling began, seconds, or None.
    throttled_since: float | None = None


def begin_cpu(
    adviser: Adviser, clock: Clock, settings: AutopilotSettings, use: Use, capacity: float
) -> CpuState:
    """Return the state at a container's first sample; parameters as in `step_cpu`."""
    inner, advised = begin_advice(adviser, use, use.cores, clock.period)
    number = cycle_number(use.time + clock.period, use.time, clock.cycle)
    target = min(max(advised, settings.floor), capacity)
    return CpuState(inner, advised, target, use, use.cores, use.time, number)


def step_cpu(
    adviser: Adviser,
    clock: Clock,
    settings: AutopilotSettings,
    state: CpuState,
    use: Use,
    capacity: float,
    *,
    limited: bool,
    fair: float = inf,
) -> tuple[CpuState, str, str]:
    """Return the state after a sample, the rule for changed cores, and its reason.

    Parameters
    ----------
    adviser
        The policy, fitted on cores.
    clock
        Its period and cycle.
    settings
        The safety margins.
    state
        The last returned state.
    use
        The sample.
    capacity
        Cores of its worker, which it never gets more than.
    limited
        Whether its limit is the target, so that this policy causes the throttling.
    fair
        Its fair part of its worker's cores: who uses less is not starved by others.

    Returns
    -------
    tuple
        The state after that; and the rule by which it wants other cores, and why, both empty where it does
        not.
    """
    used = estimate_unlimited_use(use.cores, use.withheld, capacity)
    starved = use.pressure > PRESSURE and use.cores >= fair
    if starved:
        used = max(used, state.target)
    samples = (state.last, state.used), (use, used)
    inner, advised = continue_advice(adviser, state.inner, state.last_advice, samples, clock.period)
    number = cycle_number(use.time + clock.period, state.first_seen, clock.cycle)
    target, rule, why = state.target, "", ""
    advised_target = min(max(advised, settings.floor), capacity)
    is_new = advised != state.last_advice or number != state.number
    if is_new and advised_target != target and not (starved and advised_target < target):
        target, rule, why = advised_target, DECIDED, "The policy decided anew."
    is_throttled = limited and use.throttled > settings.throttled
    since = (use.time if state.throttled_since is None else state.throttled_since) if is_throttled else None
    if since is not None and use.time - since >= settings.patience:
        target, since, rule = min(max(target, state.target * settings.step), capacity), use.time, ROLLBACK
        why = f"It was held back in {use.throttled:.0%} of its periods."
    return CpuState(inner, advised, target, use, used, state.first_seen, number, since), rule, why


def estimate_unlimited_use(cores: float, withheld: float, capacity: float) -> float:
    """Return the cores that a container would use without its limit, as far as known.

    The kernel counts on each processor for how long runnable threads were throttled. Without the limit they
    would have used at most that time as well.
    """
    return max(cores, min(cores + withheld, capacity))
