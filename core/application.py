"""The workspace: one folder and one database, and everything that can be done with them.

The screen, the command line and the worker open the same workspace from the same settings;
nothing else connects them. `core.bootstrap` opens one with all kinds of tasks.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import func, select

from core.errors import PhaseDockError, SettingsError
from core.live.attach.policy_loop import Policies, PolicyLoop
from core.live.control.by_hand import ManualControl
from core.live.control.saved_limits import SavedLimitsStore
from core.live.queue.service import JobQueue
from core.live.queue.spec import Mounts
from core.live.queue.store import SubmittedJobs
from core.live.recordings import Recordings
from core.live.view import Sessions, ViewBuilder
from core.live.watcher import Watcher
from core.plugins import load_policies
from core.runs.runner import Stages
from core.runs.service import Runs
from core.sampling.engines import Engines
from core.tasks.states import contradictions
from core.tasks.store import Tasks, WorkQueue
from core.workspace.database import Database
from core.workspace.database_schema import LedgerRow, LogRow, MetricRow, RunRow, SeriesRow, TaskRow
from core.workspace.earlier_runs import EarlierRuns
from core.workspace.evaluations import Evaluations
from core.workspace.files import StorageError, disk_errors, sweep_older
from core.workspace.fitted_policies import FittedPolicies
from core.workspace.models import ModelLibrary
from core.workspace.phase_labels import PhaseLabels
from core.workspace.records import RunState, TaskState
from core.workspace.sequences import SequenceLibrary
from core.workspace.trace_sets import TraceLibrary
from core.workspace.trace_uploads import TraceUploads

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from sqlalchemy.orm import Session

    from core.config import Settings
    from core.workspace.repository import Repository


_UNFINISHED_AFTER = 600.0
_LOG = logging.getLogger("phasedock.worker")


class Live:
    """The services for running containers."""

    def __init__(
        self,
        settings: Settings,
        database: Database,
        tasks: Tasks,
        models: ModelLibrary,
        fitted: FittedPolicies,
    ) -> None:
        home, sessions = settings.home, Sessions(tasks)
        #: The engines, each with its state.
        self.engines = engines = Engines(settings)
        #: What containers' limits were before they were changed.
        self.saved_limits = SavedLimitsStore(database)
        #: What was seen of their containers, now and before.
        self.view = ViewBuilder(home, engines, sessions)
        #: Limits changed by hand, and which containers may be changed.
        self.limits = ManualControl(engines, self.saved_limits, sessions)
        #: Submitted jobs.
        self.queue = JobQueue(
            home,
            SubmittedJobs(database),
            EarlierRuns(database),
            engines,
            sessions,
            Mounts(settings.allowed_volumes, settings.allowed_ports),
        )
        #: Attaching and detaching policies.
        self.policies = Policies(engines, sessions, tasks, models, fitted)
        #: What a worker does while a policy is attached.
        self.policy_loop = PolicyLoop(home, database, engines, self.saved_limits, self.queue, models, fitted)
        #: Trace sets of what containers do.
        self.recordings = Recordings(home, engines, sessions, tasks, models)


class Workspace:
    """Everything that is stored, and the work on it.

    Raises SettingsError if the home folder cannot be written or the database cannot be used.
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
        stages = Stages(settings, self.live.engines, self.live.queue.earlier, self.fitted, self.models)
        self.runs = Runs(self.database, self.tasks, stages, self.fitted.ready)

    def sweep(self) -> int:
        """Remove leftovers of killed processes from the disk; return their number."""
        waiting = [state for state in TaskState if state not in (TaskState.DONE, TaskState.CANCELLED)]
        needed = {str(task.params.get("upload", "")) for task in self.tasks.list(1000, waiting)}
        removed = sweep_older(self.scratch, _UNFINISHED_AFTER)
        removed += self.uploads.sweep(needed) + self.traces.sweep() + self.fitted.sweep()
        return (
            removed + self.models.sweep() + self.labels.sweep() + self.evaluations.sweep() + self.runs.sweep()
        )

    def watcher(self) -> Watcher:
        """The sampler of engines, to be started by a long-running process."""
        home, live, history = self.settings.home, self.live, self.settings.history
        return Watcher(home, live.engines, live.saved_limits, self.models, history=history)

    def clean_up(self) -> None:
        """Clean up after dead workers: limits, jobs, files and containers; failures are retried later."""
        result = self.live.limits.put_back_orphans()
        for name in result.restored:
            _LOG.info("restored the limits of %s", name)
        for name, why in result.failed:
            _LOG.warning("the limits of %s could not be restored: %s", name, why)
        unrestored = {saved.owner for saved in self.live.saved_limits.all()}
        for title in self.live.policies.reattach_interrupted(unrestored):
            _LOG.info("%s again", title)
        self.live.queue.settle()
        self.sweep()
        try:
            removed = self.runs.remove_left()
        except PhaseDockError as error:
            _LOG.warning("containers of ended runs could not be removed: %s", error)
            return
        if removed:
            _LOG.info("removed %d containers of runs that were not finished", removed)

    def close(self) -> None:
        """Close all connections."""
        self.live.engines.close()
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


# Consistency check of the store: rows in impossible states, folders without rows, and so on.
#
# A healthy store has no finding at any moment, whatever was killed before: what processes leave behind when
# they die is either no contradiction (a task whose worker is dead is an interrupted one) or is swept by the
# next worker. The check changes nothing.


@dataclass(frozen=True, slots=True)
class Finding:
    """One contradiction."""

    #: What sort of thing it is about: ``"task"``, ``"run"``, ``"trace set"`` or ``"model"``.
    about: str
    #: Its id.
    id: str
    #: What is wrong with it.
    sentence: str


@dataclass(frozen=True, slots=True)
class StoreCheck:
    """The outcome of a check."""

    #: How many things of each sort were looked at.
    checked: dict[str, int]
    #: What is wrong; nothing in a healthy store.
    findings: tuple[Finding, ...]


def check_store(workspace: Workspace) -> StoreCheck:
    """Look for contradictions in a workspace's database and folders, and change nothing.

    A healthy store has none at any moment, whatever was killed before: what processes leave behind when they
    die is either no contradiction (a task whose worker is dead is an interrupted one) or is swept by the next
    worker.
    """
    with workspace.database.read() as session:
        findings = [*_tasks(session), *_loose(session), *_uploads(session, workspace), *_runs(session)]
        checked = {name: _count(session, table) for name, table in (("tasks", TaskRow), ("runs", RunRow))}
    for what, repository in (
        ("trace set", workspace.traces.repository),
        ("model", workspace.models.repository),
    ):
        findings += _folders(what, repository)
        checked[f"{what}s"] = len(repository.names())
    return StoreCheck(checked, tuple(findings))


def _count(session: Session, table: type[TaskRow | RunRow]) -> int:
    return session.scalars(select(func.count()).select_from(table)).one()


def _tasks(session: Session) -> Iterator[Finding]:
    for row in session.scalars(select(TaskRow).order_by(TaskRow.created)):
        for sentence in contradictions(row):
            yield Finding("task", row.id, sentence)


def _loose(session: Session) -> Iterator[Finding]:
    """Parts that outlived what they are a part of."""
    for table, what in ((MetricRow, "A curve"), (LogRow, "A log")):
        loose = select(table.task).outerjoin(TaskRow, table.task == TaskRow.id).where(TaskRow.id.is_(None))
        for task in session.scalars(loose.distinct()):
            yield Finding("task", task, f"{what} is there, but its task is not.")
    for part, what in ((LedgerRow, "A ledger"), (SeriesRow, "A time series")):
        loose = select(part.run).outerjoin(RunRow, part.run == RunRow.id).where(RunRow.id.is_(None))
        for run in session.scalars(loose.distinct()):
            yield Finding("run", run, f"{what} is there, but its run is not.")


def _uploads(session: Session, workspace: Workspace) -> Iterator[Finding]:
    """Waiting work whose file is gone; a running one discards its file before it ends."""
    waiting = session.execute(select(TaskRow.id, TaskRow.params).where(TaskRow.state == TaskState.QUEUED))
    for task, params in waiting:
        upload = params.get("upload")
        try:
            if upload is not None:
                workspace.uploads.path(str(upload))
        except PhaseDockError as error:
            yield Finding("task", task, f"It waits for an upload that cannot be read: {error.message}")


def _runs(session: Session) -> Iterator[Finding]:
    for run, state, entries, summary in session.execute(
        select(RunRow.id, RunRow.state, RunRow.entries, RunRow.summary).order_by(RunRow.created)
    ):
        if state not in list(RunState):
            yield Finding("run", run, f"It is in the unknown state “{state}”.")
        elif state == RunState.DONE and summary is None:
            yield Finding("run", run, "It is done but has no result.")
        if entries < 0:
            yield Finding("run", run, f"It has {entries} decisions.")


def _folders(what: str, repository: Repository[Any]) -> Iterator[Finding]:
    for thing, name in repository.without_folder().items():
        yield Finding(what, thing, f"The files of “{name}” are missing.")
    for thing in repository.without_row():
        yield Finding(what, thing, "Its files exist, but no row names them; a worker will remove them.")
