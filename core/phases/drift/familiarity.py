"""How far traces are from what a model was trained on, before its phases are believed.

A model reads samples at one period and standardises them with the mean and scale of its training. On traces
of another period a window spans another time; on values that it never saw, every sample falls to some outer
phase. Neither is an error that anything else would notice.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from core.phases.matching import match
from core.units import format_duration, format_number, format_share

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.phases.model import PhaseModel
    from core.traces.model import FloatArray, TraceSet

RANGE = (0.01, 0.99)
"""The percentiles of the training samples between which values are familiar."""
MOST_OUTSIDE = 0.2
"""Traces are far from the training where more of a feature's samples than this are outside of its range."""
LEAST_REACH = 0.02
"""And where a feature reaches less than a fiftieth of the training's: the model sees next to none of it."""
MOST_STRETCHED = 1.25
"""Periods differ where one is this many times the other."""
_NAMED = 3


@dataclass(frozen=True, slots=True)
class Outside:
    """One feature beside the training."""

    #: The feature.
    name: str
    #: The shares of its samples above the training's 99th and below its 1st percentile.
    above: float
    below: float
    #: Its 99th percentile as a share of the training's; 1 where that is not above zero.
    reach: float = 1.0

    @property
    def share(self) -> float:
        """The share of samples outside; two in a hundred are to be expected."""
        return self.above + self.below


@dataclass(frozen=True, slots=True)
class Familiarity:
    """How traces compare with what a model was trained on."""

    #: The sampling periods in seconds; 0 where the model does not say.
    period: float
    trained_period: float
    #: Every feature that the model reads; empty where the model does not say what it was trained on.
    outside: tuple[Outside, ...]

    @property
    def known(self) -> bool:
        """Whether the model says what it was trained on."""
        return bool(self.outside)

    @property
    def period_ratio(self) -> float | None:
        """The traces' period over that of the training, or None where one is unknown."""
        return self.period / self.trained_period if self.period > 0 and self.trained_period > 0 else None

    @property
    def other_period(self) -> bool:
        """Whether a window spans another time than in the training."""
        ratio = self.period_ratio
        return ratio is not None and not 1 / MOST_STRETCHED < ratio < MOST_STRETCHED

    @property
    def strange(self) -> tuple[Outside, ...]:
        """The features outside of the training's range, or far below what it reaches, the worst first."""
        found = (each for each in self.outside if each.share > MOST_OUTSIDE or each.reach < LEAST_REACH)
        return tuple(sorted(found, key=lambda each: -each.share))

    @property
    def far(self) -> bool:
        """Whether a person has to know before believing the phases."""
        return self.other_period or bool(self.strange)


def training_ranges(columns: Sequence[FloatArray]) -> tuple[tuple[float, float], ...]:
    """The 1st and 99th percentile of each column, which a model keeps of its training."""
    found = []
    for values in columns:
        low, high = np.quantile(values, RANGE) if len(values) else (0.0, 0.0)
        found.append((float(low), float(high)))
    return tuple(found)


def familiarity(model: PhaseModel, traces: TraceSet) -> Familiarity:
    """Compare traces with what a model was trained on.

    Raises
    ------
    MismatchError
        If the traces lack a feature of the model, or have it in another unit.
    """
    names, record = match(model.features, traces), model.training
    outside = []
    if len(record.ranges) == len(names) and traces.n_samples:
        for name, (low, high) in zip(names, record.ranges, strict=True):
            values = traces.column(name)
            reach = float(np.quantile(values, RANGE[1])) / high if high > 0 else 1.0
            outside.append(Outside(name, float((values > high).mean()), float((values < low).mean()), reach))
    return Familiarity(traces.period, record.period, tuple(outside))


def warning(found: Familiarity, name: str) -> tuple[str, str] | None:
    """What a person has to know before believing a model's phases: in short, and in sentences with numbers.

    Parameters
    ----------
    found
        How the traces compare with what the model was trained on.
    name
        The model's name.

    Returns
    -------
    tuple
        The headline and what follows it; None where the traces are near.
    """
    if found.far:
        return f"{name} was trained on other data.", _differences(found)
    if found.known:
        return None
    return (
        f"How far these traces are from what {name} was trained on is not known.",
        "The model was stored without the range of its training data: check that its phases make sense here.",
    )


def _differences(found: Familiarity) -> str:
    said = []
    if found.other_period and found.period_ratio is not None:
        ratio = found.period_ratio
        times = f"{format_number(max(ratio, 1 / ratio), 1)} times as {'rarely' if ratio > 1 else 'often'}"
        said.append(
            f"These traces are sampled every {format_duration(found.period)}, its training was every "
            f"{format_duration(found.trained_period)} ({times})."
        )
    for each in found.strange[:_NAMED]:
        if each.reach < LEAST_REACH and each.share <= MOST_OUTSIDE:
            said.append(
                f"{each.name}: its 99th percentile is {format_share(each.reach)} of the training's. "
                "Is it in the same unit?"
            )
            continue
        above, below = format_share(each.above), format_share(each.below)
        said.append(
            f"{each.name}: {above} of samples are above the 99th percentile of the training, {below} below "
            "the 1st (1% each is usual)."
        )
    if len(found.strange) > _NAMED:
        said.append(f"So are {len(found.strange) - _NAMED} more features.")
    if not found.known:
        said.append(
            "How far their values are from its training is not known: it was stored without their range."
        )
    return " ".join([*said, "What it calls phases here may mean little."])
