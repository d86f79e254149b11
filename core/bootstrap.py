"""Opening the workspace that the settings name, and a worker for it, with every registered kind of task."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.application import Workspace
from core.handlers import KINDS
from core.tasks.worker import Worker

if TYPE_CHECKING:
    from core.config import Settings


def open_workspace(settings: Settings) -> Workspace:
    """Open the workspace of these settings; makes its folders and tables where there are none.

    Raises SettingsError if the home folder cannot be written or the database cannot be used.
    """
    return Workspace(settings, KINDS, [name for name in KINDS if KINDS[name].brief])


def worker_for(workspace: Workspace, threads: int | None = None) -> Worker:
    """A worker for all kinds of tasks with some slots, by default as many as the settings say."""
    return Worker(workspace, KINDS, threads)
