"""Settings that every policy with a queue has: the same name, bounds and words in every form."""

from __future__ import annotations

from core.settings_fields import setting


def grain_setting(default: float) -> float:
    """In multiples of what cores are given."""
    help_ = "Cores are given in multiples of this."
    chosen: float = setting(default, label="Step", low=0.05, high=64, unit="cores", help=help_)
    return chosen


def unasked_setting() -> float:
    """What a job asks for that asks for nothing."""
    help_ = "Cores that a job is taken to ask for which says nothing."
    chosen: float = setting(1.0, label="Without a request", low=0.01, high=4096, unit="cores", help=help_)
    return chosen


def memory_setting() -> float:
    """How far the memory of a worker may be filled."""
    help_ = "Share of a machine’s memory beyond which nothing starts there."
    chosen: float = setting(0.8, label="Memory in use", low=0.05, high=1.0, help=help_)
    return chosen
