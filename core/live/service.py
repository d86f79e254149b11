"""The running containers of the engines that the settings name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.live.attach.policy_loop import Policies, PolicyLoop
from core.live.control.by_hand import ManualControl
from core.live.control.saved_limits import SavedLimitsStore
from core.live.queue.service import JobQueue
from core.live.queue.spec import Mounts
from core.live.queue.store import SubmittedJobs
from core.live.recording.recorder import Recordings
from core.live.sessions import Sessions
from core.live.view.builder import ViewBuilder
from core.live.watcher import Watcher
from core.sampling.engines import Engines
from core.workspace.earlier_runs import EarlierRuns

if TYPE_CHECKING:
    from core.config import Settings
    from core.tasks.store import Tasks
    from core.workspace.database import Database
    from core.workspace.fitted_policies import FittedPolicies
    from core.workspace.models import ModelLibrary


class Live:
    """What can be done with running containers, by what it is about.

    Attributes
    ----------
    engines
        The engines, each with its state.
    view
        What was seen of their containers, now and before.
    limits
        Limits changed by hand, and which containers may be changed.
    policies, policy_loop
        Attaching and detaching policies, and what a worker does while one is attached.
    recordings
        Trace sets of what containers do.
    queue
        Submitted jobs.
    saved_limits
        What containers' limits were before they were changed.
    """

    def __init__(
        self,
        settings: Settings,
        database: Database,
        tasks: Tasks,
        models: ModelLibrary,
        fitted: FittedPolicies,
    ) -> None:
        home, sessions = settings.home, Sessions(tasks)
        self._settings, self._models = settings, models
        self.engines = engines = Engines(settings)
        self.saved_limits = SavedLimitsStore(database)
        self.view = ViewBuilder(home, engines, sessions)
        self.limits = ManualControl(engines, self.saved_limits, sessions)
        self.queue = JobQueue(
            home,
            SubmittedJobs(database),
            EarlierRuns(database),
            engines,
            sessions,
            Mounts(settings.allowed_volumes, settings.allowed_ports),
        )
        self.policies = Policies(engines, sessions, tasks, models, fitted)
        self.policy_loop = PolicyLoop(home, database, engines, self.saved_limits, self.queue, models, fitted)
        self.recordings = Recordings(home, engines, sessions, tasks, models)

    def watcher(self) -> Watcher:
        """The sampler of engines, to be started by a long-running process."""
        home, history = self._settings.home, self._settings.history
        return Watcher(home, self.engines, self.saved_limits, self._models, history=history)
