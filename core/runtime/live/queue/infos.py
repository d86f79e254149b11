"""Submitted jobs as frozen values, detached from the database."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from core.engines.submitted import SubmittedJob
from core.runtime.live.queue.spec import JobSpec
from core.runtime.live.queue.states import QueueState
from core.scheduling.model import Terms

if TYPE_CHECKING:
    from core.runtime.database.tables import SubmittedJobRow
    from core.runtime.live.queue.standing import Standing
    from core.scheduling.model import Profile

_OF_ID = 8
"""Characters of a job's id in its container's name: jobs of other workspaces may have its name."""


@dataclass(frozen=True, slots=True)
class QueuedJob:
    """A submitted job as it is now; moments are seconds since 1970.

    Parameters
    ----------
    id, name
        Its id, and what people call it: no other job of the engine has that name.
    engine
        What its engine was called when it was submitted.
    spec
        What was submitted.
    created
        When it was submitted.
    priority
        From 0 to 9.
    state
        Where it is in its life.
    why
        Why it waits, has ended, failed or was refused, in a sentence; empty where nothing is known.
    cancelling
        Whether somebody has cancelled it, and it still runs.
    container
        The id of its container; empty while it has none.
    started, finished
        When its container was first started, and when it ended, or None.
    cores, threads
        Its limit and its threads as last seen; None without one, and where that is not known.
    promised
        Whether it was promised its deadline; None as long as no policy said.
    stands
        How it stands in the eyes of the policy that is attached now, or None.
    """

    id: str
    name: str
    engine: str
    spec: JobSpec
    created: float
    priority: int = 0
    state: QueueState = QueueState.WAITING
    why: str = ""
    cancelling: bool = False
    container: str = ""
    started: float | None = None
    finished: float | None = None
    cores: float | None = None
    threads: int | None = None
    promised: bool | None = None
    stands: Standing | None = None

    def overdue(self, now: float) -> bool:
        """Whether it is not over and should be."""
        return not self.state.over and self.spec.deadline is not None and self.spec.deadline < now

    @property
    def container_name(self) -> str:
        """What its container is called."""
        return f"{self.name}-{self.id[:_OF_ID]}"

    def terms(self, profile: Profile | None = None) -> Terms:
        """What its owner said of it beside its request, and what earlier runs of its kind say."""
        spec = self.spec
        memory = None if spec.memory is None else float(spec.memory)
        deadline = None if spec.deadline is None else max(spec.deadline - self.created, 0.0)
        return Terms(spec.least, spec.most, memory, self.priority, deadline, profile, self.promised is True)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        names = ("id", "name", "engine", "created", "priority", "why", "container", "started", "finished")
        plain = {name: getattr(self, name) for name in (*names, "cores", "threads", "cancelling", "promised")}
        stands = None if self.stands is None else asdict(self.stands)
        return {**plain, "state": str(self.state), "stands": stands, "job": self.spec.to_dict()}

    def for_engine(self, profile: Profile | None = None) -> SubmittedJob:
        """The job as an engine needs it, with what earlier runs of its kind say."""
        spec = self.spec
        return SubmittedJob(
            self.id,
            self.name,
            self.container_name,
            self.created,
            spec.image,
            spec.command,
            spec.environment,
            spec.volumes,
            spec.ports,
            spec.memory,
            spec.request,
            self.terms(profile),
            spec.follows,
            spec.program,
            self.container if self.state is not QueueState.WAITING else "",
            self.started,
        )


def queued_job(row: SubmittedJobRow) -> QueuedJob:
    """A row as a value."""
    return QueuedJob(
        row.id,
        row.name,
        row.engine_name,
        JobSpec.from_dict(row.spec),
        row.created,
        row.priority,
        QueueState(row.state),
        row.why,
        row.cancel_asked,
        row.container,
        row.started,
        row.finished,
        row.cores,
        row.threads,
        row.promised,
    )
