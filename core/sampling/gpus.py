"""The GPU usage of containers on this machine, through NVIDIA's management library (NVML).

NVML knows processes, not containers; the control group of a process on this machine names its container. Per
container: the share of its GPUs' time that its processes use (the mean over the GPUs that they are on), the
bytes of GPU memory that they hold, and the power of these GPUs, which is known only while no other is on
them. A container without a process on a GPU uses none of it. Without a GPU, or without the package
`nvidia-ml-py`, no GPU values are reported.
"""

from __future__ import annotations

import importlib
import logging
import math
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

_LOG = logging.getLogger(__name__)
_CONTAINER = re.compile(r"[0-9a-f]{64}")


class Nvml(Protocol):
    """The functions of `pynvml` that are used; each raises `NVMLError` where the driver has no answer."""

    NVMLError: type[Exception]

    def nvmlInit(self) -> None: ...  # noqa: D102
    def nvmlDeviceGetCount(self) -> int: ...  # noqa: D102
    def nvmlDeviceGetHandleByIndex(self, index: int) -> Any: ...  # noqa: D102
    def nvmlDeviceGetComputeRunningProcesses(self, handle: Any) -> list[Any]: ...  # noqa: D102
    def nvmlDeviceGetProcessUtilization(self, handle: Any, since: int) -> list[Any]: ...  # noqa: D102
    def nvmlDeviceGetUtilizationRates(self, handle: Any) -> Any: ...  # noqa: D102
    def nvmlDeviceGetPowerUsage(self, handle: Any) -> int: ...  # noqa: D102


@dataclass(frozen=True, slots=True)
class GpuUse:
    """A container's use of its GPUs.

    Parameters
    ----------
    share
        Of the time of the GPUs that it is on, 0 to 1.
    memory
        Bytes.
    power
        Watts of the GPUs that it has to itself.

    Each is NaN where it is not known.
    """

    share: float = 0.0
    memory: float = 0.0
    power: float = 0.0


@dataclass
class _Device:
    """A GPU, and when its processes were last read, in the driver's microseconds."""

    handle: Any
    since: int = 0


@dataclass(frozen=True)
class _OnDevice:
    """The use of one GPU by one container."""

    share: float
    memory: float
    power: float


@dataclass
class GpuReader:
    """Reads the GPUs of this machine."""

    #: The library.
    nvml: Nvml
    #: The id of the container that a process belongs to, or None.
    container_of: Callable[[int], str | None]
    _devices: list[_Device] = field(default_factory=list)

    def __post_init__(self) -> None:
        handles = map(self.nvml.nvmlDeviceGetHandleByIndex, range(self.nvml.nvmlDeviceGetCount()))
        self._devices = [_Device(handle) for handle in handles]

    def read(self, containers: Collection[str]) -> dict[str, GpuUse]:
        """Return the GPU usage of each container, by id; empty without a GPU."""
        if not self._devices:
            return {}
        uses_by_container: dict[str, list[_OnDevice]] = {name: [] for name in containers}
        for device in self._devices:
            for name, use in self._use_by_container(device).items():
                if name in uses_by_container:
                    uses_by_container[name].append(use)
        return {name: _sum_uses(uses) for name, uses in uses_by_container.items()}

    def _use_by_container(self, device: _Device) -> dict[str | None, _OnDevice]:
        """Return the usage of a GPU by container; processes outside containers are under None."""
        try:
            processes = self.nvml.nvmlDeviceGetComputeRunningProcesses(device.handle)
        except self.nvml.NVMLError:
            return {}
        owners = {each.pid: self.container_of(each.pid) for each in processes}
        alone = len(set(owners.values())) == 1
        used = self._share_by_process(device, alone)
        power = self._read_power(device) if alone else math.nan
        table: dict[str | None, _OnDevice] = {}
        for owner in set(owners.values()):
            owned = [each for each in processes if owners[each.pid] == owner]
            memory = (math.nan if each.usedGpuMemory is None else float(each.usedGpuMemory) for each in owned)
            share = used if isinstance(used, float) else sum(used.get(each.pid, 0.0) for each in owned)
            table[owner] = _OnDevice(min(share, 1.0), sum(memory), power)
        return table

    def _share_by_process(self, device: _Device, alone: bool) -> dict[int, float] | float:
        """Return the GPU's share of time by process, or the total if the driver has only that."""
        try:
            samples = self.nvml.nvmlDeviceGetProcessUtilization(device.handle, device.since)
        except self.nvml.NVMLError:
            return self._rate(device) if alone else math.nan
        newest: dict[int, Any] = {}
        for each in samples:
            if each.pid not in newest or each.timeStamp > newest[each.pid].timeStamp:
                newest[each.pid] = each
        device.since = max([device.since, *(each.timeStamp for each in samples)])
        return {pid: each.smUtil / 100 for pid, each in newest.items()}

    def _rate(self, device: _Device) -> float:
        try:
            return float(self.nvml.nvmlDeviceGetUtilizationRates(device.handle).gpu) / 100
        except self.nvml.NVMLError:
            return math.nan

    def _read_power(self, device: _Device) -> float:
        try:
            return self.nvml.nvmlDeviceGetPowerUsage(device.handle) / 1000
        except self.nvml.NVMLError:
            return math.nan


def _sum_uses(uses: list[_OnDevice]) -> GpuUse:
    if not uses:
        return GpuUse()
    share = sum(each.share for each in uses) / len(uses)
    return GpuUse(share, sum(each.memory for each in uses), sum(each.power for each in uses))


def container_of(pid: int, proc: Path = Path("/proc")) -> str | None:
    """Return the id of a process's container, by its control group."""
    try:
        text = (proc / str(pid) / "cgroup").read_text()
    except OSError:
        return None
    named = _CONTAINER.findall(text)
    return str(named[-1]) if named else None


def gpu_reader() -> GpuReader | None:
    """Return a reader of this machine's GPUs; None without GPUs or without the library."""
    try:
        nvml: Any = importlib.import_module("pynvml")
    except ImportError:
        return None
    try:
        nvml.nvmlInit()
        return GpuReader(nvml, container_of)
    except nvml.NVMLError as error:
        _LOG.info("no GPU is read: %s", error)
        return None
