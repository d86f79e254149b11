"""The settings of the autopilot, and its fitted policies."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from core.provisioning.advice import serializable
from core.scheduling.queueing import default_request_setting, memory_setting
from core.settings_fields import setting

if TYPE_CHECKING:
    from core.provisioning.advice import Adviser
    from core.provisioning.fleet import Demand, Floats


PEAK_SECONDS = 600.0
"""Seconds for which peaks count; a container sampled for that long has shown its peak demand."""


# By how much the memory of a container may still grow, as recorded containers of its age did.
#
# The most that a container used so far says little while it is young: it has not loaded its data yet. A
# memory limit that goes by that alone kills it when it does.


@serializable
@dataclass(frozen=True)
class Growth:
    """The largest growth that any recorded container still had ahead of it, by age."""

    #: Seconds since a container's first sample, increasing, shape (n,).
    ages: Floats
    #: From each of these ages on: its peak usage in life over its peak until then;
    #: at least 1, never increasing, shape (n,).
    factors: Floats
    #: The age of the oldest recorded container, seconds.
    until: float

    def factor_at(self, age: float) -> float:
        """Return the factor at an age, seconds; infinite where nothing that old was recorded."""
        if age > self.until:
            return inf
        return float(self.factors[max(int(self.ages.searchsorted(age, "right")) - 1, 0)])


UNKNOWN_GROWTH = Growth(np.zeros(1), np.ones(1), -inf)
"""Of containers like which none was recorded."""


def measure_growth(demand: Demand) -> Growth:
    """Measure how much a fleet's recorded peak memory still grew after each age."""
    fleet = demand.fleet
    pairs = list(zip(fleet.offsets[:-1].tolist(), fleet.offsets[1:].tolist(), strict=True))
    until = max(float(fleet.time[end - 1] - fleet.time[begin]) for begin, end in pairs)
    ages = np.arange(0.0, min(until, PEAK_SECONDS) + fleet.period, fleet.period)
    growth = np.ones(len(ages))
    for begin, end in pairs:
        peaks = np.maximum(np.maximum.accumulate(demand.values[begin:end]), 1.0)
        at = np.searchsorted(fleet.time[begin:end] - fleet.time[begin], ages, "right") - 1
        np.maximum(growth, peaks[-1] / peaks[at], out=growth)
    changes = np.flatnonzero(np.diff(growth, prepend=inf))
    return Growth(ages[changes], growth[changes], until)


class Clock(NamedTuple):
    """Seconds between the samples that a policy was fitted on, and of a rescaling cycle."""

    period: float
    cycle: float


@serializable
@dataclass(frozen=True)
class FittedPolicy:
    """A policy fitted on recorded containers, and its clock."""

    #: The policy's.
    name: str
    #: Seconds of a rescaling cycle, and between the samples that it was fitted on.
    cycle: float
    period: float
    #: The advisers for cores and bytes; None where the policy was not fitted on these.
    cpu: Adviser | None
    memory: Adviser | None
    #: The reactive rule for containers unlike the phase model's training data, or None.
    fallback: FittedPolicy | None = None
    #: The later growth of recorded containers' memory; None where it was not fitted on bytes.
    growth: Growth | None = None

    @property
    def clock(self) -> Clock:
        """Both together."""
        return Clock(self.period, self.cycle)


class Limits(NamedTuple):
    """The limits of a container, in cores and bytes; None without one."""

    cores: float | None = None
    memory: float | None = None


@dataclass(frozen=True)
class AutopilotSettings:
    """The choice of policy and its safety margins (design: live phase autoscaling)."""

    policy: str = setting(
        "phasedock",
        label="Provisioning policy",
        of="provisioning",
        help="Policy that chooses the limits.",
    )
    model: str = setting(
        "",
        label="Phase model",
        of="model",
        help="Its phases are what the policy goes by; without phases when empty.",
    )
    traces: str = setting(
        "",
        label="Learned from",
        of="traces",
        help="The trace set that it learns from; the phase model’s own when empty.",
    )
    cycle: float = setting(
        5.0, label="Cycle", low=1.0, high=86_400.0, unit="s", help="Time between two allocations."
    )
    tolerance: float = setting(
        0.05, label="Tolerance", low=0.001, high=0.5,
        help="The share of time that may fall short, on what it learned from.",
    )  # fmt: skip
    memory: bool = setting(
        False, label="Memory, too", help="Whether memory limits are set; a limit that is too low kills."
    )
    floor: float = setting(
        0.05, label="Floor", low=0.01, high=1024.0, unit="cores", help="No container gets fewer cores."
    )
    throttled: float = setting(
        0.25, label="Throttled", low=0.01, high=1.0,
        help="Above this share of throttled periods a container is held back too much.",
    )  # fmt: skip
    patience: float = setting(
        3.0, label="Patience", low=1.0, high=600.0, unit="s", help="How long it may be held back too much."
    )
    step: float = setting(
        1.5, label="Step back", low=1.01, high=10.0,
        help="By how much a limit grows at once where it was too low.",
    )  # fmt: skip
    margin: float = setting(
        0.15, label="Memory margin", low=0.0, high=5.0,
        help="What a memory limit has above the most that was used in the last ten minutes, beside 32 MiB.",
    )  # fmt: skip
    full: float = setting(
        0.9, label="Nearly full", low=0.5, high=1.0, help="Above this share of its limit it grows at once."
    )
    unasked: float = default_request_setting()
    filled: float = memory_setting()


@dataclass(frozen=True)
class ReadySettings(AutopilotSettings):
    """The settings with the fitted policy; the starter of a run fits it."""

    #: What steers. Without it every container keeps what it asked for.
    fitted: FittedPolicy | None = None
