"""Adam (Kingma and Ba 2015, algorithm 1) on named arrays, and a data order that can be saved."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[np.float32]
    Indices = npt.NDArray[np.int64]


class Adam:
    """Moves parameters against their gradients, in place.

    Parameters
    ----------
    parameters
        Arrays by name.
    rate
        Learning rate.
    """

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
        """Go on from what `state` returned."""
        for name in self._parameters:
            self._first[name][...] = state[f"first.{name}"]
            self._second[name][...] = state[f"second.{name}"]
        self._count = int(state["count"])


class Order:
    """Goes through 0 … count−1 again and again, each time in a new order.

    Parameters
    ----------
    count
        Number of examples.
    rng
        Draws the orders; the caller saves its state.
    """

    def __init__(self, count: int, rng: np.random.Generator) -> None:
        self._rng, self._order, self._position = rng, rng.permutation(count), 0

    def take(self, count: int) -> Indices:
        """Return the next `count` examples, fewer only at the end of a round."""
        if self._position >= len(self._order):
            self._order, self._position = self._rng.permutation(len(self._order)), 0
        taken = self._order[self._position : self._position + count]
        self._position += len(taken)
        return taken

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """Return the order and the position in it."""
        return {"order": self._order, "position": np.array(self._position)}

    def load(self, state: dict[str, npt.NDArray[Any]]) -> None:
        """Go on from what `state` returned."""
        self._order, self._position = np.array(state["order"]), int(state["position"])


def generator_text(rng: np.random.Generator) -> str:
    """Return a generator's state as JSON."""
    return json.dumps(rng.bit_generator.state)


def restore_generator(rng: np.random.Generator, text: str) -> None:
    """Bring a generator to the state that `generator_text` returned."""
    rng.bit_generator.state = json.loads(text)
