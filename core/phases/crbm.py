"""The conditional restricted Boltzmann machine: its parameters and its training."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
import numpy.typing as npt

from core.errors import InputError
from core.phases.kernels import loops
from core.phases.kernels.lanes import WIDTH
from core.progress_reporting import silent
from core.registry import Registry

if TYPE_CHECKING:
    from core.phases.rows import FloatVector


Matrix = npt.NDArray[np.float32]


def pad_size(size: int) -> int:
    """The smallest multiple of the vector width that holds `size` numbers."""
    return -(-size // WIDTH) * WIDTH


def aligned_empty(*shape: int) -> Matrix:
    """Zeros aligned to a cache line, where whole vectors are read at full speed."""
    room = np.zeros(math.prod(shape) + WIDTH, np.float32)
    first = -(room.ctypes.data // room.itemsize) % WIDTH
    return room[first : first + math.prod(shape)].reshape(shape)


@dataclass(frozen=True, eq=False)
class Crbm:
    """The parameters of a CRBM, float32."""

    #: Hidden from visible, shape (hidden, n).
    W: Matrix
    #: Visible from history, shape (n, history · n).
    A: Matrix
    #: Hidden from history, shape (hidden, history · n).
    B: Matrix
    #: b_v, shape (n,).
    visible_bias: Matrix
    #: b_h, shape (hidden,).
    hidden_bias: Matrix

    @property
    def hidden(self) -> int:
        """The number of hidden units."""
        return int(self.W.shape[0])

    @property
    def history(self) -> int:
        """The number of earlier rows in a window."""
        return int(self.A.shape[1] // self.A.shape[0])

    @property
    def layout(self) -> Layout:
        """The sizes by which kernels read the packed parameters."""
        return Layout(int(self.W.shape[1]), self.history, self.hidden)

    def encoder(self) -> tuple[FloatVector, FloatVector]:
        """The matrix [B W]ᵀ, flat (window, wide), and the bias b_h, (wide,), as kernels take them."""
        layout = self.layout
        matrix = aligned_empty(layout.window, layout.wide)
        matrix[: layout.past, : self.hidden] = self.B.T
        matrix[layout.past :, : self.hidden] = self.W.T
        bias = aligned_empty(layout.wide)
        bias[: self.hidden] = self.hidden_bias
        return matrix.ravel(), bias


@dataclass(frozen=True, slots=True)
class Layout:
    """Positions of a CRBM's parts in the flat, padded array that kernels use."""

    #: n, the number of visible units.
    features: int
    #: The number of earlier rows in a window.
    history: int
    #: The number of hidden units.
    hidden: int

    @property
    def past(self) -> int:
        """The number of values in a history."""
        return self.history * self.features

    @property
    def window(self) -> int:
        """The number of values in a window: the history and the row."""
        return self.past + self.features

    @property
    def wide(self) -> int:
        """The padded number of hidden units."""
        return pad_size(self.hidden)

    @property
    def tall(self) -> int:
        """The padded number of visible units."""
        return pad_size(self.features)

    @property
    def shape(self) -> npt.NDArray[np.int64]:
        """Features, values in a history, hidden units, as kernels take them."""
        return np.array([self.features, self.past, self.hidden], dtype=np.int64)

    def _parts(self) -> tuple[tuple[int, int], ...]:
        return (
            (self.window, self.wide),
            (self.past, self.tall),
            (self.hidden, self.tall),
            (1, self.wide),
            (1, self.tall),
        )

    def views(self, flat: FloatVector) -> list[Matrix]:
        """M, A, Wᵀ, b_h and b_v as two-dimensional views of the flat array."""
        views, at = [], 0
        for rows, columns in self._parts():
            views.append(flat[at : at + rows * columns].reshape(rows, columns))
            at += rows * columns
        return views

    def pack(self, crbm: Crbm) -> FloatVector:
        """Copy the parameters of a CRBM to a new flat array, padded with zeros."""
        flat = aligned_empty(sum(rows * columns for rows, columns in self._parts()))
        M, A, Wt, bh, bv = self.views(flat)
        M[: self.past, : self.hidden] = crbm.B.T
        M[self.past :, : self.hidden] = crbm.W.T
        A[:, : self.features] = crbm.A.T
        Wt[:, : self.features] = crbm.W
        bh[0, : self.hidden] = crbm.hidden_bias
        bv[0, : self.features] = crbm.visible_bias
        return flat

    def unpack(self, flat: FloatVector) -> Crbm:
        """Copy a flat array back to a CRBM."""
        M, A, _, bh, bv = self.views(flat)
        return Crbm(
            W=M[self.past :, : self.hidden].T.copy(),
            A=A[:, : self.features].T.copy(),
            B=M[: self.past, : self.hidden].T.copy(),
            visible_bias=bv[0, : self.features].copy(),
            hidden_bias=bh[0, : self.hidden].copy(),
        )


def initial_parameters(layout: Layout, rng: np.random.Generator, spread: float = 0.2) -> Crbm:
    """A CRBM before training: weights N(0, spread)/(n · history), biases 0."""
    scale = spread / max(layout.past, 1)
    shapes = ((layout.hidden, layout.features), (layout.features, layout.past), (layout.hidden, layout.past))
    W, A, B = ((rng.normal(0.0, 1.0, shape) * scale).astype(np.float32) for shape in shapes)
    return Crbm(W, A, B, np.zeros(layout.features, np.float32), np.zeros(layout.hidden, np.float32))


if TYPE_CHECKING:
    from collections.abc import Callable

    from core.phases.rows import FloatVector, Windows
    from core.phases.settings import PhaseSettings
    from core.progress_reporting import Progress
    from core.traces.model import IntArray

    Solver = Callable[[Layout, FloatVector, PhaseSettings], "EpochPass"]

ADAM_REACH = 3.0
MOMENTUM = 0.9
WARM_UP_STEPS = 6
CHUNK = 65_536


# Training a CRBM: the solvers, early stopping, and progress reports.
#
# `online` updates after every sample in the order of the traces, which is what AI4DL does. The minibatch
# solvers take a shuffled pass of small batches; Adam's step falls linearly to zero over the epochs, because
# with a constant one the error stops at a floor of noise well above what the model can reach. For the same
# reason `patience` epochs without a smaller error do not end a minibatch training at once: its step is
# halved, and only the sixth time ends it. Online training ends at once, as AI4DL's does. An online step adds
# the whole gradient of one sample, while Adam's is normalised; a factor of three makes one learning rate
# reach about as far in both (measured in docs/crbm.md).


class EpochPass(Protocol):
    """One solver at work on one set of parameters."""

    shuffled: bool

    def __call__(self, rows: FloatVector, starts: IntArray, epoch: int) -> float:
        """Go over some windows, change the parameters, return Σ‖v⁺ − v⁻‖₂."""

    def ease(self) -> bool:
        """Lower the learning rate; return False if it cannot be lowered further."""


class Online:
    """One update per sample: P ← P + rate · Δ."""

    shuffled = False

    def __init__(self, layout: Layout, parameters: FloatVector, settings: PhaseSettings) -> None:
        self._shape, self._parameters = layout.shape, parameters
        self._rate = np.float32(settings.learning_rate)

    def __call__(self, rows: FloatVector, starts: IntArray, epoch: int) -> float:  # noqa: ARG002
        """Go over the windows in their order."""
        return float(loops.online(rows, starts, self._shape, self._parameters, self._rate))

    def ease(self) -> bool:
        """Keep to one rate, as AI4DL does."""
        return False


class _Batches:
    """Base of the minibatch solvers: shuffled order, and a step that is halved when training stalls."""

    shuffled = True
    arrays: int

    def __init__(self, layout: Layout, parameters: FloatVector, settings: PhaseSettings) -> None:
        self._shape, self._parameters, self._settings = layout.shape, parameters, settings
        self._state = aligned_empty(self.arrays, len(parameters))
        self._easings = 0

    def ease(self) -> bool:
        """Halve the step, six times at most."""
        self._easings += 1
        return self._easings < WARM_UP_STEPS

    @property
    def rate(self) -> float:
        """The learning rate after the halvings so far."""
        return float(self._settings.learning_rate * 0.5**self._easings)


class Momentum(_Batches):
    """Batches; a velocity keeps 0.9 of itself and takes rate · the batch's mean gradient."""

    arrays = 2

    def __call__(self, rows: FloatVector, starts: IntArray, epoch: int) -> float:  # noqa: ARG002
        """Go over the windows in batches."""
        batch, momentum = self._settings.batch_size, np.float32(MOMENTUM)
        return float(
            loops.momentum(
                rows, starts, self._shape, self._parameters, self._state, batch, self.rate, momentum
            )
        )


class Adam(_Batches):
    """Batches; Adam's step, three times the learning rate at first, falls linearly to zero."""

    arrays = 3

    def __init__(self, layout: Layout, parameters: FloatVector, settings: PhaseSettings) -> None:
        super().__init__(layout, parameters, settings)
        self._steps = 0

    def __call__(self, rows: FloatVector, starts: IntArray, epoch: int) -> float:
        """Go over the windows in batches."""
        batch = self._settings.batch_size
        rate = ADAM_REACH * self.rate * (1.0 - epoch / self._settings.epochs)
        steps, self._steps = self._steps, self._steps - (-len(starts) // batch)
        return float(loops.adam(rows, starts, self._shape, self._parameters, self._state, batch, rate, steps))


SOLVERS: Registry[Solver] = Registry("solver")
SOLVERS.add("minibatch", Adam)
SOLVERS.add("momentum", Momentum)
SOLVERS.add("online", Online)


def train(
    windows: Windows, layout: Layout, settings: PhaseSettings, progress: Progress = silent
) -> tuple[Crbm, tuple[float, ...]]:
    """Train a CRBM on windows; return it with the reconstruction error of every epoch.

    The order of samples and the first weights come from ``settings.seed`` alone.

    Raises
    ------
    InputError
        If the error becomes NaN or infinite: the learning rate is too large for the data.
    Cancelled
        If `progress` raises it; it is called several times a second.
    """
    rng = np.random.default_rng(settings.seed)
    parameters = layout.pack(initial_parameters(layout, rng))
    solver = SOLVERS[settings.solver](layout, parameters, settings)
    rows = training_copy(windows.rows)
    errors: list[float] = []
    best, waited = np.inf, 0
    for epoch in range(settings.epochs):
        starts = rng.permutation(windows.starts) if solver.shuffled else windows.starts
        error = _epoch(solver, rows, starts, epoch, settings, errors, progress)
        errors.append(error)
        progress(
            (epoch + 1) / settings.epochs, _progress_message(epoch, settings), epoch=epoch + 1, error=error
        )
        best, waited = (error, 0) if error < best else (best, waited + 1)
        if 0 < settings.patience <= waited:
            if not solver.ease():
                break
            waited = 0
    return layout.unpack(parameters), tuple(errors)


def training_copy(rows: FloatVector) -> FloatVector:
    """Rows followed by one vector's width of zeros, because loops read whole vectors."""
    return np.concatenate([rows, np.zeros(WIDTH, np.float32)])


def _epoch(
    solver: EpochPass,
    rows: FloatVector,
    starts: IntArray,
    epoch: int,
    settings: PhaseSettings,
    errors: list[float],
    progress: Progress,
) -> float:
    total, size = 0.0, CHUNK // settings.batch_size * settings.batch_size
    for begin in range(0, len(starts), size):
        if begin:
            fraction = (epoch + begin / len(starts)) / settings.epochs
            metrics = {"epoch": epoch, "error": errors[-1]} if errors else {}
            progress(fraction, _progress_message(epoch, settings), **metrics)
        total += solver(rows, starts[begin : begin + size], epoch)
    error = total / len(starts)
    if not np.isfinite(error):
        raise InputError(
            f"Training diverged in epoch {epoch + 1}: the learning rate "
            f"{settings.learning_rate:g} is too large for these traces.",
            "Choose a smaller learning rate, or the minibatch solver.",
        )
    return error


def _progress_message(epoch: int, settings: PhaseSettings) -> str:
    return f"Epoch {epoch + 1} of {settings.epochs}"


def reconstruction_error(crbm: Crbm, windows: Windows) -> float:
    """The mean of ‖v⁺ − v⁻‖₂ over windows that the CRBM need not have seen."""
    layout = crbm.layout
    total = loops.reconstruct(training_copy(windows.rows), windows.starts, layout.shape, layout.pack(crbm))
    return float(total) / max(len(windows.starts), 1)
