"""The unit of a column of time: a kind of date, or the unit of its numbers, by its name and their size."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from core.traces.cells.dates import READERS, in_several_zones, is_date, kind_of
from core.traces.cells.numbers import EMPTY, POINT, NumberStyle, bare_numbers, numbers_of, read, style_of
from core.traces.guessing.column_names import words
from core.traces.guessing.order import by_execution
from core.traces.mapping import UNKNOWN
from core.units import TIME_FACTORS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


# Seconds since 1970 of the years 2000 to 2033: what is outside counts from a boot or a start of its own, or
# is a date in digits (2024011500), and nobody can tell its unit. A scale is how many of a unit make a second.
_FIRST, _LAST = 946_684_800.0, 2e9
_SCALES = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}
_FINER = {"s": "ms", "ms": "us", "us": "ns"}
_SLOW = 100.0
"""Steps from here on, in seconds, are of a finer unit unless they are as long as people set them."""
_SLOWEST = 3_600.0
"""Nor does anybody sample more slowly than this, in seconds, in a finer unit than that of the numbers."""
_VERY_SLOW = 1_000.0
"""Odd steps from here on are asked even under the name of seconds."""
_TURNS = 8
"""So many series whose rows take turns are looked through for the step of each."""
_EVEN = 0.1
"""Steps are even where they differ by this share of their middle one at most."""
_OF_SPANS = ("s", "ms", "us", "ns", "min", "h")
_USUAL = (0.1, 60.0)
_NAMED = {
    **dict.fromkeys(("ns", "nanos", "nanoseconds", "unixnano"), "ns"),
    **dict.fromkeys(("us", "µs", "micros", "microseconds", "usec"), "us"),
    **dict.fromkeys(("ms", "millis", "milliseconds", "msec"), "ms"),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), "s"),
    **dict.fromkeys(("min", "mins", "minute", "minutes"), "min"),
    **dict.fromkeys(("h", "hour", "hours", "hrs"), "h"),
}


class Times(NamedTuple):
    """The units that a column of time can have, several where a person must say; whether one is assumed."""

    units: tuple[str, ...]
    assumed: bool = False

    @property
    def unit(self) -> str:
        """The unit; `UNKNOWN` where a person must say."""
        return self.units[0] if len(self.units) == 1 else UNKNOWN


def look_at(name: str, cells: Sequence[str], own: Sequence[str] = ()) -> Times:
    """How a column of time can be read."""
    filled = [cell.strip() for cell in cells if cell.strip() not in EMPTY]
    numbers = _numbers(filled)
    compact = numbers and all(len(cell) == 14 and cell.isdigit() for cell in filled)
    if compact or len(numbers) * 2 <= len(filled):
        return Times(kind_of(filled) or ("s",), assumed=any(map(in_several_zones, filled)))
    named, epoch = _named(name), _of_epoch(numbers)
    numbers = _numbers([cell.strip() for cell in own if cell.strip() not in EMPTY]) or numbers
    # microseconds since a boot three weeks ago are as large as milliseconds since 1970
    if epoch is not None and named is not None and _SCALES.get(named, 0.0) > _SCALES[epoch]:
        return Times((named, epoch))
    if epoch in _FINER and named != epoch and _too_slow(numbers, _SCALES[epoch]):
        return Times((_FINER[epoch], epoch))
    if named == "s" and epoch is None and _too_slow(numbers, 1.0, _VERY_SLOW):
        return Times(("ms", "s"))
    if epoch or named:
        return Times((epoch or named or "s",))
    return Times(("s",), assumed=True) if _usual(numbers) else Times(_OF_SPANS)


def time_units(name: str, cells: Sequence[str], own: Sequence[str] = ()) -> tuple[str, ...]:
    """The units that a column of time can have: one where it is known, several where a person must say."""
    return look_at(name, cells, own).units


def _of_epoch(numbers: Sequence[float]) -> str | None:
    """The unit of numbers that are times since 1970."""
    size = sorted(numbers)[len(numbers) // 2]
    return next((unit for unit, scale in _SCALES.items() if _FIRST <= size / scale < _LAST), None)


def _numbers(filled: Sequence[str]) -> list[float]:
    """The magnitudes of cells, in the first style in which most of them are numbers; empty if in none."""
    for style in _styles(filled):
        bare = bare_numbers(filled, style)
        if bare is None:
            bare = [found.value for found in numbers_of(filled, style) if not found.suffix]
        numbers = list(map(abs, bare))
        if len(numbers) * 2 > len(filled):
            return numbers
    return []


def _styles(filled: Sequence[str]) -> Iterator[NumberStyle]:
    """The styles that cells may be written in, the likeliest one first."""
    yield POINT
    yield style_of(filled)
    yield NumberStyle(",", ".")
    yield NumberStyle(".", ",")


def _step(numbers: Sequence[float]) -> float | None:
    """The median step forward; None where there is none."""
    steps = sorted(after - before for before, after in pairwise(numbers) if after > before)
    return steps[len(steps) // 2] if steps else None


def _usual(numbers: Sequence[float]) -> bool:
    """Whether samples are as far apart, in seconds, as containers usually are measured."""
    step = _step(numbers)
    return step is None or _USUAL[0] <= step < _USUAL[1]


def _too_slow(numbers: Sequence[float], scale: float, slow: float = _SLOW) -> bool:
    """Whether samples are oddly far apart, and as far as is usual in the next finer unit."""
    step = (_own_step(numbers) or 0.0) / scale
    return step >= slow and not _is_set(step) and _USUAL[0] <= step / 1000 <= _SLOWEST


def _is_set(step: float) -> bool:
    """Whether people sample so: whole minutes that make an hour, hours that make a day, or days."""
    parts = ((60, 3600), (3600, 86_400))
    return step % 86_400 == 0 or any(step % unit == 0 and whole % step == 0 for unit, whole in parts)


def _own_step(numbers: Sequence[float]) -> float | None:
    """The step of one series, though rows of several may take turns; None where there is none.

    The time of one round before is a whole step away, however unevenly the series follow each other.
    """
    moments = list(dict.fromkeys(numbers))
    for turns in range(1, _TURNS + 1):
        steps = sorted(after - before for before, after in zip(moments, moments[turns:], strict=False))
        middle = steps[len(steps) // 2] if len(steps) > turns else 0.0
        if middle > 0 and steps[-1] - steps[0] <= _EVEN * middle:
            return middle
    return _step(numbers)


def _named(name: str) -> str | None:
    """The unit that a name says."""
    return next((_NAMED[word] for word in reversed(words(name)) if word in _NAMED), None)


def without_unit(name: str) -> tuple[str, ...]:
    """The words of a column's name before the unit of time that it ends with."""
    said = words(name)
    return said[:-1] if len(said) > 1 and said[-1] in _NAMED else said


def is_time(cells: Sequence[str]) -> bool:
    """Whether the cells of a column can be times: dates, times of day, or numbers."""
    filled = [cell.strip() for cell in cells if cell.strip() not in EMPTY]
    numbers = bare_numbers(filled) or numbers_of(filled)
    return bool(filled) and (len(numbers) * 2 > len(filled) or bool(kind_of(filled)))


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
