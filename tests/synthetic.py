"""Synthetic training containers whose phases are known: a seed identifies a data set.

A container goes through stages as training jobs do: it starts, loads data while memory grows,
computes in steady or bursty epochs, saves checkpoints in between, and unloads. Every stage has a CPU
level with noise, and memory that rises, stays or falls; each job family (the attribute ``workload``)
has its own stages, scale and loss curve. Labels are the stages' numbers in `STAGES`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from core.errors import InputError
from core.traces.model import Feature, Resampling, Role, TraceSet
from core.units import GIB, Unit

if TYPE_CHECKING:
    import numpy.typing as npt

    from core.traces.model import FloatArray, IntArray

    Labels = npt.NDArray[np.int16]

STAGES = ("starting", "loading", "steady compute", "bursty compute", "checkpoint", "unloading")
START, LOAD, STEADY, BURSTY, CHECKPOINT, UNLOAD = range(6)

FEATURES = (
    Feature("cpu_cores", Role.CPU, Unit.CORES),
    Feature("memory_bytes", Role.MEMORY, Unit.BYTES),
    Feature("cpu_limit_cores", Role.CPU_LIMIT, Unit.CORES),
    Feature("memory_limit_bytes", Role.MEMORY_LIMIT, Unit.BYTES),
    Feature("loss", Role.LOSS, Unit.PLAIN),
)


@dataclass(frozen=True, slots=True)
class Family:
    """A kind of training job."""

    #: The value of the attribute ``workload``.
    name: str
    #: CPU in cores while computing.
    cores: float
    #: Working memory in bytes once the data are loaded.
    memory: float
    #: The stages that repeat, each with its usual length in samples.
    epoch: tuple[tuple[int, int], ...]
    #: The usual length of loading in samples.
    loading: int
    #: How fast the loss falls: share of the reduction per unit of work is 1 − e^(−decay).
    decay: float


FAMILIES = (
    Family("image classifier", 3.4, 6.0 * GIB, ((STEADY, 34), (CHECKPOINT, 5)), 26, 5.2),
    Family("language model", 2.6, 9.0 * GIB, ((BURSTY, 42), (CHECKPOINT, 8)), 38, 3.0),
    Family("recommender", 1.5, 12.0 * GIB, ((BURSTY, 18), (STEADY, 14), (CHECKPOINT, 4)), 46, 11.5),
    Family("tabular boosting", 3.8, 2.5 * GIB, ((STEADY, 60),), 10, 19.6),
)
# stage: share of the family's cores, relative noise, share of samples idle between bursts
_CPU = {
    START: (0.06, 0.35, 0.0),
    LOAD: (0.32, 0.18, 0.0),
    STEADY: (1.0, 0.035, 0.0),
    BURSTY: (0.85, 0.12, 0.35),
    CHECKPOINT: (0.14, 0.25, 0.0),
    UNLOAD: (0.05, 0.3, 0.0),
}


def synthetic_traces(
    n_executions: int = 40, seed: int = 0, *, samples: int = 240, period: float = 10.0
) -> tuple[TraceSet, Labels]:
    """Make a trace set with known phases.

    Raises
    ------
    InputError
        If a number is too small.
    """
    if n_executions < 1 or samples < 60:
        raise InputError(
            f"{n_executions} executions of {samples} samples are too few.",
            "Ask for at least 1 execution of at least 60 samples.",
        )
    rng = np.random.default_rng(seed)
    families = [FAMILIES[i % len(FAMILIES)] for i in range(n_executions)]
    lengths = np.round(samples * rng.uniform(0.75, 1.25, n_executions)).astype(np.int64)
    runs = [_container(family, int(n), rng) for family, n in zip(families, lengths, strict=True)]
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    starts = 1.7e9 + np.floor(rng.uniform(0, 7 * 86_400, n_executions))
    age = np.arange(offsets[-1]) - np.repeat(offsets[:-1], lengths)
    traces = TraceSet(
        features=FEATURES,
        columns=tuple(np.concatenate(parts) for parts in zip(*(run[0] for run in runs), strict=True)),
        time=np.repeat(starts, lengths) + age * period,
        ids=tuple(f"{family.name.replace(' ', '-')}-{i + 1:04d}" for i, family in enumerate(families)),
        offsets=offsets,
        period=period,
        resampling=Resampling.HOLD,
        attributes={"workload": [family.name for family in families]},
    )
    return traces, np.concatenate([run[1] for run in runs])


def _container(family: Family, n: int, rng: np.random.Generator) -> tuple[tuple[FloatArray, ...], Labels]:
    """One container's columns, in the order of `FEATURES`, and its true stages."""
    labels = _stages(family, n, rng)
    scale = rng.lognormal(0.0, 0.15)
    cpu = _cpu(labels, family.cores * scale, rng)
    memory = _memory(labels, family.memory * scale, rng)
    limit_cores = float(np.ceil(2 * family.cores * scale * rng.uniform(1.1, 1.6)) / 2)
    limit_bytes = float(np.ceil(memory.max() * rng.uniform(1.15, 1.6) / GIB) * GIB)
    columns = (
        np.minimum(cpu, limit_cores),
        memory,
        np.full(n, limit_cores),
        np.full(n, limit_bytes),
        _loss(labels, family.decay, rng),
    )
    return columns, labels


def _stages(family: Family, n: int, rng: np.random.Generator) -> Labels:
    """Starting, loading, epochs until the time is nearly over, unloading."""
    unload = max(3, n // 40)
    parts = [np.full(_around(4, rng), START), np.full(_around(family.loading, rng), LOAD)]
    total = sum(len(part) for part in parts)
    while total < n - unload:
        for stage, usual in family.epoch:
            parts.append(np.full(_around(usual, rng), stage))
            total += len(parts[-1])
    body = np.concatenate(parts)[: n - unload]
    return np.concatenate([body, np.full(unload, UNLOAD)]).astype(np.int16)


def _around(usual: int, rng: np.random.Generator) -> int:
    return max(2, round(usual * rng.uniform(0.8, 1.2)))


def _cpu(labels: Labels, cores: float, rng: np.random.Generator) -> FloatArray:
    levels, noise, idle = (np.array([_CPU[stage][i] for stage in range(6)])[labels] for i in range(3))
    busy = levels * (1.0 + noise * rng.standard_normal(len(labels)))
    waits = rng.random(len(labels)) < idle
    return np.maximum(np.where(waits, 0.25 * busy, busy), 0.002) * cores


def _memory(labels: Labels, working: float, rng: np.random.Generator) -> FloatArray:
    """Memory follows a target per stage, each at its own rate, with a little noise."""
    targets = np.array([0.04, 1.0, 1.0, 1.04, 1.18, 0.05])[labels] * working
    haste = np.array([0.6, 0.09, 0.12, 0.12, 0.45, 0.5])[labels]
    level, levels = 0.02 * working, np.empty(len(labels))
    for i, (target, speed) in enumerate(zip(targets.tolist(), haste.tolist(), strict=True)):
        level += speed * (target - level)
        levels[i] = level
    return np.asarray(np.maximum(levels * (1.0 + 0.004 * rng.standard_normal(len(labels))), 2.0**20))


def _loss(labels: Labels, decay: float, rng: np.random.Generator) -> FloatArray:
    """An exponential loss over the compute done, printed from the first compute sample on."""
    work: IntArray = np.cumsum(np.isin(labels, (STEADY, BURSTY)))
    x = work / max(int(work[-1]), 1)
    reduction = (1 - np.exp(-decay * x)) / (1 - np.exp(-decay))
    noisy = 0.1 + 0.9 * (1 - reduction) + 0.003 * rng.standard_normal(len(labels))
    return np.where(work > 0, np.maximum(noisy, 0.0), np.nan)
