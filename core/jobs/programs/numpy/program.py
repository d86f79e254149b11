"""The base of the NumPy programs: dense layers, Adam, checkpoints as NPZ without pickles."""

from __future__ import annotations

from abc import ABC, abstractmethod
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ...files import write_atomically
from ..batches import ShuffledOrder, generator_state_json, restore_generator

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import numpy.typing as npt

    Array = npt.NDArray[np.float32]


def dense_layers(widths: tuple[int, ...], rng: np.random.Generator) -> dict[str, Array]:
    """Draw weights W1, b1, W2, … of layers between `widths` units (He et al. 2015, equation 10)."""
    parameters: dict[str, Array] = {}
    for number, (before, after) in enumerate(pairwise(widths), start=1):
        scale = np.float32(np.sqrt(2 / before))
        parameters[f"W{number}"] = rng.standard_normal((before, after), dtype=np.float32) * scale
        parameters[f"b{number}"] = np.zeros(after, np.float32)
    return parameters


def forward(parameters: dict[str, Array], x: Array) -> list[Array]:
    """Return the input (n, widths[0]) and every layer's output; the last one without ReLU."""
    outputs, last = [x], len(parameters) // 2
    for number in range(1, last + 1):
        linear = outputs[-1] @ parameters[f"W{number}"] + parameters[f"b{number}"]
        outputs.append(linear if number == last else np.maximum(linear, 0))
    return outputs


def backward(parameters: dict[str, Array], outputs: list[Array], error: Array) -> dict[str, Array]:
    """Return the gradients, given the loss's gradient with respect to the last output."""
    gradients: dict[str, Array] = {}
    for number in range(len(parameters) // 2, 0, -1):
        below = outputs[number - 1]
        gradients[f"W{number}"] = below.T @ error
        gradients[f"b{number}"] = error.sum(axis=0)
        if number > 1:
            error = (error @ parameters[f"W{number}"].T) * (below > 0)
    return gradients


def softmax(scores: Array) -> Array:
    """Return probabilities along the last axis."""
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    result: Array = powers / powers.sum(axis=-1, keepdims=True)
    return result


class Adam:
    """Moves parameters against their gradients, in place."""

    def __init__(self, parameters: dict[str, Array], rate: float) -> None:
        self._parameters, self._rate = parameters, rate
        self._first = {name: np.zeros_like(value) for name, value in parameters.items()}
        self._second = {name: np.zeros_like(value) for name, value in parameters.items()}
        self._count = 0

    def move(self, gradients: dict[str, Array]) -> None:
        """Take one step; gradients have their parameters' names and shapes."""
        self._count += 1
        rate = self._rate * float(np.sqrt(1 - 0.999**self._count)) / (1 - 0.9**self._count)
        for name, gradient in gradients.items():
            first, second = self._first[name], self._second[name]
            first += 0.1 * (gradient - first)
            second += 0.001 * (gradient * gradient - second)
            self._parameters[name] -= rate * first / (np.sqrt(second) + 1e-8)

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """Return everything that the next step depends on."""
        both = {f"first.{name}": value for name, value in self._first.items()}
        return both | {f"second.{n}": v for n, v in self._second.items()} | {"count": np.array(self._count)}

    def load(self, state: dict[str, npt.NDArray[Any]]) -> None:
        """Restore what `state` returned."""
        for name in self._parameters:
            self._first[name][...] = state[f"first.{name}"]
            self._second[name][...] = state[f"second.{name}"]
        self._count = int(state["count"])


class NumpyProgram(ABC):
    """One training program."""

    suffix: ClassVar[str] = ".npz"
    rate: ClassVar[float] = 1e-3

    def __init__(self, seed: int, size: float) -> None:
        self.size = size
        self.rng = np.random.default_rng(seed)
        self.parameters = self.initial()
        self._adam = Adam(self.parameters, self.rate)
        self.order = ShuffledOrder(self.example_count(), self.rng)

    @abstractmethod
    def initial(self) -> dict[str, Array]:
        """Draw the parameters that training begins with."""

    @abstractmethod
    def example_count(self) -> int:
        """Return the number of training examples."""

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
        """Return the metrics on held-out data."""

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
        """Write a checkpoint with everything that the next step depends on."""
        arrays = _with_prefix("parameters", self.parameters) | _with_prefix("adam", self._adam.state())
        arrays |= _with_prefix("order", self.order.state()) | _with_prefix("extra", self.extra())
        arrays |= {"rng": np.array(generator_state_json(self.rng)), "step": np.array(step)}
        write_atomically(path, lambda file: np.savez(file, allow_pickle=False, **arrays))

    def load(self, path: Path) -> int:
        """Restore a checkpoint and return its step."""
        with np.load(path, allow_pickle=False) as file:
            arrays = dict(file)
        for name, value in _without_prefix("parameters", arrays).items():
            self.parameters[name][...] = value
        self._adam.load(_without_prefix("adam", arrays))
        self.order.load(_without_prefix("order", arrays))
        self.load_extra(_without_prefix("extra", arrays))
        restore_generator(self.rng, str(arrays["rng"]))
        return int(arrays["step"])


def _with_prefix(room: str, arrays: dict[str, Any]) -> dict[str, Any]:
    return {f"{room}/{name}": value for name, value in arrays.items()}


def _without_prefix(room: str, arrays: dict[str, Any]) -> dict[str, Any]:
    start = f"{room}/"
    return {name[len(start) :]: value for name, value in arrays.items() if name.startswith(start)}
