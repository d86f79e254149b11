"""The queue of an engine: submit, list, cancel, remove and reorder jobs.

This module starts no job. A job waits until a policy attached in control starts it (`core.live.queue.feed`);
requests until then are stored and performed by the process that follows the engine: the policy's task, or
without one the requesting process or the next worker (`settle`).
"""

from __future__ import annotations

import contextlib
import shutil
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from core.engines.errors import ContainerGone
from core.engines.values import SUBMISSION
from core.errors import ConflictError, InputError, PhaseDockError
from core.live.queue.deadline_previews import Present, preview_policy
from core.live.queue.feed import FedEngine
from core.live.queue.spec import JobNotAccepted, JobSettings, Mounts, read_job
from core.live.queue.values import QueueState, read_standings
from core.live.view import ATTACH, LiveFiles
from core.sampling.values import EngineState, Mode
from core.scheduling.model import HIGHEST_PRIORITY
from core.scheduling.policies import POLICIES, display_name
from core.scheduling.policies.elastic.settings import ORDERS
from core.settings_fields import build
from core.workspace.records import TaskState

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from core.engines.ports import Container, LiveEngine
    from core.engines.submitted import JobHost, QueueingEngine
    from core.live.queue.deadline_previews import Answer
    from core.live.queue.spec import JobSpec
    from core.live.queue.store import SubmittedJobs
    from core.live.queue.values import QueuedJob
    from core.live.view import Sessions
    from core.sampling.engines import Engines
    from core.sampling.values import EngineInfo
    from core.scheduling.ports import Engine
    from core.workspace.earlier_runs import EarlierRuns
    from core.workspace.records import TaskInfo


_INTERRUPTED = "Its start was interrupted."
_REMOVED = "Its container was removed."


def settle(store: SubmittedJobs, host: JobHost, jobs: Sequence[QueuedJob]) -> None:
    """Store the states of running jobs, and end those that were cancelled.

    Raises HostLost if the host does not answer.
    """
    there = {each.labels.get(SUBMISSION, ""): each for each in host.containers(running_only=False)}
    for job in jobs:
        if job.cancelling:
            remove_container(host, job)
            store.move(job.id, QueueState.CANCELLED, cores=None, threads=None)
        elif job.state is not QueueState.WAITING:
            _settle_one(store, host, job, there.get(job.id))


def remove_container(host: JobHost, job: QueuedJob) -> None:
    """End and remove the container of a job; fine if there is none."""
    host.remove(job.container or job.container_name)


def _settle_one(store: SubmittedJobs, host: JobHost, job: QueuedJob, container: Container | None) -> None:
    if container is None and job.container:
        store.move(job.id, QueueState.FAILED, why=_REMOVED, cores=None, threads=None)
        return
    if container is None or container.state == "created":
        remove_container(host, job)
        store.move(job.id, QueueState.WAITING, why=_INTERRUPTED, started=None, container="")
        return
    try:
        outcome = host.outcome(container.id)
    except ContainerGone:
        return  # it was just removed; the next update notices
    facts: dict[str, Any] = {"container": container.id, "threads": None}
    if outcome is not None:
        state = QueueState.ENDED if outcome.done else QueueState.FAILED
        store.move(job.id, state, why=outcome.why, cores=None, **facts)
        return
    state = QueueState.PAUSED if container.state == "paused" else QueueState.RUNNING
    store.move(job.id, state, cores=container.limits.cores, **facts)


_TO_DO = (
    f"Attach one in control: {display_name('deadline')} promises deadlines, "
    f"{display_name('elastic')} has a queue, "
    f"“{display_name('free')}” starts all at once."
)
_UNRANKED = (
    f"Its priority does not count here: {display_name('elastic')} goes by it where its queue is "
    f"“{ORDERS['priority']}”."
)


class JobQueue:
    """Submitted jobs of the engines that the settings name."""

    def __init__(
        self,
        home: Path,
        store: SubmittedJobs,
        earlier: EarlierRuns,
        engines: Engines,
        sessions: Sessions,
        mounts: Mounts,
    ) -> None:
        self.store, self.earlier = store, earlier
        self._home, self._folder = home, home / "live" / "jobs"
        self._engines = engines
        self._sessions = sessions
        self._mounts = mounts

    def takes_jobs(self, engine: str) -> bool:
        """Whether jobs can be submitted to an engine at all.

        Raises NotFoundError if the settings name no such engine.
        """
        return self._engines.kind(engine).takes_jobs

    def earlier_on(self, engine: str) -> EarlierRuns:
        """Return the earlier runs relevant to an engine's jobs; the demo has its own.

        Raises NotFoundError if the settings name no such engine.
        """
        return self.earlier.replayed() if self._engines.is_demo(engine) else self.earlier

    def submit(self, engine: str, values: Mapping[str, Any], zone: str = "") -> QueuedJob:
        """Let a job wait in the queue of an engine; it is on the disk when this returns.

        Raises ConflictError if control is off, the engine does not answer, or takes no jobs; NotFoundError if
        the settings name no such engine; InputError if anything about the job is wrong; names the fields.
        """
        self._check(engine)
        info = self._require_ready(engine)
        settings = build(JobSettings, values)
        name, spec = read_job(settings, info, self._mounts, time.time(), zone)
        taken = self._check_image(engine, spec)
        added = self.store.add(self._engines.key(engine), name, spec, settings.priority, taken)
        return replace(added, why=self.waits_for(engine))

    def ask(self, engine: str, values: Mapping[str, Any], zone: str = "") -> Answer:
        """Whether the deadline of a job could be met, and which jobs would give way; nothing is changed.

        Raises ConflictError if the engine does not answer, or takes no jobs; NotFoundError if the settings
        name no such engine; InputError if anything about the job is wrong; names the fields.
        """
        self._require_queue(engine)
        info, now = self._require_ready(engine), time.time()
        name, spec = read_job(build(JobSettings, values), info, self._mounts, now, zone)
        task, files = self._attached(engine), LiveFiles(self._home, engine)
        controls = task is not None and task.params.get("mode") == Mode.CONTROL
        jobs = self.store.active(self._engines.key(engine))
        present = Present(info, files, jobs, read_standings(files.jobs), self.earlier_on(engine), now)
        return present.answer(name, spec, preview_policy(task, controls))

    def list(self, engine: str) -> tuple[QueuedJob, ...]:
        """Return an engine's jobs: open ones in order of submission, then the last finished ones.

        Raises NotFoundError if the settings name no such engine.
        """
        stands = read_standings(LiveFiles(self._home, engine).jobs) if self._is_followed(engine) else {}
        every = self.store.list(self._engines.key(engine))
        jobs = tuple(replace(job, stands=stands.get(job.id)) for job in every)
        waiting = [job for job in jobs if job.state is QueueState.WAITING]
        if not waiting:
            return jobs
        reason = self.waits_for(engine)
        ranks = not any(job.priority for job in waiting) or self._uses_priorities(engine)
        return tuple(
            replace(job, why=reason or _waiting_reason(job, ranks)) if job in waiting else job for job in jobs
        )

    def waits_for(self, engine: str) -> str:
        """Return the reason why no job can start; empty if a policy is attached in control.

        Raises NotFoundError if the settings name no such engine.
        """
        task = self._attached(engine)
        if task is None:
            return f"No policy is attached to {engine}. {_TO_DO}"
        if task.params.get("mode") != Mode.CONTROL:
            return f"{display_name(str(task.params.get('policy', '')))} only watches. Detach it. {_TO_DO}"
        return "" if task.state is TaskState.RUNNING else "The policy begins as soon as a worker runs."

    def cancel(self, engine: str, job: str) -> QueuedJob:
        """Cancel a job: a waiting one at once; a running one ends, and its container is removed.

        Raises ConflictError if control is off, the job is over, or its engine does not answer; NotFoundError
        if there is no such engine or job.
        """
        self._check(engine)
        key = self._engines.key(engine)
        queued = self.store.find(key, job)
        attached = self._is_followed(engine)
        if self.store.move(queued.id, QueueState.CANCELLED, (QueueState.WAITING,), why=""):
            if not attached:
                with contextlib.suppress(PhaseDockError), self._open_host(engine, queued) as host:
                    remove_container(host, queued)  # a failed start may have left one
        elif not self.store.ask_cancel(queued.id):
            raise ConflictError(
                f"{queued.name} is over ({queued.state}), so there is nothing to cancel.",
                "Remove it to remove its container and to take it off the list.",
            )
        elif not attached:
            self._settle(engine)
        return self.store.find(key, queued.id)

    def remove(self, engine: str, job: str) -> None:
        """Remove a finished job with its container and its folder.

        Raises ConflictError if control is off, the job is not over, or its engine does not answer;
        NotFoundError if there is no such engine or job.
        """
        self._check(engine)
        queued = self.find(engine, job)
        if not queued.state.over:
            raise ConflictError(f"{queued.name} is {queued.state}.", "Cancel it first.")
        with self._open_host(engine, queued) as host:
            remove_container(host, queued)
        shutil.rmtree(self._folder / queued.container_name, ignore_errors=True)
        self.store.remove(queued.id)

    def end(self, engine: str, job: str, *, remove: bool) -> QueuedJob:
        """Cancel a job, or remove it if it is finished, with the errors of `cancel` and `remove`."""
        queued = self.find(engine, job)
        if not (remove and queued.state.over):
            queued = self.cancel(engine, queued.id)
        if remove and queued.state.over:
            self.remove(engine, queued.id)
        return queued

    def find(self, engine: str, job: str) -> QueuedJob:
        """Return a job by its name or id.

        Raises NotFoundError if there is no such engine or job.
        """
        return self.store.find(self._engines.key(engine), job)

    def set_priority(self, engine: str, job: str, priority: int) -> QueuedJob:
        """Change the priority of a waiting job.

        Raises ConflictError if the job does not wait; InputError if the priority is not from 0 to 9;
        NotFoundError if there is no such engine or job.
        """
        key = self._engines.key(engine)
        queued = self.store.find(key, job)
        if not 0 <= priority <= HIGHEST_PRIORITY:
            raise InputError(
                f"A priority of {priority} is not possible.", f"Choose from 0 to {HIGHEST_PRIORITY}."
            )
        if not self.store.set_priority(queued.id, priority):
            raise ConflictError(
                f"{queued.name} does not wait: it is {queued.state}.", "Only waiting jobs change places."
            )
        return self.store.find(key, queued.id)

    def settle(self) -> None:
        """Bring jobs up to date that no policy follows; engines that do not answer are left for later."""
        if all(job.state is QueueState.WAITING for job in self.store.active()):
            return
        for engine in filter(self.takes_jobs, self._engines.names):
            if self._engines.get(engine).state is EngineState.READY and not self._is_followed(engine):
                with contextlib.suppress(PhaseDockError):
                    self._settle(engine)

    def fed(self, engine: str, over: Engine, real: LiveEngine, *, starts: bool) -> Engine:
        """Return a policy's engine with submitted jobs, if it takes any; see `FedEngine`."""
        if not self.takes_jobs(engine):
            return over
        self._settle(engine)
        key = self._engines.key(engine)
        queueing = cast("QueueingEngine", real)
        standings = LiveFiles(self._home, engine).jobs
        return FedEngine(over, queueing, key, self.store, self.earlier_on(engine), standings, starts=starts)

    def let_go(self, engine: str) -> None:
        """Update the jobs of an engine after its policy was detached."""
        if self.takes_jobs(engine):
            with contextlib.suppress(PhaseDockError):  # an engine that is lost: a worker tries again
                self._settle(engine)

    def _settle(self, engine: str) -> None:
        jobs = self.store.active(self._engines.key(engine))
        if not all(job.state is QueueState.WAITING for job in jobs):
            with self._open_host(engine, *jobs) as host:
                settle(self.store, host, jobs)

    @contextlib.contextmanager
    def _open_host(self, engine: str, *jobs: QueuedJob) -> Any:
        """Return the host of an engine with permission to change only these jobs' containers."""
        names = {job.container_name for job in jobs}
        with self._engines.host(engine, None, lambda each: each.name in names) as host:
            yield cast("JobHost", host)

    def _attached(self, engine: str) -> TaskInfo | None:
        """Return the policy attached to an engine under any of its names; waits for no other engine."""
        this = self._engines.key(engine).id
        same = [info.name for info in self._engines.last() if this and info.id == this]
        tasks = (self._sessions.of(name).get(ATTACH) for name in dict.fromkeys([engine, *same]))
        return next((task for task in tasks if task is not None), None)

    def _uses_priorities(self, engine: str) -> bool:
        """Whether the policy of an engine, if any, orders jobs by priority."""
        task = self._attached(engine)
        if task is None or (name := str(task.params.get("policy", ""))) not in POLICIES:
            return False
        return POLICIES[name].ranks(POLICIES[name].build_settings(task.params.get("settings") or {}))

    def _is_followed(self, engine: str) -> bool:
        """Whether a policy follows an engine now, and with it its jobs."""
        task = self._attached(engine)
        return task is not None and task.state is TaskState.RUNNING

    def _check_image(self, engine: str, spec: JobSpec) -> set[str]:
        """Return the names of the engine's containers, if it has the image of a job."""
        with self._open_host(engine) as host:
            if host.has_image(spec.image):
                return {container.name for container in host.containers(running_only=False)}
        how = "build it there with “make jobs-image”" if spec.program else "pull or build it there first"
        field = "program" if spec.program else "image"
        raise JobNotAccepted({field: f"{engine} does not have {spec.image}; {how}."})

    def _require_ready(self, engine: str) -> EngineInfo:
        info = self._engines.get(engine)
        if info.state is not EngineState.READY:
            raise ConflictError(info.message, info.hint)
        return info

    def _require_queue(self, engine: str) -> None:
        if not self.takes_jobs(engine):
            raise ConflictError(
                f"Jobs cannot be submitted to {engine}.", "Choose a Docker engine, or build an experiment."
            )

    def _check(self, engine: str) -> None:
        self._require_queue(engine)
        if not self._engines.may_change(engine):
            raise ConflictError(
                "PhaseDock may not start or end containers: PHASEDOCK_CONTROL is off.",
                "Set PHASEDOCK_CONTROL=on and restart PhaseDock.",
            )


def _waiting_reason(job: QueuedJob, ranks: bool) -> str:
    """Return the reason why a job waits although a policy can start it."""
    why = job.why or "It waits for its turn."
    return f"{why} {_UNRANKED}" if job.priority and not ranks else why
