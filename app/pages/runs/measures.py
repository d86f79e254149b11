"""Measures as text: values with units, differences with intervals, and which direction is better."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from app.figures.provisioning import frontier
from app.pages.runs.stored import ROUNDS_TO_ZERO, format_relative
from core.experiments.measures import COUNTS, EXTRA_MEASURES, RISING
from core.units import GIB, format_number, format_share

if TYPE_CHECKING:
    from collections.abc import Callable

    from core.experiments.leaderboard import Difference


_OPPOSITE = {"better": "worse", "worse": "better", "open": "open"}
_COUNTS = ("migrations", "failed_jobs", *COUNTS)
_RATIOS = ("worst_slowdown",)
_SHARES = {
    "used": 1,
    "controller": 1,
    **{name: 1 for name, each in EXTRA_MEASURES.items() if each.unit == "share" and name != "used"},
}
_RATES = {
    "jobs_per_hour": (1.0, "/ h"),
    "lost": (3600.0, "core-h"),
    "reserved": (3600.0, "core-h"),
    "freed": (1.0, "cores"),
    "freed_memory": (GIB, "GiB"),
}
"""The divisor of a measure, and the resulting unit."""
EXCEPT = ", except for shares of jobs or cores, jobs per hour, and what is freed"
"""Completes “lower is better”."""


def kind_of(name: str, value: float, low: float | None, high: float | None) -> str:
    """Whether a measure's difference is ``better``, ``worse`` or ``open``: one written as 0.0% is open."""
    if abs(value) < ROUNDS_TO_ZERO:
        return "open"
    verdict = frontier.verdict(low, high)
    return verdict if name in RISING else _OPPOSITE[verdict]


def format_measure(name: str, value: float | None) -> str:
    """A measure's value with its unit."""
    if value is None:
        return "–"
    if name in _COUNTS:
        return format_number(value, 0 if value == round(value) else 1)
    if name in _SHARES:
        return format_share(value, _SHARES[name])
    if name in _RATES:
        return f"{format_number(value / _RATES[name][0], 1)} {_RATES[name][1]}"
    return f"{format_number(value)}×" if name in _RATIOS else f"{format_number(value, 1)} s"


def describe_difference(name: str, change: Difference | None) -> tuple[str, str] | None:
    """A difference and its interval, in the measure's unit if the baseline is zero, else relative."""
    if change is None:
        return None
    if change.value is not None:
        return format_relative(change.value), _interval(change.low, change.high, format_interval)
    if not change.seconds:
        return None
    return format_difference(name, change.seconds), _interval(
        change.seconds_low, change.seconds_high, partial(_own_unit_span, name)
    )


def _interval(low: float | None, high: float | None, words: Callable[[float, float], str]) -> str:
    return "one seed" if low is None or high is None else words(low, high)


def _own_unit_span(name: str, low: float, high: float) -> str:
    return f"{format_difference(name, low)} to {format_difference(name, high)}"


def format_difference(name: str, value: float) -> str:
    """A difference in a measure's own unit, with its sign."""
    return f"{'+' if value > 0 else ''}{format_measure(name, value)}"


def format_interval(low: float, high: float) -> str:
    """An interval of changes."""
    return f"{format_relative(low).removesuffix('%')} to {format_relative(high)}"
