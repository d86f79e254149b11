"""Kinds of tasks on the screen: all that is said of them is what the register of kinds declares."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from app.ui.evaluations import address_values
from core.errors import PhaseDockError
from core.handlers import KINDS
from core.tasks.kind import NOTHING_KEPT
from core.workspace.evaluations import Question
from core.workspace.records import TaskState

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from core.tasks.kind import Kind, ResultLink
    from core.workspace.records import TaskInfo

_NAMES = {"trace_set": "traces"}
"""What an id is called in addresses, where that is another word."""


def _kind(task: TaskInfo) -> Kind | None:
    """The kind of a task; None for one that this PhaseDock does not know (any more)."""
    if task.kind not in KINDS:
        return None
    return KINDS[task.kind]


def title(task: TaskInfo) -> str:
    """The kind of a task as people call it."""
    kind = _kind(task)
    return task.kind.replace("_", " ").capitalize() if kind is None else kind.title


def icon_name(task: TaskInfo) -> str:
    """The icon of a task's kind."""
    kind = _kind(task)
    return "help-circle" if kind is None else kind.icon


def outcome(task: TaskInfo) -> str:
    """A task's result, in a sentence; empty while it is not done."""
    kind = _kind(task)
    return "" if kind is None or task.state is not TaskState.DONE else kind.outcome(task)


def lasts(task: TaskInfo) -> bool:
    """Whether a task goes on until somebody ends it, so that it has no share that is done."""
    kind = _kind(task)
    return kind is not None and kind.lasting


def kept(task: TaskInfo) -> str:
    """What became of the work of a cancelled task."""
    kind = _kind(task)
    return NOTHING_KEPT if kind is None else kind.kept


def curve_epochs(task: TaskInfo) -> int | None:
    """How many epochs the error curve of a task has; None where it draws none."""
    kind = _kind(task)
    return None if kind is None else kind.curve(task.params)


def importing() -> list[str]:
    """The names of the kinds that end by themselves, with a new trace set."""
    return [name for name, kind in KINDS.items() if "trace_set" in kind.gives and not kind.lasting]


def result_link(task: TaskInfo) -> str | None:
    """Where the result of a task can be looked at; None when there is nothing to look at."""
    kind = _kind(task)
    link = None if kind is None else kind.link(task)
    return None if link is None else address_of(link)


def address_of(link: ResultLink) -> str | None:
    """The address of a result; None where no address can express it."""
    values = _ADDRESSED.get(link.page, dict)(link.about)
    if values is None:
        return None
    query = {_NAMES.get(name, name): value for name, value in values.items() if value}
    return f"/{link.page}?{urlencode(query)}" if query else f"/{link.page}"


def _comparison(about: Mapping[str, Any]) -> dict[str, Any] | None:
    """The settings of a comparison, each as a field of its own."""
    try:
        asked = Question.from_dict(about)
    except (PhaseDockError, KeyError):
        return None
    chosen = {"trace_set": asked.trace_set, "model": asked.model}
    return chosen | address_values(asked.settings, asked.policies)


_ADDRESSED: dict[str, Callable[[Mapping[str, Any]], dict[str, Any] | None]] = {"provisioning": _comparison}
"""Pages whose addresses say more than ids."""
