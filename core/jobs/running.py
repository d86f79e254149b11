"""The life cycle of a training job: prepare, train, validate, checkpoint, finish."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from .course import Course, DataPipeline, is_epoch_end
from .programs.batches import STEPS_PER_EPOCH

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from .agent import Agent


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
    course: Course = field(default_factory=Course)
    #: Seed of the decoded data.
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

    def save() -> None:
        if path is not None:
            try:
                program.save(path, agent.step)
            except (OSError, RuntimeError) as error:
                say(f"checkpoint of step {agent.step} could not be written: {error}")
                raise
            say(f"checkpoint of step {agent.step} written")

    course = plan.course
    with DataPipeline(course, program, plan.seed, plan.steps, say, agent.listen) as pipeline:
        data = pipeline.prepare(first_step) if course.shards else program.prepare(agent.listen)
        say(f"{data} ready in {time.monotonic() - began:.1f} s")
        agent.begin(first_step, plan.steps, save)
        for number in range(first_step + 1, plan.steps + 1):
            pipeline.prepare_step(number)
            _step(program, number, plan.steps, agent, say, save)
            if is_epoch_end(number, plan.steps):
                _report_metrics(pipeline.evaluate(), number, plan.steps, say)
            if plan.every and number % plan.every == 0 and path is not None and agent.keep(save):
                pipeline.send(path)
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


def _report_metrics(metrics: dict[str, float], number: int, steps: int, say: Callable[[str], None]) -> None:
    figures = " ".join(f"{name}={value:.4f}" for name, value in metrics.items())
    epoch, epochs = -(-number // STEPS_PER_EPOCH), -(-steps // STEPS_PER_EPOCH)
    say(f"epoch {epoch}/{epochs} {figures}")
