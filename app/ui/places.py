"""The places of the application, as the rail and the search list them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Place:
    """One entry of the rail."""

    path: str
    name: str
    icon: str
    group: int
