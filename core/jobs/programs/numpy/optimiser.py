"""Adam (Kingma and Ba 2015, algorithm 1) on named NumPy arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[np.float32]


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
        """Go on from what `state` returned."""
        for name in self._parameters:
            self._first[name][...] = state[f"first.{name}"]
            self._second[name][...] = state[f"second.{name}"]
        self._count = int(state["count"])
