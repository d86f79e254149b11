"""How many examples a property is tried on, where each of them takes long."""

from __future__ import annotations

from typing import Any

from hypothesis import settings


def fewer(by: int, **more: Any) -> settings:
    """A part of the profile's examples: a half, a quarter; `more` goes to Hypothesis' settings."""
    return settings(max_examples=max(1, settings().max_examples // by), **more)
