"""The replayed jobs as containers: their readings, limits and ids."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

from core.engines.values import GOAL, JOB, LOSS, MANAGED, MIN_CORES, SUBMISSION, Ending
from core.simulation.replay import DONE, KILLED, STOPPED

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from core.engines.demo.world import ReplayMoment
    from core.scheduling.model import Reading
    from core.simulation.replay import ReplayedJob, ReplayPlan


class DemoReadings:
    """The readings of one replayed job; each is returned once."""

    def __init__(self, printed: Callable[[], list[Reading]]) -> None:
        self._printed = printed
        self._read_count = 0

    def news(self, at_end: bool = False) -> list[Reading]:
        """Unix seconds and E of every reading since the last call, oldest first, by the host's last look."""
        printed = self._printed()
        new, self._read_count = printed[self._read_count :], max(self._read_count, len(printed))
        return new


@dataclass(frozen=True, slots=True)
class DemoLimits:
    """The limits of a replayed job."""

    #: Cores at most, or None without a limit.
    cores: float | None = None
    #: Bytes at most, or None without a limit.
    memory_bytes: int | None = None
    #: Its weight where cores are scarce; 1 is usual.
    weight: float = 1.0

    def with_cores(self, cores: float | None) -> DemoLimits:
        """These limits with at most `cores` cores."""
        return replace(self, cores=None if cores is None else max(cores, MIN_CORES))

    def with_memory(self, memory: int | None) -> DemoLimits:
        """These limits with at most `memory` bytes."""
        return replace(self, memory_bytes=memory)

    def with_weight(self, weight: float) -> DemoLimits:
        """These limits with a weight."""
        return replace(self, weight=weight)

    def agrees(self, other: DemoLimits, cores: float) -> bool:
        """Whether both allow the same on a machine of `cores` cores."""
        return self == other

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as a dictionary for JSON."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class DemoContainer:
    """A replayed job as a container."""

    #: As `core.engines.ports.Container` has them; its image alone says what is replayed.
    id: str
    name: str
    image: str
    labels: Mapping[str, str]
    state: str
    limits: DemoLimits
    #: Which job of the replay it is.
    number: int
    command: tuple[str, ...] = ()
    ending: Ending = field(default_factory=Ending)
    started: float = 0.0
    unreadable: str = ""

    @property
    def created(self) -> float:
        """Unix seconds of its creation, which is its start."""
        return self.started

    def processors(self, cores: int) -> frozenset[int]:
        """Return all processors."""
        return frozenset(range(cores))

    @property
    def running(self) -> bool:
        """Whether its job has not ended."""
        return self.state != "exited"


def make_id(world: str, number: int) -> str:
    """Return the id of a job's container, unique across replays."""
    return sha256(f"{world} {number}".encode()).hexdigest()


EXIT_CODES: Final = {DONE: 0, KILLED: 137, STOPPED: 143}
"""The exit codes that replayed jobs would have, by their outcomes."""


def make_container(plan: ReplayPlan, job: ReplayedJob, present: ReplayMoment) -> DemoContainer:
    """Return a job as a container; the replay's name makes its id unique across replays."""
    world = present.world
    name, submitted = plan.recording(job).name, job.submitted
    labels = {LOSS: "loss", GOAL: "min"}
    if submitted is not None:
        labels |= {MANAGED: "", JOB: submitted.name, SUBMISSION: submitted.id}
    elif plan.places[job.place].labelled:
        labels |= {MANAGED: ""}
    memory = None if job.memory_limit is None else int(job.memory_limit)
    return DemoContainer(
        make_id(world, job.number),
        f"{name}-{job.number + 1:02d}" if submitted is None else submitted.container,
        f"recorded/{name}",
        labels,
        "exited" if job.ended is not None else "paused" if job.paused else "running",
        DemoLimits(job.limit, memory, job.weight),
        job.number,
        ending=Ending()
        if job.ended is None
        else Ending(present.unix(job.ended), EXIT_CODES[job.outcome], int(job.outcome == KILLED)),
        started=present.unix(job.begun),
    )
