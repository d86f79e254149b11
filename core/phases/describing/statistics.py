"""Statistics of a phase, as plain values."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from core.traces.model import Role
from core.traces.scales import Scale, scale_of
from core.units import Unit

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


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
    #: The 5th, 25th, 50th, 75th and 95th percentiles, linear between samples.
    quantiles: tuple[float, float, float, float, float]


@dataclass(frozen=True, slots=True)
class GpuIdle:
    """How much of a phase its GPUs idle."""

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

    def named(self, name: str) -> FeatureStatistics | None:
        """The statistics of a feature, or None where these traces did not have it."""
        return next((each for each in self.features if each.name == name), None)

    def of(self, role: Role) -> FeatureStatistics | None:
        """The statistics of the feature that stands for a role, or None."""
        having = [each for each in self.features if each.role is role]
        exact = [each for each in having if each.unit in {Unit.CORES, Unit.BYTES}]
        return next(iter(exact or having), None)

    @property
    def cpu(self) -> FeatureStatistics | None:
        """The CPU statistics, or None without such a feature."""
        return self.of(Role.CPU)

    @property
    def memory(self) -> FeatureStatistics | None:
        """The memory statistics, or None without such a feature."""
        return self.of(Role.MEMORY)

    def to_dict(self) -> dict[str, Any]:
        """The statistics as JSON takes them."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> PhaseStatistics:
        """Read statistics back."""
        features = tuple(
            FeatureStatistics(
                name=str(each["name"]),
                role=Role(each["role"]),
                unit=Unit(each["unit"]),
                mean=float(each["mean"]),
                sd=float(each["sd"]),
                quantiles=five_numbers(each["quantiles"]),
            )
            for each in values["features"]
        )
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
    """The one unit in which a quantity is shown of all phases: that of the highest 95th percentile of any."""
    highest = [
        each.quantiles[4]
        for phase in statistics
        for each in phase.features
        if each.unit is unit and each.role is role
    ]
    return scale_of(unit, max(highest, default=math.nan))
