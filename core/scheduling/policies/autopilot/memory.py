"""The memory of one container: a limit that is too low kills, so it shrinks slowly and grows at once.

While it is young it has not shown yet what it needs: it only shrinks to what recorded containers of its age
could still come to, and where nothing says that, not before ten minutes were seen.
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
    """What is remembered of a container's memory."""

    #: The policy's state with all samples but the last, and what it said last.
    inner: Any
    last_advice: float
    #: Bytes that the container is to have; None while it has no limit and gets none.
    target: float | None
    #: The last sample.
    last: Use
    #: When its first sample came, and the cycle that the next one is in.
    first_seen: float
    number: int = 0
    #: (time, bytes) of the samples that nothing later reached, of the last ten minutes, the largest first.
    peaks: tuple[tuple[float, float], ...] = ()
    #: For how many cycles in a row less would have done.
    smaller_cycles: int = 0


def begin_memory(
    adviser: Adviser, clock: Clock, use: Use, limit: float | None, before: MemoryState | None = None
) -> MemoryState:
    """A container's first sample under a policy; it keeps the limit that it has.

    Parameters
    ----------
    adviser, clock, use
        As in `step`.
    limit
        The limit, bytes.
    before
        What was remembered of it under another policy.
    """
    inner, advised = begin_advice(adviser, use, use.memory, clock.period)
    begun, peaks = (use.time, ()) if before is None else (before.first_seen, before.peaks)
    number = cycle_number(use.time + clock.period, begun, clock.cycle)
    return MemoryState(inner, advised, limit, use, begun, number, _update_peaks(peaks, use))


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
    """The next sample of a container: what limit it is to have, and why another one; empty where it is not.

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
    samples = (state.last, state.last.memory), (use, use.memory)
    inner, advised = continue_advice(adviser, state.inner, state.last_advice, samples, clock.period)
    number, peaks = (
        cycle_number(use.time + clock.period, state.first_seen, clock.cycle),
        _update_peaks(state.peaks, use),
    )
    target = min(max(advised, safe_limit(peaks, settings)), capacity)
    age = use.time - state.first_seen
    ahead = 1.0 if age >= PEAK_SECONDS else growth_at(age)
    least = max(target, safe_limit(peaks, settings, ahead))
    wanted, smaller, why = state.target, state.smaller_cycles, ""
    less = least < (inf if wanted is None else wanted)
    if number != state.number:
        smaller = smaller + 1 if less else 0
    if wanted is not None and use.memory > settings.full * wanted:
        wanted, smaller, why = min(max(wanted * settings.step, target), capacity), 0, "It was nearly full."
    elif wanted is not None and target > wanted:
        wanted, smaller, why = target, 0, "More is needed now."
    elif smaller >= _MIN_SMALLER_CYCLES and less:
        wanted, smaller, why = least, 0, "Less has been enough for two cycles."
    return MemoryState(inner, advised, wanted, use, state.first_seen, number, peaks, smaller), why


def safe_limit(
    peaks: tuple[tuple[float, float], ...], settings: AutopilotSettings, growth: float = 1.0
) -> float:
    """The least limit that does not endanger a container with these peaks, bytes, which may grow so much."""
    return peaks[0][1] * growth * (1.0 + settings.margin) + SPARE_BYTES


def _update_peaks(peaks: tuple[tuple[float, float], ...], use: Use) -> tuple[tuple[float, float], ...]:
    """The peaks of the last ten minutes, also with this sample."""
    kept = [peak for peak in peaks if peak[0] >= use.time - PEAK_SECONDS and peak[1] > use.memory]
    return (*kept, (use.time, use.memory))
