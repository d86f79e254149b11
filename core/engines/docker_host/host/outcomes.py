"""How a container's program ended, in a sentence: for the run that it was in, and for jobs in none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from core.engines.submitted import Outcome
from core.errors import PhaseDockError

if TYPE_CHECKING:
    from core.engines.docker_host.host.containers import Container
    from core.engines.docker_host.host.reading import HostReading

_MOST_LINES: Final = 3


def ending(host: HostReading, container: Container, said: str) -> Outcome:
    """How a program ended."""
    if container.exit_code == 0 and said in ("", "done"):
        return Outcome(True, "It finished.")
    if container.oom_killed:
        return Outcome(False, "It exceeded its memory limit, and the kernel killed it.")
    if container.exit_code == 0:
        return Outcome(False, "It was stopped before it had finished.")
    return Outcome(
        False, f"Its program exited with code {container.exit_code}{_last_lines(host, container)}."
    )


def _last_lines(host: HostReading, container: Container) -> str:
    try:
        lines = [line.strip() for _, line in host.logs_since(container.id, 0.0, _MOST_LINES) if line.strip()]
    except PhaseDockError:
        return ""
    return f": {lines[-1][:200].rstrip('.')}" if lines else ""
