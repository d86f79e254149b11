"""Parsing a container's cumulative usage counters (CPU, memory, I/O).

Three sources say the same: the control groups of version 1, those of version 2, and the answer of Docker's
API, which is all that a remote host has. Everything counts up from a container's start; a rate
needs two readings. Memory is the working set: what is charged to the container without the inactive file
pages that the kernel would reclaim first, as ``docker stats`` and Kubernetes show it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from core.engines.values import Counters

if TYPE_CHECKING:
    from collections.abc import Mapping


class Throttling(NamedTuple):
    """Periods of a quota, those that were throttled, and for how many seconds."""

    periods: int
    throttled: int
    seconds: float


def number_after(text: str, key: str) -> int:
    """The number in the line of a flat file that begins with `key`; 0 where there is none."""
    place = 0 if text.startswith(key + " ") else text.find(f"\n{key} ") + 1
    if place == 0 and not text.startswith(key + " "):
        return 0
    begin = place + len(key) + 1
    end = text.find("\n", begin)
    return int(text[begin : end if end >= 0 else len(text)])


def throttling_v1(text: str) -> Throttling:
    """From version 1's ``cpu.stat``, which counts nanoseconds."""
    seconds = number_after(text, "throttled_time") / 1e9
    return Throttling(number_after(text, "nr_periods"), number_after(text, "nr_throttled"), seconds)


def throttling_v2(text: str) -> Throttling:
    """From version 2's ``cpu.stat``, which counts microseconds."""
    seconds = number_after(text, "throttled_usec") / 1e6
    return Throttling(number_after(text, "nr_periods"), number_after(text, "nr_throttled"), seconds)


def io_v1(text: str) -> tuple[int, int]:
    """Bytes read and written, from version 1's ``blkio.throttle.io_service_bytes``: a line per device."""
    read = written = 0
    for line in text.splitlines():
        parts = line.split()
        if len(parts) == 3 and parts[1] == "Read":
            read += int(parts[2])
        elif len(parts) == 3 and parts[1] == "Write":
            written += int(parts[2])
    return read, written


def io_process(text: str) -> tuple[int, int]:
    """Bytes that a process and its ended children made storage read and write, from ``/proc/PID/io``."""
    return number_after(text, "read_bytes:"), number_after(text, "write_bytes:")


def io_v2(text: str) -> tuple[int, int]:
    """Bytes read and written, from version 2's ``io.stat``: a line per device, fields by name."""
    read = written = 0
    for part in text.split():
        if part.startswith("rbytes="):
            read += int(part[7:])
        elif part.startswith("wbytes="):
            written += int(part[7:])
    return read, written


def network(text: str) -> tuple[int, int]:
    """Bytes received and sent, from ``/proc/PID/net/dev``, over all interfaces but the loopback."""
    received = sent = 0
    for line in text.splitlines()[2:]:
        name, _, rest = line.partition(":")
        if name.strip() != "lo":
            fields = rest.split()
            received += int(fields[0])
            sent += int(fields[8])
    return received, sent


def from_api(found: Mapping[str, Any], time: float) -> Counters:
    """A reading from the answer of Docker's API to ``stats``, of either version of control groups."""
    cpu, memory = found["cpu_stats"], found.get("memory_stats") or {}
    throttled = cpu.get("throttling_data") or {}
    stat = memory.get("stats") or {}
    inactive = stat.get("total_inactive_file", stat.get("inactive_file", 0))
    read = written = 0
    for entry in (found.get("blkio_stats") or {}).get("io_service_bytes_recursive") or []:
        read += entry["value"] if entry["op"].lower() == "read" else 0
        written += entry["value"] if entry["op"].lower() == "write" else 0
    nets = (found.get("networks") or {}).values()
    return Counters(
        time,
        cpu["cpu_usage"]["total_usage"] / 1e9,
        max(memory.get("usage", 0) - inactive, 0),
        read,
        written,
        sum(net["rx_bytes"] for net in nets),
        sum(net["tx_bytes"] for net in nets),
        throttled.get("periods", 0),
        throttled.get("throttled_periods", 0),
        throttled.get("throttled_time", 0) / 1e9,
    )
