"""A Docker host as an engine: real containers behind the same port as the simulator."""

from core.engines.docker_host.connection import Address, parse_addresses
from core.engines.docker_host.containers import Container
from core.engines.docker_host.docker_engine import DockerEngine
from core.engines.docker_host.events import HostEvent
from core.engines.docker_host.host import ContainerCreation, Host
from core.engines.docker_host.job import DockerWorker, PlannedJob
from core.engines.docker_host.limits import Limits, MemoryKeeper
from core.engines.errors import ChangeRefused, ContainerGone, HostLost, NotOurs
from core.engines.ports import Keeper
from core.engines.values import Counters, EngineKey, HostInfo, has_label

__all__ = [
    "Address",
    "ChangeRefused",
    "Container",
    "ContainerCreation",
    "ContainerGone",
    "Counters",
    "DockerEngine",
    "DockerWorker",
    "EngineKey",
    "Host",
    "HostEvent",
    "HostInfo",
    "HostLost",
    "Keeper",
    "Limits",
    "MemoryKeeper",
    "NotOurs",
    "PlannedJob",
    "has_label",
    "parse_addresses",
]
