"""The life cycle of a training job: prepare, train, validate, checkpoint, finish."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from .course import Course, Following
from .programs.batches import STEPS_PER_EPOCH

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from .agent import Agent


class Program(Protocol):
    """What a program can do; see `core.jobs.programs.numpy.program.NumpyProgram`."""

    suffix: str

    def prepare(self, tick: Callable[[], None]) -> str:
        """Make the data ready."""
        ...

    def step(self) -> float:
        """Do a step and return its loss."""
        ...

    def evaluate(self) -> dict[str, float]:
        """Evaluate on unseen data."""
        ...

    def save(self, path: Path, step: int) -> None:
        """Write a checkpoint."""
        ...

    def load(self, path: Path) -> int:
        """Go on from a checkpoint and return its step."""
        ...


@dataclass(frozen=True)
class Plan:
    """How a job is to run."""

    #: Printed steps in all.
    steps: int
    #: Where its checkpoint lies, or None for a job that keeps none.
    checkpoint: Path | None = None
    #: Steps between two checkpoints that it writes by itself; 0 for none.
    every: int = 0
    #: What happens beside the steps.
    course: Course = field(default_factory=Course)
    #: Of the data that the course makes.
    seed: int = 1


def run(program: Program, plan: Plan, agent: Agent, say: Callable[[str], None]) -> None:
    """Run a job to its end, from its checkpoint if there is one.

    Raises
    ------
    Stopped
        If SIGTERM came; the checkpoint is written.
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
    done = program.load(path) if path is not None and path.exists() else 0
    if done:
        say(f"going on after step {done} of {plan.steps}")
    agent.prepare(done, plan.steps)
    what = program.prepare(agent.listen)
    say(f"{what} ready in {time.monotonic() - began:.1f} s")

    def save() -> None:
        if path is not None:
            try:
                program.save(path, agent.step)
            except (OSError, RuntimeError) as error:
                say(f"checkpoint of step {agent.step} could not be written: {error}")
                raise
            say(f"checkpoint of step {agent.step} written")

    with Following(plan.course, program, plan.seed, plan.steps, say, agent.listen) as course:
        course.begin()
        course.resume(done)
        agent.begin(done, plan.steps, save)
        for number in range(done + 1, plan.steps + 1):
            course.before(number)
            _step(program, number, plan.steps, agent, say, save)
            if number % STEPS_PER_EPOCH == 0 or number == plan.steps:
                _look(program, number, plan.steps, say)
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
    # a job that was killed does the steps since its checkpoint again; what was said is not said twice
    say(f"step {number}/{steps} loss={loss:.4f}" if agent.is_new(number) else f"step {number}/{steps} again")
    agent.reached(number, loss, save)


def _look(program: Program, number: int, steps: int, say: Callable[[str], None]) -> None:
    figures = " ".join(f"{name}={value:.4f}" for name, value in program.evaluate().items())
    epoch, epochs = -(-number // STEPS_PER_EPOCH), -(-steps // STEPS_PER_EPOCH)
    say(f"epoch {epoch}/{epochs} {figures}")
