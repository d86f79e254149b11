"""The course of a training job beside its steps: import, decode, paced batches, validation, upload.

Data come from shards in an object store. The job imports them at the rate of its connection, decodes and
varies them in several processes, trains on batches as its data loader delivers them, validates after each
epoch, and uploads each checkpoint. The epochs of a second stage are twice as long and have batches four times
as large. Every rate is a setting, so a phase uses as many cores as the rate of its input makes it use, as in
a job beside a graphics card.
"""

from __future__ import annotations

import hashlib
import multiprocessing
import tempfile
import time
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from .programs.batches import STEPS_PER_EPOCH, Pace
from .programs.shards import SHARD, decode_shard, read_shard, shard_paths

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Self

    from .programs.data import Images, Labels

_BLOCK = 64 * 1024
_SCORED = 200
"""Held-out images that are scored at once."""


class TakesImages(Protocol):
    """A program whose images can be replaced while it runs."""

    #: Whether it is one; programs on texts and waves, or on visible rows, are not.
    takes_images: bool
    batch: int
    #: Multiple of its usual examples that a step learns from.
    scale: int
    #: Its `core.jobs.programs.batches.ShuffledOrder`.
    order: Any

    def renew(self, images: Images, labels: Labels) -> None:
        """Replace the training data by images (n, 256) and digits (n,), and the order by one of n."""
        ...

    def set_validation_data(self, images: Images, labels: Labels) -> None:
        """Replace the validation data."""
        ...

    def evaluate(self) -> dict[str, float]:
        """Return the metrics on the validation data."""
        ...


def _option(default: float, text: str) -> Any:
    return field(default=default, metadata={"help": text})


@dataclass(frozen=True)
class Course:
    """The settings of a course; 0 shards: none. Rates of 0 are unlimited."""

    shards: int = _option(0, f"shards of {SHARD} images to import and learn from (0: the program's own data)")
    store: float = _option(0.0, "MB/s at which the object store delivers shards (0: as fast as it can)")
    upload: float = _option(0.0, "MB/s at which it takes checkpoints (0: as fast as it can)")
    workers: int = _option(2, "processes that decode (2)")
    views: int = _option(1, "variations of every image (1)")
    renew: int = _option(0, "epochs after which images are decoded anew, in other variations (0: never)")
    decode: float = _option(0.0, "thousands of images decoded per second (0: as many as possible)")
    feed: float = _option(0.0, "thousands of images per second for training (0: as many as it takes)")
    second: float = _option(1.0, "share of the steps after which the second stage begins (1: never)")
    second_feed: float = _option(0.0, "thousands of images per second for the second stage (0: all)")
    judge: float = _option(0.0, "thousands of held-out images scored after each epoch (0: 2)")
    judge_rate: float = _option(0.0, "thousands of them per second (0: as many as possible)")
    staging: int = _option(0, "MiB of the buffer that held-out images pass through (0)")
    leak: float = _option(0.0, "MiB of batches that every step forgets to free (0)")


COURSE_FIELDS = tuple((each.name, each.default, str(each.metadata["help"])) for each in fields(Course))
"""Name, default and help of every setting, as the command line has them."""


class DataPipeline:
    """Imports, decodes and delivers the data of a run; a context manager that ends its processes and files.

    Data depend on the seed alone, so a resumed run gets the same again. Raises ValueError if the program's
    images cannot be replaced.
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
        if course.shards and not getattr(program, "takes_images", False):
            raise ValueError(
                "Only programs on whole digits have a course. Leave out --shards or choose such a program."
            )
        self._course, self._program, self._seed = course, program, seed
        self._steps, self._say, self._tick = steps, say, tick
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._shards: list[Path] = []
        self._images, self._labels = np.empty((0, 256), np.float32), np.empty(0, np.int64)
        self._leaked: list[Images] = []

    def __enter__(self) -> Self:
        self._folder = tempfile.TemporaryDirectory()
        return self

    def __exit__(self, *_: object) -> None:
        if self._folder is not None:
            self._folder.cleanup()

    def prepare(self, first_step: int) -> str:
        """Import and decode the data, as they are after `first_step`; return a sentence about them."""
        course = self._course
        self._shards = self._import(shard_paths()[: course.shards])
        count = len(self._shards) * SHARD * course.views
        self._images, self._labels = np.empty((count, 256), np.float32), np.empty(count, np.int64)
        self._images.fill(0)  # pinned: all of it is resident at once
        self._decode(self._generation(first_step))
        self._program.renew(self._images, self._labels)
        self._program.order.pace = Pace(1000 * course.feed)
        if not course.judge:
            self._program.set_validation_data(*read_shard(shard_paths(held_out=True)[0]))
        if self._is_second(first_step):
            self._begin_second(first_step)
        return f"{count} images of 16 x 16 points"

    def prepare_step(self, number: int) -> None:
        """Begin the second stage or decode anew when it is due; a leak grows with every step."""
        if not self._course.shards:
            return
        if self._generation(number - 1) > self._generation(max(number - 2, 0)):
            self._decode(self._generation(number - 1))
        if self._program.scale == 1 and self._is_second(number):
            self._begin_second(number)
        if self._course.leak:
            self._leaked.append(self._images[: round(self._course.leak * 1024)].copy())

    def evaluate(self) -> dict[str, float]:
        """Return the program's metrics, on held-out shards if the course has a number of them."""
        course = self._course
        if not (course.shards and course.judge):
            return dict(self._program.evaluate())
        began = time.monotonic()
        buffer = np.empty((max(course.staging * 1024, _SCORED), 256), np.float32)
        buffer.fill(0)  # pinned
        pace, place, parts = Pace(1000 * course.judge_rate), 0, []
        for images, labels in self._held_out(round(1000 * course.judge)):
            pace.wait(len(images))
            place = 0 if place + len(images) > len(buffer) else place
            buffer[place : place + len(images)] = images
            self._program.set_validation_data(buffer[place : place + len(images)], labels)
            parts.append(self._program.evaluate())
            place += len(images)
            self._tick()
        # the program shall not keep the buffer
        self._program.set_validation_data(images.copy(), labels)
        self._say(f"{_SCORED * len(parts)} images scored in {time.monotonic() - began:.1f} s")
        return {name: float(np.mean([part[name] for part in parts])) for name in parts[0]}

    def send(self, checkpoint: Path) -> None:
        """Upload a checkpoint: read it block by block, at the rate of the store, with its checksum."""
        if not (self._course.shards and self._course.upload):
            return
        began, digest, pace = time.monotonic(), hashlib.sha256(), Pace(1e6 * self._course.upload)
        with checkpoint.open("rb") as file, tempfile.TemporaryFile() as store:
            while block := file.read(_BLOCK // 16):
                pace.wait(len(block))
                digest.update(block)
                store.write(block)
                self._tick()
        self._say(f"checkpoint {digest.hexdigest()[:8]} uploaded in {time.monotonic() - began:.1f} s")

    def _import(self, shards: list[Path]) -> list[Path]:
        """Copy shards from the store to the job's own folder, and check that each can be read."""
        assert self._folder is not None  # noqa: S101 - a context manager
        began, pace, imported = time.monotonic(), Pace(1e6 * self._course.store), []
        for shard in shards:
            target = Path(self._folder.name) / shard.name
            with shard.open("rb") as source, target.open("wb") as file:
                while block := source.read(_BLOCK):
                    pace.wait(len(block))
                    file.write(block)
                    self._tick()
            read_shard(target)
            imported.append(target)
        self._say(f"{len(imported)} shards imported in {time.monotonic() - began:.1f} s")
        return imported

    def _generation(self, steps: int) -> int:
        """Return how often the images were decoded anew after so many steps."""
        epochs = self._course.renew
        return steps // (epochs * STEPS_PER_EPOCH) if epochs else 0

    def _decode(self, generation: int) -> None:
        """Decode and vary all images in processes of their own."""
        began, course = time.monotonic(), self._course
        tasks = [
            (str(shard), (self._seed, generation, view, at))
            for view in range(course.views)
            for at, shard in enumerate(self._shards)
        ]
        pace = Pace(1000 * course.decode)
        # forking a process with threads of PyTorch or TensorFlow may hang
        with multiprocessing.get_context("spawn").Pool(course.workers) as pool:
            waiting: list[Any] = []
            for place in range(len(tasks) + 1):
                while waiting and (place == len(tasks) or len(waiting) > 2 * course.workers):
                    at, result = waiting.pop(0)
                    part = slice(at * SHARD, (at + 1) * SHARD)
                    self._images[part], self._labels[part] = result.get()
                    self._tick()
                if place < len(tasks):
                    pace.wait(SHARD)
                    waiting.append((place, pool.apply_async(decode_shard, tasks[place])))
        self._say(f"{len(self._images)} images decoded in {time.monotonic() - began:.1f} s")

    def _is_second(self, step: int) -> bool:
        return step > self._course.second * self._steps

    def _begin_second(self, number: int) -> None:
        """Batches are four times as large from here on, epochs twice as long."""
        self._program.batch, self._program.scale = 4 * self._program.batch, 2
        self._program.order.pace = Pace(1000 * self._course.second_feed)
        self._say(f"batches of {self._program.batch} from step {number} on")

    def _held_out(self, count: int) -> Iterator[tuple[Images, Labels]]:
        """Yield held-out images, a few hundred at a time."""
        shards = shard_paths(held_out=True)
        scored = 0
        while scored < count:
            images, labels = read_shard(shards[scored // SHARD % len(shards)])
            for at in range(0, min(SHARD, count - scored), _SCORED):
                yield images[at : at + _SCORED], labels[at : at + _SCORED]
            scored += SHARD


def is_epoch_end(number: int, steps: int) -> bool:
    """Whether a step is the last of an epoch, or of all."""
    return number % STEPS_PER_EPOCH == 0 or number == steps
