"""Detecting whether a worker process is still alive.

On the same machine the kernel knows: a process of that id, born at that moment, exists or not.
No clock is asked, so a clock that jumps declares nobody dead. For a worker on another machine only
its last heartbeat in the database can tell.
"""

from __future__ import annotations

import os
import socket
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from core.runtime.database.tables import WorkerRow

BEAT_EVERY = 2.0
DEAD_AFTER = 20.0
_LINUX = Path("/proc/self/stat").exists()


def this_host() -> str:
    """Name the machine, and the boot, whose process ids are meant."""
    boot = Path("/proc/sys/kernel/random/boot_id")
    namespace = Path("/proc/self/ns/pid")
    parts = [socket.gethostname()]
    if boot.exists():
        parts.append(boot.read_text().strip())
    if namespace.exists():
        parts.append(str(namespace.readlink()))
    return " ".join(parts)


def birth_of(pid: int) -> str:
    """The moment a process was born, as the kernel counts; empty when it is dead or nobody can tell."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except (OSError, IndexError):
        return ""
    return "" if fields[0] in "ZX" else fields[19]


def is_alive(worker: WorkerRow, now: float | None = None) -> bool:
    """Tell whether a worker lives."""
    if worker.host != this_host():
        return (time.time() if now is None else now) - worker.beat < DEAD_AFTER
    if _LINUX:
        return birth_of(worker.pid) == worker.birth != ""
    return _exists(worker.pid)


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
