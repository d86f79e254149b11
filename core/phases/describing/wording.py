"""Plain descriptions of phases, generated from their statistics.

A description names the level and variability of CPU relative to the whole set, how memory behaves, how busy
the GPUs are, and what goes over network and disk if that is much. Two phases that would read the same get the
first fact that tells them apart: memory, CPU, GPU, spread, or dwell time.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

from core.traces.model import Role
from core.traces.scales import scale_of
from core.units import format_duration, format_share

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from core.phases.describing.statistics import FeatureStatistics, PhaseStatistics

LEVELS = ((0.05, "Idle CPU"), (0.35, "Light CPU"), (0.7, "Moderate CPU"))
GPU_LEVELS = ((0.05, "GPU idle"), (0.35, "light GPU"), (0.7, "moderate GPU"))
MOVING = (
    (Role.NETWORK_IN, "receiving data"),
    (Role.NETWORK_OUT, "sending data"),
    (Role.BLOCK_IN, "reading from disk"),
    (Role.BLOCK_OUT, "writing to disk"),
)
GROWING = 0.03
UNEVEN = 0.35
WAITING = 0.05
"""From which share of a phase on it is worth saying that its GPUs idle."""
MUCH, LITTLE = 0.35, float(2**20)
"""Much goes over a network or disk from this share of the most that any phase has, and this rate, on."""


def described(table: Sequence[PhaseStatistics]) -> tuple[PhaseStatistics, ...]:
    """Statistics with the descriptions that are made of them now, whatever stands in them."""
    return tuple(
        replace(each, description=text) for each, text in zip(table, descriptions(table), strict=True)
    )


def descriptions(table: Sequence[PhaseStatistics]) -> list[str]:
    """One description per phase, no two alike."""
    top_cpu = max((each.cpu.quantiles[4] for each in table if each.cpu), default=0.0)
    tops = {role: _top(table, role) for role, _ in MOVING}
    plain = [_plain(each, top_cpu, tops) for each in table]
    groups = defaultdict(list)
    for place, text in enumerate(plain):
        groups[text].append(place)
    for places in groups.values():
        if len(places) > 1:
            facts = _telling_apart([table[place] for place in places])
            for place, fact in zip(places, facts, strict=True):
                plain[place] += f", {fact}"
    return plain


def _top(table: Sequence[PhaseStatistics], role: Role) -> float:
    """The highest mean of a role in any phase."""
    found = (each.of(role) for each in table if each.phase >= 0)
    return max((one.mean for one in found if one is not None), default=0.0)


def _plain(each: PhaseStatistics, top_cpu: float, tops: Mapping[Role, float]) -> str:
    if each.phase < 0:
        return "Warm-up, too few samples before it"
    if not each.samples:
        return "Does not occur in these traces"
    parts = [_cpu(each.cpu, top_cpu)] if each.cpu else []
    parts += [_memory(each.memory, each.memory_growth * each.median_stay / 60)] if each.memory else []
    parts += _gpu(each)
    said = (Role.NETWORK_IN, Role.BLOCK_IN) if each.gpu_idle and each.gpu_idle.loading else ()
    moving = ((role, words) for role, words in MOVING if role not in said)
    parts += [words for role, words in moving if _much(each.of(role), tops[role])]
    if not parts:
        parts = [f"{f.name} about {scale_of(f.unit, f.mean).about(f.mean)}" for f in each.features[:2]]
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


def _gpu(each: PhaseStatistics) -> list[str]:
    """How busy the GPUs are, and how much of the time they wait."""
    used = [one for one in each.features if one.role is Role.GPU]
    idle = each.gpu_idle
    if not used or idle is None:
        return []
    mean = sum(one.mean for one in used) / len(used)
    level = next((text for bound, text in GPU_LEVELS if mean < bound), "busy GPU")
    if level == "GPU idle" or idle.share < WAITING:
        return [level]
    why = ": data loading" if idle.loading else ""
    return [f"GPU idle {format_share(idle.share, 0)} of the time{why}"]


def _much(moved: FeatureStatistics | None, top: float) -> bool:
    return moved is not None and moved.mean >= LITTLE and moved.mean >= MUCH * top


def _telling_apart(alike: Sequence[PhaseStatistics]) -> list[str]:
    # medians, which stand under the description on a phase's card
    def typical(one: FeatureStatistics) -> float:
        return one.quantiles[2]

    most = max((typical(p.memory) for p in alike if p.memory), default=0.0)

    def gpu(p: PhaseStatistics) -> str:
        used = [scale_of(one.unit).about(typical(one)) for one in p.features if one.role is Role.GPU]
        return f"GPU{'s' if len(used) > 1 else ''} about {' and '.join(used)}" if used else ""

    facts: tuple[Callable[[PhaseStatistics], str], ...] = (
        lambda p: f"about {scale_of(p.memory.unit, most).about(typical(p.memory))}" if p.memory else "",
        lambda p: f"about {scale_of(p.cpu.unit).about(typical(p.cpu))}" if p.cpu else "",
        gpu,
        lambda p: f"varying by {scale_of(p.cpu.unit).about(p.cpu.sd)}" if p.cpu else "",
        lambda p: f"for about {format_duration(p.median_stay)}",
        lambda p: f"{p.samples:,} samples",
    )
    for fact in facts:
        told = [fact(phase) for phase in alike]
        if len(set(told)) == len(told):
            return told
    return [f"number {place}" for place in range(1, len(alike) + 1)]
