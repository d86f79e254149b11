"""Start a job's container and follow its readings, by its agent or by its log."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, Final

from core.engines.errors import ChangeRefused
from core.engines.run.agent import (
    FOLDER_IN_CONTAINER,
    FOLDER_VARIABLE,
    AgentFolder,
    AgentReadings,
    JobProgress,
)
from core.engines.run.host import ContainerCreation
from core.engines.values import AGENT, GOAL, JOB, LOGS_EVERY, LOSS
from core.errors import InputError, PhaseDockError
from core.progress import Goal, ProgressReader
from core.scheduling.model import JobState

if TYPE_CHECKING:
    from collections.abc import Mapping

    from core.engines.run.host import ContainerHost
    from core.engines.run.job import LiveJob, Node, PlannedJob
    from core.engines.run.shared_state import SharedState
    from core.scheduling.model import Reading


_FEW_LINES: Final = 1000
_MAX_LINES: Final = 100_000
"""The largest number of log lines to read; earlier ones are skipped."""


class LogReadings:
    """Readings of E, the evaluation function, from a container's log."""

    def __init__(
        self, host: ContainerHost, container: str, labels: Mapping[str, str], every: float = LOGS_EVERY
    ) -> None:
        self._host, self._container, self._every = host, container, every
        self._since, self._read_at = 0.0, float("-inf")
        self._reader: ProgressReader | None
        try:
            self._reader = ProgressReader(labels.get(LOSS, ""), labels.get(GOAL, "") or Goal.MIN)
        except InputError:
            self._reader = None

    def progress(self) -> JobProgress:
        """Return steps done, total steps and seconds per step, as far as the log states them."""
        if self._reader is None:
            return JobProgress()
        position = self._reader.position
        return JobProgress(position.steps, position.total_steps, self._reader.step_seconds)

    def news(self, at_end: bool = False) -> list[Reading]:
        """Return Unix seconds and E of the lines since the last read; empty if the log is unreadable."""
        now = time.monotonic()
        if self._reader is None or (now - self._read_at < self._every and not at_end):
            return []
        self._read_at = now
        try:
            lines = self._lines()
        except PhaseDockError:
            return []
        if lines:
            self._since = lines[-1][0]
        return list(self._reader.feed(lines))

    def _lines(self) -> list[tuple[float, str]]:
        """Return new lines; engines read all requested lines, new or not, so request few at first."""
        if self._since:
            lines = self._host.logs_since(self._container, self._since, _FEW_LINES)
            if len(lines) < _FEW_LINES:
                return lines
        return self._host.logs_since(self._container, self._since, _MAX_LINES)


class AgentOrLog:
    """Readings of an agent once it has reported, before that of the log.

    Every program gets a folder; whether it has an agent shows once it writes there, before its first step.
    """

    def __init__(self, agent: AgentFolder, agent_readings: AgentReadings, log_readings: LogReadings) -> None:
        self._agent, self._agent_readings, self._log_readings = agent, agent_readings, log_readings

    def progress(self) -> JobProgress:
        """Return steps done and total steps of the log; an agent reports them elsewhere."""
        return self._log_readings.progress()

    def news(self, at_end: bool = False) -> list[Reading]:
        """Return Unix seconds and E of the new readings."""
        return (
            self._agent_readings.news(at_end)
            if self._agent.read_report().state
            else self._log_readings.news(at_end)
        )


_UNSAFE: Final = re.compile(r"[^A-Za-z0-9_.-]+")


def prepare_folder(shared: SharedState, job: LiveJob, plan: PlannedJob) -> None:
    """Create a job's folder, once, if its worker can mount it."""
    if job.agent is None and job.worker is not None and job.worker.has_folder:
        path = (
            shared.lasting_folder(plan.container)
            if plan.stays
            else shared.new_folder(make_safe_name(plan.id))
        )
        path.chmod(0o777)  # the program may run as any user
        job.agent = AgentFolder(path)


def create_container(shared: SharedState, job: LiveJob, plan: PlannedJob, worker: Node) -> str:
    """Create a container for a job on a worker without starting it; return its id.

    Raises PhaseDockError if the host refuses or is lost.
    """
    agent = {} if job.agent is None else {str(job.agent.path): FOLDER_IN_CONTAINER}
    labels = {JOB: plan.id, **plan.labels} | ({AGENT: str(job.agent.path)} if job.agent is not None else {})
    creation = ContainerCreation(
        plan.container or f"phasedock-{shared.token}-{make_safe_name(plan.id)}-{next(shared.numbers)}",
        plan.image,
        plan.command,
        labels,
        dict(plan.environment) | ({FOLDER_VARIABLE: FOLDER_IN_CONTAINER} if job.agent is not None else {}),
        job.limit,
        plan.memory,
        job.weight,
        worker.cpus,
        dict(plan.volumes) | agent,
        plan.network,
        plan.ports,
    )
    if plan.stays:
        return _create_lasting(shared, job, plan, worker, creation)
    remove_unanswered(shared, worker.host, job)
    shared.unanswered[creation.name] = (worker.host, job)
    try:
        container = worker.host.create(creation)
    except ChangeRefused:  # the host answers: no container, or a foreign one of that name
        shared.unanswered.pop(creation.name, None)
        raise
    shared.created[container] = (worker.host, job)
    return container


def remove_unanswered(shared: SharedState, host: ContainerHost, job: LiveJob | None = None) -> None:
    """Remove containers of a host whose start is unconfirmed; of one job, or of all.

    A host may carry out a request although its answer is lost. Such a container would compute beside the next
    one of its job. Raises PhaseDockError if the host refuses or is lost.
    """
    for name, (owner_host, owner) in list(shared.unanswered.items()):
        if owner_host is host and (owner is job or (job is None and owner.state is not JobState.MIGRATING)):
            host.remove(name)
            shared.unanswered.pop(name, None)


def confirm_start(shared: SharedState, job: LiveJob) -> None:
    """Confirm that the container of a job has started."""
    for name in [name for name, (_, owner) in list(shared.unanswered.items()) if owner is job]:
        shared.unanswered.pop(name, None)


def _create_lasting(
    shared: SharedState, job: LiveJob, plan: PlannedJob, worker: Node, creation: ContainerCreation
) -> str:
    """Create a container that outlives the run; save its limits to restore, which are none, first."""
    host = worker.host
    host.remove(creation.name)  # left by a failed start
    container = host.create(creation)
    host.keeper.keep(host.key(), container, host.new_limits(None, 1.0, plan.memory).to_dict())
    job.changed = True
    shared.adopted.append((host, job))
    return container


def follow_readings(
    shared: SharedState, job: LiveJob, host: ContainerHost, container: str, labels: Mapping[str, str]
) -> None:
    """Read what a job prints: from its agent, or from its container's log."""
    log_readings = LogReadings(host, container, labels, shared.options.logs_every)
    if job.agent is None:
        job.follower = log_readings
    else:
        agent_readings = AgentReadings(job.agent.path / "readings.csv", labels.get(GOAL, ""))
        job.follower = AgentOrLog(job.agent, agent_readings, log_readings)


def make_safe_name(name: str) -> str:
    """Return a name that is valid for a folder and a container."""
    return _UNSAFE.sub("-", name).strip("-.") or "job"
