"""NumPy programs on handwritten digits: a classifier and an autoencoder."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from ..batches import STEPS_PER_EPOCH, ShuffledOrder
from ..data import SIDE, generate_digits
from .program import NumpyProgram, backward, dense_layers, forward, softmax

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..data import Images, Labels
    from .program import Array


class DigitProgram(NumpyProgram):
    """Dense layers on digits, in batches."""

    widths: ClassVar[tuple[int, ...]]
    images: ClassVar[int]
    batch: ClassVar[int]
    takes_images: ClassVar[bool] = True
    scale: int = 1

    def __init__(self, seed: int, size: float) -> None:
        self._seed = seed
        super().__init__(seed, size)

    def initial(self) -> dict[str, Array]:
        """Draw the layers."""
        return dense_layers(self.widths, self.rng)

    def example_count(self) -> int:
        """Return the number of images."""
        return max(100, round(self.images * self.size))

    def prepare(self, tick: Callable[[], None]) -> str:
        """Make the images."""
        count = self.example_count()
        self._x, self._labels = generate_digits(count, self._seed, tick)
        self._test_x, self._test_labels = generate_digits(
            max(50, count // 4), self._seed, tick, held_out=True
        )
        return f"{count} images of {SIDE} x {SIDE} points"

    def renew(self, images: Images, labels: Labels) -> None:
        """Replace the training images, and their order unless it has as many."""
        self._x, self._labels = images, labels
        if len(self.order) != len(images):
            self.order = ShuffledOrder(len(images), self.rng)

    def set_validation_data(self, images: Images, labels: Labels) -> None:
        """Replace the validation images."""
        self._test_x, self._test_labels = images, labels

    def step(self) -> float:
        """Train on the next twentieth of the images."""
        remaining, losses = max(1, self.scale * self.example_count() // STEPS_PER_EPOCH), []
        while remaining > 0:
            indices = self.order.take(min(remaining, self.batch))
            remaining -= len(indices)
            outputs = forward(self.parameters, self._x[indices])
            loss, error = self.loss(outputs[-1], self._x[indices], self._labels[indices])
            self.move(backward(self.parameters, outputs, error))
            losses.append(loss)
        return float(np.mean(losses))

    def evaluate(self) -> dict[str, float]:
        """Return the loss on images of held-out digits, and a classifier's accuracy on them."""
        output = forward(self.parameters, self._test_x)[-1]
        loss, _ = self.loss(output, self._test_x, self._test_labels)
        return {"val_loss": loss} | self.extra_metrics(output)

    @abstractmethod
    def loss(self, output: Array, x: Array, labels: Labels) -> tuple[float, Array]:
        """Return the mean loss and its gradient with respect to the output."""

    def extra_metrics(self, output: Array) -> dict[str, float]:  # noqa: ARG002 - a classifier looks at it
        """Return what else is worth printing after an evaluation."""
        return {}


class Classifier(DigitProgram):
    """Classifies digits: 256–1024–1024–10 units, cross-entropy; large products, so threads pay off."""

    widths = (SIDE * SIDE, 1024, 1024, 10)
    images, batch, rate = 20_000, 128, 3e-4

    def loss(self, output: Array, x: Array, labels: Labels) -> tuple[float, Array]:  # noqa: ARG002 - shared
        """Return the cross-entropy."""
        chances, rows = softmax(output), np.arange(len(labels))
        loss = -np.log(np.maximum(chances[rows, labels], 1e-12)).mean()
        chances[rows, labels] -= 1
        return float(loss), chances / np.float32(len(labels))

    def extra_metrics(self, output: Array) -> dict[str, float]:
        """Return the share of digits classified correctly."""
        return {"val_accuracy": float((output.argmax(axis=1) == self._test_labels).mean())}


class Autoencoder(DigitProgram):
    """Squeezes digits through 24 units and back: small batches, many images in memory."""

    widths = (SIDE * SIDE, 512, 24, 512, SIDE * SIDE)
    images, batch, rate = 60_000, 64, 1e-3

    def loss(self, output: Array, x: Array, labels: Labels) -> tuple[float, Array]:  # noqa: ARG002 - shared
        """Return the squared error per pixel, times 100."""
        error = output - x
        return float(100 * (error * error).mean()), error * np.float32(200 / error.size)
