"""The definition of a kind of task: how it is run, and how it is shown."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from core.tasks.context import TaskContext
    from core.workspace.records import TaskInfo

NOTHING_KEPT = "Nothing was saved; retry it if you like."


@dataclass(frozen=True, slots=True)
class ResultLink:
    """Where the result of a task can be looked at; the application turns it into an address.

    Parameters
    ----------
    page
        The page's name, such as ``"models"``.
    about
        What to show there: ids by what they are (``trace_set``, ``model``, ``run`` …) and further choices.
    """

    page: str
    about: Mapping[str, Any] = field(default_factory=dict)


def what_it_made(task: TaskInfo) -> ResultLink | None:
    """The phases of a model that a task made, or the model, or else the trace set; None for other results."""
    result = task.result or {}
    traces = result.get("trace_set") or task.params.get("trace_set")
    if "model" in result:
        model = {"model": result["model"]}
        return ResultLink("phases", {**model, "trace_set": traces}) if traces else ResultLink("models", model)
    return ResultLink("traces", {"trace_set": result["trace_set"]}) if "trace_set" in result else None


def no_curve(_params: Mapping[str, Any]) -> None:
    """Draw no curve."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A named piece of long work.

    Parameters
    ----------
    name
        Its name in the register.
    title
        What it is called, for people, such as ``"Train a model"``.
    icon
        The name of its Tabler icon.
    run
        Does it, given its context and the task's JSON parameters; returns a JSON result.
    outcome
        One sentence about a task that is done. It may be asked about tasks of earlier versions, so it has to
        do without any part of their parameters and results.
    gives
        The keys of its result.
    link
        Where the result of a task that is done can be looked at, or None; as careful as `outcome`.
    lasting
        True if it runs until somebody ends it and mostly waits: it then gets a thread of its own, so that
        other tasks do not wait for it.
    brief
        True if it takes seconds: it then does not wait until longer ones have ended.
    kept
        What became of the work of a task that was cancelled, in a sentence.
    curve
        How many epochs the error curve of a task with these parameters has; None where it draws none.
    """

    name: str
    title: str
    icon: str
    # each kind knows what workspace it works on; the tasks' record and the worker do not
    run: Callable[[TaskContext[Any], Mapping[str, Any]], dict[str, Any]]
    outcome: Callable[[TaskInfo], str]
    gives: tuple[str, ...]
    link: Callable[[TaskInfo], ResultLink | None] = what_it_made
    lasting: bool = False
    brief: bool = False
    kept: str = NOTHING_KEPT
    curve: Callable[[Mapping[str, Any]], int | None] = no_curve
