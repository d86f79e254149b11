"""Adds the submitted jobs to an attached policy's engine, and stores their progress.

Before a job starts it is claimed: one update removes it from the waiting jobs. A concurrent cancellation
comes either earlier, and the job does not start, or later, and its container ends. A kill between the claim
and the start leaves a running job without a container, which waits again as soon as that is detected
(`core.live.queue.service`).
"""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from core.errors import PhaseDockError
from core.live.queue.values import QueueState, standing, write_standings
from core.scheduling.actions import Start
from core.scheduling.deadline_planning.run_history import RunMeasurements
from core.scheduling.engine_wrapper import EngineWrapper
from core.scheduling.model import Failure, JobState

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from core.engines.submitted import QueueingEngine
    from core.engines.values import EngineKey
    from core.live.queue.store import SubmittedJobs
    from core.live.queue.values import QueuedJob
    from core.scheduling.actions import Action, Mark
    from core.scheduling.loop import Entry
    from core.scheduling.model import Job, Observation
    from core.scheduling.ports import Engine
    from core.workspace.earlier_runs import EarlierRuns

_EVERY: Final = 0.4
"""Seconds between two reads of submitted, cancelled and changed jobs."""

_ENDS: Final = {
    JobState.DONE: QueueState.ENDED,
    JobState.FAILED: QueueState.FAILED,
    JobState.REFUSED: QueueState.REFUSED,
}
_STATES: Final = {JobState.RUNNING: QueueState.RUNNING, JobState.PAUSED: QueueState.PAUSED}


@dataclass
class _Fed:
    """A job that the engine knows: its name there, and its last stored state."""

    run_name: str
    job: QueuedJob
    written: tuple[Any, ...] = ()
    why: str = ""
    promised: bool | None = None
    mark: Mark | None = None


class FedEngine(EngineWrapper):
    """An engine that takes submitted jobs, for as long as a policy is attached."""

    def __init__(
        self,
        engine: Engine,
        real: QueueingEngine,
        key: EngineKey,
        store: SubmittedJobs,
        earlier: EarlierRuns,
        standings: Path,
        *,
        starts: bool,
    ) -> None:
        super().__init__(engine)
        self._real = real
        self._key = key
        self._store = store
        self._earlier = earlier
        self._standings = standings
        self._starts_jobs = starts
        self._fed: dict[str, _Fed] = {}
        self._polled = float("-inf")
        self._measurements = RunMeasurements()

    @property
    def jobs(self) -> Mapping[str, str]:
        """The name in the run of each submitted job, by its id."""
        return {job: fed.run_name for job, fed in self._fed.items()}

    def wait(self, until: float | None) -> None:
        """Let time pass."""
        self.poll()
        self._engine.wait(until)

    def observe(self) -> Observation:
        """Return the engine's observation, and store the states of submitted jobs."""
        observation = self._engine.observe()
        ids = {fed.run_name: job for job, fed in self._fed.items()}
        self._measurements.add_observation(observation)
        for job in observation.ended:
            if job.id in ids:
                self._end_job(ids[job.id], job)
        containers = self._real.containers
        for job in observation.jobs:
            if job.id in ids:
                self._update_job(ids[job.id], job, containers.get(job.id, ""))
        return observation

    def close(self) -> None:
        """Store the measurements of jobs that go on without a policy."""
        self._standings.unlink(missing_ok=True)
        for fed in self._fed.values():
            self._remember(fed)
        super().close()

    def apply(self, actions: Sequence[Action]) -> tuple[Failure, ...]:
        """Perform actions; a submitted job is claimed before it is started."""
        if not self._starts_jobs:
            return self._engine.apply(actions)
        ids = {fed.run_name: job for job, fed in self._fed.items()}
        starts = {action.job: ids[action.job] for action in actions if _is_start_of(action, ids)}
        lost = {name for name, job in starts.items() if not self._store.claim(job)}
        mine = [action for action in actions if not _is_start_of(action, lost)]
        failures = self._engine.apply(mine)
        failed = {each.action.job: each.why for each in failures if isinstance(each.action, Start)}
        containers = self._real.containers
        for name, job in starts.items():
            if name in failed:
                why = f"It could not be started: {failed[name]}"
                self._store.move(job, QueueState.WAITING, why=why, started=None)
            elif name not in lost:
                self._store.move(job, QueueState.RUNNING, container=containers.get(name, ""))
        for name, cores in self._measurements.add_actions(mine, failures).items():
            self._store.note_cores(ids[name], cores)
        return (
            *failures,
            *(Failure(each, "It was cancelled.") for each in actions if _is_start_of(each, lost)),
        )

    def explain(self, entry: Entry) -> None:
        """Store the policy's promises, and its reasons for jobs that wait."""
        self._write_standings(entry)
        waiting = {job.id for job in entry.observation.jobs if job.state is JobState.WAITING}
        waiting -= {action.job for action in entry.actions}
        ids = {fed.run_name: job for job, fed in self._fed.items()}
        for reason in entry.reasons:
            if reason.job in waiting and reason.job in ids:
                fed = self._fed[ids[reason.job]]
                if fed.why != reason.text:
                    fed.why = reason.text
                    self._store.note(fed.job.id, reason.text)

    def _write_standings(self, entry: Entry) -> None:
        observation, now = entry.observation, time.time()
        marks, jobs = {mark.job: mark for mark in entry.marks}, {job.id: job for job in observation.jobs}
        standings = {}
        for job, fed in self._fed.items():
            if fed.run_name not in jobs:
                continue
            mark = marks.get(fed.run_name)
            if mark is not None:
                fed.mark = mark
            standings[job] = standing(jobs[fed.run_name], fed.mark, now, now - observation.time)
            promised = standings[job].promised
            if self._starts_jobs and promised is not None and promised != fed.promised:
                fed.promised = promised
                self._store.note_promise(job, promised)
        write_standings(self._standings, standings)

    def poll(self) -> None:
        """Read submissions, cancellations and changes since the last call; called often."""
        if time.monotonic() - self._polled < _EVERY:
            return
        self._polled = time.monotonic()
        jobs = {job.id: job for job in self._store.active(self._key)}
        for job in jobs.values():
            fed = self._fed.get(job.id)
            if fed is None:
                profile = self._earlier.profile(job.spec.kind)
                self._fed[job.id] = fed = _Fed(self._real.submit(job.for_engine(profile)), job)
                self._measurements.follow(fed.run_name, profile, whole=not job.container)
            elif job.priority != fed.job.priority:
                fed.job = job
                self._real.revise(fed.run_name, job.terms(self._measurements.profile(fed.run_name)))
        for name, fed in list(self._fed.items()):
            if name not in jobs or jobs[name].cancelling:
                self._withdraw(name, fed)

    def _remember(self, fed: _Fed) -> None:
        self._earlier.add(fed.job.spec.kind, self._measurements.stop_following(fed.run_name))

    def _withdraw(self, job: str, fed: _Fed) -> None:
        """End a cancelled job; where the host does not answer now it is tried again."""
        with contextlib.suppress(PhaseDockError):
            self._real.withdraw(fed.run_name)
            self._store.move(job, QueueState.CANCELLED, why="", cores=None, threads=None)
            self._remember(self._fed.pop(job))

    def _end_job(self, job: str, observed: Job) -> None:
        self._remember(self._fed.pop(job))
        why = self._real.reasons.get(observed.id, "")
        self._store.move(job, _ENDS[observed.state], why=why, cores=None, threads=None)

    def _update_job(self, job: str, observed: Job, container: str) -> None:
        fed = self._fed[job]
        state = _STATES.get(observed.state)
        written = (state, observed.limit, observed.threads, container)
        if state is None or written == fed.written:
            return
        fed.written = written
        self._store.move(job, state, container=container, cores=observed.limit, threads=observed.threads)


def _is_start_of(action: Action, jobs: Any) -> bool:
    return isinstance(action, Start) and action.job in jobs
