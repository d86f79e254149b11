"""What a container may really use, looked up without PhaseDock: in Docker, and in its control group."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from docker.models.containers import Container

GROUPS = Path("/sys/fs/cgroup")


def docker_cores(container: Container) -> float | None:
    """Cores that Docker says it may use; None without a limit."""
    given = docker_limits(container)
    if given["NanoCpus"]:
        return float(given["NanoCpus"] / 1e9)
    return _cores(given["CpuQuota"] or -1, given["CpuPeriod"] or 100_000)


def docker_limits(container: Container) -> dict[str, Any]:
    """All that Docker says of its limits."""
    given = container.client.api.inspect_container(container.id)["HostConfig"]
    names = ("NanoCpus", "CpuQuota", "CpuPeriod", "CpuShares", "Memory", "MemorySwap", "MemoryReservation")
    return {name: given.get(name) or 0 for name in names}


def kernel_cores(container: Container) -> float | None:
    """Cores that its control group gives it; None without a limit."""
    return _cores(*kernel_quota(container))


def kernel_quota(container: Container) -> tuple[int, int]:
    """Microseconds of processor that its control group, v1 or v2, gives it (-1: no limit) in how many."""
    pid = container.client.api.inspect_container(container.id)["State"]["Pid"]
    for line in Path(f"/proc/{pid}/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if not path.strip("/"):
            continue  # a process that has ended is nowhere
        if "cpu" in controllers.split(","):
            folder = GROUPS / controllers if (GROUPS / controllers).is_dir() else GROUPS / "cpu"
            files = (folder / path.strip("/") / f"cpu.cfs_{name}_us" for name in ("quota", "period"))
            quota, period = (file.read_text() for file in files)
            return int(quota), int(period)
        if not controllers:
            quota, period = (GROUPS / path.strip("/") / "cpu.max").read_text().split()
            return -1 if quota == "max" else int(quota), int(period)
    raise ProcessLookupError(pid)


def _cores(quota: int, period: int) -> float | None:
    return quota / period if quota > 0 else None
