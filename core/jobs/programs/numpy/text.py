"""NumPy programs on a text: a recurrent network (Elman 1990) and word factors by least squares."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..batches import STEPS_PER_EPOCH
from ..data import ALPHABET, characters, words
from .program import NumpyProgram, softmax

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from ..batches import Indices
    from ..data import Codes
    from .program import Array


HIDDEN, LANES, LENGTH = 320, 16, 24
"""Units, positions of the text that are read side by side, and characters between two updates."""
NOISE = 0.25
"""Share of the characters that are misread while learning, because so short a text is soon memorised."""


class Elman(NumpyProgram):
    """Guesses the next character: h' = tanh(x W + h U + b), many small products, little memory.

    It reads on where it stopped: positions in the text and the units' values go from step to step, so they
    belong to its checkpoint.
    """

    rate = 5e-4

    def initial(self) -> dict[str, Array]:
        """Draw the weights."""
        letters = len(ALPHABET)

        def draw(rows: int, columns: int) -> Array:
            scale = np.float32(1 / np.sqrt(HIDDEN))
            return self.rng.standard_normal((rows, columns), dtype=np.float32) * scale

        return {
            "W": draw(letters, HIDDEN),
            "U": draw(HIDDEN, HIDDEN),
            "b": np.zeros(HIDDEN, np.float32),
            "V": draw(HIDDEN, letters),
            "c": np.zeros(letters, np.float32),
        }

    def example_count(self) -> int:
        """Return how many stretches of text are read in an epoch."""
        return max(STEPS_PER_EPOCH, round(800 * self.size))

    def prepare(self, tick: Callable[[], None]) -> str:
        """Read the text; its last tenth is held out."""
        text = characters()
        cut = len(text) * 9 // 10
        self._text, self._test = text[:cut], text[cut:]
        self._places = np.linspace(0, cut, LANES, endpoint=False).astype(np.int64)
        self._h = np.zeros((LANES, HIDDEN), np.float32)
        self.load_extra(self._initial_state)
        tick()
        return f"{len(text)} characters"

    _initial_state: dict[str, Any] = {}  # noqa: RUF012 - replaced, never changed

    def extra(self) -> dict[str, npt.NDArray[Any]]:
        """Return the positions in the text and the units' values."""
        return {"places": self._places, "h": self._h}

    def load_extra(self, state: dict[str, npt.NDArray[Any]]) -> None:
        """Read on from there, now or once the text is there."""
        self._initial_state = state
        if state:
            self._places, self._h = np.array(state["places"]), np.array(state["h"])

    def step(self) -> float:
        """Read a twentieth of an epoch's stretches and return the mean cross-entropy."""
        losses = []
        for _ in range(self.example_count() // STEPS_PER_EPOCH):
            reading = (self._places + np.arange(LENGTH + 1)[:, None]) % len(self._text)
            text = self._text[reading]
            misread = self.rng.integers(len(ALPHABET), size=text.shape)
            noisy_text = np.where(self.rng.random(text.shape) < NOISE, misread, text)
            loss, gradients, self._h = self._learn(noisy_text[:-1], text[1:], self._h)
            self._places = (self._places + LENGTH) % len(self._text)
            self.move(gradients)
            losses.append(loss)
        return float(np.mean(losses))

    def evaluate(self) -> dict[str, float]:
        """Return the cross-entropy on the held-out text."""
        text = self._test[: len(self._test) // 8 * 8].reshape(8, -1).T
        hidden = self._run(text[:-1], np.zeros((8, HIDDEN), np.float32))
        return {"val_loss": self._cross_entropy(hidden[1:], text[1:])[0]}

    def _run(self, codes: Codes, h: Array) -> Array:
        """Return the units (time + 1, lanes, hidden) while reading codes (time, lanes)."""
        p, hidden = self.parameters, np.empty((len(codes) + 1, *h.shape), np.float32)
        hidden[0] = h
        for time, column in enumerate(codes):
            hidden[time + 1] = np.tanh(p["W"][column] + hidden[time] @ p["U"] + p["b"])
        return hidden

    def _cross_entropy(self, hidden: Array, codes: Codes) -> tuple[float, Array]:
        """Return the mean cross-entropy and its gradient for the scores (time, lanes, letters)."""
        chances = softmax(hidden @ self.parameters["V"] + self.parameters["c"])
        target = np.take_along_axis(chances, codes[..., None], axis=-1)
        np.put_along_axis(chances, codes[..., None], target - 1, axis=-1)
        return float(-np.log(np.maximum(target, 1e-12)).mean()), chances / np.float32(codes.size)

    def _learn(self, codes: Codes, target: Codes, h: Array) -> tuple[float, dict[str, Array], Array]:
        """Return the loss of predicting `target` (time, lanes), the gradients, and the last units."""
        p, hidden = self.parameters, self._run(codes, h)
        loss, error = self._cross_entropy(hidden[1:], target)
        gradients = {name: np.zeros_like(value) for name, value in p.items()}
        gradients["V"] = np.tensordot(hidden[1:], error, axes=([0, 1], [0, 1]))
        gradients["c"] = error.sum(axis=(0, 1))
        back = np.zeros_like(h)
        for time in range(len(codes) - 1, -1, -1):
            change = (error[time] @ p["V"].T + back) * (1 - hidden[time + 1] ** 2)
            np.add.at(gradients["W"], codes[time], change)
            gradients["U"] += hidden[time].T @ change
            gradients["b"] += change.sum(axis=0)
            back = change @ p["U"].T
        clipped = {name: np.clip(value, -0.1, 0.1) for name, value in gradients.items()}
        return loss, clipped, hidden[-1]


# Factors: the co-occurrence of words as a product of two narrow tables. Weighted alternating least squares
# (Hu, Koren and Volinsky 2008, equation 4): with one table fixed, every row of the other solves a small
# linear system. The first sweeps do nearly all of the work, so the loss falls steeply and then stays.

RANK, NEAR, RIDGE = 48, 4, 1.0
"""Columns of a table, words to either side that count as near, and the ridge penalty."""


class Factors(NumpyProgram):
    """Solves for the words' tables in turn; memory rises and falls with every block."""

    def initial(self) -> dict[str, Array]:
        """Draw both tables, rows for every word."""
        shape = (self.example_count(), RANK)
        return {name: self.rng.standard_normal(shape, dtype=np.float32) * np.float32(0.1) for name in "AB"}

    def example_count(self) -> int:
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
        rows = np.arange(self.example_count()) % self._count
        noise = np.random.default_rng([len(rows), 1])
        self._target = np.log1p(near + near.T)[np.ix_(rows, rows)]
        self._weight = 0.05 + self._target
        self._is_held_out = noise.random(self._target.shape, dtype=np.float32) < 0.1
        self._weight[self._is_held_out] = 0
        return f"{len(rows)} words that stand beside {len(rows)}"

    def step(self) -> float:
        """Solve for a twentieth of the rows of either table, and return the weighted squared error."""
        indices = self.order.take(max(1, len(self._target) // STEPS_PER_EPOCH))
        a, b = self.parameters["A"], self.parameters["B"]
        self._solve(a, b, indices, self._target, self._weight)
        self._solve(b, a, indices, self._target.T, self._weight.T)
        error = a @ b.T - self._target
        return float((self._weight * error * error).sum() / self._weight.sum())

    def evaluate(self) -> dict[str, float]:
        """Return the squared error of the entries that were not learned from."""
        error = (self.parameters["A"] @ self.parameters["B"].T - self._target)[self._is_held_out]
        return {"val_loss": float((error * error).mean())}

    @staticmethod
    def _solve(rows: Array, fixed: Array, indices: Indices, target: Array, weight: Array) -> None:
        """Set the chosen rows to (Fᵀ W F + λ I)⁻¹ Fᵀ W t, each with its own weights W."""
        ridge = RIDGE * np.eye(RANK, dtype=np.float32)
        for row in indices:
            weighted = fixed * weight[row][:, None]
            rows[row] = np.linalg.solve(weighted.T @ fixed + ridge, weighted.T @ target[row])
