"""Encoders: what turns a window of standardised samples into the code that is clustered.

`crbm` is AI4DL's; `window` (the window itself) and `pca` (its principal components) show what the CRBM
adds. CRBM and PCA are both a matrix and a bias, with and without σ, so they share their loops.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from core.errors import InputError
from core.phases.crbm import Crbm, Layout, aligned_empty, pad_size, train
from core.phases.kernels import loops
from core.registry import Registry

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from core.phases.rows import FloatVector, Windows
    from core.phases.settings import PhaseSettings
    from core.progress_reporting import Progress


Codes = npt.NDArray[np.float32]
Labels = npt.NDArray[np.int16]
Arrays = dict[str, npt.NDArray[Any]]

MAX_CODE = 4_096
"""The longest code of a model from a file: eight times the longest that is trained here."""


class Encoder(Protocol):
    """A fitted encoder."""

    name: ClassVar[str]

    @property
    def features(self) -> int:
        """The number of features of a row."""

    @property
    def history(self) -> int:
        """The number of earlier rows in a window."""

    @property
    def size(self) -> int:
        """The length of a code."""

    @property
    def affine(self) -> tuple[FloatVector, FloatVector, bool] | None:
        """The affine map from a window to a code; None if the code is the window itself.

        A matrix, flat (window, wide), and a bias, (wide,), as loops take them; and whether σ is applied.
        """

    def codes(self, windows: Windows) -> Codes:
        """The codes of windows, shape (n_windows, size)."""

    def nearest(self, windows: Windows, centres: Codes) -> Labels:
        """The number of each window's nearest centre, shape (n_windows,)."""

    def errors(self, windows: Windows, codes: Codes) -> npt.NDArray[np.float64]:
        """Return the distance of each window's last row from its reconstruction, ‖v − v⁻‖₂, (n_windows,)."""

    def arrays(self) -> Arrays:
        """The parameters by name, as a model file keeps them."""


def _values(windows: Windows, size: int) -> Codes:
    """The values of windows side by side, shape (n_windows, size)."""
    return np.asarray(windows.rows[windows.starts[:, None] + np.arange(size)], np.float32)


def _distance(rows: Codes, reconstruction: Codes) -> npt.NDArray[np.float64]:
    return np.asarray(np.linalg.norm(rows.astype(np.float64) - reconstruction, axis=1))


def packed_centres(centres: Codes) -> FloatVector:
    """Centres as loops take them: flat (size, padded k), padded with zeros."""
    flat = aligned_empty(centres.shape[1], pad_size(len(centres)))
    flat[:, : len(centres)] = centres.T
    return flat.ravel()


def nearest_of(codes: Codes, centres: Codes) -> Labels:
    """The number of each code's nearest centre; the first of several equally near."""
    labels = np.empty(len(codes), np.int16)
    starts = np.arange(len(codes), dtype=np.int64) * codes.shape[1]
    flat = np.ascontiguousarray(codes, np.float32).ravel()
    loops.assign(flat, starts, codes.shape[1], packed_centres(centres), len(centres), labels)
    return labels


@dataclass(frozen=True, eq=False)
class _Affine(ABC):
    """An encoder of one matrix and one bias."""

    squash: ClassVar[bool]

    @property
    @abstractmethod
    def size(self) -> int:
        """The length of a code."""

    @abstractmethod
    def _packed(self) -> tuple[FloatVector, FloatVector]: ...

    @cached_property
    def affine(self) -> tuple[FloatVector, FloatVector, bool]:
        """Matrix, bias, and whether σ is applied, as loops take them."""
        return (*self._packed(), self.squash)

    def codes(self, windows: Windows) -> Codes:
        """The codes of windows, shape (n_windows, size)."""
        codes = np.empty((len(windows.starts), self.size), np.float32)
        loops.encode(windows.rows, windows.starts, self.affine, codes)
        return codes

    def nearest(self, windows: Windows, centres: Codes) -> Labels:
        """The number of each window's nearest centre, shape (n_windows,)."""
        return nearest_of(self.codes(windows), centres)


@dataclass(frozen=True, eq=False)
class CrbmEncoder(_Affine):
    """p(h = 1 | v, c) of a trained CRBM."""

    name: ClassVar[str] = "crbm"
    squash: ClassVar[bool] = True
    crbm: Crbm = field()

    @property
    def features(self) -> int:
        """The number of features of a row."""
        return self.crbm.layout.features

    @property
    def history(self) -> int:
        """The number of earlier rows in a window."""
        return self.crbm.history

    @property
    def size(self) -> int:
        """The number of hidden units."""
        return self.crbm.hidden

    def _packed(self) -> tuple[FloatVector, FloatVector]:
        return self.crbm.encoder()

    def errors(self, windows: Windows, codes: Codes) -> npt.NDArray[np.float64]:
        """Reconstruction errors with v⁻ = Wᵀh + A c + b_v, as in training."""
        crbm, past = self.crbm, self.crbm.layout.past
        values = _values(windows, crbm.layout.window)
        reconstruction = codes @ crbm.W + values[:, :past] @ crbm.A.T + crbm.visible_bias
        return _distance(values[:, past:], reconstruction)

    def arrays(self) -> Arrays:
        """W, A, B and both biases."""
        crbm = self.crbm
        return {
            "W": crbm.W,
            "A": crbm.A,
            "B": crbm.B,
            "visible_bias": crbm.visible_bias,
            "hidden_bias": crbm.hidden_bias,
        }

    @classmethod
    def load(cls, arrays: Mapping[str, npt.NDArray[Any]], features: int) -> CrbmEncoder:
        """Rebuild it from its arrays.

        Raises
        ------
        InputError
            If their shapes do not fit together, or the code is longer than `MAX_CODE`.
        """
        _check_code(len(arrays["W"]))
        parts = [
            np.ascontiguousarray(arrays[key], np.float32)
            for key in ("W", "A", "B", "visible_bias", "hidden_bias")
        ]
        W, A, B, visible, hidden = parts
        past = A.shape[1] if A.ndim == 2 else -1
        sizes = [(len(hidden), features), (features, past), (len(hidden), past), (features,), (len(hidden),)]
        fits = (
            [part.shape for part in parts] == sizes and past > 0 and past % features == 0 and len(hidden) > 0
        )
        if not fits:
            shapes = ", ".join(f"{part.shape}" for part in parts)
            raise InputError(
                f"The CRBM's matrices do not fit together: {shapes} for {features} features.",
                "Use model files from the same training run.",
            )
        return cls(Crbm(W, A, B, visible, hidden))


@dataclass(frozen=True, eq=False)
class PcaEncoder(_Affine):
    """Principal components of the window: ``components · (x − mean)``."""

    name: ClassVar[str] = "pca"
    squash: ClassVar[bool] = False
    #: Orthonormal rows, shape (size, (history + 1) · features).
    components: Codes = field()
    #: The mean window.
    mean: FloatVector = field()
    #: The number of features of a row.
    n_features: int = field()

    @property
    def features(self) -> int:
        """The number of features of a row."""
        return self.n_features

    @property
    def history(self) -> int:
        """The number of earlier rows in a window."""
        return int(self.components.shape[1]) // self.n_features - 1

    @property
    def size(self) -> int:
        """The number of components."""
        return int(self.components.shape[0])

    def _packed(self) -> tuple[FloatVector, FloatVector]:
        wide = pad_size(self.size)
        matrix = aligned_empty(self.components.shape[1], wide)
        matrix[:, : self.size] = self.components.T
        bias = aligned_empty(wide)
        bias[: self.size] = -(self.components.astype(np.float64) @ self.mean.astype(np.float64))
        return matrix.ravel(), bias

    def errors(self, windows: Windows, codes: Codes) -> npt.NDArray[np.float64]:
        """Reconstruction errors with the mean window and the components."""
        values, last = _values(windows, len(self.mean)), -self.n_features
        reconstruction = codes @ self.components[:, last:] + self.mean[last:]
        return _distance(values[:, last:], reconstruction)

    def arrays(self) -> Arrays:
        """Components and mean."""
        return {"components": self.components, "mean": self.mean}

    @classmethod
    def load(cls, arrays: Mapping[str, npt.NDArray[Any]], features: int) -> PcaEncoder:
        """Rebuild it from its arrays.

        Raises
        ------
        InputError
            If their shapes do not fit together, or the code is longer than `MAX_CODE`.
        """
        _check_code(len(arrays["components"]))
        components = np.ascontiguousarray(arrays["components"], np.float32)
        mean = np.ascontiguousarray(arrays["mean"], np.float32)
        fits = components.ndim == 2 and mean.shape == components.shape[1:] and mean.size and components.size
        if not fits or mean.size % features or mean.size // features < 2:
            raise InputError(
                f"The components' shape {components.shape} does not fit {features} features.",
                "Export the model again.",
            )
        return cls(components, mean, features)


def _check_code(length: int) -> None:
    """Refuse a code that would take minutes for each labelling."""
    if length > MAX_CODE:
        raise InputError(
            f"The model's code has {length:,} numbers; at most {MAX_CODE:,} can be used.",
            "Train a model with fewer hidden units or components.",
        )


@dataclass(frozen=True, eq=False)
class WindowEncoder:
    """The standardised window itself."""

    name: ClassVar[str] = "window"
    affine: ClassVar[None] = None
    n_features: int
    n_history: int

    @property
    def features(self) -> int:
        """The number of features of a row."""
        return self.n_features

    @property
    def history(self) -> int:
        """The number of earlier rows in a window."""
        return self.n_history

    @property
    def size(self) -> int:
        """The number of values in a window."""
        return (self.n_history + 1) * self.n_features

    def codes(self, windows: Windows) -> Codes:
        """The windows side by side, shape (n_windows, size)."""
        return _values(windows, self.size)

    def errors(self, windows: Windows, codes: Codes) -> npt.NDArray[np.float64]:  # noqa: ARG002 - the port's
        """Zero errors, because the code is the window."""
        return np.zeros(len(windows.starts))

    def nearest(self, windows: Windows, centres: Codes) -> Labels:
        """The number of each window's nearest centre, the windows read in place."""
        labels = np.empty(len(windows.starts), np.int16)
        loops.assign(windows.rows, windows.starts, self.size, packed_centres(centres), len(centres), labels)
        return labels

    def arrays(self) -> Arrays:
        """Its history; there is nothing else to keep."""
        return {"history": np.array([self.n_history], np.int64)}

    @classmethod
    def load(cls, arrays: Mapping[str, npt.NDArray[Any]], features: int) -> WindowEncoder:
        """Rebuild it from its arrays.

        Raises
        ------
        InputError
            If the history is not a single whole number of at least 1.
        """
        history = arrays["history"]
        if history.shape != (1,) or not 1 <= int(history[0]) <= 10_000:
            raise InputError("The model's history is not a number of samples.", "Export the model again.")
        return cls(features, int(history[0]))


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
    """Use the window itself as code."""
    return WindowEncoder(features, settings.history), ()


def fit_pca(
    windows: Windows, features: int, settings: PhaseSettings, progress: Progress
) -> tuple[Encoder, tuple[float, ...]]:
    """Principal components of the windows, by eigenvectors of their covariance in float64.

    Each component's largest entry is positive, so that the signs are the same everywhere.
    """
    window_encoder = WindowEncoder(features, settings.history)
    total, squares = np.zeros(window_encoder.size), np.zeros((window_encoder.size, window_encoder.size))
    count, chunk = len(windows.starts), 65_536
    for begin in range(0, count, chunk):
        part = type(windows)(windows.rows, windows.samples, windows.starts[begin : begin + chunk], 0)
        values = window_encoder.codes(part).astype(np.float64)
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
    """How to fit an encoder, and how to read it from arrays."""

    fit: Callable[[Windows, int, PhaseSettings, Progress], tuple[Encoder, tuple[float, ...]]]
    load: Callable[[Mapping[str, npt.NDArray[Any]], int], Encoder]


ENCODERS: Registry[EncoderKind] = Registry("encoder")
ENCODERS.add("crbm", EncoderKind(fit_crbm, CrbmEncoder.load))
ENCODERS.add("window", EncoderKind(fit_window, WindowEncoder.load))
ENCODERS.add("pca", EncoderKind(fit_pca, PcaEncoder.load))
