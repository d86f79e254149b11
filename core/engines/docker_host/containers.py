"""A container as Docker describes it, and facts about its host."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from core.engines.docker_host.limits import Limits, parse_integer
from core.engines.errors import OddAnswer
from core.engines.values import Ending, HostInfo

if TYPE_CHECKING:
    from collections.abc import Mapping

_NEVER: Final = "0001-01-01"
_STATES_WITH_PROCESSES: Final = frozenset(("running", "paused"))
_STATES: Final = _STATES_WITH_PROCESSES | {
    *("created", "restarting", "removing", "exited", "dead"),
    *("configured", "initialized", "stopping", "stopped"),  # Podman's
}
_MAX_PROCESSORS: Final = 8191
"""The last processor that Linux can number."""


@dataclass(frozen=True, slots=True)
class Container:
    """The state of one container at the last request to Docker."""

    #: Its full id.
    id: str
    #: Its name, without the slash.
    name: str
    #: The name of its image at its creation.
    image: str
    #: Its labels.
    labels: Mapping[str, str] = field(hash=False)
    #: ``created``, ``running``, ``paused``, ``restarting``, ``exited`` or ``dead``.
    state: str
    #: Unix seconds; `started` is 0 where it never was.
    created: float
    started: float
    #: Of its first process on the host, or 0 while it does not run.
    pid: int
    #: What it may use.
    limits: Limits
    #: Processors that it may use, as Docker writes them, such as ``"0-1"``; empty: all.
    cpuset: str
    #: Its network mode, such as ``"none"``.
    network: str = ""
    #: Unix seconds of its last end, or 0.
    ended: float = 0.0
    #: Of its last end.
    exit_code: int = 0
    #: Whether the kernel ended it for want of memory.
    oom_killed: bool = False
    #: Its entry point, if it has one, and its command.
    command: tuple[str, ...] = ()
    #: How often Docker started it again by its restart policy, and why it could not be started, or empty.
    restarts: int = 0
    error: str = ""
    #: Processes of it that the kernel was seen to kill for want of memory.
    kills: int = 0
    #: Why it is not as it is now, in a sentence: Docker's last answer about it cannot be read; else empty.
    unreadable: str = ""

    def processors(self, cores: int) -> frozenset[int]:
        """Numbers of the processors that it may use on a host with so many."""
        return parse_cpus(self.cpuset, cores)

    @property
    def running(self) -> bool:
        """True while it has processes, paused ones included."""
        return self.pid > 0 and self.state in ("running", "paused")

    @property
    def ending(self) -> Ending:
        """Its last end and its restarts."""
        ended = self.ended or None
        failed_start = self.created if self.error and not self.started else None
        kills = max(self.kills, int(self.oom_killed))
        code = self.exit_code if ended or failed_start else None
        return Ending(ended or failed_start, code, kills, self.restarts, self.error)


def parse_container(answer: Mapping[str, Any]) -> Container:
    """Return the container in Docker's answer to ``inspect``.

    Raises OddAnswer if the answer cannot be read.
    """
    try:
        return _parse_container(answer)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise OddAnswer("Docker's description of it cannot be read.", "See Docker's log.") from error


def _parse_container(answer: Mapping[str, Any]) -> Container:
    state, config, host = answer["State"], answer["Config"], answer["HostConfig"]
    status, pid = parse_text(state["Status"]), parse_integer(state.get("Pid"))
    if status not in _STATES or (status in _STATES_WITH_PROCESSES and pid <= 0):
        raise ValueError(status)
    container = parse_text(answer["Id"])
    return Container(
        container,
        parse_text(answer["Name"]).removeprefix("/") or container[:12],
        parse_text(config.get("Image")),
        parse_labels(config.get("Labels")),
        status,
        parse_time(answer["Created"]),
        parse_time(state["StartedAt"]),
        pid,
        Limits.of(host),
        parse_text(host.get("CpusetCpus")),
        parse_text(host.get("NetworkMode")),
        parse_time(state.get("FinishedAt", "")),
        parse_integer(state.get("ExitCode")),
        bool(state.get("OOMKilled")),
        tuple(map(parse_text, (*(config.get("Entrypoint") or ()), *(config.get("Cmd") or ())))),
        parse_integer(answer.get("RestartCount")),
        parse_text(state.get("Error")),
    )


def parse_text(value: object) -> str:
    """Return a text that can be stored; empty for None.

    Raises ValueError if it is no text.
    """
    if value is not None and not isinstance(value, str):
        raise ValueError(value)
    return (value or "").encode("utf-8", "replace").decode()


def parse_labels(value: object) -> dict[str, str]:
    """Return labels; those that are no texts are left out, and there are none in anything else."""
    labels = value if isinstance(value, dict) else {}
    return {parse_text(name): parse_text(each) for name, each in labels.items() if isinstance(each, str)}


def parse_host(name: str, answer: Mapping[str, Any], local: bool) -> HostInfo:
    """Return the host in Docker's answer to ``info``."""
    return HostInfo(
        name,
        float(answer["NCPU"]),
        int(answer["MemTotal"]),
        str(answer["ServerVersion"]),
        2 if str(answer.get("CgroupVersion", "1")) == "2" else 1,
        local,
        _make_engine_id(answer),
    )


def _make_engine_id(answer: Mapping[str, Any]) -> str:
    """Return an id that is unique to an engine; empty if Docker reports none.

    Docker 20.10 keeps its id in /etc/docker, so all engines of one machine have the same; newer releases keep
    it in their data folder, which is unique to each engine.
    """
    engine_id = str(answer.get("ID") or "")
    return (
        hashlib.sha256(f"{engine_id}\n{answer.get('DockerRootDir')}".encode()).hexdigest()[:32]
        if engine_id
        else ""
    )


def parse_time(text: str) -> float:
    """Return the Unix seconds of one of Docker's times, which count nanoseconds; 0 for "never"."""
    if not text or text.startswith(_NEVER):
        return 0.0
    whole, dot, fraction = text.partition(".")
    if not dot:
        return datetime.fromisoformat(text).timestamp()
    digits = len(fraction) - len(fraction.lstrip("0123456789"))
    return datetime.fromisoformat(whole + fraction[digits:]).timestamp() + float(f"0.{fraction[:digits]}")


def parse_cpus(text: str, cores: int) -> frozenset[int]:
    """Return the processors of a CPU set such as ``"0-2,5"``; an empty or odd set means all processors."""
    processors: set[int] = set()
    for part in text.split(","):
        first, _, last = part.strip().partition("-")
        if first.isdecimal() and (last or first).isdecimal():
            processors.update(range(int(first), min(int(last or first), _MAX_PROCESSORS) + 1))
    return frozenset(processors or range(cores))
