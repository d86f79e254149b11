"""Scheduling terms in the labels of a container, such as ``phasedock.request``.

| label | meaning |
|---|---|
| ``phasedock.request`` | requested cores |
| ``phasedock.min``, ``phasedock.max`` | minimum and maximum cores |
| ``phasedock.memory`` | required memory: ``2 GiB``, ``500 MiB``, or bytes |
| ``phasedock.priority`` | 0 to 9 |
| ``phasedock.deadline`` | ``2 h`` after its creation, or a date and time |

An invalid label is ignored, and the reason is shown beside the container.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from core.deadline_text import read_deadline
from core.scheduling.model import HIGHEST_PRIORITY, Terms
from core.units import SUFFIX_FACTORS, Unit

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

PREFIX: Final = "phasedock."
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*(B|KiB|MiB|GiB|TiB)?")
_MAX_CORES: Final = 4096.0


class LabelTerms(NamedTuple):
    """The terms in the labels of a container."""

    #: Requested cores, or None.
    request: float | None
    #: The other terms, without the deadline, which is `until`.
    terms: Terms
    #: The deadline in seconds since 1970, or None.
    until: float | None
    #: A sentence for each invalid label.
    wrong: Mapping[str, str]


def read_terms(labels: Mapping[str, str], created: float) -> LabelTerms:
    """Read the terms in the labels of a container."""
    wrong: dict[str, str] = {}

    def read(name: str, how: Callable[[str], Any]) -> Any:
        text = labels.get(PREFIX + name, "").strip()
        try:
            return how(text) if text else None
        except ValueError as error:
            wrong[PREFIX + name] = str(error)
            return None

    request, lowest, highest = (read(name, parse_cores) for name in ("request", "min", "max"))
    if lowest is not None and highest is not None and lowest > highest:
        wrong[PREFIX + "min"] = f"It is above {PREFIX}max."
        lowest = highest = None
    terms = Terms(lowest, highest, read("memory", parse_memory), read("priority", _parse_priority) or 0)
    return LabelTerms(request, terms, read("deadline", lambda text: read_deadline(text, created)), wrong)


def parse_cores(text: str) -> float:
    """Return a number of cores.

    Raises ValueError if it is none.
    """
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value <= _MAX_CORES:
        raise ValueError(f"“{text[:40]}” is not a number of cores. Try 1.5.")
    return value


def parse_memory(text: str) -> float:
    """Return the bytes of a size such as ``2 GiB``.

    Raises ValueError if it is none.
    """
    match = _SIZE.fullmatch(text)
    if match is None or float(match[1]) <= 0:
        raise ValueError(f"“{text[:40]}” is not a size. Try 2 GiB.")
    return float(match[1]) * SUFFIX_FACTORS[Unit.BYTES][(match[2] or "B").lower()]


def _parse_priority(text: str) -> int:
    if not text.isdecimal() or int(text) > HIGHEST_PRIORITY:
        raise ValueError(f"“{text[:40]}” is not a priority. Use 0 to {HIGHEST_PRIORITY}.")
    return int(text)
