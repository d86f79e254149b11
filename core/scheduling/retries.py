"""When a start is tried again: soon after it failed, then ever later, or after a while without an answer."""

from __future__ import annotations

from typing import Final

PATIENCE: Final = 60.0
"""Seconds after which a start that was neither confirmed nor refused is asked for again."""
_FIRST, _DOUBLINGS = 5.0, 7


def pause_after(failures: int) -> float:
    """Seconds until it is tried again once `failures` before this one failed: 5, 10, 20 … 640."""
    return float(_FIRST * 2.0 ** min(failures, _DOUBLINGS))
