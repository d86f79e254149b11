"""Shared by the programs of all libraries: order of the data, batches, saved random states."""

from __future__ import annotations

import json
import time
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import numpy.typing as npt

    Indices = npt.NDArray[np.int64]

STEPS_PER_EPOCH = 20
"""Printed steps in which a program sees its data once."""


class Pace:
    """Lets through so much per second, and sleeps otherwise; what was missed is made up for a second at most.

    A rate of 0 is unlimited.
    """

    def __init__(self, rate: float = 0.0) -> None:
        self._rate, self._due = rate, time.monotonic()

    def wait(self, amount: float) -> None:
        """Wait until `amount` may pass."""
        if self._rate <= 0:
            return
        now = time.monotonic()
        self._due = max(self._due, now - 1.0) + amount / self._rate
        if self._due > now:
            time.sleep(self._due - now)


class ShuffledOrder:
    """An endless sequence of 0 … count−1, shuffled anew in each round, at a data loader's pace."""

    def __init__(self, count: int, rng: np.random.Generator) -> None:
        self._rng, self._order, self._position = rng, rng.permutation(count), 0
        self.pace = Pace()

    def take(self, count: int) -> Indices:
        """Return the next `count` examples, fewer only at the end of a round."""
        if self._position >= len(self._order):
            self._order, self._position = self._rng.permutation(len(self._order)), 0
        indices = self._order[self._position : self._position + count]
        self._position += len(indices)
        self.pace.wait(len(indices))
        return indices

    def __len__(self) -> int:
        return len(self._order)

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """Return the order and the position in it."""
        return {"order": self._order, "position": np.array(self._position)}

    def load(self, state: dict[str, npt.NDArray[Any]]) -> None:
        """Restore what `state` returned."""
        self._order, self._position = np.array(state["order"]), int(state["position"])


def generator_state_json(rng: np.random.Generator) -> str:
    """Return a generator's state as JSON."""
    return json.dumps(rng.bit_generator.state)


def restore_generator(rng: np.random.Generator, text: str) -> None:
    """Bring a generator to the state that `generator_state_json` returned."""
    rng.bit_generator.state = json.loads(text)


class BatchProgram(ABC):
    """A program of PyTorch or TensorFlow: a step learns the next twentieth of the data, batch by batch."""

    suffix: ClassVar[str]
    rate: ClassVar[float] = 1e-3
    batch: ClassVar[int] = 64
    default_examples: ClassVar[int]
    """Examples at size 1."""
    takes_images: ClassVar[bool] = False
    """Whether its images can be replaced (`core.jobs.course.TakesImages`)."""
    scale: int = 1
    """Multiple of its usual examples that a step learns from."""

    def __init__(self, seed: int, size: float) -> None:
        self.seed, self.size = seed, size
        self.rng = np.random.default_rng(seed)
        self.order = ShuffledOrder(self.example_count(), self.rng)

    @abstractmethod
    def prepare(self, tick: Callable[[], None]) -> str:
        """Load and make the data, calling `tick` now and then; return a sentence about them.

        The data depend on the seed and the size only, so that a resumed program has the same.
        """

    @abstractmethod
    def learn(self, indices: Indices) -> float:
        """Update the parameters once on the chosen examples and return their mean loss before the update."""

    @abstractmethod
    def evaluate(self) -> dict[str, float]:
        """Return the metrics on held-out data, without drawing random numbers."""

    @abstractmethod
    def save(self, path: Path, step: int) -> None:
        """Write a checkpoint with everything that the next step depends on."""

    @abstractmethod
    def load(self, path: Path) -> int:
        """Restore a checkpoint and return its step."""

    def example_count(self) -> int:
        """Return the number of training examples."""
        return max(5 * STEPS_PER_EPOCH, round(self.default_examples * self.size))

    def step(self) -> float:
        """Train on the next twentieth of the data and return the mean loss."""
        remaining, losses = self.scale * self.example_count() // STEPS_PER_EPOCH, []
        while remaining > 0:
            indices = self.order.take(min(remaining, self.batch))
            remaining -= len(indices)
            losses.append(self.learn(indices))
        return float(np.mean(losses))
