"""Settings from environment variables, read once and checked before anything starts.

This is the only module that reads the server's `os.environ`. `SETTINGS` declares each variable once: its
name, the field of the frozen `Settings` that it sets, how its text is read, and the row of the table in
README and docs. A wrong value stops the start with an error that names the variable and the values allowed.
"""

from __future__ import annotations

import ipaddress
import math
import os
import re
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias
from urllib.parse import urlsplit

from core.errors import SettingsError
from core.units import BINARY_FACTORS, SUFFIX_FACTORS, Unit, format_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_Parse: TypeAlias = "Callable[[str, str], Any]"
"""Reads the value of a variable, given its name and its text."""

_YES, _NO = {"1", "true", "yes", "on"}, {"0", "false", "no", "off", ""}
_DATABASES = ("sqlite", "postgresql")


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of the process, read from the environment."""

    #: Folder of all data, absolute.
    home: Path
    #: Where the web process listens.
    host: str = "127.0.0.1"
    port: int = 8050
    #: SQLAlchemy address of the database.
    database_url: str = field(default="", repr=False)
    #: Address of Redis, or None for SQLite and the file system.
    redis_url: str | None = field(default=None, repr=False)
    #: The password that the page asks for, or None; kept out of `repr`.
    password: str | None = field(default=None, repr=False)
    #: Whether running containers may be changed.
    control: bool = False
    #: The Docker Engines, as ``name=address;name=address``; empty: one, where Docker's own settings point.
    docker: str = ""
    #: Whether there is a host on which recorded jobs are replayed.
    demo: bool = True
    #: Whether labelled containers are sampled also while no page shows them, and remembered for a month.
    history: bool = True
    #: Largest upload in bytes.
    max_upload: int = 4 * 2**30
    #: Host names beyond the loopback ones under which browsers may reach the page.
    allowed_hosts: tuple[str, ...] = ()
    #: Path under which a proxy offers PhaseDock, such as ``/pd``; empty: at the root.
    prefix: str = ""
    #: Networks, each as ``address/bits``, whose X-Forwarded headers are believed.
    trusted_proxy: tuple[str, ...] = ()
    #: Tasks that one worker process runs at the same time.
    task_threads: int = 2
    #: Python files with policies from outside, absolute; they are checked when they are loaded.
    policies: tuple[Path, ...] = ()
    #: Folders of the host, absolute, that submitted jobs may mount, and all below them.
    allowed_volumes: tuple[str, ...] = ()
    #: Ranges of ports of the host that submitted jobs may publish, each with its first and last.
    allowed_ports: tuple[tuple[int, int], ...] = ()

    def __post_init__(self) -> None:
        """Fill in the database of the home folder when none was named."""
        if not self.database_url:
            object.__setattr__(self, "database_url", f"sqlite:///{self.home / 'phasedock.db'}")

    @property
    def demo_folder(self) -> str:
        """The folder of the demo host's recordings; empty without one."""
        return str(self.home / "demo") if self.demo else ""

    @property
    def loopback(self) -> bool:
        """True when only this machine can reach the page."""
        return is_loopback(self.host)

    @property
    def address(self) -> str:
        """The address to open in a browser on this machine."""
        host = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(self.host, self.host)  # noqa: S104 - compared only
        bracketed = f"[{host}]" if ":" in host and not host.startswith("[") else host
        return f"http://{bracketed}:{self.port}{self.prefix}"


def is_loopback(host: str) -> bool:
    """Tell whether a host to listen on can be reached from this machine only."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def load_settings(environ: Mapping[str, str] | None = None) -> Settings:
    """Read the settings from the environment.

    Raises SettingsError if a value is not allowed; names the variable and what it may be.
    """
    values = os.environ if environ is None else environ
    texts = {each: values.get(each.name, "") for each in SETTINGS}
    settings = Settings(
        **{
            each.field: each.parse(each.name, text)
            for each, text in texts.items()
            if text.strip() or each.field == "home" or (text and each.field == "password")
        }
    )
    _check_password(settings.host, settings.password)
    return settings


def policy_files(environ: Mapping[str, str] | None = None) -> tuple[Path, ...]:
    """The files with policies from outside; for commands that need nothing else of the environment.

    Raises SettingsError if one of them is not a path.
    """
    values = os.environ if environ is None else environ
    return _files("PHASEDOCK_POLICIES", values.get("PHASEDOCK_POLICIES", ""))


def child_environment(settings: Settings) -> dict[str, str]:
    """The process's variables with the settings filled in, for processes started from here."""
    return {
        **os.environ,
        "PHASEDOCK_HOME": str(settings.home),
        "HOST": settings.host,
        "PORT": str(settings.port),
        "PHASEDOCK_POLICIES": os.pathsep.join(str(path) for path in settings.policies),
        "PYTHONUNBUFFERED": "1",
    }


def _wrong(name: str, value: str, allowed: str) -> SettingsError:
    return SettingsError(f"{name} is “{value}”, which cannot be used.", f"Use {allowed}.")


def _home(name: str, text: str) -> Path:
    try:
        home = Path(text.strip() or ".phasedock").expanduser().resolve()
        usable = home.is_dir() or not home.exists()
    except (OSError, ValueError, RuntimeError):
        usable = False
    if not usable:
        raise _wrong(name, text, "a folder, or a path where one can be made")
    return home


def _host(name: str, text: str) -> str:
    text = text.strip()
    if re.fullmatch(r"[A-Za-z0-9._-]+|[0-9A-Fa-f:.%]+", text) is None:
        raise _wrong(name, text, "an address or a host name, such as 127.0.0.1, 0.0.0.0 or localhost")
    return text


def _check_password(host: str, password: str | None) -> None:
    if password is not None and len(password.strip()) < 8:
        raise SettingsError(
            "PHASEDOCK_PASSWORD is too short.",
            "It must have at least 8 characters, not counting spaces at its ends.",
        )
    if password is None and not is_loopback(host):
        raise SettingsError(
            f"HOST is “{host}”, so other machines could reach PhaseDock, and there is no password.",
            "Set PHASEDOCK_PASSWORD, or HOST to 127.0.0.1.",
        )


def _whole(low: int, high: int) -> _Parse:
    def parse(name: str, text: str) -> int:
        text = text.strip()
        if re.fullmatch(r"\d{1,9}", text) is None or not low <= int(text) <= high:
            raise _wrong(name, text, f"a whole number from {low} to {high}")
        return int(text)

    return parse


def _switch(name: str, text: str) -> bool:
    word = text.strip().lower()
    if word not in _YES | _NO:
        raise _wrong(name, text, "on or off (also 1, true, yes, or 0, false, no)")
    return word in _YES


def _text(_name: str, text: str) -> str:
    return text.strip()


def _secret(_name: str, text: str) -> str:
    return text


def _files(name: str, text: str) -> tuple[Path, ...]:
    try:
        return tuple(Path(part).expanduser().resolve() for part in text.split(os.pathsep) if part.strip())
    except (OSError, ValueError, RuntimeError):
        raise _wrong(name, text.strip(), f"paths of Python files with “{os.pathsep}” between them") from None


def _size(name: str, text: str) -> int:
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*", text)
    suffix = match[2].lower() if match else ""
    factor = SUFFIX_FACTORS[Unit.BYTES].get(suffix, BINARY_FACTORS.get(suffix))
    if match is None or factor is None or not 1 <= float(match[1]) * factor < math.inf:
        raise _wrong(name, text, "a size above 0, such as 500MB, 2GiB or a number of bytes")
    return int(float(match[1]) * factor)


def _database(name: str, text: str) -> str:
    text = text.strip()
    scheme, separator, location = text.partition("://")
    scheme = "postgresql" if scheme == "postgres" else scheme
    if not separator or not location or scheme.split("+")[0] not in _DATABASES:
        masked = f"{scheme}://…" if separator else text
        raise _wrong(name, masked, "sqlite:///path/to/file.db or postgresql://user:password@host/name")
    return f"{'postgresql+psycopg' if scheme == 'postgresql' else scheme}://{location}"


def _redis(name: str, text: str) -> str:
    text = text.strip()
    parts = urlsplit(text)
    if parts.scheme not in ("redis", "rediss", "unix") or not (parts.netloc or parts.path):
        raise _wrong(name, f"{parts.scheme}://…", "redis://host:6379/0 or rediss://host:6379/0")
    return text


def _hosts(name: str, text: str) -> tuple[str, ...]:
    hosts = tuple(part.strip().lower() for part in text.split(",") if part.strip())
    for host in hosts:
        if re.fullmatch(r"[a-z0-9._:\[\]-]+", host) is None:
            raise _wrong(name, host, "host names separated by commas, such as box.example")
    return hosts


def _prefix(name: str, text: str) -> str:
    path = "/" + text.strip().strip("/")
    if re.fullmatch(r"(/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)+|/", path) is None:
        raise _wrong(
            name, text.strip(), "a path of letters, digits, “-”, “_”, “.” and “~”, such as /phasedock"
        )
    return path.rstrip("/")


def _networks(name: str, text: str) -> tuple[str, ...]:
    parts = [part.strip() for part in text.split(",") if part.strip()]
    for part in parts:
        try:
            ipaddress.ip_network(part)
        except ValueError:
            raise _wrong(name, part, "addresses or networks, such as 127.0.0.1,10.42.0.0/16") from None
    return tuple(str(ipaddress.ip_network(part)) for part in parts)


def _volumes(name: str, text: str) -> tuple[str, ...]:
    folders = tuple(part.strip() for part in text.split(os.pathsep) if part.strip())
    for folder in folders:
        if not folder.startswith("/") or ".." in folder.split("/"):
            raise _wrong(name, folder, f"absolute folders with “{os.pathsep}” between them")
    return tuple(os.path.normpath(folder) for folder in folders)


def _ports(name: str, text: str) -> tuple[tuple[int, int], ...]:
    ranges = []
    for part in (part.strip() for part in text.split(",") if part.strip()):
        match = re.fullmatch(r"(\d{1,5})(?:-(\d{1,5}))?", part)
        low, high = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
        if not 1 <= low <= high <= 65535:
            raise _wrong(name, part, "ports from 1 to 65535 or ranges of them, such as 6006,8800-8899")
        ranges.append((low, high))
    return tuple(ranges)


class Variable(NamedTuple):
    """One environment variable: the field of `Settings` that it sets, and how its text is read."""

    name: str
    field: str
    #: The default as people read it; its value is that of the field.
    default: str
    meaning: str
    parse: _Parse


SETTINGS = (
    Variable(
        "PHASEDOCK_HOME", "home", "./.phasedock",
        "Folder for trace sets, models, uploads and the database.", _home,
    ),
    Variable(
        "HOST", "host", "127.0.0.1",
        "Address to listen on; any but a loopback one needs PHASEDOCK_PASSWORD.", _host,
    ),
    Variable("PORT", "port", "8050", "Port to listen on, 1 to 65535.", _whole(1, 65535)),
    Variable(
        "DATABASE_URL", "database_url", "SQLite in PHASEDOCK_HOME",
        "A sqlite:/// or postgresql:// address.", _database,
    ),
    Variable(
        "REDIS_URL", "redis_url", "none",
        "A redis:// or rediss:// address for the task queue and the cache of pages.", _redis,
    ),
    Variable(
        "PHASEDOCK_PASSWORD", "password", "none", "Password to sign in with, at least 8 characters.", _secret
    ),
    Variable(
        "PHASEDOCK_CONTROL", "control", "off",
        "on: PhaseDock may change running containers; off: it only watches.", _switch,
    ),
    Variable(
        "PHASEDOCK_DOCKER", "docker", "local, where Docker's own settings point",
        "Docker Engines by name, such as local=unix:///var/run/docker.sock;box=ssh://me@box.", _text,
    ),
    Variable(
        "PHASEDOCK_DEMO", "demo", "on",
        "off: Live offers no demo host, on which recorded jobs are replayed.", _switch,
    ),
    Variable(
        "PHASEDOCK_HISTORY", "history", "on",
        "on: labelled containers are remembered for a month; off: for ten minutes, while a page shows them.",
        _switch,
    ),
    Variable(
        "PHASEDOCK_MAX_UPLOAD", "max_upload", "4GiB", "Largest upload, such as 500MB or 2GiB.", _size
    ),
    Variable(
        "PHASEDOCK_ALLOWED_HOSTS", "allowed_hosts", "loopback names and HOST",
        "Further host names under which browsers may reach PhaseDock, separated by commas.", _hosts,
    ),
    Variable(
        "PHASEDOCK_PREFIX", "prefix", "none",
        "Path under which a proxy offers PhaseDock, such as /phasedock.", _prefix,
    ),
    Variable(
        "PHASEDOCK_TRUSTED_PROXY", "trusted_proxy", "none",
        "Addresses or networks of the proxy whose X-Forwarded headers are believed, such as 127.0.0.1.",
        _networks,
    ),
    Variable(
        "PHASEDOCK_POLICIES", "policies", "none",
        "Python files with policies of your own, such as /path/a.py:/path/b.py; their code is run.", _files,
    ),
    Variable(
        "PHASEDOCK_ALLOWED_VOLUMES", "allowed_volumes", "none",
        "Folders of the host that submitted jobs may mount, such as /srv/data:/scratch.", _volumes,
    ),
    Variable(
        "PHASEDOCK_ALLOWED_PORTS", "allowed_ports", "none",
        "Ports of the host that submitted jobs may publish on its loopback address, such as 6006,8800-8899.",
        _ports,
    ),
    Variable(
        "PHASEDOCK_TASK_THREADS", "task_threads", "2",
        "Number of tasks that one worker runs at the same time, 1 to 64.", _whole(1, 64),
    ),
)  # fmt: skip
"""Every environment variable, in the order of the table in README and docs."""


def shown_value(row: Variable, settings: Settings) -> str:
    """A variable's present value as people read it; of addresses and secrets only whether they are set."""
    value, preset = (
        getattr(settings, row.field),
        next(each for each in fields(Settings) if each.name == row.field),
    )
    if value == preset.default or value == f"sqlite:///{settings.home / 'phasedock.db'}":
        return row.default
    if not preset.repr:
        return "set"
    match value:
        case bool():
            return "on" if value else "off"
        case tuple():
            return ", ".join(
                "-".join(map(str, each)) if isinstance(each, tuple) else str(each) for each in value
            )
        case int() if row.field == "max_upload":
            return format_bytes(value)
    return str(value)


def settings_table() -> str:
    """The table of settings in Markdown, as README and docs show it."""
    rows = [f"| `{row.name}` | {row.default} | {row.meaning} |" for row in SETTINGS]
    return "\n".join(["| variable | default | meaning |", "|---|---|---|", *rows])
