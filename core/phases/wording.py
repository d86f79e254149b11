"""Plain descriptions of phases, generated from their statistics.

A description names the level and variability of CPU relative to the whole set, and how memory behaves. Two
phases that would read the same get the first fact that tells them apart: memory, CPU, spread, or dwell time.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from core.units import format_duration, format_value

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from core.phases.statistics import FeatureStatistics, PhaseStatistics

LEVELS = ((0.05, "Idle CPU"), (0.35, "Light CPU"), (0.7, "Moderate CPU"))
GROWING = 0.03
UNEVEN = 0.35


def descriptions(table: Sequence[PhaseStatistics]) -> list[str]:
    """One description per phase, no two alike."""
    top_cpu = max((each.cpu.quantiles[4] for each in table if each.cpu), default=0.0)
    plain = [_plain(each, top_cpu) for each in table]
    groups = defaultdict(list)
    for place, text in enumerate(plain):
        groups[text].append(place)
    for places in groups.values():
        if len(places) > 1:
            facts = _telling_apart([table[place] for place in places])
            for place, fact in zip(places, facts, strict=True):
                plain[place] += f", {fact}"
    return plain


def _plain(each: PhaseStatistics, top_cpu: float) -> str:
    if each.phase < 0:
        return "Warm-up, too few samples before it"
    if not each.samples:
        return "Does not occur in these traces"
    parts = [_cpu(each.cpu, top_cpu)] if each.cpu else []
    parts += [_memory(each.memory, each.memory_growth * each.median_stay / 60)] if each.memory else []
    if not parts:
        parts = [f"{f.name} about {format_value(f.mean, f.unit)}" for f in each.features[:2]]
    text = ", ".join(parts)
    return text[:1].upper() + text[1:]


def _cpu(cpu: FeatureStatistics, top: float) -> str:
    if top <= 0:
        return "Idle CPU"
    low, _, middle, _, high = cpu.quantiles
    if high > 0.35 * top and high > 4 * max(middle, 0.02 * top):
        return "CPU spikes"
    level = next((text for bound, text in LEVELS if cpu.mean < bound * top), "CPU-intensive")
    restless = high - low > 0.5 * top
    return f"{level}, varying" if restless else level


def _memory(memory: FeatureStatistics, growth: float) -> str:
    """How memory behaves; `growth` is its change within a typical run."""
    typical = max(abs(memory.mean), 1e-12)
    if abs(growth) > GROWING * typical:
        return "memory growing" if growth > 0 else "memory falling"
    return (
        "uneven memory" if memory.quantiles[3] - memory.quantiles[1] > UNEVEN * typical else "steady memory"
    )


def _telling_apart(alike: Sequence[PhaseStatistics]) -> list[str]:
    facts: tuple[Callable[[PhaseStatistics], str], ...] = (
        lambda p: f"about {format_value(p.memory.mean, p.memory.unit)}" if p.memory else "",
        lambda p: f"about {format_value(p.cpu.mean, p.cpu.unit)}" if p.cpu else "",
        lambda p: f"± {format_value(p.cpu.sd, p.cpu.unit)}" if p.cpu else "",
        lambda p: f"for about {format_duration(p.median_stay)}",
        lambda p: f"{p.samples:,} samples",
    )
    for fact in facts:
        told = [fact(phase) for phase in alike]
        if len(set(told)) == len(told):
            return told
    return [f"number {place}" for place in range(1, len(alike) + 1)]
