"""Samples whose use says only that demand was no less: censored observations.

A container at its limit, throttled, killed for lack of memory, or on a host under pressure may have needed
more than it used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from core.traces.lanes import LIMITS
from core.traces.model import Role
from core.units import Unit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.traces.model import Feature, FloatArray, IntArray, TraceSet

Floats = npt.NDArray[np.float64]
Truths = npt.NDArray[np.bool_]


AT_LIMIT, THROTTLED, PRESSURE = 0.97, 0.05, 0.25
"""The share of its limit, of throttled periods, and of the host's time under pressure, from which on use says
only that demand is no less."""
MAX_CENSORED = 0.2
"""Where more than this share of what decides is censored, the result is "at least"."""
KILLED = 1.2
"""What a container that was killed for lack of memory needs at least, over its limit."""

_ROUNDING = 1e-12
_UNLIMITED = {Unit.BYTES: 2.0**50, Unit.CORES: 1e5}
"""Nobody has a container with so much."""
_ENDINGS = (
    "ended",
    "end_state",
    "state",
    "status",
    "reason",
    "exit_reason",
    "termination_reason",
    "last_state",
)
_KILLS = ("oom", "oomkilled", "oom_killed", "oom-killed", "out_of_memory", "out of memory", "killed")


def killed_for_memory(traces: TraceSet) -> Truths:
    """Mark the executions that an attribute calls killed for lack of memory, shape (n_executions,).

    The attributes are those that say how an execution ended, such as ``ended`` of the recorder, ``reason`` of
    Kubernetes (``OOMKilled``) and ``State`` of Slurm (``OUT_OF_MEMORY``).
    """
    marks = np.zeros(traces.n_executions, bool)
    for name, values in traces.attributes.items():
        if name.lower() in _ENDINGS:
            marks |= np.array([str(each).strip().lower() in _KILLS for each in values], bool)
    return marks


class Censoring(NamedTuple):
    """What bounded the use of samples."""

    #: What demand was at least, NaN where nothing bounded the use, shape (n,).
    at_least: Floats
    #: Where it was the pressure of its host and no limit, shape (n,).
    pressed: Truths

    def on(self, samples: IntArray) -> Censoring:
        """That of selected samples."""
        return Censoring(self.at_least[samples], self.pressed[samples])


def censor(traces: TraceSet, feature: Feature) -> Censoring | None:
    """Return what bounded the use of each sample; None where nothing bounded any.

    A limit bounds a sample that used at least `AT_LIMIT` of it, or, for CPU,
    that was throttled in more than `THROTTLED` of its periods; then demand was at least the use and the cores
    that the kernel says were withheld. Pressure of its host above `PRESSURE` bounds every sample by its use.
    The highest use of memory of a container that was killed for lack of it counts as bounded by `KILLED`
    times its limit. Where the limit is not recorded, the use itself stands for it.

    Parameters
    ----------
    traces
        The samples.
    feature
        A usage of CPU or memory.
    """
    used = traces.column(feature.name).astype(np.float64)
    limits, wanted = np.full(traces.n_samples, np.nan), used
    is_limited, is_pressed = np.zeros((2, traces.n_samples), bool)
    for each, column in zip(traces.features, traces.columns, strict=True):
        if each.role is LIMITS[feature.role] and each.unit is feature.unit:
            values = column.astype(np.float64)
            limits = np.where(is_limit(values, each.unit), values, np.nan)
            is_limited |= used >= AT_LIMIT * limits
        elif each.role is Role.HOST_PRESSURE:
            is_pressed |= column > PRESSURE
        elif feature.role is Role.CPU and (each.role is Role.THROTTLED or _is_earlier_throttled(each)):
            is_limited |= column > THROTTLED
        elif feature.role is Role.CPU and each.role is Role.WITHHELD and feature.unit is each.unit:
            wanted = used + np.nan_to_num(column.astype(np.float64), nan=0.0)
    bounds = np.where(is_limited, np.fmax(limits, wanted), np.where(is_pressed, used, np.nan))
    is_pressed &= ~is_limited
    if feature.role is Role.MEMORY:
        for execution in np.flatnonzero(killed_for_memory(traces) & (np.diff(traces.offsets) > 0)).tolist():
            begin, end = traces.offsets[execution : execution + 2]
            if np.isfinite(used[begin:end]).any():
                peak = begin + int(np.nanargmax(used[begin:end]))
                bounds[peak] = KILLED * np.fmax(limits[peak], used[peak])
                is_pressed[peak] = False
    return Censoring(bounds, is_pressed) if np.isfinite(bounds).any() else None


def _is_earlier_throttled(feature: Feature) -> bool:
    """Whether it is the throttled share in recordings from before it had a role."""
    return feature.name == "throttled" and feature.unit is Unit.SHARE


def is_limit(values: FloatArray, unit: Unit) -> Truths:
    """Mark values that can be limits.

    Files write 0, −1 or the largest whole number where there is none.
    """
    return np.isfinite(values) & (values > 0) & (values < _UNLIMITED.get(unit, np.inf))


def amounts_exceeded_for(
    values: Floats, seconds: Floats, censored: Truths, tolerances: Sequence[float]
) -> list[float]:
    """The smallest amounts that demand exceeds for at most a share of the time; infinite if none is known.

    By Kaplan and Meier's estimate (1958) of the distribution of demand.

    Parameters
    ----------
    values, seconds
        Use of the samples and the time that each stands for, shape (n,).
    censored
        Whether the demand of each may have been higher, shape (n,).
    tolerances
        The shares of the time.
    """
    order = np.lexsort((censored, values))  # at the same value, what was not bounded comes first
    weights = seconds[order]
    at_risk = np.cumsum(weights[::-1])[::-1]
    lost = np.where(censored[order], 0.0, np.minimum(weights / at_risk, 1.0))
    above = np.cumprod(1.0 - lost)
    allowed = np.array(tolerances) * (1.0 + _ROUNDING)
    first = len(above) - np.searchsorted(above[::-1], allowed, side="right")
    amounts: list[float] = np.append(values[order], np.inf)[first].tolist()
    return amounts
