"""The run engine: policies over hosts with containers, written once over the port `ContainerHost`.

It adopts, starts, limits, moves and puts back, whatever the containers are made by; an engine gives it hosts.
"""

from core.engines.run.engine import RunEngine
from core.engines.run.host import ContainerCreation, ContainerHost, HostEvent
from core.engines.run.job import Node, PlannedJob
from core.engines.run.keeper import MemoryKeeper

__all__ = [
    "ContainerCreation",
    "ContainerHost",
    "HostEvent",
    "MemoryKeeper",
    "Node",
    "PlannedJob",
    "RunEngine",
]
