"""What a container is given."""

from __future__ import annotations

from typing import NamedTuple


class Held(NamedTuple):
    """The limits of a container, in cores and bytes; None without one."""

    cores: float | None = None
    memory: float | None = None
