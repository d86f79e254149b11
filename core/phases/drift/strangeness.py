"""Which samples a model has seen nothing like: far from every centre, or badly reconstructed.

Of each window two numbers are looked at: the distance of its code to the nearest centre, and how far its last
row is from what the encoder makes of the code. Above the 99th percentile of the training either way it is
strange; of a container more than a fifth of whose samples are, the phases mean nothing.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from core.phases.prediction import model_windows, part_of

if TYPE_CHECKING:
    import numpy.typing as npt

    from core.phases.encoders import Codes
    from core.phases.model import PhaseModel
    from core.phases.rows import Windows
    from core.traces.model import TraceSet

PERCENTILE = 0.99
"""Of the training's samples, above which one is strange."""
MOST_STRANGE = 0.2
"""The share of strange samples above which a container is unfamiliar."""
_BLOCK = 65_536
_ROUNDING = 1e-4


class Strangeness(NamedTuple):
    """How strange windows are, each of shape (n_windows,)."""

    #: Of the code to the nearest centre, Euclidean.
    distance: npt.NDArray[np.float64]
    #: Of the window's last row, ‖v − v⁻‖₂, in standard deviations; 0 where a code keeps all of a window.
    error: npt.NDArray[np.float64]


def strangeness(model: PhaseModel, windows: Windows) -> Strangeness:
    """How strange windows are that were made for this model."""
    n = len(windows.starts)
    found = Strangeness(np.empty(n), np.empty(n))
    centres = np.concatenate([model.centres, *(each.centres for each in model.expansions)])
    for begin in range(0, n, _BLOCK):
        chosen = np.arange(begin, min(begin + _BLOCK, n))
        part = part_of(windows, chosen)
        codes = model.encoder.codes(part)
        found.distance[chosen] = _nearest(codes, centres)
        found.error[chosen] = model.encoder.errors(part, codes)
    return found


def training_limits(model: PhaseModel, windows: Windows) -> tuple[float, float]:
    """The 99th percentiles of distance and error on the training's windows, which a model keeps."""
    found = strangeness(model, windows)
    distance, error = (float(np.quantile(values, PERCENTILE, method="higher")) for values in found)
    return distance, error


def with_limits(model: PhaseModel, traces: TraceSet) -> PhaseModel:
    """A model that knows the limits of its training, given that; one that knows them already stays as it is.

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
    return replace(model, training=replace(model.training, limits=training_limits(model, windows)))


def is_strange(model: PhaseModel, windows: Windows) -> npt.NDArray[np.bool_]:
    """Which windows are strange, shape (n_windows,); none where the model does not know its limits."""
    if not model.training.limits:
        return np.zeros(len(windows.starts), bool)
    found, (distance, error) = strangeness(model, windows), model.training.limits
    return (found.distance > distance + _ROUNDING) | (found.error > error + _ROUNDING)


def strange_samples(model: PhaseModel, traces: TraceSet) -> npt.NDArray[np.bool_]:
    """Which samples of traces are strange to a model, shape (n_samples,); those without a window are not.

    Raises
    ------
    MismatchError, InputError
        As `core.phases.prediction.model_windows`.
    """
    windows = model_windows(model, traces)
    strange = np.zeros(windows.n_samples, bool)
    strange[windows.samples] = is_strange(model, windows)
    return strange


def _nearest(codes: Codes, centres: Codes) -> npt.NDArray[np.float64]:
    wide, far = codes.astype(np.float64), centres.astype(np.float64)
    squares = (wide**2).sum(axis=1)[:, None] - 2.0 * wide @ far.T + (far**2).sum(axis=1)
    return np.asarray(np.sqrt(np.maximum(squares.min(axis=1), 0.0)))
