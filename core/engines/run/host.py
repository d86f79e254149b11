"""The port of a host on which a run starts, limits, moves and ends containers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from core.engines.submitted import JobHost

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from core.engines.ports import Keeper, Limits


@dataclass(frozen=True, slots=True)
class ContainerCreation:
    """The request to create a container."""

    #: Its unique name.
    name: str
    #: An image of the host.
    image: str
    #: Its command; empty for the image's own.
    command: tuple[str, ...] = ()
    #: Labels beside PhaseDock's, which it always has.
    labels: Mapping[str, str] = field(default_factory=dict)
    #: Environment variables of its program.
    environment: Mapping[str, str] = field(default_factory=dict)
    #: Its cores and bytes of memory at most, None without a limit, and its weight.
    cores: float | None = None
    memory: int | None = None
    weight: float = 1.0
    #: Numbers of its processors, or None for all.
    cpus: tuple[int, ...] | None = None
    #: Folders of the host and their paths in the container.
    volumes: Mapping[str, str] = field(default_factory=dict)
    #: ``"none"``, ``"host"`` or a network's name.
    network: str = "none"
    #: Ports of the host's loopback address and ports in the container.
    ports: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class HostEvent:
    """Something that happened on a host."""

    #: The host's name.
    host: str
    #: ``create``, ``start``, ``die``, ``destroy``, ``update``, ``pause``, ``unpause``, ``rename``, ``oom`` …
    #: of a container; ``found`` and ``lost`` of the host itself: its events are followed from now on, or no
    #: longer.
    kind: str
    #: The full id, or empty.
    container: str = ""
    #: Unix seconds, or 0.
    time: float = 0.0
    #: What the engine says of the event: name, image, exit code and the container's labels.
    labels: Mapping[str, str] = field(default_factory=dict, hash=False)


class ContainerHost(JobHost, Protocol):
    """A host whose containers a run creates, starts, limits, pauses and ends."""

    @property
    def keeper(self) -> Keeper:
        """Where its containers' limits are saved."""

    def new_limits(self, cores: float | None, weight: float, memory: int | None) -> Limits:
        """Return limits for a container that is created here, which can be changed freely later."""

    def create(self, creation: ContainerCreation) -> str:
        """Create a container with PhaseDock's label without starting it; return its id."""

    def start(self, container: str) -> None:
        """Start a created container."""

    def stop(self, container: str, grace: float = ...) -> None:
        """Stop a container's program, and kill it after `grace` seconds."""

    def pause(self, container: str) -> None:
        """Freeze a container's processes."""

    def set_limits(self, container: str, limits: Any, hold: bool = ...) -> Limits:
        """Change a container's limits, verify and return them; `hold`: save those that it had before."""

    def events(self, callback: Callable[[HostEvent], None]) -> Callable[[], None]:
        """Call back for each event from any thread, until the returned function is called."""
