"""The Docker engine: real containers in real time, behind the same port as the simulator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from core.engines.docker_host import adoption, observation
from core.engines.docker_host.actions import perform
from core.engines.docker_host.adoption import leave
from core.engines.docker_host.shared_state import PULSE, SharedState, fit
from core.engines.values import LOGS_EVERY
from core.errors import ConflictError
from core.scheduling.model import JobState, Observation, Trigger, Worker

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path
    from types import TracebackType
    from typing import Self

    from core.engines.docker_host.containers import Container
    from core.engines.docker_host.events import HostEvent
    from core.engines.docker_host.job import DockerWorker, PlannedJob
    from core.engines.submitted import SubmittedJob
    from core.scheduling.actions import Action
    from core.scheduling.model import Failure, Terms

RECONNECT_WITHIN: Final = 60.0
"""Seconds for which a lost Docker host is waited for."""

_ORDER: Final = (Trigger.ARRIVAL, Trigger.DEPARTURE, Trigger.OUTCOME)
_TELLING: Final = frozenset(("start", "die", "destroy", "pause", "unpause", "found", "lost", "oom"))


class DockerEngine:
    """`core.scheduling.ports.Engine` over Docker hosts.

    Raises
    ------
    InputError
        If a name comes twice, or there is no worker.
    HostLost
        If a host does not answer.
    """

    def __init__(
        self,
        workers: Sequence[DockerWorker],
        jobs: Sequence[PlannedJob] = (),
        *,
        folder: Path,
        idle: Callable[[], None] = lambda: None,
        adopt: Callable[[Container], bool] | None = None,
        follow: bool = True,
        reconnect_within: float = RECONNECT_WITHIN,
        logs_every: float = LOGS_EVERY,
    ) -> None:
        self._shared = SharedState(workers, jobs, folder, idle, adopt, follow, reconnect_within, logs_every)
        self._number = 0
        for host in self._shared.hosts.values():
            host.info()
        self._unsubscribe = [host.events(self._hear) for host in self._shared.hosts.values()]
        self._closed = False

    @property
    def time(self) -> float:
        """Seconds since the run's beginning."""
        return self._shared.clock.now()

    @property
    def reasons(self) -> Mapping[str, str]:
        """Why each job that has ended did, in one sentence."""
        return self._shared.reasons

    @property
    def containers(self) -> Mapping[str, str]:
        """The container that each job is in now."""
        return {job.id: job.container for job in self._shared.jobs.values() if job.container}

    @property
    def finished(self) -> bool:
        """True once every job has ended and was shown as ended, and none is to come."""
        shared = self._shared
        return shared.adopt is None and not (shared.to_come or shared.jobs or shared.ended)

    def wait(self, until: float | None) -> None:
        """Let time pass until a job arrives, ends or has moved, or until `until` at the latest.

        Raises
        ------
        ConflictError
            If nothing can ever happen again.
        HostLost
            If a host was lost and did not come back.
        """
        shared = self._shared
        while True:
            shared.pulse()
            observation.arrive(shared)
            observation.look(shared)
            fit(shared)
            now = shared.clock.now()
            if not shared.lost and (shared.happened or (until is not None and now >= until)):
                return
            moments = [now + PULSE, *([until] if until is not None and not shared.lost else [])]
            moments += [plan.arrival for plan in shared.to_come[:1]]
            if until is None and self._endless():
                raise ConflictError(
                    f"Nothing can happen after {now:.1f} s, and {len(shared.jobs)} jobs have not ended.",
                    "Let the policy start every job that waits, and resume every job that it pauses.",
                )
            shared.rest(min(moments) - now)

    def observe(self) -> Observation:
        """Show everything that can be seen now; each reading, end and failure is shown once.

        Raises
        ------
        HostLost
            If a host was lost and did not come back.
        """
        shared = self._shared
        observation.arrive(shared)
        observation.look(shared)
        observation.read(shared)
        trigger = next((kind for kind in _ORDER if kind in shared.happened), Trigger.TICK)
        number, self._number = self._number, self._number + 1
        seen = Observation(
            number,
            shared.clock.now(),
            trigger,
            tuple(_worker(shared, worker) for worker in shared.workers.values()),
            tuple(job.shown() for job in shared.jobs.values()),
            tuple(job.shown() for job in shared.ended),
            tuple(shared.failures),
        )
        shared.happened.clear()
        shared.ended.clear()
        shared.failures.clear()
        return seen

    def apply(self, actions: Sequence[Action]) -> tuple[Failure, ...]:
        """Do what was decided, in order; what cannot be done is returned, and observed next time."""
        return perform(self._shared, actions)

    def submit(self, job: SubmittedJob) -> str:
        """Let a job arrive, or follow the container that it runs in; returns its name in the run."""
        return adoption.submit(self._shared, job)

    def revise(self, job: str, terms: Terms) -> None:
        """Let the owner of a submitted job say something else of it."""
        adoption.revise(self._shared, job, terms)

    def withdraw(self, job: str) -> None:
        """Let a submitted job leave; its container is ended and removed.

        Raises
        ------
        PhaseDockError
            If the host refuses, or is lost; the job is still there.
        """
        adoption.withdraw(self._shared, job)

    def close(self) -> tuple[str, ...]:
        """End the run: restore the limits of adopted containers, remove what the run created."""
        if self._closed:
            return ()
        self._closed = True
        for unsubscribe in self._unsubscribe:
            unsubscribe()
        return leave(self._shared)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _endless(self) -> bool:
        shared = self._shared
        waits = all(job.state in (JobState.WAITING, JobState.PAUSED) for job in shared.jobs.values())
        return shared.adopt is None and waits and not (shared.to_come or shared.happened)

    def _hear(self, event: HostEvent) -> None:
        """Wake up for an event that may matter; called in a host's own thread."""
        if event.kind == "oom":
            self._shared.kills[event.container] += 1
        if event.kind in _TELLING:
            self._shared.notify()


def _worker(shared: SharedState, worker: DockerWorker) -> Worker:
    """A worker as it is now; machines that are parts of one host all have its memory."""
    memory = float(worker.host.info().memory)
    return Worker(
        worker.name, worker.capacity, shared.used[worker.name], memory, shared.memory_used.get(worker.name)
    )
