"""Submitted jobs as frozen values, detached from the database."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

import orjson

from core.engines.submitted import SubmittedJob
from core.live.queue.spec import JobSpec
from core.scheduling.model import Terms
from core.workspace.files import write_atomically

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from core.scheduling.actions import Mark
    from core.scheduling.model import Job, Profile
    from core.workspace.database_schema import SubmittedJobRow


# The states of a submitted job as a table: which state may follow which.
#
# Nothing else changes a job's state: every change (`core.live.queue.store`) is one update that names
# the states that it leaves, so of two processes that want to change the same job only one does.


class QueueState(StrEnum):
    """The state of a submitted job."""

    WAITING = "waiting"
    RUNNING = "running"
    PAUSED = "paused"
    ENDED = "ended"
    FAILED = "failed"
    REFUSED = "refused"
    CANCELLED = "cancelled"

    @property
    def over(self) -> bool:
        """True once it will never run again."""
        return self not in ACTIVE


_W, _R, _P = QueueState.WAITING, QueueState.RUNNING, QueueState.PAUSED
ACTIVE: Final = (_W, _R, _P)
"""The states of jobs that are not over."""

COMES_FROM: Final[dict[QueueState, tuple[QueueState, ...]]] = {
    QueueState.WAITING: (_R, _P),  # after a failed start, or a kill before it had an effect
    QueueState.RUNNING: ACTIVE,
    QueueState.PAUSED: (_R, _P),
    QueueState.ENDED: (_R, _P),
    QueueState.FAILED: ACTIVE,
    QueueState.REFUSED: (_W,),
    QueueState.CANCELLED: ACTIVE,
}
"""The states that each state may follow; a state may follow itself where only its figures change."""


# The standing of submitted jobs under the policy that steers them, written by its task for the pages.
#
# One small file an engine, replaced as a whole after every decision (`core.live.view`).


@dataclass(frozen=True, slots=True)
class Standing:
    """One job; moments are seconds since 1970."""

    #: When the policy saw it.
    at: float
    #: Steps done and in all, and seconds per step lately; None where it does not say.
    steps: int | None = None
    total_steps: int | None = None
    step_seconds: float | None = None
    #: Whether its deadline is promised; None of a policy that promises nothing.
    promised: bool | None = None
    #: The policy's list that contains it.
    label: str = ""
    #: When it is expected to end with the cores that it has, and between which moments eight times out of
    #: ten; None where that is not known.
    ends: float | None = None
    soonest: float | None = None
    latest: float | None = None


def standing(job: Job, mark: Mark | None, now: float, shift: float) -> Standing:
    """Return the standing of a job; `shift` is between the run's clock and seconds since 1970."""
    progress = (job.steps, job.total_steps, job.step_seconds)
    if mark is None:
        return Standing(now, *progress)
    between = (None, None) if mark.between is None else tuple(each + shift for each in mark.between)
    ends = None if mark.ends is None else mark.ends + shift
    return Standing(now, *progress, mark.promised, mark.label, ends, *between)


def write_standings(path: Path, standings: Mapping[str, Standing]) -> None:
    """Write the standing of jobs, by their ids."""
    write_atomically(path, orjson.dumps(dict(standings)), sync=False)


def read_standings(path: Path) -> dict[str, Standing]:
    """Return the stored standings; empty if this version cannot read them."""
    try:
        return {job: Standing(**each) for job, each in orjson.loads(path.read_bytes()).items()}
    except (OSError, orjson.JSONDecodeError, TypeError, AttributeError):
        return {}


_OF_ID = 8
"""Characters of a job's id in its container's name: jobs of other workspaces may have its name."""


@dataclass(frozen=True, slots=True)
class QueuedJob:
    """A submitted job as it is now; moments are seconds since 1970."""

    #: Its id, and what people call it: no other job of the engine has that name,
    #: and no container had it when the job was submitted.
    id: str
    name: str
    #: The name of its engine at submission.
    engine: str
    #: What was submitted.
    spec: JobSpec
    #: When it was submitted.
    created: float
    #: From 0 to 9.
    priority: int = 0
    #: Where it is in its life.
    state: QueueState = QueueState.WAITING
    #: Why it waits, has ended, failed or was refused, in a sentence; empty where nothing is known.
    why: str = ""
    #: Whether it was cancelled and still runs.
    cancelling: bool = False
    #: The id of its container; empty while it has none.
    container: str = ""
    #: When its container was first started, and when it ended, or None.
    started: float | None = None
    finished: float | None = None
    #: Its limit and its threads as last seen; None without one, and where that is not known.
    cores: float | None = None
    threads: int | None = None
    #: Whether it was promised its deadline; None as long as no policy said.
    promised: bool | None = None
    #: Its standing under the attached policy, or None.
    stands: Standing | None = None

    def overdue(self, now: float) -> bool:
        """Whether it is not over and should be."""
        return not self.state.over and self.spec.deadline is not None and self.spec.deadline < now

    @property
    def container_name(self) -> str:
        """The name of its container."""
        return f"{self.name}-{self.id[:_OF_ID]}"

    def terms(self, profile: Profile | None = None) -> Terms:
        """Return its owner's terms beside its request, with the profile of earlier runs."""
        spec = self.spec
        memory = None if spec.memory is None else float(spec.memory)
        deadline = None if spec.deadline is None else max(spec.deadline - self.created, 0.0)
        return Terms(spec.least, spec.most, memory, self.priority, deadline, profile, self.promised is True)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        names = ("id", "name", "engine", "created", "priority", "why", "container", "started", "finished")
        plain = {name: getattr(self, name) for name in (*names, "cores", "threads", "cancelling", "promised")}
        stands = None if self.stands is None else asdict(self.stands)
        return {**plain, "state": str(self.state), "stands": stands, "job": self.spec.to_dict()}

    def for_engine(self, profile: Profile | None = None) -> SubmittedJob:
        """Return the job in the form that engines accept, with the profile of earlier runs."""
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
    """Return a row as a value."""
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
