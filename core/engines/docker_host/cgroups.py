"""A container's usage counters (CPU, memory, I/O) and enforced limits, from control groups or Docker.

Three sources have the same values: control groups of version 1, of version 2, and Docker's API, the only
source for a remote host. Counters rise from a container's start; a rate needs two readings. Memory is the
working set: the charged bytes without the inactive file pages that the kernel would reclaim first, as in
``docker stats`` and Kubernetes.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from core.engines.docker_host.limits import UNLIMITED_BYTES
from core.engines.errors import ChangeRefused, ContainerGone
from core.engines.values import Counters

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from core.engines.docker_host.connection import Connection
    from core.engines.docker_host.containers import Container


class Throttling(NamedTuple):
    """Periods of a quota, those that were throttled, and for how many seconds."""

    periods: int
    throttled: int
    seconds: float


def parse_field(text: str, key: str) -> int:
    """Return the number in a flat file's line for `key`; 0 without one."""
    place = 0 if text.startswith(key + " ") else text.find(f"\n{key} ") + 1
    if place == 0 and not text.startswith(key + " "):
        return 0
    begin = place + len(key) + 1
    end = text.find("\n", begin)
    return int(text[begin : end if end >= 0 else len(text)])


def parse_throttling_v1(text: str) -> Throttling:
    """From version 1's ``cpu.stat``, which counts nanoseconds."""
    seconds = parse_field(text, "throttled_time") / 1e9
    return Throttling(parse_field(text, "nr_periods"), parse_field(text, "nr_throttled"), seconds)


def parse_throttling_v2(text: str) -> Throttling:
    """From version 2's ``cpu.stat``, which counts microseconds."""
    seconds = parse_field(text, "throttled_usec") / 1e6
    return Throttling(parse_field(text, "nr_periods"), parse_field(text, "nr_throttled"), seconds)


def parse_io_v1(text: str) -> tuple[int, int]:
    """Bytes read and written, from version 1's ``blkio.throttle.io_service_bytes``: a line per device."""
    read = written = 0
    for line in text.splitlines():
        parts = line.split()
        if len(parts) == 3 and parts[1] == "Read":
            read += int(parts[2])
        elif len(parts) == 3 and parts[1] == "Write":
            written += int(parts[2])
    return read, written


def parse_process_io(text: str) -> tuple[int, int]:
    """Return bytes read and written by a process and its ended children, from ``/proc/PID/io``."""
    return parse_field(text, "read_bytes:"), parse_field(text, "write_bytes:")


def parse_io_v2(text: str) -> tuple[int, int]:
    """Bytes read and written, from version 2's ``io.stat``: a line per device, fields by name."""
    read = written = 0
    for part in text.split():
        if part.startswith("rbytes="):
            read += int(part[7:])
        elif part.startswith("wbytes="):
            written += int(part[7:])
    return read, written


def parse_network(text: str) -> tuple[int, int]:
    """Bytes received and sent, from ``/proc/PID/net/dev``, over all interfaces but the loopback."""
    received = transmitted = 0
    for line in text.splitlines()[2:]:
        name, _, columns = line.partition(":")
        if name.strip() != "lo":
            fields = columns.split()
            received += int(fields[0])
            transmitted += int(fields[8])
    return received, transmitted


_MAX_COUNTER: Final = 1 << 63
"""The kernel counts in 64 bits."""


class _StatsReader:
    """Reads numbers of an answer, and remembers which of them no kernel can have counted."""

    def __init__(self) -> None:
        self.odd: list[str] = []

    def number(self, group: Any, name: str) -> int | float | None:
        """Return a counter; None if it is missing or odd."""
        value = group.get(name) if isinstance(group, Mapping) else None
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < _MAX_COUNTER:
            self.odd.append(name)
            return None
        return value

    def group(self, group: Any, name: str) -> Any:
        """Return a group of counters; None if it is missing or odd."""
        value = group.get(name) if isinstance(group, Mapping) else None
        if value is not None and not isinstance(value, Mapping):
            self.odd.append(name)
            return None
        return value

    def total(self, groups: Any, name: str) -> int | None:
        """Return the sum of a counter over groups; None if it is missing or odd in one of them."""
        numbers = [self.number(each, name) for each in groups]
        return None if None in numbers else int(sum(each for each in numbers if each is not None))


def parse_stats(stats: Mapping[str, Any], time: float) -> Counters:
    """Return a reading from the answer of Docker's API to ``stats``, for both versions of control groups.

    What the answer lacks is None, and so is what no kernel can have counted. Raises KeyError if it has
    neither CPU nor memory.
    """
    read = _StatsReader()
    cpu, memory = read.group(stats, "cpu_stats"), read.group(stats, "memory_stats")
    throttled, stat = read.group(cpu, "throttling_data"), read.group(memory, "stats") or {}
    used = read.number(read.group(cpu, "cpu_usage"), "total_usage")
    charged = read.number(memory, "usage")
    if used is None and charged is None:
        raise KeyError("cpu_stats")
    inactive_name = "total_inactive_file" if "total_inactive_file" in stat else "inactive_file"
    inactive = read.number(stat, inactive_name) if inactive_name in stat else 0
    blocks = read.group(stats, "blkio_stats") or {}
    nets = read.group(stats, "networks")
    received, sent = (
        None if nets is None else read.total(nets.values(), key) for key in ("rx_bytes", "tx_bytes")
    )
    names = ("periods", "throttled_periods", "throttled_time")
    periods, held_back, waited = (
        (read.number(throttled, name) if name in throttled else 0) if throttled is not None else None
        for name in names
    )
    return Counters(
        time,
        None if used is None else used / 1e9,
        None if charged is None or inactive is None else max(int(charged - inactive), 0),
        *_sum_blocks(blocks.get("io_service_bytes_recursive"), read),
        received,
        sent,
        None if periods is None else int(periods),
        None if held_back is None else int(held_back),
        None if waited is None else waited / 1e9,
        f"Docker’s statistics of it are odd: {', '.join(read.odd)}." if read.odd else "",
    )


def _sum_blocks(entries: Any, read: _StatsReader) -> tuple[int | None, int | None]:
    """Bytes read and written in entries of the API; None where the kernel counts none."""
    if not isinstance(entries, list):
        return None, None
    named = [(each, str(each.get("op")).lower()) for each in entries if isinstance(each, Mapping)]
    read_, written = (
        read.total([each for each, op in named if op == name], "value") for name in ("read", "write")
    )
    return read_, written


_LOG = logging.getLogger(__name__)
_MAX_FILE: Final = 1 << 16
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class ControlGroup:
    """The files of one container's control group."""

    #: 1 or 2.
    version: int
    #: Folders of its controllers (all the same in version 2); `usage` is the folder of ``cpuacct``.
    cpu: str
    usage: str
    memory: str
    #: The file of its block devices.
    io: str
    #: The file of its network interfaces, or empty where it has none of its own.
    net: str
    #: The file of what its first process read and wrote, or empty.
    process: str = ""


@dataclass(frozen=True, slots=True)
class CpuLimits:
    """CPU limits that the kernel enforces: quota (None without one), period, shares (v1) or weight (v2)."""

    quota: int | None
    period: int
    weight: int


@dataclass(frozen=True, slots=True)
class MemoryLimits:
    """Limits that the kernel enforces on memory, and on memory with swap, bytes; None without one.

    The second is None, too, where the kernel does not count swap.
    """

    memory: int | None
    memory_and_swap: int | None


def parse_mounts(mountinfo: str) -> dict[str, str]:
    """Return the mount point of each controller of version 1, and that of version 2 under the empty name."""
    mounts: dict[str, str] = {}
    for line in mountinfo.splitlines():
        mount, _, right = line.partition(" - ")
        kind, _, options = right.split(" ", 2)
        folder = mount.split(" ")[4]
        if kind == "cgroup2":
            mounts.setdefault("", folder)
        elif kind == "cgroup":
            for controller in options.split(","):
                mounts.setdefault(controller, folder)
    return mounts


def find_group(membership: str, mounted: dict[str, str], container: str, net: str) -> ControlGroup | None:
    """Return the group of a container's process, or None if it cannot be determined."""
    paths: dict[str, str] = {}
    for line in membership.splitlines():
        _, controllers, path = line.split(":", 2)
        if container in path:
            paths.update(dict.fromkeys(controllers.split(","), path))
    if all(name in paths and name in mounted for name in ("cpu", "cpuacct", "memory", "blkio")):
        cpu, usage, memory, io = (mounted[n] + paths[n] for n in ("cpu", "cpuacct", "memory", "blkio"))
        return ControlGroup(1, cpu, usage, memory, io + "/blkio.throttle.io_service_bytes_recursive", net)
    if "" in paths and "" in mounted:
        folder = mounted[""] + paths[""]
        return ControlGroup(2, folder, folder, folder, folder + "/io.stat", net)
    return None


class CgroupReader:
    """Reads the groups of this machine's containers, and remembers where they are."""

    def __init__(self) -> None:
        self._mounted = (
            parse_mounts(Path("/proc/self/mountinfo").read_text()) if Path("/proc/self").exists() else {}
        )
        self._groups: dict[tuple[str, int], ControlGroup | None] = {}

    @property
    def usable(self) -> bool:
        """True if this machine has control groups at all."""
        return bool(self._mounted)

    def reads(self, container: Container) -> bool:
        """True if a running container's group can be read from here."""
        return self._group(container) is not None

    def counters(self, container: Container) -> Counters | None:
        """Read a running container; None if it has just ended or runs on another machine."""
        group = self._group(container)
        if group is None:
            return None
        counters = _read_group(group)
        if counters is None:
            self._groups.pop((container.id, container.pid), None)
        return counters

    def cpu_limits(self, container: Container) -> CpuLimits | None:
        """What the kernel enforces on a running container, or None where it cannot be read."""
        return self._read(container, _read_cpu_v1, _read_cpu_v2)

    def memory_limits(self, container: Container) -> MemoryLimits | None:
        """What the kernel enforces on a running container, or None where it cannot be read."""
        return self._read(container, _read_memory_v1, _read_memory_v2)

    def _read(self, container: Container, *of_version: Callable[[ControlGroup], _T]) -> _T | None:
        group = self._group(container)
        if group is None:
            return None
        try:
            return of_version[group.version - 1](group)
        except (OSError, ValueError):
            return None

    def forget_all_but(self, containers: set[str]) -> None:
        """Forget containers that are not among these ids."""
        self._groups = {key: group for key, group in self._groups.items() if key[0] in containers}

    def _group(self, container: Container) -> ControlGroup | None:
        key = (container.id, container.pid)
        if not container.pid:
            return None
        if key not in self._groups:
            self._groups[key] = self._find_group(container)
        return self._groups[key]

    def _find_group(self, container: Container) -> ControlGroup | None:
        has_own_network = container.network != "host" and not container.network.startswith("container:")
        net = f"/proc/{container.pid}/net/dev" if has_own_network else ""
        try:
            membership = Path(f"/proc/{container.pid}/cgroup").read_text()
        except OSError:
            return None
        group = find_group(membership, self._mounted, container.id, net)
        return None if group is None else replace(group, process=f"/proc/{container.pid}/io")


def _read_group(group: ControlGroup) -> Counters | None:
    """Read a group, each of its files for itself; None if it has neither CPU nor memory, so is gone."""
    is_first = group.version == 1
    cpu = _try_read(group.cpu + "/cpu.stat", str)
    usage = _try_read(group.usage + "/cpuacct.usage", int) if is_first else None
    now = time.monotonic()
    charged = _try_read(group.memory + ("/memory.usage_in_bytes" if is_first else "/memory.current"), int)
    key = "total_inactive_file" if is_first else "inactive_file"
    inactive = _try_read(group.memory + "/memory.stat", lambda text: parse_field(text, key))
    if is_first:
        used = None if usage is None else usage / 1e9
    else:
        used = None if cpu is None else parse_field(cpu, "usage_usec") / 1e6
    memory = None if charged is None or inactive is None else max(charged - inactive, 0)
    if used is None and memory is None:
        return None
    throttling = (
        (None, None, None) if cpu is None else (parse_throttling_v1 if is_first else parse_throttling_v2)(cpu)
    )
    traffic = _try_read(group.net, parse_network) if group.net else None
    blocks = _read_io(group, _try_read(group.io, parse_io_v1 if is_first else parse_io_v2))
    return Counters(now, used, memory, *(blocks or (None, None)), *(traffic or (None, None)), *throttling)


def _try_read(path: str, parse: Callable[[str], _T]) -> _T | None:
    """Parse a kernel file; None if it is missing or odd."""
    try:
        return parse(_read_text(path))
    except (OSError, ValueError, IndexError):
        return None


def _read_io(group: ControlGroup, of_group: tuple[int, int] | None) -> tuple[int, int] | None:
    """Block I/O of a group, at least that of its first process: some kernels count none for groups."""
    of_process = _try_read(group.process, parse_process_io) if group.process else None  # another user's: None
    if of_group is None or of_process is None:
        return of_process if of_group is None else of_group
    return max(of_process[0], of_group[0]), max(of_process[1], of_group[1])


def _read_cpu_v1(group: ControlGroup) -> CpuLimits:
    quota = int(_read_text(group.cpu + "/cpu.cfs_quota_us"))
    period = int(_read_text(group.cpu + "/cpu.cfs_period_us"))
    return CpuLimits(None if quota < 0 else quota, period, int(_read_text(group.cpu + "/cpu.shares")))


def _read_cpu_v2(group: ControlGroup) -> CpuLimits:
    quota, period = _read_text(group.cpu + "/cpu.max").split()
    weight = int(_read_text(group.cpu + "/cpu.weight"))
    return CpuLimits(None if quota == "max" else int(quota), int(period), weight)


def _read_memory_v1(group: ControlGroup) -> MemoryLimits:
    memory_and_swap = None
    with suppress(FileNotFoundError):
        memory_and_swap = _limit(_read_text(group.memory + "/memory.memsw.limit_in_bytes"))
    return MemoryLimits(_limit(_read_text(group.memory + "/memory.limit_in_bytes")), memory_and_swap)


def _read_memory_v2(group: ControlGroup) -> MemoryLimits:
    memory, swap = _limit(_read_text(group.memory + "/memory.max")), None
    with suppress(FileNotFoundError):
        swap = _limit(_read_text(group.memory + "/memory.swap.max"))
    return MemoryLimits(memory, None if memory is None or swap is None else memory + swap)


def _limit(text: str) -> int | None:
    """Bytes; None for the kernel's "max", and for a number so large that it means the same."""
    return None if text.strip() == "max" or int(text) >= UNLIMITED_BYTES else int(text)


def _read_text(path: str) -> str:
    """Read a small kernel file at once, in a third of the time of a Python file object."""
    handle = os.open(path, os.O_RDONLY)
    try:
        return os.read(handle, _MAX_FILE).decode("ascii")
    finally:
        os.close(handle)


class ContainerUsage:
    """Reads counters; remote containers concurrently, since a host answers for each once a second at most."""

    def __init__(self, connection: Connection, reader: CgroupReader) -> None:
        self._connection, self._reader = connection, reader
        self._pool: ThreadPoolExecutor | None = None

    def counters(self, containers: Sequence[Container]) -> dict[str, Counters]:
        """Return a reading of each running container, by id.

        Raises HostLost if the host had to be asked and does not answer.
        """
        readings: dict[str, Counters] = {}
        others = []
        remote = self._connection.remote
        for container in containers:
            if remote or (container.running and not self._reader.reads(container)):
                others.append(container)
                continue
            counters = self._reader.counters(container)
            if counters is not None:
                readings[container.id] = counters
        if others:
            readings |= self._request_stats(others)
        return readings

    def close(self) -> None:
        """End the threads that ask."""
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None

    def _request_stats(self, containers: Sequence[Container]) -> dict[str, Counters]:
        if self._pool is None:
            self._pool = ThreadPoolExecutor(32, thread_name_prefix="docker-stats")
        answers = self._pool.map(
            self._request_container_stats, [container.id for container in containers if container.running]
        )
        return {name: counters for name, counters in answers if counters is not None}

    def _request_container_stats(self, container: str) -> tuple[str, Counters | None]:
        path = f"/containers/{container}/stats"
        try:
            stats = self._connection.get(path, stream=False, **{"one-shot": True})
        except ContainerGone:
            return container, None
        except ChangeRefused as refused:
            return container, Counters(time.monotonic(), None, None, unreadable=refused.message)
        try:
            if str(stats.get("read", "")).startswith("0001"):  # it ended
                return container, None
            return container, parse_stats(stats, time.monotonic())
        except (KeyError, AttributeError) as error:
            _LOG.warning("Docker's statistics of %.12s cannot be read: %r", container, error)
            unreadable = "Docker’s statistics of it cannot be read."
            return container, Counters(time.monotonic(), None, None, unreadable=unreadable)
