"""What a kind of task is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from core.phases.crbm.training import Progress
    from core.runtime.tasks.context import TaskContext


@dataclass(frozen=True, slots=True)
class Kind:
    """A named piece of long work.

    Parameters
    ----------
    name
        Its name in the register.
    run
        Does it, given its context and the task's JSON parameters; gives a JSON result.
    lasting
        True if it goes on until somebody ends it and mostly waits: it then gets a thread of its own, so that
        other tasks do not wait for it.
    """

    name: str
    run: Callable[[TaskContext, Mapping[str, Any]], dict[str, Any]]
    lasting: bool = False


def part_of(progress: Progress, start: float, end: float) -> Progress:
    """The progress of a step that is the part from `start` to `end` of the whole."""

    def say(fraction: float, message: str, /, **metrics: float) -> None:
        progress(start + (end - start) * fraction, message, **metrics)

    return say
