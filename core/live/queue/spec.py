"""Validation of a submitted form: a job that can run, or an error for each wrong field."""

from __future__ import annotations

import re
import shlex
from dataclasses import asdict, dataclass, field
from pathlib import Path
from posixpath import normpath
from typing import TYPE_CHECKING, Any, Final, Self

from core.deadline_text import read_deadline
from core.errors import InputError
from core.jobs.catalogue import CATALOGUE
from core.scheduling.model import HIGHEST_PRIORITY
from core.settings_fields import describe, setting
from core.units import GIB, MIB, format_bytes, format_cores
from core.workspace.earlier_runs import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from core.sampling.values import EngineInfo


OWN: Final = "own"
"""The choice of an image instead of a bundled program."""

PROGRAMS: Final = {OWN: "None: an image of my own"} | {
    name: f"{name} ({entry.image}): {entry.learns}" for name, entry in CATALOGUE.items()
}


@dataclass(frozen=True)
class JobSettings:
    """A job as it is typed into a form; `core.live.queue.spec.read_job` makes a job of it."""

    program: str = setting(
        OWN,
        label="Bundled program",
        choices=PROGRAMS,
        help="One of PhaseDock’s training programs, in its image phasedock-jobs.",
    )
    image: str = setting(
        "", label="Image", help="An image that the engine has already. Empty with a bundled program."
    )
    command: str = setting(
        "",
        label="Command",
        help="Empty: the image’s own. With a bundled program: its options, such as --steps 500.",
    )
    name: str = setting(
        "", label="Name", help="Letters, digits, dots, dashes. Empty: after the program or the image."
    )
    request: float = setting(
        1.0, label="Cores requested", low=0.01, high=4096, unit="cores", help="What it should get."
    )
    min: float = setting(
        0.0, label="At least", low=0.0, high=4096, unit="cores", help="Fewest that it can run with; 0: any."
    )
    max: float = setting(
        0.0, label="At most", low=0.0, high=4096, unit="cores", help="Most that it can use; 0: no bound."
    )
    memory: float = setting(
        0.0, label="Memory", low=0.0, high=1e6, unit="GiB", help="More, and it is ended; 0: no limit."
    )
    priority: int = setting(
        0, label="Priority", low=0, high=HIGHEST_PRIORITY, help="From 0 to 9; the higher, the sooner."
    )
    deadline: str = setting(
        "",
        label="Deadline",
        help="When it must end: 2 h, 18:00, 6 pm, tomorrow 9:00, 2026-12-24 18:00. Empty: none.",
    )
    environment: str = setting(
        "", label="Environment", help="Variables with spaces between them, such as SEED=1 MODE=fast."
    )
    follows: bool = setting(
        False,
        label="Its threads follow its cores",
        help="The program uses PhaseDock’s agent. Bundled programs always do.",
    )
    data: str = setting(
        "",
        label="Data",
        help="What it trains on, in a word, where the command does not say: other data, other speed.",
    )
    volumes: str = setting(
        "", label="Volumes", help="Such as /srv/data:/data:ro; only below PHASEDOCK_ALLOWED_VOLUMES."
    )
    ports: str = setting(
        "", label="Ports", help="Of the host and inside, such as 6006:6006; only PHASEDOCK_ALLOWED_PORTS."
    )


IMAGES: Final = "phasedock-jobs"
"""The images of the bundled programs (``make jobs-image``)."""

_MIN_MEMORY: Final = 6 * MIB
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,39}")
_IMAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:/@-]{0,254}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_UNSAFE = re.compile(r"[^A-Za-z0-9_.-]+")


class JobNotAccepted(InputError):  # noqa: N818 - it says what happened
    """A job that cannot be submitted as it is."""

    def __init__(self, fields: Mapping[str, str]) -> None:
        message = " ".join(f"{name}: {sentence}" for name, sentence in fields.items())
        super().__init__(f"The job was not submitted. {message}", "Change that and submit it again.")
        self.fields = dict(fields)


@dataclass(frozen=True, slots=True)
class Mounts:
    """The host's folders that submitted jobs may mount, and the ports that they may publish."""

    volumes: tuple[str, ...] = ()
    ports: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class JobSpec:
    """A job that can be run."""

    #: Its image and command; an empty command is the image's own.
    image: str
    command: tuple[str, ...] = ()
    #: Cores that it asks for, and can run with at least and at most; None where that was not said.
    request: float | None = None
    least: float | None = None
    most: float | None = None
    #: Bytes that it may use at most, or None.
    memory: int | None = None
    #: Variables of its program.
    environment: Mapping[str, str] = field(default_factory=dict, hash=False)
    #: Folders and ports of the host, and what they are inside.
    volumes: Mapping[str, str] = field(default_factory=dict, hash=False)
    ports: Mapping[str, str] = field(default_factory=dict, hash=False)
    #: Whether its threads follow its cores.
    follows: bool = False
    #: The bundled program that it runs; empty for an image of one's own.
    program: str = ""
    #: Its deadline, seconds since 1970, or None.
    deadline: float | None = None
    #: What it trains on, in a word, or empty.
    data: str = ""

    @property
    def kind(self) -> Kind:
        """The kind of job; earlier runs of the kind predict its speed."""
        return Kind(self.image, self.command, self.data)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for the database."""
        return {**asdict(self), "command": list(self.command)}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Self:
        """Return the job that `to_dict` wrote."""
        return cls(**{**plain, "command": tuple(plain["command"])})


def read_job(
    settings: JobSettings, engine: EngineInfo, mounts: Mounts, now: float, zone: str = ""
) -> tuple[str, JobSpec]:
    """Return the requested name of a job, and the job.

    Raises JobNotAccepted if anything is wrong; names every field.
    """
    wrong: dict[str, str] = {}

    def checked(name: str, read: Callable[[], Any]) -> Any:
        try:
            return read()
        except ValueError as error:
            wrong[name] = str(error)
            return None

    image, program = checked("image", lambda: _check_image(settings)), settings.program
    words = checked("command", lambda: _split_words(settings.command))
    name = checked("name", lambda: _name(settings))
    checked("request", lambda: _check_request(settings.request, engine))
    checked("min", lambda: _check_min_cores(settings))
    checked("max", lambda: _check_max_cores(settings))
    memory = checked("memory", lambda: _parse_memory(settings.memory, engine))
    deadline = checked("deadline", lambda: read_deadline(settings.deadline, now, zone))
    environment = checked("environment", lambda: _parse_environment(settings.environment))
    volumes = checked("volumes", lambda: _parse_volumes(settings.volumes, mounts.volumes))
    ports = checked("ports", lambda: _parse_ports(settings.ports, mounts.ports))
    if wrong:
        order = [spec.name for spec in describe(type(settings))]
        raise JobNotAccepted({each: wrong[each] for each in order if each in wrong})
    bundled = program != OWN
    return name, JobSpec(
        image=image,
        command=("python3", "-m", "phasedock_jobs", program, *words) if bundled else words,
        request=settings.request,
        least=settings.min or None,
        most=settings.max or None,
        memory=memory,
        environment=environment,
        volumes=volumes,
        ports=ports,
        follows=settings.follows or bundled,
        program=program if bundled else "",
        deadline=deadline,
        data=settings.data.strip(),
    )


def _check_image(settings: JobSettings) -> str:
    image = settings.image.strip()
    if settings.program != OWN:
        if image:
            raise ValueError(f"Leave it empty, or choose no bundled program: {settings.program} has its own.")
        return f"{IMAGES}:{CATALOGUE[settings.program].image}"
    if not image:
        raise ValueError("Name an image that the engine has, or choose a bundled program.")
    if _IMAGE.fullmatch(image) is None:
        raise ValueError("Write it as Docker does, such as trainer:2 or registry.example/team/trainer:2.")
    return image


def _split_words(text: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(text))
    except ValueError:
        raise ValueError("Close its quotes: it is split into words as in a shell.") from None


def _name(settings: JobSettings) -> str:
    name = settings.name.strip()
    if not name:
        last = settings.image.strip().rpartition("/")[2].partition("@")[0].partition(":")[0]
        last = settings.program if settings.program != OWN else last
        return _UNSAFE.sub("-", last).strip("-_.")[:40] or "job"
    if _NAME.fullmatch(name) is None:
        raise ValueError(
            "Use at most 40 letters, digits, dots, dashes and underscores, a letter or digit first."
        )
    return name


def _check_request(request: float, engine: EngineInfo) -> None:
    if engine.cores is not None and request > engine.cores:
        raise ValueError(f"{engine.name} has {format_cores(engine.cores)}; at most that would be accepted.")


def _check_min_cores(settings: JobSettings) -> None:
    if settings.min > settings.request:
        raise ValueError(f"It may be at most the {format_cores(settings.request)} that are requested.")


def _check_max_cores(settings: JobSettings) -> None:
    if settings.max and settings.max < settings.request:
        raise ValueError(
            f"It must be at least the {format_cores(settings.request)} that are requested, or 0."
        )


def _parse_memory(gib: float, engine: EngineInfo) -> int | None:
    size = round(gib * GIB)
    if not size:
        return None
    if size < _MIN_MEMORY:
        raise ValueError(f"It must be 0, or at least {format_bytes(_MIN_MEMORY)}.")
    if engine.memory is not None and size > engine.memory:
        raise ValueError(f"{engine.name} has {format_bytes(engine.memory)}; at most that would be accepted.")
    return size


def _parse_environment(text: str) -> dict[str, str]:
    variables = {}
    for word in _split_words(text):
        name, sign, value = word.partition("=")
        if not sign or _VARIABLE.fullmatch(name) is None:
            raise ValueError(f"“{word[:40]}” is not of the form NAME=value. Quote values with spaces.")
        variables[name] = value
    return variables


def _parse_volumes(text: str, allowed: tuple[str, ...]) -> dict[str, str]:
    volumes = {}
    for part in _split_parts(text):
        source, _, target = part.partition(":")
        inside, _, how = target.partition(":")
        if not source.startswith("/") or not inside.startswith("/") or how not in ("", "ro", "rw"):
            raise ValueError(f"“{part[:60]}” is not a volume. Use /folder:/inside or /folder:/inside:ro.")
        if not _is_below(source, allowed):
            which = ", ".join(allowed) or "nothing now"
            raise ValueError(f"{source} may not be mounted; PHASEDOCK_ALLOWED_VOLUMES lists {which}.")
        volumes[normpath(source)] = target
    return volumes


def _is_below(folder: str, allowed: tuple[str, ...]) -> bool:
    """Whether a folder is an allowed one or below one, both as it is written and where its links lead."""
    return all(
        any(each == top or each.startswith(top.rstrip("/") + "/") for top in allowed)
        for each in (normpath(folder), str(Path(folder).resolve()))
    )


def _parse_ports(text: str, allowed: tuple[tuple[int, int], ...]) -> dict[str, str]:
    ports = {}
    for part in _split_parts(text):
        match = re.fullmatch(r"(\d{1,5}):(\d{1,5})", part)
        if match is None or not all(0 < int(port) < 65536 for port in match.groups()):
            raise ValueError(
                f"“{part[:40]}” is not a port mapping. Use HOST:CONTAINER, for example 6006:6006."
            )
        if not any(low <= int(match[1]) <= high for low, high in allowed):
            which = ", ".join(f"{low}" if low == high else f"{low}-{high}" for low, high in allowed)
            raise ValueError(
                f"{match[1]} may not be published; PHASEDOCK_ALLOWED_PORTS lists {which or 'nothing now'}."
            )
        ports[match[1]] = match[2]
    return ports


def _split_parts(text: str) -> list[str]:
    return [part for part in re.split(r"[,\s]+", text.strip()) if part]
