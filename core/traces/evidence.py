"""Doubts about a trace set: values, sums and times that do not look like containers, as questions.

Executions that are the sum of others, such as a pod beside its containers, show by their name (``train-1``
beside ``train-1/main``) or by their samples, which equal the sum of all smaller executions at every time.
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


MAX_DEPTH = 64
"""The number of parts of a path that are looked at."""
MAX_CANDIDATES = 5
"""The number of largest executions to compare with the sum of all smaller ones."""
MIN_TIMES = 10
MAX_SAMPLES = 100_000
"""With more samples, only those near one time are compared."""
MAX_SLOTS = 4
"""The largest number of time slots per sample before empty slots are removed."""
MIN_VARIATION, MAX_REST_VARIATION, MAX_REST_MEAN = 0.02, 0.1, 0.05
"""Minimum variation of a sum as a share of its mean; largest deviation and mean of its remainder."""
MEAN_TOLERANCE, MIN_MEAN_SHARE = 0.002, 0.95
"""Tolerance of a mean of others, and the minimum share of times."""


def find_sums(traces: TraceSet) -> Iterator[str]:
    """Yield a question about the first execution that looks like the sum of others."""
    inner = [name for name in traces.ids if "/" in name]
    ids = set(traces.ids) if inner else set()
    for name in inner:
        parts = name.split("/", MAX_DEPTH)
        names_above = ("/".join(parts[:i]) or "/" for i in range(1, len(parts)))
        above = next((one for one in names_above if one in ids and one != name), None)
        if above is not None:
            yield f"“{above}” is beside “{name}”: is it the sum of what is in it?"
            return
    sum_name = _find_whole(traces)
    if sum_name is not None:
        yield f"“{sum_name}” is at every time about the sum or the mean of others: is it an execution?"


def _find_whole(traces: TraceSet) -> str | None:
    """Find the execution whose CPU and memory are the mean of all others or the sum of all smaller ones."""
    columns = [one for role in (Role.CPU, Role.MEMORY) if (one := traces.values(role)) is not None]
    if not columns or traces.n_executions < 3:
        return None
    selected = _select_samples(traces)
    ids, offsets = _select_executions(traces, selected)
    if len(ids) < 3:
        return None
    slots = np.floor(traces.time[selected] / traces.period + 1e-6).astype(np.int64)
    slots -= slots.min()
    if slots.max() > MAX_SLOTS * len(slots):
        slots = np.unique(slots, return_inverse=True)[1]
    values = [np.nan_to_num(one[selected]) for one in columns]
    totals: list[FloatArray] = [np.bincount(slots, one).astype(np.float64) for one in values]
    count: IntArray = np.bincount(slots).astype(np.int64)
    mean_share = np.min(
        [
            _share_like_mean(one, total[slots], count[slots], offsets)
            for one, total in zip(values, totals, strict=True)
        ],
        axis=0,
    )
    if mean_share.max() > MIN_MEAN_SHARE:
        return ids[int(mean_share.argmax())]
    for e in np.argsort(-mean_of(values[0], offsets))[:MAX_CANDIDATES]:
        part = slice(offsets[e], offsets[e + 1])
        part_slots = slots[part]
        count[part_slots] -= 1
        for one, total in zip(values, totals, strict=True):
            total[part_slots] -= one[part]
        has_others = count[part_slots] > 1
        if int(has_others.sum()) >= max(MIN_TIMES, len(part_slots) // 2) and all(
            _is_sum(one[part][has_others], total[part_slots][has_others])
            for one, total in zip(values, totals, strict=True)
        ):
            return ids[int(e)]
    return None


def _select_samples(traces: TraceSet) -> IntArray:
    """Select all samples, or about `MAX_SAMPLES` near the middle of the middle execution."""
    n, middle = traces.n_samples, traces.n_executions // 2
    if n <= MAX_SAMPLES:
        return np.arange(n)
    middle_time = traces.time[traces.offsets[middle : middle + 2].sum() // 2]
    distance = np.quantile(np.abs(traces.time[:: n // 10_000 + 1] - middle_time), MAX_SAMPLES / n)
    return np.flatnonzero((traces.time >= middle_time - distance) & (traces.time <= middle_time + distance))


def _select_executions(traces: TraceSet, selected: IntArray) -> tuple[tuple[str, ...], IntArray]:
    """Return the executions with selected samples and the bounds of these samples."""
    before = np.searchsorted(selected, traces.offsets)
    present = np.flatnonzero(np.diff(before))
    return tuple(traces.ids[i] for i in present.tolist()), np.append(before[present], before[-1])


def _share_like_mean(values: FloatArray, total: FloatArray, count: IntArray, offsets: IntArray) -> FloatArray:
    """Return for each varying execution the share of samples that equal the mean of two or more others."""
    mean = (total - values) / np.maximum(count - 1, 1)
    is_mean = (np.abs(values - mean) < MEAN_TOLERANCE * np.abs(mean)) & (count > 2)
    usual = mean_of(values, offsets)
    deviation = np.sqrt(np.maximum(mean_of(values**2, offsets) - usual**2, 0.0))
    return np.where(
        deviation > MIN_VARIATION * np.abs(usual), mean_of(is_mean.astype(np.float64), offsets), 0.0
    )


def _is_sum(values: FloatArray, total: FloatArray) -> bool:
    remainder = values - total
    is_near = (
        abs(remainder.mean()) < MAX_REST_MEAN * values.mean()
        and remainder.std() < MAX_REST_VARIATION * values.std()
    )
    return bool(is_near and values.std() > MIN_VARIATION * abs(values.mean()))


MAX_CORES = 256.0
MIN_CORES = 0.002
MIN_MEMORY, MAX_MEMORY = MIB, 24 * 1024 * GIB
MIN_SHARE, MAX_SHARE = 0.01, 1.02
IDLE_SAMPLES = 100
"""The number of idle samples at the beginning that hide whether percentages are shares of 1."""
MAX_WATTS = 5_000.0
MIN_PERIOD, MAX_PERIOD = 0.01, 86_400.0
MAX_DURATION = 3 * 366 * 86_400.0
_SUM_WORDS = frozenset(("total", "totals", "sum", "average", "overall"))
MIN_SAMPLES = 5
"""Fewer samples of an execution may be equal by chance."""
_BLOCK = 2**15
"""Samples per block, so that intermediate results fit into the processor's cache."""
ABOVE_LIMIT = 0.2
"""The share of samples above their limit that makes the limit's unit doubtful."""


@dataclass(frozen=True, slots=True)
class Doubt:
    """A property of a trace set that does not look like containers."""

    #: The column; None for the whole table.
    column: str | None
    #: The setting that may be wrong: ``unit``, ``role``, ``execution`` or ``time``.
    field: str
    #: The observation and the question.
    sentence: str


def find_doubts(traces: TraceSet) -> tuple[Doubt, ...]:
    """Find everything about a set that does not look like containers, in the order of its features."""
    doubts: list[Doubt] = []
    for feature, values in zip(traces.features, traces.columns, strict=True):
        highest = float(np.fmax.reduce(values, initial=-np.inf))
        sentence = _question_usage(feature.role, feature.unit, highest) if np.isfinite(highest) else None
        sentence = sentence or _question_idle_start(feature, values, highest)
        if sentence:
            doubts.append(Doubt(feature.name, "unit", sentence))
        elif _is_size(feature, values, traces):
            statement = f"{ROLE_NAMES[feature.role]} is {format_value(highest, feature.unit)} in every sample"
            device = "card" if feature.role is Role.GPU_MEMORY else "machine"
            doubts.append(
                Doubt(feature.name, "role", f"{statement}: is “{feature.name}” the size of the {device}?")
            )
    if not any(feature.role in ROLE_UNITS for feature in traces.features):
        doubts.append(
            Doubt(None, "unit", "No column is CPU, memory, a GPU, network or disk: what do they measure?")
        )
    doubts.extend(_find_unmeasured_memory(traces))
    sums = [name for name in traces.ids if name.strip().lower() in _SUM_WORDS]
    if sums and traces.n_executions > len(sums):
        doubts.append(Doubt(None, "execution", f"“{sums[0]}” is beside other executions: is it their sum?"))
    doubts.extend(Doubt(None, "execution", sentence) for sentence in find_sums(traces))
    doubts.extend(_find_exceeded_limits(traces))
    doubts.extend(_find_odd_times(traces))
    return tuple(doubts)


def _question_usage(role: Role, unit: Unit, highest: float) -> str | None:
    """Return a question about an odd highest value of a feature; None without one."""
    question = _USAGE_QUESTIONS.get((unit, role))
    return None if question is None else question(ROLE_NAMES.get(role, ""), highest)


def _question_cores(name: str, highest: float) -> str | None:
    if highest > MAX_CORES:
        return f"{name} is up to {format_number(highest)} cores: is it percent or millicores?"
    if 0 < highest < MIN_CORES:
        return f"{name} is {highest:.2g} cores at most: is it in another unit?"
    return None


def _question_bytes(name: str, highest: float) -> str | None:
    if 0 < highest < MIN_MEMORY:
        return f"{name} is {format_bytes(highest)} at most: is it in MiB, MB or GiB?"
    return (
        f"{name} is up to {format_bytes(highest)}: is it in bytes or KiB?" if highest > MAX_MEMORY else None
    )


def _question_share(name: str, highest: float) -> str | None:
    unit = "percent of one core" if name == ROLE_NAMES[Role.CPU] else "in another unit"
    return (
        f"{name} is up to {format_share(highest)} of the whole: is it {unit}?"
        if highest > MAX_SHARE
        else None
    )


def _question_idle_start(feature: Feature, values: FloatArray, highest: float) -> str | None:
    """Return a question about a share below 1% that begins with zeros, which hid its values at first."""
    is_idle = len(values) > IDLE_SAMPLES and not np.nan_to_num(values[:IDLE_SAMPLES]).any()
    if not is_idle or (feature.unit, feature.role) not in _USAGE_QUESTIONS or feature.unit is not Unit.SHARE:
        return None
    is_small = 0 < highest < MIN_SHARE
    question = f"{ROLE_NAMES[feature.role]} is {format_share(highest, 2)} at most: is it a share from 0 to 1?"
    return question if is_small else None


def _question_watts(name: str, highest: float) -> str | None:
    is_odd = highest > MAX_WATTS or 0 < highest < 1
    return f"{name} is {format_number(highest)} W at most: is it in another unit?" if is_odd else None


_USAGE_QUESTIONS: dict[tuple[Unit, Role], Callable[[str, float], str | None]] = {
    **{(Unit.CORES, role): _question_cores for role in (Role.CPU, Role.CPU_LIMIT, Role.CPU_REQUEST)},
    **{
        (Unit.BYTES, role): _question_bytes
        for role in (Role.MEMORY, Role.MEMORY_LIMIT, Role.MEMORY_REQUEST, Role.GPU_MEMORY)
    },
    **{(Unit.SHARE, role): _question_share for role in (Role.CPU, Role.MEMORY, Role.GPU, Role.GPU_MEMORY)},
    (Unit.WATTS, Role.GPU_POWER): _question_watts,
}


def _is_size(feature: Feature, values: FloatArray, traces: TraceSet) -> bool:
    """Whether usage is constant in every execution and a whole number of cores, GiB or GB, as a size is.

    Names with a word for usage are exempt: a thread may use one core all the time, and a program may take all
    memory of a GPU when it starts. The memory of a GPU need not be whole.
    """
    wholes = _WHOLE_SIZES.get((feature.unit, feature.role))
    if wholes is None or int(np.diff(traces.offsets).min()) < MIN_SAMPLES:
        return False
    if any(word in feature.name.lower() for word in _USAGE_WORDS) or _NVIDIA_SMI_MEMORY.fullmatch(
        feature.name
    ):
        return False
    lowest = np.fmin.reduceat(values, traces.offsets[:-1])
    mean_share = np.array_equal(lowest, np.fmax.reduceat(values, traces.offsets[:-1]))
    return (
        mean_share and bool(lowest.min() > wholes[0]) and any(not (lowest % whole).any() for whole in wholes)
    )


_USAGE_WORDS = ("use", "usage", "util", "%", "percent", "pct", "seconds", "rate", "busy", "working", "rss",
             "alloc")  # fmt: skip
_NVIDIA_SMI_MEMORY = re.compile(r"gpu \S+ memory_mib")
"""The column of ``memory.used`` from the reader of nvidia-smi."""
_WHOLE_SIZES = {
    (Unit.CORES, Role.CPU): (1.0,),
    (Unit.BYTES, Role.MEMORY): (GIB, 1e9),
    (Unit.BYTES, Role.GPU_MEMORY): (1.0,),
}


def _find_unmeasured_memory(traces: TraceSet) -> Iterator[Doubt]:
    """Yield a doubt about executions whose memory is always 0, which that of a running process never is."""
    memory = traces.feature(Role.MEMORY)
    if memory is None or memory.unit is not Unit.BYTES:
        return
    highest = np.fmax.reduceat(traces.column(memory.name), traces.offsets[:-1])
    unmeasured = [traces.ids[i] for i in np.flatnonzero(highest == 0)]
    if unmeasured:
        sentence = f"Memory of “{unmeasured[0]}” is 0 in every sample"
        more = f", and of {len(unmeasured) - 1:,} more" if len(unmeasured) > 1 else ""
        yield Doubt(memory.name, "role", f"{sentence}{more}: was it measured?")


def _find_exceeded_limits(traces: TraceSet) -> Iterator[Doubt]:
    """Yield doubts about usage above its limit, which a kernel prevents."""
    for role, limit in ((Role.CPU, Role.CPU_LIMIT), (Role.MEMORY, Role.MEMORY_LIMIT)):
        usage, limit_feature = traces.feature(role), traces.feature(limit)
        if usage is None or limit_feature is None or usage.unit is not limit_feature.unit:
            continue
        values, bounds = traces.column(usage.name), traces.column(limit_feature.name)
        share = _share_above(values, bounds)
        if share > ABOVE_LIMIT:
            sentence = f"{ROLE_NAMES[role]} is above its limit in {format_share(share)} of samples"
            yield Doubt(
                usage.name,
                "unit",
                f"{sentence}: is “{usage.name}” or “{limit_feature.name}” in another unit?",
            )


def _share_above(values: FloatArray, bounds: FloatArray) -> float:
    """Return the share of samples with a bound that exceed it by more than a quarter."""
    total = above = 0
    for start in range(0, len(values), _BLOCK):
        part, bound = values[start : start + _BLOCK], bounds[start : start + _BLOCK]
        present = np.isfinite(part) & np.isfinite(bound) & (bound > 0)
        total += int(np.count_nonzero(present))
        above += int(np.count_nonzero(present & (part > 1.25 * bound)))
    return above / max(total, 1)


def _find_odd_times(traces: TraceSet) -> Iterator[Doubt]:
    if not MIN_PERIOD <= traces.period <= MAX_PERIOD:
        distance = f"{traces.period:.3g} s" if traces.period < 1 else format_duration(traces.period)
        yield Doubt(None, "time", f"Samples are {distance} apart: is the time in another unit?")
    lasts = traces.time[traces.offsets[1:] - 1] - traces.time[traces.offsets[:-1]]
    if float(lasts.max(initial=0.0)) > MAX_DURATION:
        longest = format_duration(float(lasts.max()))
        yield Doubt(None, "time", f"An execution lasts {longest}: is the time in another unit?")
