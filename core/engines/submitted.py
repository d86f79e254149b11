"""What PhaseDock asks of an engine that runs submitted jobs, beside what it asks of all (`ports`).

A submitted job belongs to no run: it waits until a policy starts it, its container outlives the policy that
started it, and the next one finds it again by its label. So there is never a second container of one job,
whatever was killed at whatever moment.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from core.engines.ports import LiveEngine, SteeredHost

if TYPE_CHECKING:
    from collections.abc import Mapping

    from core.scheduling.model import Terms


@dataclass(frozen=True, slots=True)
class SubmittedJob:
    """A job that a person submitted, as an engine needs it."""

    #: The id under which it was submitted, which its container carries (`core.engines.values.SUBMISSION`).
    id: str
    #: What people call it.
    name: str
    #: What its container is called; the same at every attempt, and that of no other job.
    container_name: str
    #: When, seconds since 1970.
    submitted: float
    #: What it runs; an empty command is the image's own.
    image: str
    command: tuple[str, ...] = ()
    #: Variables of its program.
    environment: Mapping[str, str] = field(default_factory=dict, hash=False)
    #: Folders of the host and where its container sees them; ports of the host and those inside.
    volumes: Mapping[str, str] = field(default_factory=dict, hash=False)
    ports: Mapping[str, str] = field(default_factory=dict, hash=False)
    #: Bytes that it may use at most, or None.
    memory: int | None = None
    #: Cores that its owner asked for, and what else was said of it.
    request: float | None = None
    terms: Terms | None = None
    #: Whether its program follows its cores with its threads.
    can_resize: bool = False
    #: The bundled program that it runs; empty for any other.
    program: str = ""
    #: The container that it runs in already, and since when, seconds since 1970; empty and None while it
    #: waits.
    container: str = ""
    started: float | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a job ended: whether it was done, and why it ended, in a sentence."""

    done: bool
    why: str


class QueueingEngine(LiveEngine, Protocol):
    """An engine to which jobs can be submitted while it runs; called in the thread that drives it."""

    @property
    def reasons(self) -> Mapping[str, str]:
        """Why each job that has ended did, in one sentence."""

    def submit(self, job: SubmittedJob) -> str:
        """Let a job arrive, or follow the container that it runs in; returns its name in the run."""

    def revise(self, job: str, terms: Terms) -> None:
        """Let the owner of a job say something else of it."""

    def withdraw(self, job: str) -> None:
        """Let a job that waits leave, or end and remove the container of one that runs."""


class JobHost(SteeredHost, Protocol):
    """A host that runs submitted jobs."""

    def has_image(self, image: str) -> bool:
        """Whether a job with this image can be started."""

    def outcome(self, container: str) -> Outcome | None:
        """How the program of a container ended; None while it has not."""
