"""How each encoder is fitted to windows, and the register of encoders."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from core.phases.crbm.parameters import Layout
from core.phases.crbm.training import train
from core.phases.encoders import CrbmEncoder, PcaEncoder, WindowEncoder
from core.registry import Registry

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from core.phases.encoders import Encoder
    from core.phases.rows import Windows
    from core.phases.settings import PhaseSettings
    from core.progress_reporting import Progress


def fit_crbm(
    windows: Windows, features: int, settings: PhaseSettings, progress: Progress
) -> tuple[Encoder, tuple[float, ...]]:
    """Train a CRBM; return its encoder and the error of every epoch."""
    crbm, errors = train(windows, Layout(features, settings.history, settings.hidden), settings, progress)
    return CrbmEncoder(crbm), errors


def fit_window(
    windows: Windows,  # noqa: ARG001 - all encoders share one signature
    features: int,
    settings: PhaseSettings,
    progress: Progress,  # noqa: ARG001
) -> tuple[Encoder, tuple[float, ...]]:
    """Take the window itself: there is nothing to fit."""
    return WindowEncoder(features, settings.history), ()


def fit_pca(
    windows: Windows, features: int, settings: PhaseSettings, progress: Progress
) -> tuple[Encoder, tuple[float, ...]]:
    """Principal components of the windows, by eigenvectors of their covariance in float64.

    Each component's largest entry is positive, so that the signs are the same everywhere.
    """
    whole = WindowEncoder(features, settings.history)
    total, squares = np.zeros(whole.size), np.zeros((whole.size, whole.size))
    count, chunk = len(windows.starts), 65_536
    for begin in range(0, count, chunk):
        part = type(windows)(windows.rows, windows.samples, windows.starts[begin : begin + chunk], 0)
        values = whole.codes(part).astype(np.float64)
        total += values.sum(axis=0)
        squares += values.T @ values
        progress(min(1.0, (begin + chunk) / count), "Principal components")
    mean = total / count
    _, vectors = np.linalg.eigh(squares / count - np.outer(mean, mean))
    components = vectors.T[::-1][: settings.hidden]
    largest = np.take_along_axis(components, np.abs(components).argmax(axis=1)[:, None], axis=1)
    signed = (components * np.where(largest < 0, -1.0, 1.0)).astype(np.float32)
    return PcaEncoder(np.ascontiguousarray(signed), mean.astype(np.float32), features), ()


@dataclass(frozen=True, slots=True)
class EncoderKind:
    """How an encoder is fitted and how it is read back from arrays."""

    fit: Callable[[Windows, int, PhaseSettings, Progress], tuple[Encoder, tuple[float, ...]]]
    load: Callable[[Mapping[str, npt.NDArray[Any]], int], Encoder]


ENCODERS: Registry[EncoderKind] = Registry("encoder")
ENCODERS.add("crbm", EncoderKind(fit_crbm, CrbmEncoder.load))
ENCODERS.add("window", EncoderKind(fit_window, WindowEncoder.load))
ENCODERS.add("pca", EncoderKind(fit_pca, PcaEncoder.load))
