"""Reading losses from a container's log, for jobs without an agent."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, Final

from core.engines.docker_host.agent import INSIDE, VARIABLE, AgentFolder, AgentReadings, Place
from core.engines.docker_host.host import Creation
from core.engines.docker_host.limits import Limits
from core.engines.errors import ChangeRefused
from core.engines.values import AGENT, GOAL, JOB, LOGS_EVERY, LOSS
from core.errors import InputError, PhaseDockError
from core.progress import Goal, ProgressReader
from core.scheduling.model import JobState

if TYPE_CHECKING:
    from collections.abc import Mapping

    from core.engines.docker_host.host import Host
    from core.engines.docker_host.job import DockerWorker, LiveJob, PlannedJob
    from core.engines.docker_host.shared_state import SharedState
    from core.scheduling.model import Reading


_FEW: Final = 1000
_MANY: Final = 100_000
"""Lines that are read at most; what a container printed before them is left out."""


class LogReadings:
    """Finds E, the value of the evaluation function, in a container's log."""

    def __init__(
        self, host: Host, container: str, labels: Mapping[str, str], every: float = LOGS_EVERY
    ) -> None:
        self._host, self._container, self._every = host, container, every
        self._since, self._asked = 0.0, float("-inf")
        self._reader: ProgressReader | None
        try:
            self._reader = ProgressReader(labels.get(LOSS, ""), labels.get(GOAL, "") or Goal.MIN)
        except InputError:
            self._reader = None

    def place(self) -> Place:
        """Steps done and in all, and how long one takes, as far as its lines say."""
        if self._reader is None:
            return Place()
        found = self._reader.position
        return Place(found.steps, found.total_steps, self._reader.step_seconds)

    def news(self, at_end: bool = False) -> list[Reading]:
        """Unix seconds and E of what was printed since the last read; nothing where it cannot be read."""
        now = time.monotonic()
        if self._reader is None or (now - self._asked < self._every and not at_end):
            return []
        self._asked = now
        try:
            lines = self._lines()
        except PhaseDockError:
            return []
        if lines:
            self._since = lines[-1][0]
        return list(self._reader.feed(lines))

    def _lines(self) -> list[tuple[float, str]]:
        """New lines; Docker reads as many as are requested, new or not, so few are requested at first."""
        if self._since:
            lines = self._host.logs_since(self._container, self._since, _FEW)
            if len(lines) < _FEW:
                return lines
        return self._host.logs_since(self._container, self._since, _MANY)


class AgentOrLog:
    """Reads what an agent reports, and the log for as long as no agent has said anything.

    Every program is given a folder; whether it has an agent is known only once that writes there, which it
    does before its first step.
    """

    def __init__(self, agent: AgentFolder, reported: AgentReadings, printed: LogReadings) -> None:
        self._agent, self._reported, self._printed = agent, reported, printed

    def place(self) -> Place:
        """Steps done and in all, as far as the log says; an agent reports them elsewhere."""
        return self._printed.place()

    def news(self, at_end: bool = False) -> list[Reading]:
        """Unix seconds and E of what was reported, or printed, since the last read."""
        return self._reported.news(at_end) if self._agent.says().state else self._printed.news(at_end)


_UNSAFE: Final = re.compile(r"[^A-Za-z0-9_.-]+")


def limits_of(limit: float | None, weight: float, memory: int | None = None) -> Limits:
    """The limits of a container of our own, by quota."""
    limits = Limits().with_cores(limit).with_weight(weight)
    return limits if memory is None else limits.with_memory(memory)


def prepare(shared: SharedState, job: LiveJob, plan: PlannedJob) -> None:
    """Make a job's folder, once, if its worker can see it."""
    if job.agent is None and job.worker is not None and job.worker.has_folder:
        path = shared.kept_folder(plan.container) if plan.stays else shared.new_folder(safe(plan.id))
        path.chmod(0o777)  # for whatever user the program runs as
        job.agent = AgentFolder(path)


def create(shared: SharedState, job: LiveJob, plan: PlannedJob, worker: DockerWorker) -> str:
    """Create a container for a job on a worker, not yet started; returns its id.

    Raises
    ------
    PhaseDockError
        If the host refuses, or is lost.
    """
    agent = {} if job.agent is None else {str(job.agent.path): INSIDE}
    labels = {JOB: plan.id, **plan.labels} | ({AGENT: str(job.agent.path)} if job.agent is not None else {})
    creation = Creation(
        plan.container or f"phasedock-{shared.token}-{safe(plan.id)}-{next(shared.numbers)}",
        plan.image,
        plan.command,
        labels,
        dict(plan.environment) | ({VARIABLE: INSIDE} if job.agent is not None else {}),
        limits_of(job.limit, job.weight, plan.memory),
        worker.cpuset,
        dict(plan.volumes) | agent,
        plan.network,
        plan.ports,
    )
    if plan.stays:
        return _create_to_stay(shared, job, plan, worker, creation)
    remove_unanswered(shared, worker.host, job)
    shared.unanswered[creation.name] = (worker.host, job)
    try:
        container = worker.host.create(creation)
    except ChangeRefused:  # it answered: there is none, or one of that name that is not ours
        shared.unanswered.pop(creation.name, None)
        raise
    shared.mine[container] = (worker.host, job)
    return container


def remove_unanswered(shared: SharedState, host: Host, job: LiveJob | None = None) -> None:
    """Remove containers of a host that may or may not have been started; of one job, or of all.

    A host may do what was asked and its answer be lost. Such a container would compute beside the one that
    its job gets in its place.

    Raises
    ------
    PhaseDockError
        If the host refuses, or is lost.
    """
    for name, (where, owner) in list(shared.unanswered.items()):
        if where is host and (owner is job or (job is None and owner.state is not JobState.MIGRATING)):
            host.remove(name)
            shared.unanswered.pop(name, None)


def answered(shared: SharedState, job: LiveJob) -> None:
    """Note that the container of a job was started for certain."""
    for name in [name for name, (_, owner) in list(shared.unanswered.items()) if owner is job]:
        shared.unanswered.pop(name, None)


def _create_to_stay(
    shared: SharedState, job: LiveJob, plan: PlannedJob, worker: DockerWorker, creation: Creation
) -> str:
    """Create a container that the run leaves running: without limits, which are saved before it starts."""
    host = worker.host
    host.remove(creation.name)  # what an earlier start left that failed
    container = host.create(creation)
    host.keeper.keep(host.key(), container, limits_of(None, 1.0, plan.memory).to_dict())
    job.changed = True
    shared.adopted.append((host, job))
    return container


def follow(shared: SharedState, job: LiveJob, host: Host, container: str, labels: Mapping[str, str]) -> None:
    """Read what a job prints: from its agent, or from its container's log."""
    printed = LogReadings(host, container, labels, shared.logs_every)
    if job.agent is None:
        job.follower = printed
    else:
        reported = AgentReadings(job.agent.path / "readings.csv", labels.get(GOAL, ""))
        job.follower = AgentOrLog(job.agent, reported, printed)


def safe(name: str) -> str:
    """A name that a folder and a container may have."""
    return _UNSAFE.sub("-", name).strip("-.") or "job"
