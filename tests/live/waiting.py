"""Waiting for what happens elsewhere: in a container, or in a worker."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from core.application import Workspace
    from core.workspace.records import TaskInfo


def until(seen: Callable[[], Any], seconds: float = 30.0) -> Any:
    """Wait until something is true; gives it."""
    end = time.monotonic() + seconds
    while not (found := seen()):
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.1)
    return found


def ended(space: Workspace, task: str) -> TaskInfo:
    """Wait until a task has ended; what is known of it then."""
    info: TaskInfo = until(lambda: info if (info := space.tasks.get(task)).state.ended else None)
    return info
