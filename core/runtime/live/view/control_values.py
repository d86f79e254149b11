"""What is done to running containers, by hand, by a policy or by a recorder: frozen values.

They are part of `core.runtime.live.view.values`, from where everybody takes them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from core.scheduling.policies import spelt

if TYPE_CHECKING:
    from collections.abc import Mapping

    from core.scheduling.policies.autopilot.evidence import Evidence


class Mode(StrEnum):
    """What an attached policy may do: say what it would do, or do it."""

    WATCH = "watch"
    CONTROL = "control"

    def called(self, policy: str, engine: str) -> str:
        """What a policy does to an engine, as its task and its run are called."""
        return f"{spelt(policy)} {'controls' if self is Mode.CONTROL else 'watches'} {engine}"


@dataclass(frozen=True, slots=True)
class ActivityEntry:
    """One thing that an attached policy did, or in watch mode would have done.

    Parameters
    ----------
    at
        When.
    container
        The container's name, or empty where it is about all.
    text
        One sentence.
    before, after
        Cores allowed before and after; None without a limit, or where it is not about a limit.
    label
        The list that the container was in then.
    """

    at: float
    container: str
    text: str
    before: float | None = None
    after: float | None = None
    label: str = ""


@dataclass(frozen=True, slots=True)
class Attached:
    """A policy that watches or controls an engine.

    Parameters
    ----------
    task
        The task that it runs in.
    policy, settings
        The policy's name, and the settings that were given.
    mode
        See `Mode`.
    since
        When it began.
    next_wake
        When it is asked next at the latest, or None where it is asked only on events.
    resizes
        How many limits it has changed, or would have.
    said
        What it did last, newest first, at most 50.
    run
        The id of its run, whose ledger the page of runs shows; empty until there is one.
    evidence
        What it would have freed, or did; None of policies that steer by no samples.
    course
        (seconds since 1970, cores freed, bytes freed, share of time short so far) over time, oldest first.
    """

    task: str
    policy: str
    mode: Mode
    settings: Mapping[str, Any] = field(default_factory=dict)
    since: float = 0.0
    next_wake: float | None = None
    resizes: int = 0
    said: tuple[ActivityEntry, ...] = ()
    run: str = ""
    evidence: Evidence | None = None
    course: tuple[tuple[float, float, float, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Recording:
    """A trace set that is being recorded.

    Parameters
    ----------
    task, name
        The task that records, and what the trace set will be called.
    since
        When it began.
    samples, containers
        How much it has so far.
    bytes
        Its size on the disk so far.
    recording
        The id by which it can be finished if its task is over; empty while it runs.
    """

    task: str
    name: str
    since: float = 0.0
    samples: int = 0
    containers: int = 0
    bytes: int = 0
    recording: str = ""


@dataclass(frozen=True, slots=True)
class Allowed:
    """A container's limits: cores and bytes, None without one."""

    cores: float | None
    memory: float | None


@dataclass(frozen=True, slots=True)
class Change:
    """A limit that was changed by hand.

    Parameters
    ----------
    container
        The container's name.
    before, after
        Its limits before and after.
    """

    container: str
    before: Allowed
    after: Allowed


@dataclass(frozen=True, slots=True)
class Released:
    """The outcome of a release.

    Parameters
    ----------
    restored
        Names of containers whose limits are the original ones again.
    gone
        Names of containers that are not there any more.
    failed
        Containers whose limits could not be restored: (name, sentence).
    """

    restored: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    failed: tuple[tuple[str, str], ...] = ()
