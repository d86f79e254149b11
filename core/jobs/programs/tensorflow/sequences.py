"""TensorFlow programs on series: the next character of a text, and how waves go on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import tensorflow as tf

from ..data import ALPHABET, HORIZON, INPUT_LENGTH, characters, generate_waves
from .program import TensorFlowProgram, dense, draw_dense, draw_layer, run_layer

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from ..batches import Indices
    from .program import Arrays

LENGTH, NOISE = 32, 0.2
"""Characters per stretch, and the share of them that are misread while learning."""
LETTERS = len(ALPHABET)


class RNN(TensorFlowProgram):
    """A plain recurrent layer (Elman 1990) that guesses the next character."""

    default_examples, batch = 12_000, 32

    def initial(self) -> Arrays:
        """Draw the layers."""
        return draw_layer("reads", "plain", LETTERS, 192, self.rng) | draw_dense(
            "told", 192, LETTERS, self.rng
        )

    def prepare(self, tick: Callable[[], None]) -> str:
        """Read the text; its last tenth is held out."""
        text = characters()
        stretches = np.lib.stride_tricks.sliding_window_view(text, LENGTH + 1)
        cut = len(text) * 9 // 10
        self._stretches, self._test = stretches[: cut - LENGTH], stretches[cut::7]
        tick()
        return f"{len(text)} characters"

    def inputs(self, indices: Indices) -> tuple[npt.NDArray[Any], ...]:
        """Return the noisy characters of the chosen stretches, and the characters that follow each."""
        stretches = self._stretches[indices % len(self._stretches)]
        codes = stretches[:, :-1]
        misread = self.rng.integers(LETTERS, size=codes.shape)
        return np.where(self.rng.random(codes.shape) < NOISE, misread, codes), stretches[:, 1:]

    def loss(self, *inputs: Any) -> Any:
        """Return the cross-entropy of the next characters."""
        codes, target = inputs
        output = run_layer(self.variables, "reads", "plain", tf.one_hot(codes, LETTERS))
        scores = dense(self.variables, "told", output)
        return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=target, logits=scores))

    def evaluate(self) -> dict[str, float]:
        """Return the cross-entropy of the held-out text."""
        return {"val_loss": float(self.loss(self._test[:, :-1], self._test[:, 1:]))}


class Forecast(TensorFlowProgram):
    """Gated units (Cho et al. 2014) with quadratic loss: predicts the next 8 of 40 values of a series."""

    default_examples = 6_000

    def initial(self) -> Arrays:
        """Draw the layers."""
        return draw_layer("reads", "gru", 1, 128, self.rng) | draw_dense("told", 128, HORIZON, self.rng)

    def prepare(self, tick: Callable[[], None]) -> str:
        """Make the series."""
        count = self.example_count()
        self._past, self._future = generate_waves(count, self.seed)
        self._test = generate_waves(max(50, count // 5), self.seed, held_out=True)
        tick()
        return f"{count} series of {INPUT_LENGTH + HORIZON} values"

    def inputs(self, indices: Indices) -> tuple[npt.NDArray[Any], ...]:
        """Return the chosen series and their continuations."""
        return self._past[indices], self._future[indices]

    def loss(self, *inputs: Any) -> Any:
        """Return the mean squared error."""
        past, future = inputs
        output = run_layer(self.variables, "reads", "gru", past)
        return tf.reduce_mean(tf.square(dense(self.variables, "told", output[:, -1]) - future))

    def evaluate(self) -> dict[str, float]:
        """Return the mean squared error of other series."""
        return {"val_loss": float(self.loss(*map(tf.constant, self._test)))}
