"""Whose page a request comes from, by its Host and Origin headers, both read strictly.

A lenient parser finds our host in ``http://127.0.0.1:8050#@evil.example``. So a header is taken only if it is
written exactly as browsers write it (https://html.spec.whatwg.org/#ascii-serialisation-of-an-origin):
scheme, host, port, and nothing else.
"""

from __future__ import annotations

import ipaddress
import re
from typing import NamedTuple

_DEFAULT_PORTS = {"http": 80, "https": 443}
_NAME = r"[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?"
_AUTHORITY = re.compile(
    rf"(?P<host>{_NAME}(?:\.{_NAME})*|\[[0-9a-f:.]+\])(?::(?P<port>[1-9][0-9]{{0,4}}))?", re.ASCII
)
_LONGEST = 300


class Authority(NamedTuple):
    """A host, in lower case and without brackets, and a port; None where the scheme's own is meant."""

    host: str
    port: int | None


def read_authority(text: str) -> Authority | None:
    """Read ``host`` or ``host:port``, as a Host header has it; None if it is anything else."""
    match = _AUTHORITY.fullmatch(text.lower()) if len(text) <= _LONGEST and text.isascii() else None
    if match is None:
        return None
    host, port = match["host"], match["port"]
    if host.startswith("["):
        host = host[1:-1]
        if ":" not in host or not is_address(host):
            return None
    if port is not None and int(port) > 65535:
        return None
    return Authority(host, None if port is None else int(port))


def is_address(host: str) -> bool:
    """Whether a host is an IP address, which no DNS name can pretend to be."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def is_same_origin(origin: str, scheme: str, host: str) -> bool:
    """Whether an Origin header names exactly the server that a request was sent to."""
    named, separator, rest = origin.partition("://")
    theirs, ours = read_authority(rest), read_authority(host)
    if not separator or named != scheme or rest != rest.lower() or theirs is None or ours is None:
        return False
    default = _DEFAULT_PORTS.get(scheme)
    return theirs.host == ours.host and (theirs.port or default) == (ours.port or default)
