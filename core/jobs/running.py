"""The life cycle of a training job (prepare, train, validate, checkpoint, finish) and its data pipeline."""

from __future__ import annotations

import multiprocessing
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from .programs.batches import STEPS_PER_EPOCH
from .programs.data import generate_digits, generate_distorted_digits

if TYPE_CHECKING:
    from collections.abc import Callable
    from multiprocessing.pool import Pool
    from typing import Self

    from .agent import Agent
    from .programs.data import Images, Labels


_SHARD = 2_000


@runtime_checkable
class SupportsNewData(Protocol):
    """A program whose data can be replaced while it runs."""

    batch: int

    def example_count(self) -> int:
        """Return the number of training examples."""
        ...

    def renew(self, images: Images, labels: Labels) -> None:
        """Replace the training data by images (n, 256) and digits (n,)."""
        ...

    def set_validation_data(self, images: Images, labels: Labels) -> None:
        """Replace the validation data."""
        ...


@dataclass(frozen=True)
class DataOptions:
    """The data pipeline's options: work beside the training steps."""

    #: Thousands of images to read from files before training.
    load: int = 0
    #: Processes that augment the data before epochs; 0: no augmentation.
    augment: int = 0
    #: Epochs between two augmentations.
    renew: int = 1
    #: Thousands of held-out images to evaluate after each epoch; 0: the program's default.
    judge: int = 0
    #: Share of all steps after which batches are four times as large; 1: never.
    second: float = 1.0

    @property
    def is_default(self) -> bool:
        """Whether the pipeline does nothing."""
        return not (self.load or self.augment or self.judge) and self.second >= 1.0


class DataPipeline:
    """Loads and augments the data of a run; a context manager that ends its worker processes.

    The data depend on the seed and the epoch alone, so a resumed run gets the same data again. Raises
    ValueError if the program's data cannot be replaced.
    """

    def __init__(
        self,
        options: DataOptions,
        program: Any,
        seed: int,
        steps: int,
        say: Callable[[str], None],
        tick: Callable[[], None],
    ) -> None:
        if not options.is_default and not isinstance(program, SupportsNewData):
            raise ValueError(
                "Only programs on digits have --load, --augment, --renew, --judge and --second. "
                "Leave these options out or choose such a program."
            )
        self._options, self._program, self._seed = options, program, seed
        self._steps, self._say, self._tick = steps, say, tick
        self._pool: Pool | None = None
        self._loaded_images: list[Any] = []
        self._larger = False

    def __enter__(self) -> Self:
        if self._options.augment:
            # forking a process with threads of PyTorch or TensorFlow may hang
            self._pool = multiprocessing.get_context("spawn").Pool(self._options.augment)
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.terminate()

    def begin(self) -> None:
        """Load the images and replace the validation data; the program must be prepared."""
        began = time.monotonic()
        if self._options.load:
            self._loaded_images = self._load_images()
            self._say(f"{self._options.load} thousand images read in {time.monotonic() - began:.1f} s")
        if self._options.judge:
            count = 1000 * self._options.judge
            self._program.set_validation_data(*generate_digits(count, self._seed, self._tick, held_out=True))

    def prepare_step(self, number: int) -> None:
        """Augment the data before an epoch; enlarge the batches in the second stage."""
        if not self._larger and number > self._options.second * self._steps:
            self._program.batch = 4 * self._program.batch
            self._larger = True
            self._say(f"batches of {self._program.batch} from step {number} on")
        epoch, place = divmod(number - 1, STEPS_PER_EPOCH)
        if self._pool is not None and place == 0 and epoch % self._options.renew == 0:
            self._vary(epoch)

    def resume(self, steps: int) -> None:
        """Restore the data to their state after `steps` steps."""
        if self._pool is not None and steps % (STEPS_PER_EPOCH * self._options.renew):
            epoch = steps // STEPS_PER_EPOCH
            self._vary(epoch - epoch % self._options.renew)

    def _vary(self, epoch: int) -> None:
        assert self._pool is not None  # noqa: S101 - only called with one
        began, shares = time.monotonic(), self._options.augment
        counts = [len(each) for each in np.array_split(np.arange(self._program.example_count()), 4 * shares)]
        arguments = [(count, (self._seed, epoch, part)) for part, count in enumerate(counts)]
        result = self._pool.starmap_async(generate_distorted_digits, arguments, chunksize=1)
        while not result.ready():
            result.wait(0.2)
            self._tick()
        images, labels = zip(*result.get(), strict=True)
        self._program.renew(np.concatenate(images), np.concatenate(labels))
        self._say(f"epoch {epoch + 1} varied in {time.monotonic() - began:.1f} s")

    def _load_images(self) -> list[Any]:
        """Write images to compressed files and read them back into memory, as after a download."""
        read = []
        with tempfile.TemporaryDirectory() as folder:
            for part in range(0, 1000 * self._options.load, _SHARD):
                images, labels = generate_digits(_SHARD, self._seed + part, self._tick)
                path = Path(folder) / f"{part}.npz"
                np.savez_compressed(path, images=(images * 255).astype(np.uint8), labels=labels)
                with np.load(path, allow_pickle=False) as file:
                    read.append((file["images"].astype(np.float32) / 255, file["labels"]))
                path.unlink()
                self._tick()
        return read


class Program(Protocol):
    """A training program; see `core.jobs.programs.numpy.program.NumpyProgram`."""

    suffix: str

    def prepare(self, tick: Callable[[], None]) -> str:
        """Prepare the data and return a sentence about them."""
        ...

    def step(self) -> float:
        """Run one step and return its loss."""
        ...

    def evaluate(self) -> dict[str, float]:
        """Return the metrics on held-out data."""
        ...

    def save(self, path: Path, step: int) -> None:
        """Write a checkpoint."""
        ...

    def load(self, path: Path) -> int:
        """Restore a checkpoint and return its step."""
        ...


@dataclass(frozen=True)
class Plan:
    """The length, checkpoints and data of a run."""

    #: Total number of printed steps.
    steps: int
    #: Path of the checkpoint; None for a job without one.
    checkpoint: Path | None = None
    #: Steps between two periodic checkpoints; 0 for none.
    every: int = 0
    data: DataOptions = field(default_factory=DataOptions)
    #: Seed of the augmented data.
    seed: int = 1


def run(program: Program, plan: Plan, agent: Agent, say: Callable[[str], None]) -> None:
    """Run a job to its end, from its checkpoint if there is one.

    Raises
    ------
    Stopped
        After SIGTERM, once the checkpoint is written.
    """
    try:
        _run(program, plan, agent, say)
    except Exception:
        agent.finish("failed")
        raise
    agent.finish("done")


def _run(program: Program, plan: Plan, agent: Agent, say: Callable[[str], None]) -> None:
    began = time.monotonic()
    path = plan.checkpoint
    first_step = program.load(path) if path is not None and path.exists() else 0
    if first_step:
        say(f"going on after step {first_step} of {plan.steps}")
    agent.prepare(first_step, plan.steps)
    data = program.prepare(agent.listen)
    say(f"{data} ready in {time.monotonic() - began:.1f} s")

    def save() -> None:
        if path is not None:
            try:
                program.save(path, agent.step)
            except (OSError, RuntimeError) as error:
                say(f"checkpoint of step {agent.step} could not be written: {error}")
                raise
            say(f"checkpoint of step {agent.step} written")

    with DataPipeline(plan.data, program, plan.seed, plan.steps, say, agent.listen) as pipeline:
        pipeline.begin()
        pipeline.resume(first_step)
        agent.begin(first_step, plan.steps, save)
        for number in range(first_step + 1, plan.steps + 1):
            pipeline.prepare_step(number)
            _step(program, number, plan.steps, agent, say, save)
            if number % STEPS_PER_EPOCH == 0 or number == plan.steps:
                _report_metrics(program, number, plan.steps, say)
            if plan.every and number % plan.every == 0 and path is not None:
                agent.keep(save)
    say(f"done: {plan.steps} steps in {time.monotonic() - began:.1f} s")


def _step(
    program: Program,
    number: int,
    steps: int,
    agent: Agent,
    say: Callable[[str], None],
    save: Callable[[], None],
) -> None:
    loss = program.step()
    # a killed job repeats the steps since its checkpoint; their losses are not printed twice
    say(f"step {number}/{steps} loss={loss:.4f}" if agent.is_new(number) else f"step {number}/{steps} again")
    agent.reached(number, loss, save)


def _report_metrics(program: Program, number: int, steps: int, say: Callable[[str], None]) -> None:
    figures = " ".join(f"{name}={value:.4f}" for name, value in program.evaluate().items())
    epoch, epochs = -(-number // STEPS_PER_EPOCH), -(-steps // STEPS_PER_EPOCH)
    say(f"epoch {epoch}/{epochs} {figures}")
