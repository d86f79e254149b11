"""Training a CRBM: the solvers, early stopping, and progress reports.

`online` updates after every sample in the order of the traces, which is what AI4DL does. The minibatch
solvers take a shuffled pass of small batches; Adam's step falls linearly to zero over the epochs, because
with a constant one the error stops at a floor of noise well above what the model can reach. For the same
reason `patience` epochs without a smaller error do not end a minibatch training at once: its step is halved,
and only the sixth time ends it. Online training ends at once, as AI4DL's does. An online step adds the whole
gradient of one sample, while Adam's is normalised; a factor of three makes one learning rate reach about as
far in both (measured in docs/crbm.md).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

from core.errors import InputError
from core.phases.crbm.parameters import Crbm, Layout, aligned, initial
from core.phases.kernels import loops
from core.phases.kernels.lanes import WIDTH
from core.progress_reporting import silent
from core.registry import Registry

if TYPE_CHECKING:
    from collections.abc import Callable

    from core.phases.rows import FloatVector, Windows
    from core.phases.settings import PhaseSettings
    from core.progress_reporting import Progress
    from core.traces.model import IntArray

    Solver = Callable[[Layout, FloatVector, PhaseSettings], "Pass"]

ADAM_REACH = 3.0
KEPT_VELOCITY = 0.9
EASINGS = 6
CHUNK = 65_536


class Pass(Protocol):
    """One solver at work on one set of parameters."""

    shuffled: bool

    def __call__(self, rows: FloatVector, starts: IntArray, epoch: int) -> float:
        """Go over some windows, change the parameters, return Σ‖v⁺ − v⁻‖₂."""

    def ease(self) -> bool:
        """Take smaller steps from now on; False if there is nothing left to try."""


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
    """What both minibatch solvers share: a shuffled order, and a step that is halved when training stalls."""

    shuffled = True
    arrays: int

    def __init__(self, layout: Layout, parameters: FloatVector, settings: PhaseSettings) -> None:
        self._shape, self._parameters, self._settings = layout.shape, parameters, settings
        self._state = aligned(self.arrays, len(parameters))
        self._easings = 0

    def ease(self) -> bool:
        """Halve the step, six times at most."""
        self._easings += 1
        return self._easings < EASINGS

    @property
    def rate(self) -> float:
        """The learning rate after the halvings so far."""
        return float(self._settings.learning_rate * 0.5**self._easings)


class Momentum(_Batches):
    """Batches; a velocity keeps 0.9 of itself and takes rate · the batch's mean gradient."""

    arrays = 2

    def __call__(self, rows: FloatVector, starts: IntArray, epoch: int) -> float:  # noqa: ARG002
        """Go over the windows in batches."""
        batch, kept = self._settings.batch_size, np.float32(KEPT_VELOCITY)
        return float(
            loops.momentum(rows, starts, self._shape, self._parameters, self._state, batch, self.rate, kept)
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
    parameters = layout.pack(initial(layout, rng))
    solver = SOLVERS[settings.solver](layout, parameters, settings)
    rows = for_training(windows.rows)
    errors: list[float] = []
    best, waited = np.inf, 0
    for epoch in range(settings.epochs):
        starts = rng.permutation(windows.starts) if solver.shuffled else windows.starts
        error = _epoch(solver, rows, starts, epoch, settings, errors, progress)
        errors.append(error)
        progress((epoch + 1) / settings.epochs, _told(epoch, settings), epoch=epoch + 1, error=error)
        best, waited = (error, 0) if error < best else (best, waited + 1)
        if 0 < settings.patience <= waited:
            if not solver.ease():
                break
            waited = 0
    return layout.unpack(parameters), tuple(errors)


def for_training(rows: FloatVector) -> FloatVector:
    """Rows followed by one vector's width of zeros, because loops read whole vectors."""
    return np.concatenate([rows, np.zeros(WIDTH, np.float32)])


def _epoch(
    solver: Pass,
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
            progress(fraction, _told(epoch, settings), **metrics)
        total += solver(rows, starts[begin : begin + size], epoch)
    error = total / len(starts)
    if not np.isfinite(error):
        raise InputError(
            f"Training diverged in epoch {epoch + 1}: the learning rate "
            f"{settings.learning_rate:g} is too large for these traces.",
            "Choose a smaller learning rate, or the minibatch solver.",
        )
    return error


def _told(epoch: int, settings: PhaseSettings) -> str:
    return f"Epoch {epoch + 1} of {settings.epochs}"


def reconstruction_error(crbm: Crbm, windows: Windows) -> float:
    """The mean of ‖v⁺ − v⁻‖₂ over windows that the CRBM need not have seen."""
    layout = crbm.layout
    total = loops.reconstruct(for_training(windows.rows), windows.starts, layout.shape, layout.pack(crbm))
    return float(total) / max(len(windows.starts), 1)
