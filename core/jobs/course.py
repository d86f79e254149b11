"""The course of a real training beside its steps: data is read, varied before epochs, judged at length.

Programs on digits can have it (`Renewable`). It changes what is learned from, never how: a run that is
resumed meets the same data again, because they depend on the seed and the epoch alone.
"""

from __future__ import annotations

import multiprocessing
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from .programs.batches import STEPS_PER_EPOCH
from .programs.digits import made_digits
from .programs.distortions import distorted_digits

if TYPE_CHECKING:
    from collections.abc import Callable
    from multiprocessing.pool import Pool
    from typing import Self

    from .programs.digits import Images, Labels

_SHARD = 2_000


@runtime_checkable
class Renewable(Protocol):
    """A program that can be given other data while it runs."""

    batch: int

    def examples(self) -> int:
        """Return how many examples there are to learn from."""
        ...

    def renew(self, images: Images, labels: Labels) -> None:
        """Learn from these images (n, 256) and digits (n,) from now on."""
        ...

    def judge_by(self, images: Images, labels: Labels) -> None:
        """Evaluate on these from now on."""
        ...


@dataclass(frozen=True)
class Course:
    """What happens beside the steps."""

    #: Thousands of images that are read from files before training.
    load: int = 0
    #: Processes that vary the data before epochs; 0: it stays as it is.
    augment: int = 0
    #: Epochs that learn from the same variation.
    renew: int = 1
    #: Thousands of held-out images that are looked at after each epoch; 0: as many as usual.
    judge: int = 0
    #: The share of all steps after which batches are four times as large; 1: never.
    second: float = 1.0

    @property
    def plain(self) -> bool:
        """Whether nothing happens beside the steps."""
        return not (self.load or self.augment or self.judge) and self.second >= 1.0


class Following:
    """Follows a course through a run; a context manager that ends its processes.

    Raises
    ------
    ValueError
        If the program cannot be given other data.
    """

    def __init__(
        self,
        course: Course,
        program: Any,
        seed: int,
        steps: int,
        say: Callable[[str], None],
        tick: Callable[[], None],
    ) -> None:
        if not course.plain and not isinstance(program, Renewable):
            raise ValueError("Only programs on digits can read, vary and judge data as a course says.")
        self._course, self._program, self._seed = course, program, seed
        self._steps, self._say, self._tick = steps, say, tick
        self._pool: Pool | None = None
        self._read: list[Any] = []
        self._larger = False

    def __enter__(self) -> Self:
        if self._course.augment:
            # a fork of a process with the threads of PyTorch or TensorFlow may hang
            self._pool = multiprocessing.get_context("spawn").Pool(self._course.augment)
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.terminate()

    def begin(self) -> None:
        """Read what is to be read, and make what is judged by; the program has its own data by then."""
        began = time.monotonic()
        if self._course.load:
            self._read = self._loaded()
            self._say(f"{self._course.load} thousand images read in {time.monotonic() - began:.1f} s")
        if self._course.judge:
            count = 1000 * self._course.judge
            self._program.judge_by(*made_digits(count, self._seed, self._tick, held_out=True))

    def before(self, number: int) -> None:
        """Do what comes before a step: other data before an epoch, larger batches in the second stage."""
        if not self._larger and number > self._course.second * self._steps:
            self._program.batch = 4 * self._program.batch
            self._larger = True
            self._say(f"batches of {self._program.batch} from step {number} on")
        epoch, place = divmod(number - 1, STEPS_PER_EPOCH)
        if self._pool is not None and place == 0 and epoch % self._course.renew == 0:
            self._vary(epoch)

    def resume(self, done: int) -> None:
        """Bring the data to where they were after so many steps."""
        if self._pool is not None and done % (STEPS_PER_EPOCH * self._course.renew):
            epoch = done // STEPS_PER_EPOCH
            self._vary(epoch - epoch % self._course.renew)

    def _vary(self, epoch: int) -> None:
        assert self._pool is not None  # noqa: S101 - only called with one
        began, shares = time.monotonic(), self._course.augment
        counts = [len(each) for each in np.array_split(np.arange(self._program.examples()), 4 * shares)]
        asked = [(count, (self._seed, epoch, part)) for part, count in enumerate(counts)]
        made = self._pool.starmap_async(distorted_digits, asked, chunksize=1)
        while not made.ready():
            made.wait(0.2)
            self._tick()
        images, labels = zip(*made.get(), strict=True)
        self._program.renew(np.concatenate(images), np.concatenate(labels))
        self._say(f"epoch {epoch + 1} varied in {time.monotonic() - began:.1f} s")

    def _loaded(self) -> list[Any]:
        """Write images to files as a download leaves them, and read them back into memory."""
        read = []
        with tempfile.TemporaryDirectory() as folder:
            for part in range(0, 1000 * self._course.load, _SHARD):
                images, labels = made_digits(_SHARD, self._seed + part, self._tick)
                path = Path(folder) / f"{part}.npz"
                np.savez_compressed(path, images=(images * 255).astype(np.uint8), labels=labels)
                with np.load(path, allow_pickle=False) as file:
                    read.append((file["images"].astype(np.float32) / 255, file["labels"]))
                path.unlink()
                self._tick()
        return read
