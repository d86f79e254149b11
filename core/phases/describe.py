"""Statistics of each phase over labelled samples, and a plain description generated from them."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from core.phases.matching import main_feature
from core.traces.censoring import MAX_CENSORED, amounts_exceeded_for, censor
from core.traces.lanes import LIMITS
from core.traces.model import Role, Scale, sample_seconds, scale_of
from core.units import Unit, format_duration, format_share

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    import numpy.typing as npt

    from core.phases.encoders import Labels
    from core.traces.model import Feature, FloatArray, IntArray, TraceSet


@dataclass(frozen=True, slots=True)
class FeatureStatistics:
    """One feature within one phase, in the feature's unit."""

    #: The feature.
    name: str
    role: Role
    unit: Unit
    #: Mean and population standard deviation.
    mean: float
    sd: float
    #: The 5th, 25th, 50th, 75th and 95th percentiles, linear between samples; where some are censored, those
    #: of Kaplan and Meier's estimate of demand, at most the largest use.
    quantiles: tuple[float, float, float, float, float]
    #: The share of samples in which a limit or its host bounded the use (`core.traces.censoring`).
    censored: float = 0.0

    @property
    def is_at_least(self) -> bool:
        """Whether so many samples are censored that demand is at least what they say."""
        return self.censored > MAX_CENSORED


@dataclass(frozen=True, slots=True)
class GpuIdle:
    """The share of a phase during which its GPUs idle."""

    #: The share of its time in which all of a container's GPUs idle.
    share: float
    #: Whether data is being loaded meanwhile: more is computed by processors, or read, than otherwise.
    loading: bool = False


@dataclass(frozen=True, slots=True)
class PhaseStatistics:
    """One phase over a labelled trace set."""

    #: Its id, or −1 for warm-up.
    phase: int
    #: How many samples it has, and its share of the time of all samples.
    samples: int
    share: float
    #: How often it was entered.
    runs: int
    #: The median dwell time in seconds.
    median_stay: float
    #: The change of memory per minute within runs, in the memory feature's unit; 0 where none is known.
    memory_growth: float
    #: Every feature's statistics in the set's order.
    features: tuple[FeatureStatistics, ...]
    #: A plain description that no other phase of the model has.
    description: str = ""
    #: How much of it the GPUs idle; None where nothing is known of a GPU.
    gpu_idle: GpuIdle | None = None

    def feature(self, name: str) -> FeatureStatistics | None:
        """The statistics of a feature, or None where these traces did not have it."""
        return next((each for each in self.features if each.name == name), None)

    def by_role(self, role: Role) -> FeatureStatistics | None:
        """The statistics of the feature that stands for a role, or None."""
        having = [each for each in self.features if each.role is role]
        exact = [each for each in having if each.unit in {Unit.CORES, Unit.BYTES}]
        return next(iter(exact or having), None)

    @property
    def cpu(self) -> FeatureStatistics | None:
        """The CPU statistics, or None without such a feature."""
        return self.by_role(Role.CPU)

    @property
    def memory(self) -> FeatureStatistics | None:
        """The memory statistics, or None without such a feature."""
        return self.by_role(Role.MEMORY)

    def to_dict(self) -> dict[str, Any]:
        """The statistics as JSON takes them."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> PhaseStatistics:
        """Read statistics back. Raises KeyError, TypeError or ValueError if they cannot be."""
        features = tuple(
            FeatureStatistics(
                name=str(each["name"]),
                role=Role(each["role"]),
                unit=Unit(each["unit"]),
                mean=float(each["mean"]),
                sd=float(each["sd"]),
                quantiles=five_numbers(each["quantiles"]),
                censored=float(each.get("censored", 0.0)),  # models made earlier do not say
            )
            for each in values["features"]
        )
        if min(values["samples"], values["runs"]) < 0 or not 0 <= values["share"] <= 1 + 1e-6:
            raise ValueError("a count below 0, or a share outside 0 to 1")
        idle = values.get("gpu_idle")  # models made before there were GPUs have none
        return cls(
            phase=int(values["phase"]),
            samples=int(values["samples"]),
            share=float(values["share"]),
            runs=int(values["runs"]),
            median_stay=float(values["median_stay"]),
            memory_growth=float(values["memory_growth"]),
            features=features,
            description=str(values["description"]),
            gpu_idle=GpuIdle(float(idle["share"]), bool(idle["loading"])) if idle else None,
        )


def five_numbers(values: Iterable[float]) -> tuple[float, float, float, float, float]:
    """The five percentiles of a feature as a tuple."""
    a, b, c, d, e = (float(value) for value in values)
    return a, b, c, d, e


def scale_for(statistics: Sequence[PhaseStatistics], role: Role, unit: Unit) -> Scale:
    """Return the scale of a quantity for all phases, chosen for the highest 95th percentile."""
    highest = [
        each.quantiles[4]
        for phase in statistics
        for each in phase.features
        if each.unit is unit and each.role is role
    ]
    return scale_of(unit, max(highest, default=math.nan))


LEVELS = ((0.05, "Idle CPU"), (0.35, "Light CPU"), (0.7, "Moderate CPU"))
GPU_LEVELS = ((0.05, "GPU idle"), (0.35, "light GPU"), (0.7, "moderate GPU"))
TRAFFIC_ROLES = (
    (Role.NETWORK_IN, "receiving data"),
    (Role.NETWORK_OUT, "sending data"),
    (Role.BLOCK_IN, "reading from disk"),
    (Role.BLOCK_OUT, "writing to disk"),
)
MIN_MEMORY_GROWTH = 0.03
MIN_MEMORY_SPREAD = 0.35
MIN_GPU_IDLE = 0.05
"""From which share of a phase on it is worth saying that its GPUs idle."""
MIN_RATE_SHARE, MIN_RATE = 0.35, float(2**20)
"""Much goes over a network or disk from this share of the most that any phase has, and this rate, on."""


# Plain descriptions of phases, generated from their statistics.
#
# A description names the level and variability of CPU relative to the whole set, how memory behaves, how busy
# the GPUs are, and what goes over network and disk if that is much. Two phases that would read the same get
# the first fact that tells them apart: memory, CPU, GPU, spread, or dwell time.


def with_descriptions(table: Sequence[PhaseStatistics]) -> tuple[PhaseStatistics, ...]:
    """Statistics with the descriptions that are made of them now, whatever stands in them."""
    return tuple(
        replace(each, description=text) for each, text in zip(table, describe_phases(table), strict=True)
    )


def describe_phases(table: Sequence[PhaseStatistics]) -> list[str]:
    """One description per phase, no two alike."""
    top_cpu = max((each.cpu.quantiles[4] for each in table if each.cpu), default=0.0)
    tops = {role: _max_mean(table, role) for role, _ in TRAFFIC_ROLES}
    plain = [_describe_phase(each, top_cpu, tops) for each in table]
    groups = defaultdict(list)
    for place, text in enumerate(plain):
        groups[text].append(place)
    for places in groups.values():
        if len(places) > 1:
            facts = _distinguishing_facts([table[place] for place in places])
            for place, fact in zip(places, facts, strict=True):
                plain[place] += f", {fact}"
    return plain


def _max_mean(table: Sequence[PhaseStatistics], role: Role) -> float:
    """The highest mean of a role in any phase."""
    statistics = (each.by_role(role) for each in table if each.phase >= 0)
    return max((one.mean for one in statistics if one is not None), default=0.0)


def _describe_phase(each: PhaseStatistics, top_cpu: float, tops: Mapping[Role, float]) -> str:
    if each.phase < 0:
        return "Warm-up, too few samples before it"
    if not each.samples:
        return "Does not occur in these traces"
    parts = [_describe_cpu(each.cpu, top_cpu)] if each.cpu else []
    parts += (
        [_describe_memory(each.memory, each.memory_growth * each.median_stay / 60)] if each.memory else []
    )
    parts += _describe_gpu(each)
    described_roles = (Role.NETWORK_IN, Role.BLOCK_IN) if each.gpu_idle and each.gpu_idle.loading else ()
    moving = ((role, words) for role, words in TRAFFIC_ROLES if role not in described_roles)
    parts += [words for role, words in moving if _is_high(each.by_role(role), tops[role])]
    if not parts:
        parts = [f"{f.name} about {scale_of(f.unit, f.mean).about(f.mean)}" for f in each.features[:2]]
    text = ", ".join(parts)
    return text[:1].upper() + text[1:]


def _describe_cpu(cpu: FeatureStatistics, top: float) -> str:
    if top <= 0:
        return "Idle CPU"
    low, _, middle, _, high = cpu.quantiles
    if high > 0.35 * top and high > 4 * max(middle, 0.02 * top):
        return "CPU spikes"
    level = next((text for bound, text in LEVELS if cpu.mean < bound * top), "CPU-intensive")
    restless = high - low > 0.5 * top
    return f"{level}, varying" if restless else level


def _describe_memory(memory: FeatureStatistics, growth: float) -> str:
    """Describe memory use; `growth` is its change within a typical run."""
    typical = max(abs(memory.mean), 1e-12)
    if abs(growth) > MIN_MEMORY_GROWTH * typical:
        return "memory growing" if growth > 0 else "memory falling"
    return (
        "uneven memory"
        if memory.quantiles[3] - memory.quantiles[1] > MIN_MEMORY_SPREAD * typical
        else "steady memory"
    )


def _describe_gpu(each: PhaseStatistics) -> list[str]:
    """Describe GPU use, and the share of time that GPUs wait."""
    used = [one for one in each.features if one.role is Role.GPU]
    idle = each.gpu_idle
    if not used or idle is None:
        return []
    mean = sum(one.mean for one in used) / len(used)
    level = next((text for bound, text in GPU_LEVELS if mean < bound), "busy GPU")
    if level == "GPU idle" or idle.share < MIN_GPU_IDLE:
        return [level]
    cause = ": data loading" if idle.loading else ""
    return [f"GPU idle {format_share(idle.share, 0)} of the time{cause}"]


def _is_high(moved: FeatureStatistics | None, top: float) -> bool:
    return moved is not None and moved.mean >= MIN_RATE and moved.mean >= MIN_RATE_SHARE * top


def _distinguishing_facts(alike: Sequence[PhaseStatistics]) -> list[str]:
    # medians, which stand under the description on a phase's card
    def typical(one: FeatureStatistics) -> float:
        return one.quantiles[2]

    highest = max((typical(p.memory) for p in alike if p.memory), default=0.0)

    def gpu(p: PhaseStatistics) -> str:
        used = [scale_of(one.unit).about(typical(one)) for one in p.features if one.role is Role.GPU]
        return f"GPU{'s' if len(used) > 1 else ''} about {' and '.join(used)}" if used else ""

    facts: tuple[Callable[[PhaseStatistics], str], ...] = (
        lambda p: f"about {scale_of(p.memory.unit, highest).about(typical(p.memory))}" if p.memory else "",
        lambda p: f"about {scale_of(p.cpu.unit).about(typical(p.cpu))}" if p.cpu else "",
        gpu,
        lambda p: f"varying by {scale_of(p.cpu.unit).about(p.cpu.sd)}" if p.cpu else "",
        lambda p: f"for about {format_duration(p.median_stay)}",
        lambda p: f"{p.samples:,} samples",
    )
    for fact in facts:
        texts = [fact(phase) for phase in alike]
        if len(set(texts)) == len(texts):
            return texts
    return [f"number {place}" for place in range(1, len(alike) + 1)]


WARM_UP = -1
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
IDLE_GPU = 0.05
LOADING_ROLES = (Role.CPU, Role.BLOCK_IN, Role.NETWORK_IN)
MIN_LOADING_RATIO, MIN_LOADING_ERRORS = 1.25, 3.0
"""How much more is used while GPUs idle, as a factor and in standard errors, where data is being loaded."""


@dataclass(frozen=True, slots=True)
class Runs:
    """Maximal stretches of one phase, none across an execution's boundary or a gap."""

    #: First sample and number of samples, shape (n_runs,).
    start: IntArray
    length: IntArray
    #: The phase of each.
    phase: Labels
    #: How long each lasted: until the next one begins, and the last before a gap or the end for one period
    #: after its last sample. Those of a stretch without a gap add up to its duration.
    seconds: FloatArray


def phase_runs(traces: TraceSet, labels: Labels) -> Runs:
    """The runs of a labelled trace set, in the order of its samples."""
    if not len(labels):
        empty = np.empty(0, np.int64)
        return Runs(empty, empty, np.empty(0, np.int16), np.empty(0))
    begins = np.empty(len(labels), dtype=bool)
    np.not_equal(labels[1:], labels[:-1], out=begins[1:])
    begins[traces.segments()[:-1]] = True
    start = np.flatnonzero(begins)
    length = np.diff(start, append=len(labels))
    return Runs(start, length, labels[start], np.add.reduceat(_sample_seconds(traces), start))


def _sample_seconds(traces: TraceSet) -> FloatArray:
    return sample_seconds(traces.time, traces.segments(), traces.period)


def phase_statistics(traces: TraceSet, labels: Labels, phases: Sequence[int]) -> tuple[PhaseStatistics, ...]:
    """Statistics and descriptions of phases over a labelled trace set.

    Parameters
    ----------
    traces
        The samples.
    labels
        The phase of each sample, shape (n_samples,); −1 is warm-up.
    phases
        The model's phases, in order; each gets an entry even if no sample has it. Warm-up comes last
        and only if there is any.
    """
    runs, order = phase_runs(traces, labels), np.argsort(labels, kind="stable")
    total_seconds = float(runs.seconds.sum())
    sorted_labels, growth = labels[order], _memory_growth(traces, labels)
    censored = _censored_samples(traces)
    listed = [*phases, *([WARM_UP] if (labels == WARM_UP).any() else [])]
    table = []
    for phase in listed:
        low, high = np.searchsorted(sorted_labels, [phase, phase + 1])
        picked = order[low:high]
        phase_seconds = runs.seconds[runs.phase == phase]
        table.append(
            PhaseStatistics(
                phase=phase,
                samples=len(picked),
                share=float(phase_seconds.sum()) / total_seconds if total_seconds > 0 else 0.0,
                runs=len(phase_seconds),
                median_stay=float(np.median(phase_seconds)) if len(phase_seconds) else 0.0,
                memory_growth=growth.get(phase, 0.0),
                features=tuple(
                    _feature_statistics(f, values[picked], marks if marks is None else marks[picked])
                    for f, values, marks in zip(traces.features, traces.columns, censored, strict=True)
                ),
                gpu_idle=measure_gpu_idle(traces, picked),
            )
        )
    return with_descriptions(table)


def _censored_samples(traces: TraceSet) -> list[npt.NDArray[np.bool_] | None]:
    """Mark, for each feature, the samples whose demand may have been higher than their use."""
    found = [censor(traces, f) if f.role in LIMITS else None for f in traces.features]
    return [None if each is None else np.isfinite(each.at_least) for each in found]


def _feature_statistics(
    feature: Feature, values: FloatArray, censored: npt.NDArray[np.bool_] | None
) -> FeatureStatistics:
    present = np.isfinite(values)
    used, name = values[present].astype(np.float64), (feature.name, feature.role, feature.unit)
    if not len(used):
        return FeatureStatistics(*name, 0.0, 0.0, (0.0,) * 5)
    mean, sd = float(used.mean()), float(used.std())
    if censored is not None and (marks := censored[present]).any():
        ones = np.ones(len(used))
        amounts = amounts_exceeded_for(used, ones, marks, [1.0 - quantile for quantile in QUANTILES])
        quantiles = five_numbers(min(amount, used.max()) for amount in amounts)
        return FeatureStatistics(*name, mean, sd, quantiles, float(marks.mean()))
    ordered = np.sort(used)
    return FeatureStatistics(
        *name, mean, sd, five_numbers(_interpolate(ordered, np.array(QUANTILES) * (len(ordered) - 1)))
    )


def _interpolate(ordered: FloatArray, place: FloatArray) -> FloatArray:
    below = place.astype(np.int64)
    above = np.minimum(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])


def measure_gpu_idle(traces: TraceSet, picked: IntArray) -> GpuIdle | None:
    """The share of samples in which all GPUs idle, and whether data is being loaded meanwhile.

    A GPU idles below 5% of its use. Data is being loaded where, while the GPUs idle, the processors are used
    more, or more is read from disk or network, than while the GPUs work: by a quarter, and by three standard
    errors, counted over stretches, since neighbouring samples say the same.

    Parameters
    ----------
    traces
        The trace set.
    picked
        The samples to look at, shape (n,).

    Returns
    -------
    GpuIdle or None
        None without a GPU in the set, or without samples.
    """
    used = [
        values[picked]
        for feature, values in zip(traces.features, traces.columns, strict=True)
        if feature.role is Role.GPU
    ]
    finite = np.isfinite(used).any(axis=0) if used else np.zeros(0, dtype=bool)
    if not finite.any():
        return None
    idle = np.nanmax(np.array(used)[:, finite], axis=0) < IDLE_GPU
    seconds = _sample_seconds(traces)[picked][finite]
    share = float(seconds[idle].sum() / seconds.sum())
    if idle.all() or not idle.any():
        return GpuIdle(share, loading=False)
    feeding = [main_feature(traces.features, role) for role in LOADING_ROLES]
    columns = [traces.column(each.name)[picked][finite] for each in feeding if each is not None]
    return GpuIdle(share, loading=any(_is_higher_while(values, idle) for values in columns))


def _is_higher_while(values: FloatArray, idle: npt.NDArray[np.bool_]) -> bool:
    """Whether values are clearly larger where `idle` is true than where it is not."""
    is_finite = np.isfinite(values)
    values, idle = values[is_finite], idle[is_finite]
    while_idle, else_ = values[idle], values[~idle]
    if not len(while_idle) or not len(else_):
        return False
    stretches = 1 + int(np.count_nonzero(np.diff(idle)))
    error = np.sqrt((while_idle.var() + else_.var()) / max(stretches / 2, 1.0))
    excess = while_idle.mean() - else_.mean()
    return bool(
        excess > MIN_LOADING_ERRORS * error
        and while_idle.mean() > MIN_LOADING_RATIO * max(else_.mean(), 1e-12)
    )


def _memory_growth(traces: TraceSet, labels: Labels) -> dict[int, float]:
    """Memory growth per minute within runs: a phase's increases over the time between its samples.

    The first and last step of a run are left out, since a boundary is found a sample early or late and the
    jump from one phase's memory to another's is no growth of either. A phase of short runs has only those.
    """
    memory = main_feature(traces.features, Role.MEMORY)
    if memory is None or len(labels) < 2:
        return {}
    rise, took = np.diff(traces.column(memory.name).astype(np.float64)), np.diff(traces.time)
    within = labels[1:] == labels[:-1]
    within[traces.segments()[1:-1] - 1] = False
    inner = within.copy()
    inner[1:] &= within[:-1]
    inner[:-1] &= within[1:]
    inner[[0, -1]] = False
    phase, finite = labels[1:].astype(np.int64) - WARM_UP, np.isfinite(rise)
    growth: dict[int, float] = {}
    for steps in (within & finite, inner & finite):
        rose, seconds = (np.bincount(phase[steps], each[steps]) for each in (rise, took))
        growth |= {int(code) + WARM_UP: 60.0 * rose[code] / seconds[code] for code in np.flatnonzero(seconds)}
    return growth
