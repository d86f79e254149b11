"""The ports of an engine: connecting, observing, changing limits and starting a run.

An engine is one value of `EngineKind` and one line in `core.engines.registry`. The rooms above know
only these ports, so every engine that implements them is watched, steered, recorded and restored alike.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from core.scheduling.ports import Engine

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path
    from types import TracebackType
    from typing import Self

    from core.engines.values import Counters, Ending, EngineKey, FollowOptions, HostInfo
    from core.experiments.spec import Arm, Experiment
    from core.scheduling.model import Reading
    from core.simulation.scenario import Scenario


class HostAddress(Protocol):
    """The name and address of a host in the settings."""

    @property
    def name(self) -> str:
        """Its name: letters, digits, dots, dashes and underscores."""

    @property
    def url(self) -> str:
        """Its URL; empty for the engine's default."""

    @property
    def shown(self) -> str:
        """Its address for people."""


class Limits(Protocol):
    """The resource limits of a container in an engine's own terms, so that they can be restored exactly."""

    @property
    def cores(self) -> float | None:
        """Cores at most, or None without a limit."""

    @property
    def memory_bytes(self) -> int | None:
        """Bytes at most, or None without a limit."""

    def with_cores(self, cores: float | None) -> Limits:
        """These limits with at most `cores` cores."""

    @property
    def weight(self) -> float:
        """Its weight while cores are scarce; 1 is usual."""

    def with_memory(self, memory: int | None) -> Limits:
        """These limits with at most `memory` bytes."""

    def with_weight(self, weight: float) -> Limits:
        """These limits with a weight."""

    def agrees(self, other: Any, cores: float) -> bool:
        """Whether both have the same effect on a machine of `cores` cores."""

    def to_dict(self) -> Mapping[str, Any]:
        """Return plain values for a database or a file; `SteeredHost.read_limits` reads them."""


class Container(Protocol):
    """One container at the last request to its engine."""

    @property
    def id(self) -> str:
        """Its full, unique id."""

    @property
    def unreadable(self) -> str:
        """Why it is not as it is now: the engine's last answer about it cannot be read; else empty."""

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def image(self) -> str:
        """The image that it was created from."""

    @property
    def command(self) -> tuple[str, ...]:
        """Its command, from its own settings or its image."""

    @property
    def labels(self) -> Mapping[str, str]:
        """Its labels (`core.engines.values`)."""

    @property
    def state(self) -> str:
        """``running``, ``paused`` and so on."""

    @property
    def limits(self) -> Limits:
        """Its resource limits."""

    @property
    def created(self) -> float:
        """Unix seconds of its creation."""

    @property
    def started(self) -> float:
        """Unix seconds of its last start, or 0."""

    def processors(self, cores: int) -> frozenset[int]:
        """Numbers of the processors that it may use on a host with so many."""

    @property
    def running(self) -> bool:
        """Whether it has processes, paused ones included."""

    @property
    def ending(self) -> Ending:
        """Its last end and its restarts."""


class Readings(Protocol):
    """The readings of a job's agent."""

    def news(self) -> list[Reading]:
        """Return Unix seconds and E (the evaluation function) of the new readings, oldest first."""


class Keeper(Protocol):
    """Saves limits durably, so that they can be restored after a crash of the changing process."""

    def keep(
        self,
        engine: EngineKey,
        container: str,
        limits: Mapping[str, Any],
        new_limits: Mapping[str, Any] | None = None,
    ) -> None:
        """Save a container's limits, unless some are saved already, and those that are set in their place."""

    def saved_limits(self, engine: EngineKey, container: str) -> Mapping[str, Any] | None:
        """Return a container's saved limits, or None."""

    def replace(self, engine: EngineKey, container: str, limits: Mapping[str, Any]) -> None:
        """Replace a container's saved limits by those that its owner has set since; nothing if none are."""

    def forget(self, engine: EngineKey, container: str) -> None:
        """Forget a container's saved limits once their restoration is verified."""


@runtime_checkable
class ShowsContainers(Protocol):
    """An engine with the containers of its jobs."""

    @property
    def containers(self) -> Mapping[str, str]:
        """The current container of each job."""


class LiveEngine(Engine, Protocol):
    """An engine over containers; a context manager that restores them."""

    @property
    def time(self) -> float:
        """Seconds since the beginning of the run."""

    @property
    def containers(self) -> Mapping[str, str]:
        """The current container of each job."""

    def close(self) -> tuple[str, ...]:
        """End the run; return a sentence for each failure to restore or remove a container."""

    def __enter__(self) -> Self:
        """Begin."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close."""


class WatchedHost(Protocol):
    """A host to read from; raises `core.engines.errors.HostLost` if it does not answer."""

    @property
    def name(self) -> str:
        """Its name in the settings."""

    @property
    def address(self) -> HostAddress:
        """Its address."""

    def info(self, within: float = inf) -> HostInfo:
        """Return its description, at most `within` seconds old."""

    def key(self) -> EngineKey:
        """Return the key of its engine, independent of its name."""

    def ping(self) -> None:
        """Check that it answers."""

    def containers(self, running_only: bool = True) -> Sequence[Container]:
        """Return its containers, newest first."""

    def stopped(self, wanted: Callable[[Any], bool], at_most: int) -> Sequence[Container]:
        """Return containers that did not run when they were listed, newest first, as they are now.

        `wanted` judges by ``id`` and ``labels``.
        """

    def inspect(self, container: str) -> Container:
        """Return the present state of a container; raises `ContainerGone`."""

    def last_state(self, container: str) -> Container | None:
        """Return the last known state of a container without a request."""

    def counters(self, containers: Sequence[Any]) -> Mapping[str, Counters]:
        """Return a reading of each running container of `containers`, by id."""

    def pressure(self) -> float | None:
        """Return the share of the last seconds in which something on the host waited for CPU or memory.

        None where it cannot be read from here.
        """

    def logs_since(self, container: str, since: float, lines: int = ...) -> list[tuple[float, str]]:
        """Return Unix seconds and text of a container's last `lines` log lines after `since`."""

    def readings(self, container: Any) -> Readings | None:
        """Return the readings of a container's agent, or None if they are unreadable here."""

    def close(self) -> None:
        """Close the connection."""


class SteeredHost(WatchedHost, Protocol):
    """A host whose containers can be changed if its guard allows; saves their limits before."""

    @property
    def keeper(self) -> Keeper | None:
        """Where its containers' limits are saved; None if nowhere."""

    def read_limits(self, plain: Mapping[str, Any]) -> Limits:
        """Return the limits that `Limits.to_dict` wrote."""

    def set_limits(self, container: str, limits: Any) -> Limits:
        """Change a container's limits, verify and return them."""

    def restore(self, container: str) -> bool:
        """Restore, verify and forget the saved limits; False without saved limits."""

    def unpause(self, container: str) -> None:
        """Resume a container's processes."""

    def restart(self, container: str) -> None:
        """Stop a container's program if it runs, and start it with the same limits."""

    def remove(self, container: str) -> None:
        """Stop and remove a container; does nothing if it is gone."""

    def free_threads(self, container: Any) -> None:
        """Let a job that follows its cores choose its threads again."""

    def __enter__(self) -> Self:
        """Begin."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close."""


@dataclass(frozen=True, slots=True)
class RunRequest:
    """A run of one policy with one seed."""

    #: What is run.
    experiment: Experiment
    arm: Arm
    seed: int
    #: The workers and jobs of that seed, as they were drawn.
    scenario: Scenario
    #: The run's id; containers of it carry it as the label `core.engines.values.RUN`.
    run: str = ""
    #: The hosts that its workers are on, by name, the default first; empty for an engine without any.
    hosts: Mapping[str, SteeredHost] = field(default_factory=dict)
    #: Where jobs' folders are made, or None.
    folder: Path | None = None
    #: Called at least twice a second while an engine in real time waits; it may raise to stop the run.
    idle: Callable[[], None] = lambda: None
    #: Called with a function that has to be called when the run is over, however it ends.
    at_end: Callable[[Callable[[], object]], object] = lambda _: None


class Adopt(Protocol):
    """Begins a run with present and new containers as jobs on one worker, named like the host."""

    def __call__(
        self,
        host: Any,
        folder: Path,
        adopt: Callable[[Container], bool],
        idle: Callable[[], None],
        options: FollowOptions,
    ) -> LiveEngine:
        """Begin."""


class Connect(Protocol):
    """Opens a host; the caller must close it."""

    def __call__(
        self,
        address: Any,
        keeper: Keeper | None,
        guard: Callable[[Container], bool],
        request_timeout: float | None = None,
    ) -> SteeredHost:
        """See `core.sampling.engines.Engines.host`; `request_timeout`: seconds to wait for an answer."""


@dataclass(frozen=True, slots=True)
class EngineKind:
    """A kind of engine, an entry of the register."""

    #: What experiments call it.
    name: str
    #: What people call it.
    title: str
    #: Begins a run of an experiment; None if experiments cannot run on it.
    open: Callable[[RunRequest], Engine] | None = None
    #: Whether runs take real time and start real containers: they need ``PHASEDOCK_CONTROL``, take turns, and
    #: keep their ledgers always, for they cannot be repeated.
    real: bool = False
    #: The field of `core.config.Settings` that names its hosts; empty if it has none.
    setting: str = ""
    #: Reads that setting; raises `SettingsError`.
    hosts: Callable[[str], Sequence[HostAddress]] = lambda _: ()
    #: Opens one of those hosts; None if it has no containers to be watched and steered.
    connect: Connect | None = None
    #: Follows containers of a host that was opened, for a policy; None as with `connect`.
    adopt: Adopt | None = None
    #: Whether jobs can be submitted to it: its hosts are `core.engines.submitted.JobHost`, and what `adopt`
    #: gives is a `core.engines.submitted.QueueingEngine`.
    takes_jobs: bool = False
    #: Why its containers cannot be restarted, in a sentence; empty if they can.
    no_restart: str = ""
    #: Whether nothing on it is real. It may then be changed without ``PHASEDOCK_CONTROL``, gives its name up
    #: to an engine of the settings that has the same, and is only opened unasked where no other answers.
    demo: bool = False
