"""What a container may really use, looked up without PhaseDock: in Docker, and in its control group."""

from __future__ import annotations

import threading
from pathlib import Path

import docker

GROUPS = Path("/sys/fs/cgroup")


def docker_cores(container):
    """Cores that Docker says it may use; None without a limit."""
    given = docker_limits(container)
    if given["NanoCpus"]:
        return float(given["NanoCpus"] / 1e9)
    return _cores(given["CpuQuota"] or -1, given["CpuPeriod"] or 100_000)


def docker_limits(container):
    """All that Docker says of its limits."""
    given = container.client.api.inspect_container(container.id)["HostConfig"]
    names = ("NanoCpus", "CpuQuota", "CpuPeriod", "CpuShares", "Memory", "MemorySwap", "MemoryReservation")
    return {name: given.get(name) or 0 for name in names}


def kernel_cores(container):
    """Cores that its control group gives it; None without a limit."""
    return _cores(*kernel_quota(container))


def kernel_quota(container):
    """Microseconds of processor that its control group, v1 or v2, gives it (-1: no limit) in how many."""
    version, folder = control_group(container, "cpu")
    if version == 1:
        quota, period = ((folder / f"cpu.cfs_{name}_us").read_text() for name in ("quota", "period"))
        return int(quota), int(period)
    quota, period = (folder / "cpu.max").read_text().split()
    return -1 if quota == "max" else int(quota), int(period)


def kernel_memory(container):
    """Bytes of memory, and of memory and swap (v1) or swap (v2), that its group gives it (-1: no limit)."""
    version, folder = control_group(container, "memory")
    names = {
        1: ("memory.limit_in_bytes", "memory.memsw.limit_in_bytes"),
        2: ("memory.max", "memory.swap.max"),
    }
    given = [(folder / name).read_text().strip() for name in names[version]]
    most, swap = (-1 if each == "max" or int(each) > 1 << 60 else int(each) for each in given)
    return most, swap


class KernelLimits(threading.Thread):
    """Notes the cores that control groups give the jobs of runs, until it is told to stop.

    Parameters
    ----------
    client
        Of the engine that the jobs run on.
    """

    def __init__(self, client):
        super().__init__(daemon=True)
        self.client, self.over = client, threading.Event()
        self.seen: dict[tuple[str, str], list[float | None]] = {}
        self.start()

    def run(self):
        while not self.over.wait(0.3):
            for each in self.client.containers.list(filters={"label": "phasedock.run"}, ignore_removed=True):
                try:
                    now = kernel_cores(each)
                except (OSError, docker.errors.NotFound):  # it ended between two calls
                    continue
                key = (each.labels["phasedock.run"], each.labels.get("phasedock.job", ""))
                noted = self.seen.setdefault(key, [])
                if not noted or noted[-1] != now:
                    noted.append(now)

    def stop(self):
        """Look no more; what was seen, by run and job."""
        self.over.set()
        self.join()
        return self.seen


def control_group(container, controller):
    """The version of its control group (1 or 2), and the folder of a controller."""
    pid = container.client.api.inspect_container(container.id)["State"]["Pid"]
    for line in Path(f"/proc/{pid}/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if not path.strip("/"):
            continue  # a process that has ended is nowhere
        if controller in controllers.split(","):
            folder = GROUPS / controllers if (GROUPS / controllers).is_dir() else GROUPS / controller
            return 1, folder / path.strip("/")
        if not controllers:
            return 2, GROUPS / path.strip("/")
    raise ProcessLookupError(pid)


def _cores(quota, period):
    return quota / period if quota > 0 else None
