"""A Docker host as an engine: real containers behind the same port as the simulator."""

from core.engines.docker_host.addresses import Address, parse_addresses
from core.engines.docker_host.containers import Container, HostInfo, labelled
from core.engines.docker_host.counters import Counters
from core.engines.docker_host.creating import Creation
from core.engines.docker_host.engine import DockerEngine
from core.engines.docker_host.errors import ChangeRefused, ContainerGone, HostLost, NotOurs
from core.engines.docker_host.event_stream import HostEvent
from core.engines.docker_host.host import Host
from core.engines.docker_host.keeping import Keeper, MemoryKeeper
from core.engines.docker_host.limits import Limits
from core.engines.docker_host.planned import DockerWorker, PlannedJob
from core.engines.docker_host.watch_only import WatchOnly

__all__ = [
    "Address",
    "ChangeRefused",
    "Container",
    "ContainerGone",
    "Counters",
    "Creation",
    "DockerEngine",
    "DockerWorker",
    "Host",
    "HostEvent",
    "HostInfo",
    "HostLost",
    "Keeper",
    "Limits",
    "MemoryKeeper",
    "NotOurs",
    "PlannedJob",
    "WatchOnly",
    "labelled",
    "parse_addresses",
]
