"""The memory of one container: a limit that is too low kills, so it shrinks slowly and grows at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from core.provisioning.advising.advice import cycle_number
from core.scheduling.policies.autopilot.asking import first, following
from core.units import MIB

if TYPE_CHECKING:
    from core.provisioning.advising.advice import Adviser
    from core.scheduling.model import Use
    from core.scheduling.policies.autopilot.fitted import Clock
    from core.scheduling.policies.autopilot.settings import AutopilotSettings

REMEMBERED = 600.0
"""Seconds for which the most that was used is remembered."""
SPARE = 32.0 * MIB
_TWICE = 2


class MemoryState(NamedTuple):
    """What is remembered of a container's memory.

    Parameters
    ----------
    inner, advised
        The policy's state with all samples but the last, and what it said last.
    wanted
        Bytes that the container is to have; None while it has no limit and gets none.
    last
        The last sample.
    begun, number
        When its first sample came, and the cycle that the next one is in.
    peaks
        (time, bytes) of the samples that nothing later reached, of the last ten minutes, the largest first.
    smaller
        For how many cycles in a row less would have done.
    """

    inner: Any
    advised: float
    wanted: float | None
    last: Use
    begun: float
    number: int = 0
    peaks: tuple[tuple[float, float], ...] = ()
    smaller: int = 0


def begin(adviser: Adviser, clock: Clock, use: Use, limit: float | None) -> MemoryState:
    """A container's first sample; it keeps the limit that it has."""
    inner, advised = first(adviser, use, use.memory, clock.period)
    number = cycle_number(use.time + clock.period, use.time, clock.cycle)
    return MemoryState(inner, advised, limit, use, use.time, number, ((use.time, use.memory),))


def step(
    adviser: Adviser, clock: Clock, settings: AutopilotSettings, state: MemoryState, use: Use, most: float
) -> tuple[MemoryState, str]:
    """The next sample of a container: what limit it is to have, and why another one; empty where it is not.

    Parameters
    ----------
    adviser
        The policy, fitted on bytes.
    clock, settings, state, use
        As in `core.scheduling.policies.autopilot.cpu.step`.
    most
        Bytes of its worker; infinite where it says nothing of memory.
    """
    samples = (state.last, state.last.memory), (use, use.memory)
    inner, advised = following(adviser, state.inner, state.advised, samples, clock.period)
    number, peaks = cycle_number(use.time + clock.period, state.begun, clock.cycle), _with(state.peaks, use)
    target = min(max(advised, safe(peaks, settings)), most)
    wanted, smaller, why = state.wanted, state.smaller, ""
    if number != state.number:
        smaller = smaller + 1 if wanted is None or target < wanted else 0
    if wanted is not None and use.memory > settings.full * wanted:
        wanted, smaller, why = min(max(wanted * settings.step, target), most), 0, "It was nearly full."
    elif wanted is not None and target > wanted:
        wanted, smaller, why = target, 0, "More is needed now."
    elif smaller >= _TWICE:
        wanted, smaller, why = target, 0, "Less has been enough for two cycles."
    return MemoryState(inner, advised, wanted, use, state.begun, number, peaks, smaller), why


def safe(peaks: tuple[tuple[float, float], ...], settings: AutopilotSettings) -> float:
    """The least limit that does not endanger a container with these peaks, bytes."""
    return peaks[0][1] * (1.0 + settings.margin) + SPARE


def _with(peaks: tuple[tuple[float, float], ...], use: Use) -> tuple[tuple[float, float], ...]:
    """The peaks of the last ten minutes, also with this sample."""
    kept = [peak for peak in peaks if peak[0] >= use.time - REMEMBERED and peak[1] > use.memory]
    return (*kept, (use.time, use.memory))
