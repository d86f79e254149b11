"""How many threads suit a number of cores; more of them than cores wait for each other."""

from __future__ import annotations

from math import ceil
from typing import Final

_SLIVER: Final = 0.05
"""Cores above a whole number that are not worth a thread of their own."""


def threads_for(cores: float) -> int:
    """As many threads as cores, rounded up, at least one."""
    return max(1, ceil(cores - _SLIVER))
