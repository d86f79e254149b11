"""Further ports of an engine that runs submitted jobs (`ports` has those of every engine).

A submitted job belongs to no run: it waits until a policy starts it, its container outlives that policy, and
the next one finds it by its label. So a job never has a second container, whatever crashes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Protocol

from core.engines.ports import LiveEngine, SteeredHost

if TYPE_CHECKING:
    from collections.abc import Mapping

    from core.scheduling.model import Terms


@dataclass(frozen=True, slots=True)
class SubmittedJob:
    """A submitted job for an engine."""

    #: Its submission id, a label of its container (`core.engines.values.SUBMISSION`).
    id: str
    #: Its name for people.
    name: str
    #: The unique name of its container, the same at every attempt.
    container_name: str
    #: Submission time in seconds since 1970.
    submitted: float
    #: Image and command; an empty command is the image's own.
    image: str
    command: tuple[str, ...] = ()
    #: Variables of its program.
    environment: Mapping[str, str] = field(default_factory=dict, hash=False)
    #: Folders of the host and their paths in the container; ports of the host and of the container.
    volumes: Mapping[str, str] = field(default_factory=dict, hash=False)
    ports: Mapping[str, str] = field(default_factory=dict, hash=False)
    #: Memory limit in bytes, or None.
    memory: int | None = None
    #: Requested cores and terms.
    request: float | None = None
    terms: Terms | None = None
    #: Whether its program follows its cores with its threads.
    can_resize: bool = False
    #: Its bundled program; empty for any other.
    program: str = ""
    #: Its running container and start time in seconds since 1970; empty and None while it waits.
    container: str = ""
    started: float | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """The end of a job: whether it was done, and the reason in a sentence."""

    done: bool
    why: str


STOPPED_EARLY: Final = Outcome(False, "It was stopped before it had finished.")
"""The end of a program that ends itself when it is asked to, with exit code 0."""


class QueueingEngine(LiveEngine, Protocol):
    """An engine to which jobs can be submitted while it runs; called in the thread that drives it."""

    @property
    def reasons(self) -> Mapping[str, str]:
        """The reason of each ended job, in one sentence."""

    def submit(self, job: SubmittedJob) -> str:
        """Add a job to the run, or follow its running container; return its name in the run."""

    def revise(self, job: str, terms: Terms) -> None:
        """Change the terms of a job."""

    def withdraw(self, job: str) -> None:
        """Remove a job from the run, with its container if it runs."""


class JobHost(SteeredHost, Protocol):
    """A host that runs submitted jobs."""

    def has_image(self, image: str) -> bool:
        """Whether the host has an image."""

    def outcome(self, container: str) -> Outcome | None:
        """Return how a container's program ended; None before its end."""
