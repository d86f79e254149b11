"""Chooses features that are worth reading: they vary, have no missing values, and are not redundant.

A feature that is as different from one sample to the next as from any other has no phases: counters that
were rounded before they were differenced, or bursts shorter than the sampling period. CPU, memory and GPUs
are read in any case.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from core.errors import InputError
from core.phases.matching import EXCLUDED_ROLES
from core.traces.model import Role

if TYPE_CHECKING:
    import numpy.typing as npt

    from core.traces.model import Feature, FloatArray, TraceSet

MAX_CORRELATION = 0.9999
"""Correlation from which two features are one: the second only counts it twice."""
MIN_PERSISTENCE = 0.25
"""Correlation of neighbouring samples below which a feature stays nowhere."""
MIN_GROWING_SHARE = 0.5
"""What never falls and grows at more of its steps than this is a counter."""
USAGE_ROLES = (Role.CPU, Role.MEMORY, Role.GPU, Role.GPU_MEMORY)


@dataclass(frozen=True, slots=True)
class ExcludedFeature:
    """A feature that is not read, and why."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class UsefulFeatures:
    """The features to read, and the others with reasons."""

    features: tuple[Feature, ...]
    left_out: tuple[ExcludedFeature, ...]


def choose_features(traces: TraceSet) -> UsefulFeatures:
    """The features of a set that a model should read.

    Raises
    ------
    InputError
        If none is left.
    """
    chosen: list[tuple[Feature, FloatArray]] = []
    left_out = []
    for feature, values in zip(traces.features, traces.columns, strict=True):
        reason = _why_excluded(feature, values, chosen) or _why_constant_or_counter(traces, feature, values)
        if reason:
            left_out.append(ExcludedFeature(feature.name, reason))
        else:
            chosen.append((feature, values))
    chosen, restless = _drop_restless(traces, chosen)
    left_out += restless
    if not chosen:
        raise InputError(
            "No feature of these traces varies, so there are no phases to find.",
            "Choose traces with CPU or memory usage.",
        )
    return UsefulFeatures(tuple(feature for feature, _ in chosen), tuple(left_out))


def _drop_restless(
    traces: TraceSet, chosen: list[tuple[Feature, FloatArray]]
) -> tuple[list[tuple[Feature, FloatArray]], list[ExcludedFeature]]:
    """Drop features that jump from sample to sample, if others remain."""
    restless = {
        feature.name
        for feature, values in chosen
        if feature.role not in USAGE_ROLES and measure_persistence(traces, values) < MIN_PERSISTENCE
    }
    steady = [one for one in chosen if one[0].name not in restless]
    if not steady:
        return chosen, []
    reason = "it jumps from sample to sample, so it has no phases"
    return steady, [
        ExcludedFeature(feature.name, reason) for feature, _ in chosen if feature.name in restless
    ]


def measure_persistence(traces: TraceSet, values: FloatArray) -> float:
    """The similarity of neighbouring samples: 1 − η/2, about the correlation at lag one.

    η is von Neumann's ratio (1941) of the mean squared successive difference to the variance, here about the
    mean of each stretch without a gap.

    Parameters
    ----------
    traces
        The trace set.
    values
        One of its columns, shape (n,), finite.

    Returns
    -------
    float
        About 0 for noise, near 1 for what changes slowly; 1 where nothing varies within a stretch.
    """
    bounds = traces.segments()
    lengths = np.diff(bounds)
    wide = values.astype(np.float64)
    means = np.add.reduceat(wide, bounds[:-1]) / lengths
    variance = float(np.mean((wide - np.repeat(means, lengths)) ** 2))
    steps = np.diff(wide)[_steps_inside(traces)]
    if variance <= 0 or not len(steps):
        return 1.0
    return 1.0 - float(np.mean(steps**2)) / (2.0 * variance)


def _why_excluded(feature: Feature, values: FloatArray, chosen: list[tuple[Feature, FloatArray]]) -> str:
    """Return the reason to exclude a feature beside the chosen ones; "" without one."""
    if feature.role in EXCLUDED_ROLES:
        return "it is not a usage"
    if not np.isfinite(values).all():
        return "it is missing in some samples"
    if not len(values) or values.min() == values.max():
        return "it never changes"
    return next(
        (f"it says the same as {each.name}" for each, other in chosen if _are_same(values, other)), ""
    )


def _why_constant_or_counter(traces: TraceSet, feature: Feature, values: FloatArray) -> str:
    """Why a feature tells executions apart, or counts something, and nothing else; "" where it does not."""
    if feature.role in USAGE_ROLES or traces.n_executions == len(values):
        return ""
    steps = np.diff(values.astype(np.float64))[_steps_inside(traces)]
    if not len(steps):
        return ""
    if steps.min() == steps.max():
        return "it counts rows" if steps[0] else "it never changes within an execution"
    counts = feature.role is Role.OTHER and steps.min() >= 0 and np.mean(steps > 0) > MIN_GROWING_SHARE
    return "it only grows: it counts something, or is a time" if counts else ""


def _steps_inside(traces: TraceSet) -> npt.NDArray[np.bool_]:
    """Mark the steps between samples that cross no gap and no end of an execution, shape (n − 1,)."""
    inside = np.ones(traces.n_samples - 1, dtype=bool)
    inside[traces.segments()[1:-1] - 1] = False
    return inside


def _are_same(one: FloatArray, other: FloatArray) -> bool:
    """Whether two features are the same but for their units."""
    a, b = one - one.mean(), other - other.mean()
    # by their sizes first, so that squares stay finite
    a, b = a / np.abs(a).max(), b / np.abs(b).max()
    return float(abs(a @ b)) >= MAX_CORRELATION * float(np.sqrt((a @ a) * (b @ b)))
