"""Asking a policy, at a sample, what a container is given until the next one.

A policy says what is given for a sample once that comes, when it is known how long the one before has lasted
(`core.provisioning.advising.advice`). Here it is asked twice: with the sample that came, so that it remembers
what an evaluation of the recording would; and for the one to come, which is expected a period later.
"""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, Any

from core.provisioning.advising.advice import Seen

if TYPE_CHECKING:
    from core.provisioning.advising.advice import Adviser
    from core.scheduling.model import Use

GAP = 3.0
"""Periods without a sample that are a gap."""


def first(adviser: Adviser, use: Use, value: float, period: float) -> tuple[Any, float]:
    """The state at a container's first sample, and what it is given until the next one."""
    inner, given = adviser.begin(use.time)
    return inner, _coming(adviser, inner, given, use, value, period)


def following(
    adviser: Adviser,
    inner: Any,
    given: float,
    samples: tuple[tuple[Use, float], tuple[Use, float]],
    period: float,
) -> tuple[Any, float]:
    """The state at a further sample, and what the container is given until the next one."""
    (last, before), (use, value) = samples
    passed = use.time - last.time
    seconds = period if passed > GAP * period else passed
    inner, _ = adviser.advise(inner, Seen(last.time, before, seconds, last.phase, last.code), use.time)
    return inner, _coming(adviser, inner, given, use, value, period)


def _coming(adviser: Adviser, inner: Any, given: float, use: Use, value: float, period: float) -> float:
    seen = Seen(use.time, value, period, use.phase, use.code)
    _, advised = adviser.advise(inner, seen, use.time + period)
    return advised if isfinite(advised) else given
