"""A Docker host as an engine: its connection, containers, limits and counters."""

from core.engines.docker_host.connection import Address, parse_addresses
from core.engines.docker_host.containers import Container
from core.engines.docker_host.host import Host
from core.engines.docker_host.limits import Limits
from core.engines.errors import ChangeRefused, ContainerGone, HostLost, NotOurs
from core.engines.ports import Keeper
from core.engines.values import Counters, EngineKey, HostInfo, has_label

__all__ = [
    "Address",
    "ChangeRefused",
    "Container",
    "ContainerGone",
    "Counters",
    "EngineKey",
    "Host",
    "HostInfo",
    "HostLost",
    "Keeper",
    "Limits",
    "NotOurs",
    "has_label",
    "parse_addresses",
]
