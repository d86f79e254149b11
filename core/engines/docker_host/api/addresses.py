"""Parsing `PHASEDOCK_DOCKER`, the setting that names the Docker hosts and their addresses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final
from urllib.parse import parse_qsl, urlsplit

from core.errors import SettingsError

_SCHEMES: Final = ("unix", "tcp", "http", "https", "ssh")
_FILES: Final = {"ca": "tls_ca", "cert": "tls_cert", "key": "tls_key"}
_FORM: Final = "Write it as name=unix:///var/run/docker.sock;other=ssh://me@there, or leave it empty."


@dataclass(frozen=True, slots=True)
class Address:
    """One Docker host."""

    #: What people call it.
    name: str
    #: ``unix://``, ``tcp://`` or ``ssh://``; empty: what ``DOCKER_HOST`` and related variables say, or the
    #: usual socket.
    url: str = ""
    #: Files of a ``tcp://`` host that is reached over TLS, or empty.
    tls_ca: str = ""
    tls_cert: str = ""
    tls_key: str = ""

    @property
    def shown(self) -> str:
        """The address for people."""
        return self.url or "the default address of Docker"


def parse_addresses(text: str) -> tuple[Address, ...]:
    """Read the setting that names Docker hosts.

    Raises
    ------
    SettingsError
        If an entry has no name, a name appears twice, or an address is of no known kind.
    """
    entries = [entry.strip() for entry in text.split(";") if entry.strip()]
    if not entries:
        return (Address("local"),)
    found: dict[str, Address] = {}
    for entry in entries:
        address = _parse(entry)
        if address.name in found:
            raise SettingsError(f"Two Docker hosts are called “{address.name}”.", "Give each its own name.")
        found[address.name] = address
    return tuple(found.values())


def _parse(entry: str) -> Address:
    name, equals, url = (part.strip() for part in entry.partition("="))
    if "://" in name or not equals:
        name, url = "local", entry
    if not name.replace("-", "").replace("_", "").replace(".", "").isalnum():
        raise SettingsError(f"“{entry}” does not begin with the name of a Docker host.", _FORM)
    parts = urlsplit(url)
    if url and parts.scheme not in _SCHEMES:
        raise SettingsError(f"“{url}” is not the address of a Docker host.", _FORM)
    if url and not (parts.path.strip("/") if parts.scheme == "unix" else parts.hostname):
        raise SettingsError(f"“{url}” does not say where the Docker host is.", _FORM)
    return Address(name, url.partition("?")[0], **_tls(parts.query, url))


def _tls(query: str, url: str) -> dict[str, str]:
    given = dict(parse_qsl(query))
    unknown = set(given) - set(_FILES)
    if unknown:
        raise SettingsError(
            f"“{url}” sets “{min(unknown)}”, which a Docker host does not have.", "Use ca, cert and key."
        )
    return {_FILES[name]: value for name, value in given.items()}
