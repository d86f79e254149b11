"""Drift: how far traces are from a model's training, and continued training on unfamiliar ones."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import chain, count
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from core.errors import InputError
from core.phases.clustering import count_distinct, fit_centres
from core.phases.describe import phase_statistics
from core.phases.matching import match_features
from core.phases.model import TrainingRecord
from core.phases.prediction import model_windows, predict, select_windows
from core.progress_reporting import silent
from core.traces.model import TraceSet, fingerprint
from core.units import format_duration, format_number, format_share

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from core.phases.encoders import Codes
    from core.phases.model import PhaseModel
    from core.phases.rows import Windows
    from core.progress_reporting import Progress
    from core.traces.model import FloatArray


STRANGE_QUANTILE = 0.99
"""Of the training's samples, above which one is strange."""
MAX_STRANGE_SHARE = 0.2
"""The share of strange samples above which a container is unfamiliar."""
_BLOCK_SIZE = 65_536
_ROUNDING = 1e-4


# Which samples a model has seen nothing like: far from every centre, or badly reconstructed.
#
# Of each window two numbers are looked at: the distance of its code to the nearest centre, and how far its
# last row is from what the encoder makes of the code. Above the 99th percentile of the training either way it
# is strange; of a container more than a fifth of whose samples are, the phases mean nothing.


class Strangeness(NamedTuple):
    """Distance and error of windows, each of shape (n_windows,)."""

    #: Of the code to the nearest centre, Euclidean.
    distance: npt.NDArray[np.float64]
    #: Of the window's last row, ‖v − v⁻‖₂, in standard deviations; 0 where a code keeps all of a window.
    error: npt.NDArray[np.float64]


def measure_strangeness(model: PhaseModel, windows: Windows) -> Strangeness:
    """Measure how far windows are from a model's phases, and how badly it reconstructs them."""
    n = len(windows.starts)
    strangeness = Strangeness(np.empty(n), np.empty(n))
    centres = np.concatenate([model.centres, *(each.centres for each in model.expansions)])
    for begin in range(0, n, _BLOCK_SIZE):
        chosen = np.arange(begin, min(begin + _BLOCK_SIZE, n))
        part = select_windows(windows, chosen)
        codes = model.encoder.codes(part)
        strangeness.distance[chosen] = _nearest_distance(codes, centres)
        strangeness.error[chosen] = model.encoder.errors(part, codes)
    return strangeness


def measure_limits(model: PhaseModel, windows: Windows) -> tuple[float, float]:
    """The 99th percentiles of distance and error on the training's windows, which a model keeps."""
    strangeness = measure_strangeness(model, windows)
    distance, error = (
        float(np.quantile(values, STRANGE_QUANTILE, method="higher")) for values in strangeness
    )
    return distance, error


def with_limits(model: PhaseModel, traces: TraceSet) -> PhaseModel:
    """Return the model with the limits of its training, computed from its traces if it has none.

    Raises
    ------
    MismatchError, InputError
        As `core.phases.prediction.model_windows`.
    """
    if model.training.limits:
        return model
    windows = model_windows(model, traces)
    if not len(windows.starts):
        return model
    return replace(model, training=replace(model.training, limits=measure_limits(model, windows)))


def find_strange(model: PhaseModel, windows: Windows) -> npt.NDArray[np.bool_]:
    """Mark strange windows, shape (n_windows,); none where the model has no stored limits."""
    if not model.training.limits:
        return np.zeros(len(windows.starts), bool)
    strangeness, (distance, error) = measure_strangeness(model, windows), model.training.limits
    return (strangeness.distance > distance + _ROUNDING) | (strangeness.error > error + _ROUNDING)


def find_strange_samples(model: PhaseModel, traces: TraceSet) -> npt.NDArray[np.bool_]:
    """Return which samples are strange to a model, shape (n_samples,); samples without a window are not.

    Raises
    ------
    MismatchError, InputError
        As `core.phases.prediction.model_windows`.
    """
    windows = model_windows(model, traces)
    strange = np.zeros(windows.n_samples, bool)
    strange[windows.samples] = find_strange(model, windows)
    return strange


def _nearest_distance(codes: Codes, centres: Codes) -> npt.NDArray[np.float64]:
    wide, far = codes.astype(np.float64), centres.astype(np.float64)
    squares = (wide**2).sum(axis=1)[:, None] - 2.0 * wide @ far.T + (far**2).sum(axis=1)
    return np.asarray(np.sqrt(np.maximum(squares.min(axis=1), 0.0)))


RANGE_QUANTILES = (0.01, 0.99)
"""The percentiles of the training samples between which values are familiar."""
MAX_OUTSIDE_SHARE = 0.2
"""Traces are far from the training where more of a feature's samples than this are outside of its range."""
MIN_REACH = 0.02
"""And where a feature reaches less than a fiftieth of the training's: the model sees next to none of it."""
MAX_PERIOD_RATIO = 1.25
"""Periods differ where one is this many times the other."""
_MAX_LISTED = 3


# How far traces are from what a model was trained on, before its phases are believed.
#
# A model reads samples at one period and standardises them with the mean and scale of its training. On traces
# of another period a window spans another time; on values that it never saw, every sample falls to some outer
# phase. Neither is an error that anything else would notice.


@dataclass(frozen=True, slots=True)
class OutOfRange:
    """A feature's values outside the training's range."""

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
    """Traces compared with a model's training."""

    #: The sampling periods in seconds; 0 where the model does not say.
    period: float
    trained_period: float
    #: Every feature of the model; empty where the model has no record of its training.
    outside: tuple[OutOfRange, ...]

    @property
    def has_record(self) -> bool:
        """Whether the model has a record of its training."""
        return bool(self.outside)

    @property
    def period_ratio(self) -> float | None:
        """The traces' period over the training's, or None if either is unknown."""
        return self.period / self.trained_period if self.period > 0 and self.trained_period > 0 else None

    @property
    def has_other_period(self) -> bool:
        """Whether a window spans another time than in the training."""
        ratio = self.period_ratio
        return ratio is not None and not 1 / MAX_PERIOD_RATIO < ratio < MAX_PERIOD_RATIO

    @property
    def out_of_range(self) -> tuple[OutOfRange, ...]:
        """The features out of the training's range, or far below it, the worst first."""
        features = (each for each in self.outside if each.share > MAX_OUTSIDE_SHARE or each.reach < MIN_REACH)
        return tuple(sorted(features, key=lambda each: -each.share))

    @property
    def is_far(self) -> bool:
        """Whether a person has to know before believing the phases."""
        return self.has_other_period or bool(self.out_of_range)


def measure_ranges(columns: Sequence[FloatArray]) -> tuple[tuple[float, float], ...]:
    """The 1st and 99th percentile of each column, which a model keeps of its training."""
    ranges = []
    for values in columns:
        low, high = np.quantile(values, RANGE_QUANTILES) if len(values) else (0.0, 0.0)
        ranges.append((float(low), float(high)))
    return tuple(ranges)


def compare_with_training(model: PhaseModel, traces: TraceSet) -> Familiarity:
    """Compare traces with what a model was trained on.

    Raises
    ------
    MismatchError
        If the traces lack a feature of the model, or have it in another unit.
    """
    names, record = match_features(model.features, traces), model.training
    outside = []
    if len(record.ranges) == len(names) and traces.n_samples:
        for name, (low, high) in zip(names, record.ranges, strict=True):
            values = traces.column(name)
            reach = float(np.quantile(values, RANGE_QUANTILES[1])) / high if high > 0 else 1.0
            outside.append(
                OutOfRange(name, float((values > high).mean()), float((values < low).mean()), reach)
            )
    return Familiarity(traces.period, record.period, tuple(outside))


def drift_warning(familiarity: Familiarity, name: str) -> tuple[str, str] | None:
    """Return a warning about drift, a headline and sentences with numbers; None for near traces.

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
    if familiarity.is_far:
        return f"{name} was trained on other data.", _describe_differences(familiarity)
    if familiarity.has_record:
        return None
    return (
        f"How far these traces are from what {name} was trained on is not known.",
        "The model was stored without the range of its training data: check that its phases make sense here.",
    )


def _describe_differences(familiarity: Familiarity) -> str:
    sentences = []
    if familiarity.has_other_period and familiarity.period_ratio is not None:
        ratio = familiarity.period_ratio
        times = f"{format_number(max(ratio, 1 / ratio), 1)} times as {'rarely' if ratio > 1 else 'often'}"
        sentences.append(
            f"These traces are sampled every {format_duration(familiarity.period)}, its training was every "
            f"{format_duration(familiarity.trained_period)} ({times})."
        )
    for each in familiarity.out_of_range[:_MAX_LISTED]:
        if each.reach < MIN_REACH and each.share <= MAX_OUTSIDE_SHARE:
            sentences.append(
                f"{each.name}: its 99th percentile is {format_share(each.reach)} of the training's. "
                "Is it in the same unit?"
            )
            continue
        above, below = format_share(each.above), format_share(each.below)
        sentences.append(
            f"{each.name}: {above} of samples are above the 99th percentile of the training, {below} below "
            "the 1st (1% each is usual)."
        )
    if len(familiarity.out_of_range) > _MAX_LISTED:
        sentences.append(f"So are {len(familiarity.out_of_range) - _MAX_LISTED} more features.")
    if not familiarity.has_record:
        sentences.append(
            "How far their values are from its training is not known: it was stored without their range."
        )
    return " ".join([*sentences, "What it calls phases here may mean little."])


_MAX_PERIODS_RATIO = 1.25
"""Sampling periods that are this far apart do not go together."""


# Teaching a model what it has seen nothing like: new phases beside the old ones, which keep their numbers.
#
# Training the CRBM further was tried: it then called 12 to 57% of the samples that it knew by another phase's
# number, whether centres followed or not (docs/autopilot.md). So the encoder and the old centres stay.


def continue_training(
    model: PhaseModel, traces: TraceSet, more: int = 1, progress: Progress = silent
) -> PhaseModel:
    """Return a model that also covers these traces.

    New phases get the next numbers. Their centres come from the strange samples of executions of which more
    than a fifth is strange. The limits of strangeness are measured anew.

    Parameters
    ----------
    model
        The old one; it stays as it is.
    traces
        The old training's samples and the new ones (`together`).
    more
        How many phases to add at most; fewer where fewer are needed.
    progress
        Called as the work goes on; it may raise `Cancelled`.

    Raises
    ------
    InputError
        If phases of the model were divided, or the traces have values that are not numbers.
    MismatchError
        If the traces do not fit the model.
    """
    if model.expansions:
        raise InputError(
            "A model whose phases were divided cannot be trained further.", "Train a new one on these traces."
        )
    progress(0.0, "Looking for what is new")
    windows = model_windows(model, traces)
    if not len(windows.starts):
        raise InputError("No execution of these traces is long enough.", "Choose longer ones.")
    unknown = model.encoder.codes(windows)[_find_unfamiliar(model, traces, windows)]
    n_new = count_distinct(unknown, more) if more and len(unknown) else 0
    new_centres = [fit_centres(unknown, n_new, model.settings.seed)] if n_new else []
    centres = np.concatenate([model.centres, *new_centres])
    extended = replace(
        model, centres=centres, settings=replace(model.settings, phases=len(centres)), origin="phasedock"
    )
    progress(0.5, "Describing phases")
    record = TrainingRecord(
        model.training.errors,
        traces.n_samples,
        traces.n_executions,
        len(windows.starts),
        fingerprint(traces),
        traces.period,
        measure_ranges(
            [traces.column(name) for name in match_features(model.features, traces, model.scaler)]
        ),
        measure_limits(extended, windows),
    )
    statistics = phase_statistics(traces, predict(extended, traces), extended.phases)
    progress(1.0, "Done")
    return replace(extended, training=record, statistics=statistics)


def _find_unfamiliar(model: PhaseModel, traces: TraceSet, windows: Windows) -> npt.NDArray[np.bool_]:
    """Find the strange windows of executions with more than a fifth of strange windows."""
    strange = find_strange(model, windows)
    owner = np.searchsorted(traces.offsets, windows.samples, side="right") - 1
    n = traces.n_executions
    shares = np.bincount(owner, strange, n) / np.maximum(np.diff(traces.offsets), 1)
    return np.asarray(strange & (shares > MAX_STRANGE_SHARE)[owner])


def concatenate(model: PhaseModel, parts: Sequence[TraceSet]) -> TraceSet:
    """Concatenate trace sets with the features of a model; repeated names get a number.

    Raises
    ------
    MismatchError
        If one of them does not fit the model.
    InputError
        If they are sampled at different periods.
    """
    periods = [part.period for part in parts]
    if max(periods) > _MAX_PERIODS_RATIO * min(periods):
        listing = ", ".join(f"{period:g} s" for period in periods)
        raise InputError(
            f"These traces are sampled at different periods: {listing}.", "Resample one of them."
        )
    names = [match_features(model.features, part, model.scaler) for part in parts]
    columns = [
        np.concatenate([part.column(part_names[at]) for part, part_names in zip(parts, names, strict=True)])
        for at in range(len(model.features))
    ]
    before = np.concatenate([[0], np.cumsum([part.n_samples for part in parts])]).astype(np.int64)
    return TraceSet(
        features=model.features,
        columns=tuple(columns),
        time=np.concatenate([part.time for part in parts]),
        ids=_unique_names([name for part in parts for name in part.ids]),
        offsets=np.concatenate(
            [[0], *(part.offsets[1:] + begin for part, begin in zip(parts, before[:-1], strict=True))]
        ).astype(np.int64),
        period=parts[0].period,
        breaks=np.concatenate(
            [part.breaks + begin for part, begin in zip(parts, before[:-1], strict=True)]
        ).astype(np.int64),
    )


def _unique_names(names: Sequence[str]) -> tuple[str, ...]:
    """Make names unique: later ones get a number."""
    used: set[str] = set()
    unique = []
    for name in names:
        numbered = (f"{name} ({number})" for number in count(2))
        chosen = next(each for each in chain([name], numbered) if each not in used)
        used.add(chosen)
        unique.append(chosen)
    return tuple(unique)
