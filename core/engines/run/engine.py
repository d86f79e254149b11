"""The engine of a run: containers in real time, behind the same port as the simulator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from core.engines.run import adoption, observation
from core.engines.run.actions import perform_actions
from core.engines.run.adoption import release_all
from core.engines.run.shared_state import PULSE, RunClock, SharedState, adjust_threads
from core.engines.values import FollowOptions
from core.errors import ConflictError
from core.scheduling.model import JobState, Observation, Trigger, Worker

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path
    from types import TracebackType
    from typing import Self

    from core.engines.ports import Container
    from core.engines.run.host import HostEvent
    from core.engines.run.job import Node, PlannedJob
    from core.engines.submitted import SubmittedJob
    from core.scheduling.actions import Action
    from core.scheduling.model import Failure, Terms

DEFAULT_OPTIONS: Final = FollowOptions()

_TRIGGER_ORDER: Final = (Trigger.ARRIVAL, Trigger.DEPARTURE, Trigger.OUTCOME)
_WAKING_EVENTS: Final = frozenset(("start", "die", "destroy", "pause", "unpause", "found", "lost", "oom"))


class RunEngine:
    """`core.scheduling.ports.Engine` over hosts with containers.

    Raises InputError if a name comes twice, or there is no worker; HostLost if a host does not answer.
    """

    def __init__(
        self,
        workers: Sequence[Node],
        jobs: Sequence[PlannedJob] = (),
        *,
        folder: Path,
        idle: Callable[[], None] = lambda: None,
        adopt: Callable[[Container], bool] | None = None,
        follow: bool = True,
        options: FollowOptions = DEFAULT_OPTIONS,
        clock: Callable[[float], RunClock] = RunClock,
    ) -> None:
        self._shared = SharedState(workers, jobs, folder, idle, adopt, follow, options, clock)
        self._number = 0
        for host in self._shared.hosts.values():
            host.info()
        self._unsubscribe = [host.events(self._on_event) for host in self._shared.hosts.values()]
        self._closed = False

    @property
    def time(self) -> float:
        """Seconds since the beginning of the run."""
        return self._shared.clock.now()

    @property
    def reasons(self) -> Mapping[str, str]:
        """The reason of each ended job, in one sentence."""
        return self._shared.reasons

    @property
    def containers(self) -> Mapping[str, str]:
        """The current container of each job."""
        return {job.id: job.container for job in self._shared.jobs.values() if job.container}

    @property
    def finished(self) -> bool:
        """Whether every job has ended, was observed as ended, and no job will arrive."""
        shared = self._shared
        return shared.adopt is None and not (shared.planned_jobs or shared.jobs or shared.ended)

    def wait(self, until: float | None) -> None:
        """Wait until a job arrives, ends or has moved, at the latest until `until`.

        Raises ConflictError if nothing can happen any more; HostLost if a host was lost and did not come
        back.
        """
        shared = self._shared
        while True:
            shared.pulse()
            observation.admit_arrivals(shared)
            observation.update_jobs(shared)
            adjust_threads(shared)
            now = shared.clock.now()
            if not shared.lost and (shared.triggers or (until is not None and now >= until)):
                return
            wake_times = [now + PULSE, *([until] if until is not None and not shared.lost else [])]
            wake_times += [plan.arrival for plan in shared.planned_jobs[:1]]
            if until is None and self._is_stuck():
                raise ConflictError(
                    f"Nothing can happen after {now:.1f} s, and {len(shared.jobs)} jobs have not ended.",
                    "Let the policy start every job that waits, and resume every job that it pauses.",
                )
            shared.wait_for_news(min(wake_times) - now)

    def observe(self) -> Observation:
        """Return the present observation; each reading, end and failure is returned once.

        Raises HostLost if a host was lost and did not come back.
        """
        shared = self._shared
        observation.admit_arrivals(shared)
        observation.update_jobs(shared)
        observation.take_readings(shared)
        trigger = next((kind for kind in _TRIGGER_ORDER if kind in shared.triggers), Trigger.TICK)
        number, self._number = self._number, self._number + 1
        observation_ = Observation(
            number,
            shared.clock.now(),
            trigger,
            tuple(_worker(shared, worker) for worker in shared.workers.values()),
            tuple(job.snapshot() for job in shared.jobs.values()),
            tuple(job.snapshot() for job in shared.ended),
            tuple(shared.failures),
        )
        shared.triggers.clear()
        shared.ended.clear()
        shared.failures.clear()
        return observation_

    def apply(self, actions: Sequence[Action]) -> tuple[Failure, ...]:
        """Perform actions in order; return the failed ones, which the next observation repeats."""
        return perform_actions(self._shared, actions)

    def submit(self, job: SubmittedJob) -> str:
        """Add a job to the run, or follow its running container; return its name in the run."""
        return adoption.submit(self._shared, job)

    def revise(self, job: str, terms: Terms) -> None:
        """Change the terms of a submitted job."""
        adoption.revise(self._shared, job, terms)

    def withdraw(self, job: str) -> None:
        """Remove a submitted job from the run, with its container.

        Raises PhaseDockError if the host refuses or is lost; the job stays.
        """
        adoption.withdraw(self._shared, job)

    def close(self) -> tuple[str, ...]:
        """End the run: restore the limits of adopted containers, remove created containers."""
        if self._closed:
            return ()
        self._closed = True
        for unsubscribe in self._unsubscribe:
            unsubscribe()
        return release_all(self._shared)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _is_stuck(self) -> bool:
        shared = self._shared
        all_wait = all(job.state in (JobState.WAITING, JobState.PAUSED) for job in shared.jobs.values())
        return shared.adopt is None and all_wait and not (shared.planned_jobs or shared.triggers)

    def _on_event(self, event: HostEvent) -> None:
        """Wake the engine for a relevant event; called in a host's thread."""
        if event.kind == "oom":
            self._shared.kills[event.container] += 1
        if event.kind in _WAKING_EVENTS:
            self._shared.notify()


def _worker(shared: SharedState, worker: Node) -> Worker:
    """Return the present state of a worker; workers on one host all have its memory."""
    memory = float(worker.host.info().memory)
    return Worker(
        worker.name,
        worker.capacity,
        shared.used.get(worker.name),
        memory,
        shared.memory_used.get(worker.name),
    )
