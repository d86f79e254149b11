"""The memory of one container: a limit that is too low kills, so it shrinks slowly and grows at once.

A young container has not shown its need yet: its limit shrinks only to what recorded containers of its age
still grew to; without such records it does not shrink in the first ten minutes.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Any, NamedTuple

from core.provisioning.advice import cycle_number
from core.scheduling.policies.autopilot.cpu import begin_advice, continue_advice
from core.scheduling.policies.autopilot.settings import PEAK_SECONDS
from core.units import MIB

if TYPE_CHECKING:
    from collections.abc import Callable

    from core.provisioning.advice import Adviser
    from core.scheduling.model import Use
    from core.scheduling.policies.autopilot.settings import AutopilotSettings, Clock

SPARE_BYTES = 32.0 * MIB
_MIN_SMALLER_CYCLES = 2


class MemoryState(NamedTuple):
    """The state of a container's memory."""

    #: The policy's state with all samples but the last, and its last advice.
    inner: Any
    last_advice: float
    #: The target limit in bytes; None while it has none.
    target: float | None
    #: The last sample.
    last: Use
    #: The time of the first sample, and the cycle of the next one.
    first_seen: float
    number: int = 0
    #: (time, bytes) of the samples of the last ten minutes that no later one reached, the largest first.
    peaks: tuple[tuple[float, float], ...] = ()
    #: Consecutive cycles for which less would have sufficed.
    smaller_cycles: int = 0


def begin_memory(
    adviser: Adviser, clock: Clock, use: Use, limit: float | None, before: MemoryState | None = None
) -> MemoryState:
    """Return the state at a container's first sample under a policy; it keeps its limit."""
    inner, advised = begin_advice(adviser, use, _measured(use), clock.period)
    first_seen, peaks = (use.time, ()) if before is None else (before.first_seen, before.peaks)
    number = cycle_number(use.time + clock.period, first_seen, clock.cycle)
    return MemoryState(inner, advised, limit, use, first_seen, number, _update_peaks(peaks, use))


def step_memory(
    adviser: Adviser,
    clock: Clock,
    settings: AutopilotSettings,
    state: MemoryState,
    use: Use,
    capacity: float,
    *,
    growth_at: Callable[[float], float],
) -> tuple[MemoryState, str]:
    """Return the state after a sample, and the reason for a changed limit or an empty text.

    Parameters
    ----------
    adviser
        The policy, fitted on bytes.
    clock, settings, state, use
        As in `core.scheduling.policies.autopilot.cpu.step_cpu`.
    capacity
        Bytes of its worker; infinite where it says nothing of memory.
    growth_at
        By how much what a container has used at most may still grow, by its age in seconds; infinite where
        that is not known. After ten minutes it is not asked.
    """
    used = _measured(use)
    samples = (state.last, _measured(state.last)), (use, used)
    inner, advised = continue_advice(adviser, state.inner, state.last_advice, samples, clock.period)
    number, peaks = (
        cycle_number(use.time + clock.period, state.first_seen, clock.cycle),
        _update_peaks(state.peaks, use),
    )
    needed = min(max(advised, safe_limit(peaks, settings)), capacity)
    age = use.time - state.first_seen
    ahead = 1.0 if age >= PEAK_SECONDS else growth_at(age)
    lowest_limit = max(needed, safe_limit(peaks, settings, ahead))
    target, smaller, why = state.target, state.smaller_cycles, ""
    less = lowest_limit < (inf if target is None else target)
    if number != state.number:
        smaller = smaller + 1 if less else 0
    if target is not None and used > settings.full * target:
        target, smaller, why = min(max(target * settings.step, needed), capacity), 0, "It was nearly full."
    elif target is not None and needed > target:
        target, smaller, why = needed, 0, "More is needed now."
    elif smaller >= _MIN_SMALLER_CYCLES and less:
        target, smaller, why = lowest_limit, 0, "Less has been enough for two cycles."
    return MemoryState(inner, advised, target, use, state.first_seen, number, peaks, smaller), why


def safe_limit(
    peaks: tuple[tuple[float, float], ...], settings: AutopilotSettings, growth: float = 1.0
) -> float:
    """Return the smallest safe limit for these peaks, in bytes, which may still grow by a factor."""
    return peaks[0][1] * growth * (1.0 + settings.margin) + SPARE_BYTES


def _update_peaks(peaks: tuple[tuple[float, float], ...], use: Use) -> tuple[tuple[float, float], ...]:
    """Return the peaks of the last ten minutes, with this sample."""
    used = _measured(use)
    recent = [peak for peak in peaks if peak[0] >= use.time - PEAK_SECONDS and peak[1] > used]
    return (*recent, (use.time, used))


def _measured(use: Use) -> float:
    """Return the bytes of a sample whose memory was measured; no other is given to this module."""
    if use.memory is None:
        raise ValueError("memory was not measured")
    return use.memory
