"""One Docker host: reads and verified changes of its containers, and how they are created and end."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final

from core.engines.docker_host.apply_limits import apply_limits
from core.engines.docker_host.connection import REQUEST_TIMEOUT
from core.engines.docker_host.limits import Limits
from core.engines.docker_host.reading import HostReading
from core.engines.errors import ChangeRefused, ContainerGone, NotOurs
from core.engines.run.agent import AgentFolder
from core.engines.run.keeper import MemoryKeeper
from core.engines.submitted import STOPPED_EARLY, Outcome
from core.engines.values import MANAGED, has_label
from core.errors import PhaseDockError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from core.engines.docker_host.connection import Address
    from core.engines.docker_host.containers import Container
    from core.engines.ports import Keeper
    from core.engines.run.host import ContainerCreation


_LOG_LINES: Final = 3


def describe_ending(host: HostReading, container: Container, agent_state: str) -> Outcome:
    """Describe how a program ended."""
    if container.exit_code == 0 and agent_state in ("", "done"):
        return Outcome(True, "It finished.")
    if container.oom_killed:
        return Outcome(False, "It exceeded its memory limit, and the kernel killed it.")
    if container.exit_code == 0:
        return STOPPED_EARLY
    return Outcome(
        False, f"Its program exited with code {container.exit_code}{_describe_last_line(host, container)}."
    )


def _describe_last_line(host: HostReading, container: Container) -> str:
    try:
        lines = [line.strip() for _, line in host.logs_since(container.id, 0.0, _LOG_LINES) if line.strip()]
    except PhaseDockError:
        return ""
    return f": {lines[-1][:200].rstrip('.')}" if lines else ""


def creation_body(creation: ContainerCreation, limits: Limits) -> dict[str, Any]:
    """Return the body of Docker's request to create a container with these limits."""
    memory = (
        {"Memory": limits.memory_bytes, "MemorySwap": limits.swap_bytes or 2 * limits.memory_bytes}
        if limits.memory_bytes
        else {}
    )
    quota = {"CpuQuota": limits.cpu_quota, "CpuPeriod": limits.cpu_period} if limits.cpu_quota > 0 else {}
    cores = {"NanoCpus": limits.nano_cpus} if limits.nano_cpus else quota
    ports = creation.ports
    return {
        "Image": creation.image,
        **({"Cmd": list(creation.command)} if creation.command else {}),
        "Env": [f"{name}={value}" for name, value in creation.environment.items()],
        "Labels": {MANAGED: "", **creation.labels},
        **({"ExposedPorts": {f"{inside}/tcp": {} for inside in ports.values()}} if ports else {}),
        "HostConfig": {
            "NetworkMode": creation.network,
            "CpusetCpus": ",".join(map(str, creation.cpus or ())),
            "CpuShares": limits.cpu_shares,
            "Binds": [f"{source}:{target}" for source, target in creation.volumes.items()],
            **({"PortBindings": _bindings(ports)} if ports else {}),
            **cores,
            **memory,
        },
    }


def _bindings(ports: Mapping[str, str]) -> dict[str, list[dict[str, str]]]:
    bindings: dict[str, list[dict[str, str]]] = {}
    for outside, inside in ports.items():
        bindings.setdefault(f"{inside}/tcp", []).append({"HostIp": "127.0.0.1", "HostPort": outside})
    return bindings


FREEZE_ATTEMPTS: Final = 3
FREEZE_RETRY_DELAY: Final = 0.5


class Host(HostReading):
    """A Docker host; safe to use from several threads."""

    def __init__(
        self,
        address: Address,
        keeper: Keeper | None = None,
        guard: Callable[[Container], bool] = has_label,
        request_timeout: float = REQUEST_TIMEOUT,
    ) -> None:
        super().__init__(address, request_timeout)
        self.keeper: Keeper = keeper or MemoryKeeper()
        self.guard = guard

    def set_limits(self, container: str, limits: Limits, hold: bool = True) -> Limits:
        """Change a container's limits and verify them.

        Raises NotOurs if the guard forbids it; nothing is sent; ChangeRefused if the host refuses, or sets
        other limits; ContainerGone or HostLost if the container or the host is gone.
        """
        self._check_guard(container)
        now = self.inspect(container)
        if hold and not now.limits.agrees(limits, self.info().cores):
            self.keeper.keep(self.key(), now.id, now.limits.to_dict(), limits.to_dict())
        return apply_limits(self._connection, self._reader, self.info(), now, limits, self.inspect)

    def restore(self, container: str) -> bool:
        """Restore and forget a container's limits from before the first change.

        The guard is not applied, because saved limits prove that PhaseDock changed the container. Raises
        ContainerGone if the container is gone; its saved limits are forgotten; ChangeRefused or HostLost if
        the limits cannot be restored; they stay saved.
        """
        engine = self.key()
        saved = self.keeper.saved_limits(engine, container)
        if saved is None:
            return False
        try:
            now = self.inspect(container)
            apply_limits(
                self._connection, self._reader, self.info(), now, Limits.from_dict(saved), self.inspect
            )
        except ContainerGone:
            self.keeper.forget(engine, container)
            raise
        self.keeper.forget(engine, container)
        return True

    def new_limits(self, cores: float | None, weight: float, memory: int | None) -> Limits:
        """Return limits by quota rather than billionths of cores, so that they can be changed freely."""
        limits = Limits().with_cores(cores).with_weight(weight)
        return limits if memory is None else limits.with_memory(memory)

    def create(self, creation: ContainerCreation) -> str:
        """Create a container with PhaseDock's label without starting it; return its id."""
        body = creation_body(creation, self.new_limits(creation.cores, creation.weight, creation.memory))
        answer = self._connection.post("/containers/create", body, name=creation.name)
        return str(answer["Id"])

    def start(self, container: str) -> None:
        """Start a container that PhaseDock may change."""
        self._post_verb(container, "start")

    def stop(self, container: str, grace: float = 10.0) -> None:
        """Stop a container's program, and kill it after `grace` seconds."""
        self._post_verb(container, "stop", request_timeout=grace, t=round(grace))

    def restart(self, container: str, grace: float = 10.0) -> None:
        """Stop a container's program if it runs, killing it after `grace` seconds, and start it again."""
        if self.inspect(container).state == "paused":  # frozen processes can be neither stopped nor killed
            self.unpause(container)
        self._post_verb(container, "restart", request_timeout=2 * grace, t=round(grace))

    def kill(self, container: str) -> None:
        """Kill a container's program."""
        self._post_verb(container, "kill")

    def pause(self, container: str) -> None:
        """Freeze a container's processes; retries if the kernel cannot stop them all in time.

        On cgroup v1 this happens when a process waits for its quota; runc gives up without a change
        (libcontainer, cgroups/fs/freezer.go).
        """
        for attempts_left in reversed(range(FREEZE_ATTEMPTS)):
            try:
                return self._post_verb(container, "pause")
            except ChangeRefused as refused:
                if not attempts_left or "unable to freeze" not in refused.message:
                    raise
                time.sleep(FREEZE_RETRY_DELAY)
        return None

    def unpause(self, container: str) -> None:
        """Resume a container's processes."""
        self._post_verb(container, "unpause")

    def remove(self, container: str) -> None:
        """Stop and remove a container with its unnamed volumes; does nothing if it is gone."""
        try:
            self._check_guard(container)
            self._connection.delete(f"/containers/{container}", force=True, v=True)
        except ContainerGone:
            return
        finally:
            self._cache.mark_stale(container)

    def outcome(self, container: str) -> Outcome | None:
        """Return how a container's program ended; None before its end.

        Raises ContainerGone or HostLost if the container or the host is gone.
        """
        now = self.inspect(container)
        if now.running or now.state in ("created", "restarting"):
            return None
        folder = self._agent_folder(now)
        return describe_ending(self, now, "" if folder is None else AgentFolder(folder).read_report().state)

    def read_limits(self, plain: Mapping[str, Any]) -> Limits:
        """Return the limits that `Limits.to_dict` wrote."""
        return Limits.from_dict(plain)

    def free_threads(self, container: Container) -> None:
        """Let a job that follows its cores choose its threads again."""
        folder = self._agent_folder(container)
        agent = None if folder is None else AgentFolder(folder)
        if agent is not None and agent.request.threads is not None:
            agent.send_request(threads=None)

    def _post_verb(self, container: str, verb: str, request_timeout: float = 0.0, **params: Any) -> None:
        self._check_guard(container)
        try:
            self._connection.post(
                f"/containers/{container}/{verb}", request_timeout=request_timeout, **params
            )
        finally:
            self._cache.mark_stale(container)

    def _check_guard(self, container: str) -> None:
        """Raise unless the guard allows a change; labels never change, so the last state is enough."""
        current = self._cache.last_state(container) or self.inspect(container)
        if not self.guard(current):
            raise NotOurs(
                f"PhaseDock may not change the container {current.name} on {self.name}.",
                f"Select it on the Live page, or start it with the label {MANAGED}.",
            )
