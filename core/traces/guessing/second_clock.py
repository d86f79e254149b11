"""Whether a table has a second clock: columns of two recordings side by side, each with times of its own.

The end of an interval, or when a row was stored, goes along with the time of its row. Another recording's
times drift away from it. Only dates count: numbers that grow may be anything.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from core.traces.cells.dates import READERS, is_date
from core.traces.cells.numbers import read
from core.traces.guessing.order import by_execution
from core.traces.guessing.times import look_at
from core.traces.mapping import TIME_FACTORS

if TYPE_CHECKING:
    from collections.abc import Sequence

LEAST = 5
"""Of fewer samples nobody can say that their times drift; in so many a clock shows itself."""
DRIFTS, RISES = 0.2, 0.9
"""Clocks drift by this share of the time that passed; times rise at this share of steps."""


def other_clock(
    time: str, executions: Sequence[str], header: Sequence[str], rows: Sequence[Sequence[str]]
) -> str | None:
    """The first other column of dates that drifts away from the times that are read; None where none does."""
    longest = max(by_execution(executions, header, rows), key=len, default=[])
    others = [
        (name, [row[place].strip() for row in longest])
        for place, name in enumerate(header)
        if name != time and name not in executions and any(":" in row[place] for row in longest[:LEAST])
    ]
    dated = [(name, cells) for name, cells in others if _are_dates(cells)]
    if not dated:
        return None
    place = header.index(time)
    mine = _moments(time, [row[place].strip() for row in longest])
    return next((name for name, cells in dated if _drifts(mine, _moments(name, cells))), None)


def _are_dates(cells: Sequence[str]) -> bool:
    """Whether most cells are dates with times of day."""
    return 2 * sum(":" in cell and is_date(cell) for cell in cells) > len(cells)


def _moments(name: str, cells: Sequence[str]) -> list[float | None]:
    """A column's seconds: cells are dates, or the numbers of the clock that is read."""
    unit = look_at(name, cells).unit
    if unit in READERS:
        return [READERS[unit](cell) for cell in cells]
    numbers = [read(cell) for cell in cells]
    return [None if one is None else one.value * TIME_FACTORS.get(unit, 1.0) for one in numbers]


def _drifts(mine: Sequence[float | None], other: Sequence[float | None]) -> bool:
    both = [(a, b) for a, b in zip(mine, other, strict=False) if a is not None and b is not None]
    if len(both) < LEAST:
        return False
    rising = sum(after[0] > before[0] and after[1] > before[1] for before, after in pairwise(both))
    apart = (both[-1][1] - both[0][1]) - (both[-1][0] - both[0][0])
    return rising >= RISES * (len(both) - 1) and abs(apart) > DRIFTS * (both[-1][0] - both[0][0])
