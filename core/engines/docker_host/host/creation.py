"""The options with which a new container is created."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from core.engines.docker_host.host.limits import Limits
from core.engines.values import MANAGED

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Creation:
    """A container to be created."""

    #: Its name; no other container may have it.
    name: str
    #: An image that the host has.
    image: str
    #: What it runs; empty: what the image says.
    command: tuple[str, ...] = ()
    #: Beside PhaseDock's own, which it always carries.
    labels: Mapping[str, str] = field(default_factory=dict)
    #: Variables of its program.
    environment: Mapping[str, str] = field(default_factory=dict)
    #: What it may use, with a quota rather than billionths of cores, so that it can be changed freely.
    limits: Limits = field(default_factory=Limits)
    #: Processors that it may use, such as ``"0-1"``; empty: all.
    cpuset: str = ""
    #: Folders of the host, and where the container sees them.
    volumes: Mapping[str, str] = field(default_factory=dict)
    #: ``"none"``, ``"host"`` or a network's name.
    network: str = "none"
    #: Ports of the host, of its loopback address only, and the ports inside that they lead to.
    ports: Mapping[str, str] = field(default_factory=dict)

    def body(self) -> dict[str, Any]:
        """The body of Docker's request."""
        limits = self.limits
        memory = (
            {"Memory": limits.memory_bytes, "MemorySwap": limits.swap_bytes or 2 * limits.memory_bytes}
            if limits.memory_bytes
            else {}
        )
        quota = {"CpuQuota": limits.cpu_quota, "CpuPeriod": limits.cpu_period} if limits.cpu_quota > 0 else {}
        cores = {"NanoCpus": limits.nano_cpus} if limits.nano_cpus else quota
        return {
            "Image": self.image,
            **({"Cmd": list(self.command)} if self.command else {}),
            "Env": [f"{name}={value}" for name, value in self.environment.items()],
            "Labels": {MANAGED: "", **self.labels},
            **(
                {"ExposedPorts": {f"{inside}/tcp": {} for inside in self.ports.values()}}
                if self.ports
                else {}
            ),
            "HostConfig": {
                "NetworkMode": self.network,
                "CpusetCpus": self.cpuset,
                "CpuShares": limits.cpu_shares,
                "Binds": [f"{source}:{target}" for source, target in self.volumes.items()],
                **({"PortBindings": self._bindings()} if self.ports else {}),
                **cores,
                **memory,
            },
        }

    def _bindings(self) -> dict[str, list[dict[str, str]]]:
        bindings: dict[str, list[dict[str, str]]] = {}
        for outside, inside in self.ports.items():
            bindings.setdefault(f"{inside}/tcp", []).append({"HostIp": "127.0.0.1", "HostPort": outside})
        return bindings
