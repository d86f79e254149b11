"""Whether files that are joined have one clock: a time zone in one of them only, or starts of their own.

Times that match by chance, or an hour apart, give rows of two moments.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from core.errors import listed
from core.traces.cells.dates import CLOCK, MINUTES, is_date
from core.traces.mapping import TIME_FACTORS
from core.traces.validation import problem
from core.units import format_duration

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from core.traces.joining.stacks import Stack
    from core.traces.model import IntArray
    from core.traces.validation import Problem

START, LOCAL, ZONED, EPOCH = "start", "local", "zoned", "epoch"
"""What times count from: a start, or 1970; dates that name no zone, or one."""
_ZONE = re.compile(r".*:\d\d.*?(?:Z|UTC|GMT|[+-]\d\d:?(?:\d\d)?)(?:\s*\((?:UTC|GMT)\))?(?:\s+\d{4})?")
EARLIEST = 1e8
"""Seconds before this count from a start, and not from 1970."""
ZONES, LEAST_SHIFT = 900.0, 1800.0
"""Time zones are a multiple of this apart, and this at least."""


def clock_of(unit: str, cells: Sequence[str], first: float) -> str:
    """What the times of a file count from."""
    if unit in (*TIME_FACTORS, MINUTES):
        return START if first < EARLIEST else EPOCH
    zoned = any(is_date(cell) and _ZONE.fullmatch(cell.strip()) for cell in cells)
    return ZONED if zoned and unit != CLOCK else LOCAL


def differing(clocks: Mapping[str, str]) -> Iterator[Problem]:
    """What is doubtful about the clocks of files that were joined."""
    own, local, zoned = (
        [file for file, clock in clocks.items() if clock == which] for which in (START, LOCAL, ZONED)
    )
    if own:
        message = f"The times of {listed(own[:3])} count from a start: is it the same moment in all files?"
        yield problem("own_starts", message, count=len(own))
    if local and zoned:
        message = f"{zoned[0]} names a time zone, and {local[0]} names none: is it the same?"
        yield problem("mixed_zones", message, count=len(local))


def shifts(
    stacks: Sequence[Stack], kept: Sequence[Sequence[IntArray]], common: Sequence[str], period: float
) -> Iterator[Problem]:
    """Where one file begins and another ends without partners, for as long as time zones are apart."""
    first = next(e for e in range(len(common)) if len(kept[0][e]))
    ends = []
    for stack, rows in zip(stacks, kept, strict=True):
        time, there = stack.traces.time, stack.traces.time[rows[first]]
        mine = time[stack.traces.slice_of(common[first])]
        ends.append((stack.name, float(there[0] - mine[0]), float(mine[-1] - there[-1])))
    for begins, before, _ in ends:
        apart = ZONES * round(before / ZONES)
        if apart < max(LEAST_SHIFT, 2 * period) or abs(before - apart) > period:
            continue
        for other, _, behind in ends:
            if other != begins and abs(behind - apart) <= period:
                message = (
                    f"{begins} begins, and {other} ends, {format_duration(apart)} without the other: "
                    "are they of two time zones?"
                )
                yield problem("mixed_zones", message)
