"""Executions that are the sum of others: a pod beside its containers, a machine beside its processes.

A name says it (``train-1`` beside ``train-1/main``), or the samples do: at every time about what all smaller
executions are together.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from core.traces.model import ROLE_NAMES, ROLE_UNITS, Role, mean_of
from core.units import (
    GIB,
    MIB,
    Unit,
    format_bytes,
    format_duration,
    format_number,
    format_share,
    format_value,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from core.traces.model import Feature, FloatArray, IntArray, TraceSet


MOST_TRIED = 5
"""Executions that are compared with all smaller ones, the largest first."""
LEAST_TIMES = 10
MOST_SAMPLES = 100_000
"""Of more samples, those of one time are compared, of all executions."""
MOST_SLOTS = 4
"""Times may be so many for each sample before those without any are left out."""
VARIES, FITS, NEAR = 0.02, 0.1, 0.05
"""A sum varies by this share of its mean; what is left of it varies less than its changes, and is near 0."""
SAME, NEARLY_ALL = 0.002, 0.95
"""A mean of others is the same to this share, at this share of times."""


def of_sums(traces: TraceSet) -> Iterator[str]:
    """A question for the first execution that looks like the sum of others, by name and by samples."""
    inner = [name for name in traces.ids if "/" in name]
    ids = set(traces.ids) if inner else set()
    for name in inner:
        parts = name.split("/")
        above = next(
            (one for i in range(1, len(parts)) if (one := "/".join(parts[:i]) or "/") in ids - {name}), None
        )
        if above is not None:
            yield f"“{above}” is beside “{name}”: is it the sum of what is in it?"
            return
    whole = _whole(traces)
    if whole is not None:
        yield f"“{whole}” is at every time about the sum or the mean of others: is it an execution?"


def _whole(traces: TraceSet) -> str | None:
    """The execution whose CPU and memory are each the mean of all others, or the sum of all smaller ones."""
    columns = [one for role in (Role.CPU, Role.MEMORY) if (one := traces.values(role)) is not None]
    if not columns or traces.n_executions < 3:
        return None
    kept = _of_one_time(traces)
    ids, offsets = _left(traces, kept)
    if len(ids) < 3:
        return None
    slots = np.floor(traces.time[kept] / traces.period + 1e-6).astype(np.int64)
    slots -= slots.min()
    if slots.max() > MOST_SLOTS * len(slots):
        slots = np.unique(slots, return_inverse=True)[1]
    values = [np.nan_to_num(one[kept]) for one in columns]
    totals: list[FloatArray] = [np.bincount(slots, one).astype(np.float64) for one in values]
    count: IntArray = np.bincount(slots).astype(np.int64)
    alike = np.min(
        [
            _mean_like(one, total[slots], count[slots], offsets)
            for one, total in zip(values, totals, strict=True)
        ],
        axis=0,
    )
    if alike.max() > NEARLY_ALL:
        return ids[int(alike.argmax())]
    for e in np.argsort(-mean_of(values[0], offsets))[:MOST_TRIED]:
        part = slice(offsets[e], offsets[e + 1])
        here = slots[part]
        count[here] -= 1
        for one, total in zip(values, totals, strict=True):
            total[here] -= one[part]
        others = count[here] > 1
        if int(others.sum()) >= max(LEAST_TIMES, len(here) // 2) and all(
            _is_sum(one[part][others], total[here][others]) for one, total in zip(values, totals, strict=True)
        ):
            return ids[int(e)]
    return None


def _of_one_time(traces: TraceSet) -> IntArray:
    """The samples near the middle of the middle execution: all of them, or about `MOST_SAMPLES`."""
    n, middle = traces.n_samples, traces.n_executions // 2
    if n <= MOST_SAMPLES:
        return np.arange(n)
    then = traces.time[traces.offsets[middle : middle + 2].sum() // 2]
    apart = np.quantile(np.abs(traces.time[:: n // 10_000 + 1] - then), MOST_SAMPLES / n)
    return np.flatnonzero((traces.time >= then - apart) & (traces.time <= then + apart))


def _left(traces: TraceSet, kept: IntArray) -> tuple[tuple[str, ...], IntArray]:
    """The executions of which samples are kept, and the bounds of these."""
    before = np.searchsorted(kept, traces.offsets)
    there = np.flatnonzero(np.diff(before))
    return tuple(traces.ids[i] for i in there.tolist()), np.append(before[there], before[-1])


def _mean_like(values: FloatArray, total: FloatArray, count: IntArray, offsets: IntArray) -> FloatArray:
    """Per execution that varies the share of samples that are the mean of two others or more."""
    mean = (total - values) / np.maximum(count - 1, 1)
    same = (np.abs(values - mean) < SAME * np.abs(mean)) & (count > 2)
    usual = mean_of(values, offsets)
    spread = np.sqrt(np.maximum(mean_of(values**2, offsets) - usual**2, 0.0))
    return np.where(spread > VARIES * np.abs(usual), mean_of(same.astype(np.float64), offsets), 0.0)


def _is_sum(mine: FloatArray, total: FloatArray) -> bool:
    """Whether samples that vary are about a total."""
    rest = mine - total
    near = abs(rest.mean()) < NEAR * mine.mean() and rest.std() < FITS * mine.std()
    return bool(near and mine.std() > VARIES * abs(mine.mean()))


MOST_CORES = 256.0
LEAST_CORES = 0.002
LEAST_MEMORY, MOST_MEMORY = MIB, 24 * 1024 * GIB
LEAST_SHARE, MOST_SHARE = 0.01, 1.02
IDLE = 100
"""Samples without usage at the beginning of a set hide that its percentages are shares of one."""
MOST_WATTS = 5_000.0
LEAST_PERIOD, MOST_PERIOD = 0.01, 86_400.0
LONGEST = 3 * 366 * 86_400.0
_SUMS = frozenset(("total", "totals", "sum", "average", "overall"))
LEAST_SAMPLES = 5
"""Fewer samples of an execution may well be alike."""
_BLOCK = 2**15
"""Samples that are looked at together: what is made of them stays in the processor's cache."""
ABOVE_LIMIT = 0.2
"""The share of samples above their limit from which the limit's unit is doubtful."""


@dataclass(frozen=True, slots=True)
class Doubt:
    """Something that does not look like containers."""

    #: The column concerned; None where it is the whole table.
    column: str | None
    #: What would settle it: ``unit``, ``role``, ``execution`` or ``time``.
    field: str
    #: What is odd, and the question that it raises.
    sentence: str


def doubts(traces: TraceSet) -> tuple[Doubt, ...]:
    """Everything about a set that does not look like containers, in the order of its features."""
    found: list[Doubt] = []
    for feature, values in zip(traces.features, traces.columns, strict=True):
        highest = float(np.fmax.reduce(values, initial=-np.inf))
        said = _of_usage(feature.role, feature.unit, highest) if np.isfinite(highest) else None
        said = said or _of_idle_start(feature, values, highest)
        if said:
            found.append(Doubt(feature.name, "unit", said))
        elif _is_size(feature, values, traces):
            what = f"{ROLE_NAMES[feature.role]} is {format_value(highest, feature.unit)} in every sample"
            of = "card" if feature.role is Role.GPU_MEMORY else "machine"
            found.append(Doubt(feature.name, "role", f"{what}: is “{feature.name}” the size of the {of}?"))
    if not any(feature.role in ROLE_UNITS for feature in traces.features):
        found.append(
            Doubt(None, "unit", "No column is CPU, memory, a GPU, network or disk: what do they measure?")
        )
    sums = [name for name in traces.ids if name.strip().lower() in _SUMS]
    if sums and traces.n_executions > len(sums):
        found.append(Doubt(None, "execution", f"“{sums[0]}” is beside other executions: is it their sum?"))
    found.extend(Doubt(None, "execution", sentence) for sentence in of_sums(traces))
    found.extend(_of_limits(traces))
    found.extend(_of_time(traces))
    return tuple(found)


def _of_usage(role: Role, unit: Unit, highest: float) -> str | None:
    """What is odd about the highest value of a feature."""
    asked = _ODD.get((unit, role))
    return None if asked is None else asked(ROLE_NAMES.get(role, ""), highest)


def _of_cores(name: str, highest: float) -> str | None:
    if highest > MOST_CORES:
        return f"{name} is up to {format_number(highest)} cores: is it percent or millicores?"
    if 0 < highest < LEAST_CORES:
        return f"{name} is {highest:.2g} cores at most: is it in another unit?"
    return None


def _of_bytes(name: str, highest: float) -> str | None:
    if 0 < highest < LEAST_MEMORY:
        return f"{name} is {format_bytes(highest)} at most: is it in MiB, MB or GiB?"
    return (
        f"{name} is up to {format_bytes(highest)}: is it in bytes or KiB?" if highest > MOST_MEMORY else None
    )


def _of_share(name: str, highest: float) -> str | None:
    of = "percent of one core" if name == ROLE_NAMES[Role.CPU] else "in another unit"
    return (
        f"{name} is up to {format_share(highest)} of the whole: is it {of}?" if highest > MOST_SHARE else None
    )


def _of_idle_start(feature: Feature, values: FloatArray, highest: float) -> str | None:
    """Whether what never reaches 1% begins with zeros, so that nobody could look at its numbers before."""
    idle = len(values) > IDLE and not np.nan_to_num(values[:IDLE]).any()
    if not idle or (feature.unit, feature.role) not in _ODD or feature.unit is not Unit.SHARE:
        return None
    small = 0 < highest < LEAST_SHARE
    asked = f"{ROLE_NAMES[feature.role]} is {format_share(highest, 2)} at most: is it a share from 0 to 1?"
    return asked if small else None


def _of_watts(name: str, highest: float) -> str | None:
    odd = highest > MOST_WATTS or 0 < highest < 1
    return f"{name} is {format_number(highest)} W at most: is it in another unit?" if odd else None


_ODD: dict[tuple[Unit, Role], Callable[[str, float], str | None]] = {
    **{(Unit.CORES, role): _of_cores for role in (Role.CPU, Role.CPU_LIMIT)},
    **{(Unit.BYTES, role): _of_bytes for role in (Role.MEMORY, Role.MEMORY_LIMIT, Role.GPU_MEMORY)},
    **{(Unit.SHARE, role): _of_share for role in (Role.CPU, Role.MEMORY, Role.GPU, Role.GPU_MEMORY)},
    (Unit.WATTS, Role.GPU_POWER): _of_watts,
}


def _is_size(feature: Feature, values: FloatArray, traces: TraceSet) -> bool:
    """Whether usage never changes in any execution, and is whole: of cores, GiB or GB; a GPU's of anything.

    A name that speaks of usage is believed: a thread may well use one core all the time, and a program may
    take all memory of a GPU when it starts. What nvidia-smi calls a card's size is a little less than whole.
    """
    wholes = _WHOLE.get((feature.unit, feature.role))
    if wholes is None or int(np.diff(traces.offsets).min()) < LEAST_SAMPLES:
        return False
    if any(word in feature.name.lower() for word in _OF_USAGE) or _OF_NVIDIA_SMI.fullmatch(feature.name):
        return False
    lowest = np.fmin.reduceat(values, traces.offsets[:-1])
    alike = np.array_equal(lowest, np.fmax.reduceat(values, traces.offsets[:-1]))
    return alike and bool(lowest.min() > wholes[0]) and any(not (lowest % whole).any() for whole in wholes)


_OF_USAGE = ("use", "usage", "util", "%", "percent", "pct", "seconds", "rate", "busy", "working", "rss",
             "alloc")  # fmt: skip
_OF_NVIDIA_SMI = re.compile(r"gpu \S+ memory_mib")
"""What its reader makes of ``memory.used``."""
_WHOLE = {
    (Unit.CORES, Role.CPU): (1.0,),
    (Unit.BYTES, Role.MEMORY): (GIB, 1e9),
    (Unit.BYTES, Role.GPU_MEMORY): (1.0,),
}


def _of_limits(traces: TraceSet) -> Iterator[Doubt]:
    """Use above a limit: a kernel lets neither pass for long."""
    for role, limit in ((Role.CPU, Role.CPU_LIMIT), (Role.MEMORY, Role.MEMORY_LIMIT)):
        used, allowed = traces.feature(role), traces.feature(limit)
        if used is None or allowed is None or used.unit is not allowed.unit:
            continue
        values, bounds = traces.column(used.name), traces.column(allowed.name)
        share = _share_above(values, bounds)
        if share > ABOVE_LIMIT:
            said = f"{ROLE_NAMES[role]} is above its limit in {format_share(share)} of samples"
            yield Doubt(used.name, "unit", f"{said}: is “{used.name}” or “{allowed.name}” in another unit?")


def _share_above(values: FloatArray, bounds: FloatArray) -> float:
    """The share of samples that are more than a quarter above their bound, of those that have one."""
    known = above = 0
    for start in range(0, len(values), _BLOCK):
        mine, most = values[start : start + _BLOCK], bounds[start : start + _BLOCK]
        there = np.isfinite(mine) & np.isfinite(most) & (most > 0)
        known += int(np.count_nonzero(there))
        above += int(np.count_nonzero(there & (mine > 1.25 * most)))
    return above / max(known, 1)


def _of_time(traces: TraceSet) -> Iterator[Doubt]:
    if not LEAST_PERIOD <= traces.period <= MOST_PERIOD:
        apart = f"{traces.period:.3g} s" if traces.period < 1 else format_duration(traces.period)
        yield Doubt(None, "time", f"Samples are {apart} apart: is the time in another unit?")
    lasts = traces.time[traces.offsets[1:] - 1] - traces.time[traces.offsets[:-1]]
    if float(lasts.max(initial=0.0)) > LONGEST:
        longest = format_duration(float(lasts.max()))
        yield Doubt(None, "time", f"An execution lasts {longest}: is the time in another unit?")
