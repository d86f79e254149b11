"""Factors of words: which words stand near which, as a product of two narrow tables, in NumPy.

Weighted alternating least squares (Hu, Koren and Volinsky 2008, equation 4): with one table fixed, every
row of the other is the solution of a small linear system. The first sweeps do nearly all of the work, so
the loss falls steeply and then stays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..batches import STEPS_PER_EPOCH
from ..text import words
from .program import NumpyProgram

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..batches import Indices
    from .optimiser import Array

RANK, NEAR, RIDGE = 48, 4, 1.0
"""Columns of a table, words to either side that count as near, and the ridge penalty."""


class Factors(NumpyProgram):
    """Solves for the words' tables in turn; memory rises and falls with every block."""

    def initial(self) -> dict[str, Array]:
        """Draw both tables, rows for every word."""
        shape = (self.examples(), RANK)
        return {name: self.rng.standard_normal(shape, dtype=np.float32) * np.float32(0.1) for name in "AB"}

    def examples(self) -> int:
        """Return the number of rows: the text's words, as often as the size says."""
        self._count = len(words()[1])
        return max(STEPS_PER_EPOCH, round(self._count * 8 * self.size))

    def prepare(self, tick: Callable[[], None]) -> str:
        """Count which words stand near which; a tenth of the entries is never learned from."""
        spoken, _ = words()
        near = np.zeros((self._count, self._count), np.float32)
        for distance in range(1, NEAR + 1):
            np.add.at(near, (spoken[:-distance], spoken[distance:]), np.float32(1 / distance))
            tick()
        rows = np.arange(self.examples()) % self._count
        noise = np.random.default_rng([len(rows), 1])
        self._target = np.log1p(near + near.T)[np.ix_(rows, rows)]
        self._weight = 0.05 + self._target
        self._hidden = noise.random(self._target.shape, dtype=np.float32) < 0.1
        self._weight[self._hidden] = 0
        return f"{len(rows)} words that stand beside {len(rows)}"

    def step(self) -> float:
        """Solve for a twentieth of the rows of either table, and return the weighted squared error."""
        chosen = self.order.take(max(1, len(self._target) // STEPS_PER_EPOCH))
        a, b = self.parameters["A"], self.parameters["B"]
        self._solve(a, b, chosen, self._target, self._weight)
        self._solve(b, a, chosen, self._target.T, self._weight.T)
        error = a @ b.T - self._target
        return float((self._weight * error * error).sum() / self._weight.sum())

    def evaluate(self) -> dict[str, float]:
        """Return the squared error of the entries that were not learned from."""
        error = (self.parameters["A"] @ self.parameters["B"].T - self._target)[self._hidden]
        return {"val_loss": float((error * error).mean())}

    @staticmethod
    def _solve(rows: Array, fixed: Array, chosen: Indices, target: Array, weight: Array) -> None:
        """Set the chosen rows to (Fᵀ W F + λ I)⁻¹ Fᵀ W t, each with its own weights W."""
        ridge = RIDGE * np.eye(RANK, dtype=np.float32)
        for row in chosen:
            weighted = fixed * weight[row][:, None]
            rows[row] = np.linalg.solve(weighted.T @ fixed + ridge, weighted.T @ target[row])
