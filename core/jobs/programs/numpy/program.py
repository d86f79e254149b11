"""What the NumPy programs share: named parameters, Adam, a data order, checkpoints as NPZ without pickles."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ...files import write_atomically
from ..batches import Order, generator_text, restore_generator
from .optimiser import Adam

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import numpy.typing as npt

    from .optimiser import Array


class NumpyProgram(ABC):
    """One training program."""

    suffix: ClassVar[str] = ".npz"
    rate: ClassVar[float] = 1e-3

    def __init__(self, seed: int, size: float) -> None:
        self.size = size
        self.rng = np.random.default_rng(seed)
        self.parameters = self.initial()
        self._adam = Adam(self.parameters, self.rate)
        self.order = Order(self.examples(), self.rng)

    @abstractmethod
    def initial(self) -> dict[str, Array]:
        """Draw the parameters that training begins with."""

    @abstractmethod
    def examples(self) -> int:
        """Return how many examples there are to learn from."""

    @abstractmethod
    def prepare(self, tick: Callable[[], None]) -> str:
        """Load and make the data, calling `tick` now and then; return a sentence about them.

        The data depend on the seed and the size only, so that a resumed program has the same.
        """

    @abstractmethod
    def step(self) -> float:
        """Train on the next twentieth of the data and return the mean loss."""

    @abstractmethod
    def evaluate(self) -> dict[str, float]:
        """Return the metrics on data that were not learned from."""

    def move(self, gradients: dict[str, Array]) -> None:
        """Change the parameters against their gradients."""
        self._adam.move(gradients)

    def extra(self) -> dict[str, npt.NDArray[Any]]:
        """Return what a program carries from step to step besides its parameters."""
        return {}

    def load_extra(self, state: dict[str, npt.NDArray[Any]]) -> None:
        """Restore what `extra` returned."""
        del state

    def save(self, path: Path, step: int) -> None:
        """Write everything that the next step depends on."""
        arrays = _under("parameters", self.parameters) | _under("adam", self._adam.state())
        arrays |= _under("order", self.order.state()) | _under("extra", self.extra())
        arrays |= {"rng": np.array(generator_text(self.rng)), "step": np.array(step)}
        write_atomically(path, lambda file: np.savez(file, allow_pickle=False, **arrays))

    def load(self, path: Path) -> int:
        """Go on from a checkpoint and return its step."""
        with np.load(path, allow_pickle=False) as file:
            arrays = dict(file)
        for name, value in _below("parameters", arrays).items():
            self.parameters[name][...] = value
        self._adam.load(_below("adam", arrays))
        self.order.load(_below("order", arrays))
        self.load_extra(_below("extra", arrays))
        restore_generator(self.rng, str(arrays["rng"]))
        return int(arrays["step"])


def _under(room: str, arrays: dict[str, Any]) -> dict[str, Any]:
    return {f"{room}/{name}": value for name, value in arrays.items()}


def _below(room: str, arrays: dict[str, Any]) -> dict[str, Any]:
    start = f"{room}/"
    return {name[len(start) :]: value for name, value in arrays.items() if name.startswith(start)}
