"""The demo as an engine: replayed jobs, and submitted jobs, for which a recording is replayed."""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import TYPE_CHECKING, Final, Self

from core.engines.demo.containers import DemoLimits
from core.engines.demo.followed import FollowedContainer, forget_limits, perform, restore_container
from core.engines.demo.host import ENDING_SENTENCES
from core.engines.errors import ContainerGone
from core.engines.values import SUBMISSION, FollowOptions, name_occurrence
from core.errors import PhaseDockError
from core.scheduling import refusals
from core.scheduling.actions import Refuse, Start
from core.scheduling.model import Failure, Job, JobState, Observation, Trigger, Worker
from core.scheduling.refusals import ActionRefused
from core.simulation.replay import DONE, STOPPED, Submitted, share_cores

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from types import TracebackType

    from core.engines.demo.containers import DemoContainer
    from core.engines.demo.host import DemoHost
    from core.engines.ports import Container
    from core.engines.submitted import SubmittedJob
    from core.scheduling.actions import Action
    from core.scheduling.model import Terms
    from core.simulation.replay import ReplayedJob, ReplayPlan


@dataclass(frozen=True, slots=True)
class SubmittedEntry:
    """A submitted job of a run and its arrival in seconds of the run."""

    arrived: float
    job: SubmittedJob


class SubmittedJobs:
    """The submitted jobs of a run by their names in it, waiting and started ones."""

    def __init__(self) -> None:
        self._entries: dict[str, SubmittedEntry] = {}
        self._waiting: set[str] = set()

    def __getitem__(self, name: str) -> SubmittedEntry:
        return self._entries[name]

    def waits(self, name: str) -> bool:
        """Whether a job waits to be started."""
        return name in self._waiting

    def add(self, name: str, arrived: float, job: SubmittedJob) -> None:
        """Add a job; one without a container waits."""
        self._entries[name] = SubmittedEntry(arrived, job)
        if not job.container:
            self._waiting.add(name)

    def revise(self, name: str, terms: Terms) -> None:
        """Change the terms of a job."""
        entry = self._entries[name]
        self._entries[name] = replace(entry, job=replace(entry.job, terms=terms))

    def max_cores(self, name: str) -> float | None:
        """Return the most cores that a job's terms allow, or None."""
        terms = self._entries[name].job.terms
        return None if terms is None else terms.max

    def mark_started(self, container: DemoContainer) -> str | None:
        """Mark the job of a container as started and return its name; None for jobs of the replay."""
        submission = container.labels.get(SUBMISSION)
        name = next((name for name, entry in self._entries.items() if entry.job.id == submission), None)
        self._waiting.discard(name or "")
        return name

    def waiting_jobs(self) -> list[Job]:
        """Return the waiting jobs as a policy observes them."""
        return [self._as_observed(name, JobState.WAITING) for name in self._entries if name in self._waiting]

    def leave(self, name: str, state: JobState) -> Job:
        """Remove a job without a container; return its end as a policy observes it."""
        self._waiting.discard(name)
        return self._as_observed(name, state)

    def start(self, host: DemoHost, name: str, action: Action) -> DemoContainer:
        """Start a waiting job.

        Raises Refused if the action is not a start, or is impossible.
        """
        if not isinstance(action, Start):
            raise ActionRefused(f"Job {name} has not been started.")
        refusals.find_worker({host.name: host}, action.worker)
        job = self._entries[name].job
        limit, weight = refusals.check_limit(
            action.limit, action.weight, host.name, host.world.plan.cores, self.max_cores(name)
        )
        first = DemoLimits(None, job.memory)
        return host.start(
            _make_submission(job, host.world.plan), first.with_cores(limit).with_weight(weight), first
        )

    def _as_observed(self, name: str, state: JobState) -> Job:
        entry = self._entries[name]
        terms, request = entry.job.terms, entry.job.request
        return Job(name, state, None, entry.arrived, request=request, can_migrate=False, terms=terms)


def _make_submission(job: SubmittedJob, plan: ReplayPlan) -> Submitted:
    """Choose the recording to replay for a job: its program's, else one by the job's id."""
    names = [each.name for each in plan.recordings]
    any_ = int.from_bytes(sha256(job.id.encode()).digest()[:4]) % len(names)
    return Submitted(
        job.id, job.name, job.container_name, names.index(job.program) if job.program in names else any_
    )


PULSE: Final = 0.4
"""Seconds between two updates while the engine waits."""

CANCELLED: Final = "It was cancelled."

_DEFAULT_OPTIONS: Final = FollowOptions()

_ORDER: Final = (Trigger.ARRIVAL, Trigger.DEPARTURE)


class DemoEngine:
    """`core.scheduling.ports.Engine` over a demo host."""

    def __init__(
        self,
        host: DemoHost,
        adopt: Callable[[Container], bool],
        idle: Callable[[], None] = lambda: None,
        sleep: Callable[[float], None] = time.sleep,
        *,
        options: FollowOptions = _DEFAULT_OPTIONS,
    ) -> None:
        self._may_raise, self._earlier_part = options.may_raise, options.earlier_part
        self._host, self._adopt, self._idle, self._sleep = host, adopt, idle, sleep
        self._begin = host.advance().replay.at - options.earlier_part.now
        self._jobs: dict[str, FollowedContainer] = {}
        self._submitted = SubmittedJobs()
        self._times = dict(options.earlier_part.occurrences)
        self._ended: list[Job] = []
        self._failures: list[Failure] = []
        self._happened: set[Trigger] = set()
        self._number = 0
        self._closed = False
        self.reasons: dict[str, str] = {}
        """Why each job that has ended did, in one sentence."""

    @property
    def containers(self) -> Mapping[str, str]:
        """The current container of each job."""
        return {name: job.container.id for name, job in self._jobs.items()}

    @property
    def finished(self) -> bool:
        """Always False: the replay never ends."""
        return False

    @property
    def time(self) -> float:
        """Seconds since the beginning of the run, by the replay's clock."""
        return self._host.advance().replay.at - self._begin

    def wait(self, until: float | None) -> None:
        """Wait until a job begins or ends, at the latest until `until`."""
        while True:
            self._idle()
            now = self._update_jobs()
            if self._happened or (until is not None and now >= until):
                return
            self._sleep(PULSE if until is None else min(PULSE, max(until - now, 0.001)))

    def observe(self) -> Observation:
        """Return the present observation; each reading, end and failure is returned once."""
        now = self._update_jobs()
        trigger = next((kind for kind in _ORDER if kind in self._happened), Trigger.TICK)
        number, self._number = self._number, self._number + 1
        plan = self._host.world.plan
        used = min(sum(share for _, share in share_cores(plan, self._host.present.replay)), plan.cores)
        observation = Observation(
            number,
            now,
            trigger,
            (Worker(self._host.name, plan.cores, used),),
            tuple(self._observed_jobs()),
            tuple(self._ended),
            tuple(self._failures),
        )
        self._happened.clear()
        self._ended.clear()
        self._failures.clear()
        return observation

    def apply(self, actions: Sequence[Action]) -> tuple[Failure, ...]:
        """Perform actions in order; return the failed ones, which the next observation repeats."""
        failed = []
        for action in actions:
            try:
                self._perform(action)
            except ActionRefused as refused:
                failed.append(Failure(action, str(refused)))
            except PhaseDockError as error:
                failed.append(Failure(action, error.message))
        self._failures += failed
        return tuple(failed)

    def _perform(self, action: Action) -> None:
        if not self._submitted.waits(action.job):
            job = refusals.find_job(self._jobs, action.job)
            perform(self._host, job, action, self._submitted.max_cores(action.job) if job.submitted else None)
        elif isinstance(action, Refuse):
            self._leave(action.job, JobState.REFUSED, action.why)
        else:
            container = self._submitted.start(self._host, action.job, action)
            self._follow(container, self._host.present.replay.at)

    # ---- submitted ----

    def submit(self, job: SubmittedJob) -> str:
        """Add a job to the run, or follow its running container; return its name in the run."""
        present, earlier = self._host.advance(), self._earlier_part.find(job.id)
        name = self._new_name(job.name) if earlier is None else earlier.id
        arrived = present.replay.at - self._begin + job.submitted - present.seen
        arrived = arrived if earlier is None else earlier.arrived
        self._submitted.add(name, arrived, job)
        if job.container:
            self._update_jobs()
            if name not in self._jobs:  # it has just ended
                reached_goal = False
                with contextlib.suppress(ContainerGone):
                    outcome = self._host.outcome(job.container)
                    reached_goal = outcome is not None and outcome.done
                self._leave(
                    name,
                    JobState.DONE if reached_goal else JobState.FAILED,
                    ENDING_SENTENCES[DONE if reached_goal else STOPPED],
                )
        self._happened.add(Trigger.ARRIVAL)
        return name

    def revise(self, job: str, terms: Terms) -> None:
        """Change the terms of a submitted job."""
        self._submitted.revise(job, terms)
        self._happened.add(Trigger.TICK)

    def withdraw(self, job: str) -> None:
        """Remove a submitted job from the run, with its container."""
        if self._submitted.waits(job):
            self._leave(job, JobState.FAILED, CANCELLED)
        elif job in self._jobs:
            followed = self._jobs[job]
            self._host.remove(followed.container.id)
            forget_limits(self._host, followed)
            self._end(job, followed, JobState.FAILED, CANCELLED)

    def _leave(self, name: str, state: JobState, why: str) -> None:
        self.reasons[name] = why
        self._ended.append(self._submitted.leave(name, state))
        self._happened.add(Trigger.DEPARTURE)

    def close(self) -> tuple[str, ...]:
        """End the run: restore the limits of changed jobs; return a sentence for each failure."""
        if self._closed:
            return ()
        self._closed = True
        return tuple(why for job in self._jobs.values() if (why := restore_container(self._host, job)))

    def __enter__(self) -> Self:
        """Begin."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close."""
        self.close()

    # ---- looking ----

    def _update_jobs(self) -> float:
        """Update the jobs and return the time."""
        now = self._host.advance().replay.at
        there = {each.id: each for each in reversed(self._host.containers())}
        followed = {job.container.id for job in self._jobs.values()}
        for container in there.values():
            if container.id not in followed and self._adopt(container):
                replayed = self._host.job(container)
                self._follow(container, now if replayed is None else replayed.begun)
        for name, job in list(self._jobs.items()):
            self._update(name, job, there.get(job.container.id))
        return self._host.present.replay.at - self._begin

    def _follow(self, container: DemoContainer, started: float) -> None:
        """Follow a container from its start or the run's, whichever is later.

        The container of a submitted job becomes that job.
        """
        job = self._host.job(container)
        steps = 0 if job is None else self._host.world.plan.recording(job).steps
        submitted_name = self._submitted.mark_started(container)
        earlier = self._earlier_part.find(container.id, container.labels.get(SUBMISSION, ""))
        name = submitted_name or (self._new_name(container.name) if earlier is None else earlier.id)
        since = max(started - self._begin, 0.0)
        if earlier is not None and earlier.started is not None:
            since = earlier.started
        followed = FollowedContainer(container, since, self._host.readings(container), steps)
        followed.owner.begin(container, may_raise=self._may_raise)
        self._jobs[name] = followed
        if submitted_name is not None:
            followed.submitted = followed.changed = True
        if submitted_name is None:
            self._happened.add(Trigger.ARRIVAL)

    def _new_name(self, name: str) -> str:
        """Return a job's name in the run; a second job of one name is ``name#2``."""
        self._times[name] = times = self._times.get(name, 0) + 1
        return name_occurrence(name, times)

    def _update(self, name: str, job: FollowedContainer, container: DemoContainer | None) -> None:
        replayed = self._host.job(job.container)
        if container is None or replayed is None:
            self._end_missing(name, job)
            return
        job.container = container
        if job.owner.update(self._host, container):
            self._happened.add(Trigger.TICK)
        self._count(job, replayed)
        if not self._adopt(container):
            restore_container(self._host, job)
            self._end(name, job, JobState.FAILED, "It is no longer selected for PhaseDock.")
            return
        job.state = JobState.PAUSED if container.state == "paused" else JobState.RUNNING

    def _end_missing(self, name: str, job: FollowedContainer) -> None:
        ending = self._host.ending(job.container)
        if ending is not None:
            self._count(job, ending.job)
        outcome = "" if ending is None else ending.outcome
        state = JobState.DONE if outcome == DONE else JobState.FAILED
        if job.changed or job.paused_here:
            forget_limits(self._host, job)
        self._end(name, job, state, ENDING_SENTENCES.get(outcome, ENDING_SENTENCES[STOPPED]))

    def _count(self, job: FollowedContainer, replayed: ReplayedJob) -> None:
        job.cpu_seconds, job.steps = replayed.used, len(replayed.left)
        present = self._host.present
        job.clock.note(present.replay.at, job.steps)
        began = present.unix(self._begin)
        news = [(at - began, value) for at, value in job.readings.news()]
        job.news += [each for each in news if each[0] > self._earlier_part.observed_at]

    def _end(self, name: str, job: FollowedContainer, state: JobState, why: str) -> None:
        del self._jobs[name]
        job.state = state
        self.reasons[name] = why
        self._ended.append(self._as_observed(name, job))
        self._happened.add(Trigger.DEPARTURE)

    def _observed_jobs(self) -> list[Job]:
        """Return all jobs in the order of arrival."""
        jobs = [
            *(self._as_observed(name, job) for name, job in self._jobs.items()),
            *self._submitted.waiting_jobs(),
        ]
        return sorted(jobs, key=lambda job: job.arrived)

    def _as_observed(self, name: str, job: FollowedContainer) -> Job:
        news, job.news = tuple(job.news), []
        limits = job.container.limits
        submitted = self._submitted[name] if job.submitted else None
        return Job(
            name,
            job.state,
            self._host.name,
            job.since if submitted is None else submitted.arrived,
            job.since,
            job.cpu_seconds,
            limits.cores,
            limits.weight,
            None,
            news,
            job.steps,
            job.total,
            None if submitted is None else submitted.job.request,
            can_migrate=False,
            terms=None if submitted is None else submitted.job.terms,
            step_seconds=job.clock.seconds,
            memory_limit=limits.memory_bytes,
            owner_cores=job.owner.cores,
            owner_memory=job.owner.memory,
        )
