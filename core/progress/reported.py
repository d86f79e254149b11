"""Parsing ``readings.csv``, in which a job's agent reports its losses."""

from __future__ import annotations

import math
from typing import NamedTuple


class Reported(NamedTuple):
    """One loss that a job printed."""

    #: Unix time, seconds.
    time: float
    #: The step it belongs to.
    step: int
    #: The value.
    loss: float


def read_reported(text: str) -> tuple[Reported, ...]:
    """Return the complete, finite lines of a part of ``readings.csv``; drop an unfinished last one."""
    whole = text[: text.rfind("\n") + 1].splitlines()
    return tuple(found for found in map(_one, whole) if found is not None)


def _one(line: str) -> Reported | None:
    try:
        time, step, loss = line.split(",")
        found = Reported(float(time), int(step), float(loss))
    except ValueError:
        return None
    return found if math.isfinite(found.time) and math.isfinite(found.loss) else None
