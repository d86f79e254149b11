"""A policy that watches or controls running containers, until it is detached."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from core.live.view import ATTACH as NAME
from core.tasks.kind import Kind, ResultLink

if TYPE_CHECKING:
    from collections.abc import Mapping

    from core.application import Workspace
    from core.tasks.kind import TaskContext
    from core.workspace.records import TaskInfo

_EVERY = 0.5


def _run(context: TaskContext[Workspace], params: Mapping[str, Any]) -> dict[str, Any]:
    """Attach; see `core.live.attach.policy_loop.PolicyLoop.run`. Cancel the task to detach the policy."""
    written = time.monotonic()

    def say(text: str) -> None:
        nonlocal written
        if time.monotonic() - written >= _EVERY:
            written = time.monotonic()
            context.progress(0.0, text)

    return context.workspace.live.policy_loop.run(params, context.task, say, context.log)


def _outcome(task: TaskInfo) -> str:
    decisions = (task.result or {}).get("decisions", 0)
    return f"The policy was detached after {decisions:,} decision{'' if decisions == 1 else 's'}."


def _link(task: TaskInfo) -> ResultLink | None:
    run = (task.result or {}).get("run")
    return ResultLink("runs", {"look": "ledger", "run": run}) if run else None


KIND = Kind(
    name=NAME,
    title="Attached policy",
    icon="link",
    run=_run,
    outcome=_outcome,
    gives=("run", "decisions", "resizes"),
    link=_link,
    lasting=True,
)
