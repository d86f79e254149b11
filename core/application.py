"""The workspace: one folder and one database, and everything that can be done with them.

The screen, the command line and the worker open the same workspace from the same settings;
nothing else connects them. `core.bootstrap` opens one with all kinds of tasks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.errors import SettingsError
from core.live.service import Live
from core.plugins import load_policies
from core.runs.service import Runs
from core.runs.stages import Stages
from core.tasks.queue import WorkQueue
from core.tasks.store import Tasks
from core.workspace.database import Database
from core.workspace.evaluations import Evaluations
from core.workspace.files import StorageError, disk_errors, sweep_older
from core.workspace.fitted_policies import FittedPolicies
from core.workspace.models import ModelLibrary
from core.workspace.phase_labels import PhaseLabels
from core.workspace.records import TaskState
from core.workspace.sequences import SequenceLibrary
from core.workspace.trace_sets import TraceLibrary
from core.workspace.trace_uploads import TraceUploads

if TYPE_CHECKING:
    from collections.abc import Collection

    from core.config import Settings

_UNFINISHED_AFTER = 600.0


class Workspace:
    """Everything that is stored, and the work on it.

    Parameters
    ----------
    settings
        The settings from the environment.
    kinds
        The names of the kinds of tasks that may be asked for; what they do, only a worker knows.
    brief
        Those among them that do not wait for the others.

    Raises
    ------
    SettingsError
        If the home folder cannot be written or the database cannot be used.
    """

    def __init__(self, settings: Settings, kinds: Collection[str], brief: Collection[str] = ()) -> None:
        self.settings = settings
        load_policies(settings.policies)
        _prepare_home(settings)
        self.scratch = settings.home / "tmp"
        self.database = Database(settings.database_url)
        self._queue = WorkQueue(settings)
        self.tasks = Tasks(self.database, self._queue, kinds, brief)
        self.uploads = TraceUploads(settings.home / "uploads", settings.max_upload, self.tasks)
        self.traces = TraceLibrary(self.database, settings.home / "traces", self.scratch)
        self.models = ModelLibrary(self.database, settings.home / "models", self.scratch, self.traces)
        self.labels = PhaseLabels(self.traces, self.models, settings.home / "labels")
        self.sequences = SequenceLibrary(self.traces, self.models, self.labels)
        self.evaluations = Evaluations(
            self.traces, self.models, self.tasks, settings.home / "evaluations", self.scratch
        )
        self.fitted = FittedPolicies(self.traces, self.models, settings.home / "fitted")
        self.live = Live(settings, self.database, self.tasks, self.models, self.fitted)
        stages = Stages(
            settings, self.live.engine_registry, self.live.queue.earlier, self.fitted, self.models
        )
        self.runs = Runs(self.database, self.tasks, stages, self.fitted.ready)

    def sweep(self) -> int:
        """Remove what killed processes left on the disk; say how many things there were."""
        waiting = [state for state in TaskState if state not in (TaskState.DONE, TaskState.CANCELLED)]
        needed = {str(task.params.get("upload", "")) for task in self.tasks.list(1000, waiting)}
        left = sweep_older(self.scratch, _UNFINISHED_AFTER)
        left += self.uploads.sweep(needed) + self.traces.sweep() + self.fitted.sweep()
        return left + self.models.sweep() + self.labels.sweep() + self.evaluations.sweep() + self.runs.sweep()

    def close(self) -> None:
        """Close all connections."""
        self.live.close()
        self._queue.close()
        self.database.close()


def _prepare_home(settings: Settings) -> None:
    try:
        with disk_errors("the workspace"):
            settings.home.mkdir(mode=0o700, parents=True, exist_ok=True)
            for name in ("tmp", "traces", "models", "labels", "uploads", "evaluations", "fitted", "live"):
                (settings.home / name).mkdir(exist_ok=True)
    except StorageError as error:
        raise SettingsError(
            f"PHASEDOCK_HOME ({settings.home}) cannot be used: {error.message}", error.hint
        ) from error
