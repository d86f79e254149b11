"""Docker's log format: frames of several streams, lines that begin with their time."""

from __future__ import annotations

import struct
from typing import Final

from core.engines.docker_host.host.containers import parse_time

_HEADER: Final = struct.Struct(">BxxxL")


def parse_logs(content: bytes) -> list[tuple[float, str]]:
    """Lines with the Unix seconds of each, in the order of time."""
    lines: list[tuple[float, str]] = []
    for text in _streams(content):
        for line in text.split(b"\n"):
            when, _, rest = line.decode("utf-8", "replace").rstrip("\r").partition(" ")
            try:
                lines.append((parse_time(when), rest))
            except ValueError:
                continue
    return sorted((line for line in lines if line[0]), key=lambda line: line[0])


def _streams(content: bytes) -> list[bytes]:
    """The text of each stream; a line may be spread over frames, but never over streams."""
    if not _framed(content):
        return [content]
    found: dict[int, list[bytes]] = {}
    place = 0
    while place + _HEADER.size <= len(content):
        stream, length = _HEADER.unpack_from(content, place)
        place += _HEADER.size
        found.setdefault(stream, []).append(content[place : place + length])
        place += length
    return [b"".join(pieces) for pieces in found.values()]


def _framed(content: bytes) -> bool:
    return len(content) >= _HEADER.size and content[0] in (0, 1, 2) and content[1:4] == b"\0\0\0"
