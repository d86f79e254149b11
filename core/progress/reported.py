"""Parsing ``readings.csv``, in which a job's agent reports its losses."""

from __future__ import annotations

import math
from typing import NamedTuple


class Reported(NamedTuple):
    """One loss that a job printed.

    Parameters
    ----------
    time
        Unix time, seconds.
    step
        The step it belongs to.
    loss
        The value.
    """

    time: float
    step: int
    loss: float


def read_reported(text: str) -> tuple[Reported, ...]:
    """Return the whole, finite lines of a part of ``readings.csv``; a last line without its end is left out.

    Parameters
    ----------
    text
        Lines of “unix_time,step,loss”.
    """
    whole = text[: text.rfind("\n") + 1].splitlines()
    return tuple(found for found in map(_one, whole) if found is not None)


def _one(line: str) -> Reported | None:
    try:
        time, step, loss = line.split(",")
        found = Reported(float(time), int(step), float(loss))
    except ValueError:
        return None
    return found if math.isfinite(found.time) and math.isfinite(found.loss) else None
