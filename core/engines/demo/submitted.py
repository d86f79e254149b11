"""Submitted jobs on the demo: they wait like all others, and when they begin a recorded job is replayed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from hashlib import sha256
from typing import TYPE_CHECKING

from core.engines.demo.containers import DemoLimits
from core.engines.values import SUBMISSION
from core.scheduling import refusals
from core.scheduling.actions import Start
from core.scheduling.model import Job, JobState
from core.scheduling.refusals import Refused
from core.simulation.replay import Submitted

if TYPE_CHECKING:
    from core.engines.demo.containers import DemoContainer
    from core.engines.demo.host import DemoHost
    from core.engines.submitted import SubmittedJob
    from core.scheduling.actions import Action
    from core.scheduling.model import Terms
    from core.simulation.replay import ReplayPlan


@dataclass(frozen=True, slots=True)
class Known:
    """A submitted job of a run, and when it was submitted, seconds of the run."""

    arrived: float
    job: SubmittedJob


class SubmittedJobs:
    """The submitted jobs that a run knows, by their names in it; those that wait, and all that do not."""

    def __init__(self) -> None:
        self._known: dict[str, Known] = {}
        self._waiting: set[str] = set()

    def __getitem__(self, name: str) -> Known:
        return self._known[name]

    def waits(self, name: str) -> bool:
        """Whether a job waits to be started."""
        return name in self._waiting

    def add(self, name: str, arrived: float, job: SubmittedJob) -> None:
        """Take a job in; one without a container waits."""
        self._known[name] = Known(arrived, job)
        if not job.container:
            self._waiting.add(name)

    def revise(self, name: str, terms: Terms) -> None:
        """Let a job have other terms."""
        known = self._known[name]
        self._known[name] = replace(known, job=replace(known.job, terms=terms))

    def begun(self, container: DemoContainer) -> str | None:
        """The name of the job that a container runs, which waits no more; None of the replay's own jobs."""
        said = container.labels.get(SUBMISSION)
        name = next((name for name, known in self._known.items() if known.job.id == said), None)
        self._waiting.discard(name or "")
        return name

    def shown(self) -> list[Job]:
        """Those that wait, as a policy sees them."""
        return [self._shown(name, JobState.WAITING) for name in self._known if name in self._waiting]

    def leave(self, name: str, state: JobState) -> Job:
        """Let a job go that is in no container now; how a policy sees its end."""
        self._waiting.discard(name)
        return self._shown(name, state)

    def start(self, host: DemoHost, name: str, action: Action) -> DemoContainer:
        """Start a job that waits.

        Raises
        ------
        Refused
            If it is something else that is asked for, or impossible.
        """
        if not isinstance(action, Start):
            raise Refused(f"Job {name} has not been started.")
        refusals.worker_named({host.name: host}, action.worker)
        limit, weight = refusals.possible(action.limit, action.weight, host.name, host.world.plan.cores)
        job = self._known[name].job
        first = DemoLimits(None, job.memory)
        return host.start(_asked(job, host.world.plan), first.with_cores(limit).with_weight(weight), first)

    def _shown(self, name: str, state: JobState) -> Job:
        known = self._known[name]
        terms, request = known.job.terms, known.job.request
        return Job(name, state, None, known.arrived, request=request, can_migrate=False, terms=terms)


def _asked(job: SubmittedJob, plan: ReplayPlan) -> Submitted:
    """What is replayed for a job: the recording of its program, or any, always the same, of an own image."""
    names = [each.name for each in plan.recordings]
    any_ = int.from_bytes(sha256(job.id.encode()).digest()[:4]) % len(names)
    return Submitted(
        job.id, job.name, job.container_name, names.index(job.program) if job.program in names else any_
    )
