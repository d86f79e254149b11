"""The unit of a column of times: a format of dates or a unit of numbers, by its name and values."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from core.reading.dates import READERS, find_date_formats, has_ambiguous_zone, is_date
from core.reading.guessing.column_names import split_words
from core.reading.guessing.order import group_by_execution
from core.reading.mapping import UNKNOWN
from core.reading.numbers import (
    EMPTY,
    POINT,
    NumberStyle,
    find_style,
    parse_number,
    parse_numbers,
    parse_plain_numbers,
)
from core.units import TIME_FACTORS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


# Seconds since 1970 of the years 2000 to 2033. Numbers outside count from another start, or are dates in
# digits (2024011500); their unit is unknown. A scale is the number of units in a second.
_EPOCH_START, _EPOCH_END = 946_684_800.0, 2e9
_SCALES = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}
_FINER_UNIT = {"s": "ms", "ms": "us", "us": "ns"}
_SLOW_STEP = 100.0
"""Longer steps, in seconds, are of a finer unit unless they are a usual setting."""
_SLOWEST_STEP = 3_600.0
"""The longest plausible step in seconds after a change to the finer unit."""
_VERY_SLOW_STEP = 1_000.0
"""Odd steps from this length on become a question even if the name says seconds."""
_MAX_SERIES = 8
"""The largest number of alternating series to find the step of each."""
_EVEN_TOLERANCE = 0.1
"""Steps are even if they differ by at most this share of their median."""
_ELAPSED_UNITS = ("s", "ms", "us", "ns", "min", "h")
_USUAL_STEPS = (0.1, 60.0)
_UNIT_WORDS = {
    **dict.fromkeys(("ns", "nanos", "nanoseconds", "unixnano"), "ns"),
    **dict.fromkeys(("us", "µs", "micros", "microseconds", "usec"), "us"),
    **dict.fromkeys(("ms", "millis", "milliseconds", "msec"), "ms"),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), "s"),
    **dict.fromkeys(("min", "mins", "minute", "minutes"), "min"),
    **dict.fromkeys(("h", "hour", "hours", "hrs"), "h"),
}


class TimeUnitGuess(NamedTuple):
    """The possible units of a column of times; several are a question; `assumed` marks a guess."""

    units: tuple[str, ...]
    assumed: bool = False

    @property
    def unit(self) -> str:
        """The unit; `UNKNOWN` if there are several."""
        return self.units[0] if len(self.units) == 1 else UNKNOWN


def guess_time_unit(name: str, cells: Sequence[str], execution_cells: Sequence[str] = ()) -> TimeUnitGuess:
    """Guess the unit of a column of times."""
    filled = [cell.strip() for cell in cells if cell.strip() not in EMPTY]
    numbers = _read_numbers(filled)
    is_compact = numbers and all(len(cell) == 14 and cell.isdigit() for cell in filled)
    if is_compact or len(numbers) * 2 <= len(filled):
        return TimeUnitGuess(
            find_date_formats(filled) or ("s",), assumed=any(map(has_ambiguous_zone, filled))
        )
    unit_in_name, epoch = _find_unit_in_name(name), find_epoch_unit(numbers)
    numbers = (
        _read_numbers([cell.strip() for cell in execution_cells if cell.strip() not in EMPTY]) or numbers
    )
    # microseconds since a boot three weeks ago are as large as milliseconds since 1970
    if epoch is not None and unit_in_name is not None and _SCALES.get(unit_in_name, 0.0) > _SCALES[epoch]:
        return TimeUnitGuess((unit_in_name, epoch))
    if epoch in _FINER_UNIT and unit_in_name != epoch and _is_too_slow(numbers, _SCALES[epoch]):
        return TimeUnitGuess((_FINER_UNIT[epoch], epoch))
    if unit_in_name == "s" and epoch is None and _is_too_slow(numbers, 1.0, _VERY_SLOW_STEP):
        return TimeUnitGuess(("ms", "s"))
    if epoch or unit_in_name:
        return TimeUnitGuess((epoch or unit_in_name or "s",))
    return TimeUnitGuess(("s",), assumed=True) if _has_usual_step(numbers) else TimeUnitGuess(_ELAPSED_UNITS)


def find_epoch_unit(numbers: Sequence[float]) -> str | None:
    """Find the unit of numbers that count from 1970; None if they do not."""
    size = sorted(numbers)[len(numbers) // 2] if numbers else 0.0
    return next((unit for unit, scale in _SCALES.items() if _EPOCH_START <= size / scale < _EPOCH_END), None)


def _read_numbers(filled: Sequence[str]) -> list[float]:
    """Read the magnitudes of cells in the first style that fits most of them; empty without one."""
    for style in _list_styles(filled):
        values = parse_plain_numbers(filled, style)
        if values is None:
            values = [found.value for found in parse_numbers(filled, style) if not found.suffix]
        numbers = list(map(abs, values))
        if len(numbers) * 2 > len(filled):
            return numbers
    return []


def _list_styles(filled: Sequence[str]) -> Iterator[NumberStyle]:
    """Yield the possible number styles of cells, the likeliest one first."""
    yield POINT
    yield find_style(filled)
    yield NumberStyle(",", ".")
    yield NumberStyle(".", ",")


def _median_step(numbers: Sequence[float]) -> float | None:
    steps = sorted(after - before for before, after in pairwise(numbers) if after > before)
    return steps[len(steps) // 2] if steps else None


def _has_usual_step(numbers: Sequence[float]) -> bool:
    """Whether the step in seconds is a usual sampling period of containers."""
    step = _median_step(numbers)
    return step is None or _USUAL_STEPS[0] <= step < _USUAL_STEPS[1]


def _is_too_slow(numbers: Sequence[float], scale: float, slow: float = _SLOW_STEP) -> bool:
    """Whether the step is oddly long, but usual in the next finer unit."""
    step = (_series_step(numbers) or 0.0) / scale
    return step >= slow and not _is_round_step(step) and _USUAL_STEPS[0] <= step / 1000 <= _SLOWEST_STEP


def _is_round_step(step: float) -> bool:
    """Whether a step is a usual setting: minutes that divide an hour, hours that divide a day, or days."""
    parts = ((60, 3600), (3600, 86_400))
    return step % 86_400 == 0 or any(step % unit == 0 and whole % step == 0 for unit, whole in parts)


def _series_step(numbers: Sequence[float]) -> float | None:
    """Return the step of one series even if rows of several take turns; None without one.

    The time of one round before is a whole step away, however unevenly the series follow each other.
    """
    distinct = list(dict.fromkeys(numbers))
    for n_series in range(1, _MAX_SERIES + 1):
        steps = sorted(after - before for before, after in zip(distinct, distinct[n_series:], strict=False))
        middle = steps[len(steps) // 2] if len(steps) > n_series else 0.0
        if middle > 0 and steps[-1] - steps[0] <= _EVEN_TOLERANCE * middle:
            return middle
    return _median_step(numbers)


def _find_unit_in_name(name: str) -> str | None:
    return next((_UNIT_WORDS[word] for word in reversed(split_words(name)) if word in _UNIT_WORDS), None)


def strip_time_unit(name: str) -> tuple[str, ...]:
    """Return the words of a column's name without a unit of time at its end."""
    name_words = split_words(name)
    return name_words[:-1] if len(name_words) > 1 and name_words[-1] in _UNIT_WORDS else name_words


def can_be_times(cells: Sequence[str]) -> bool:
    """Whether the cells of a column can be times: dates, times of day, or numbers."""
    filled = [cell.strip() for cell in cells if cell.strip() not in EMPTY]
    return bool(filled) and bool(_read_numbers(filled) or find_date_formats(filled))


MIN_CLOCK_SAMPLES = 5
"""Fewer samples are not enough to tell that two clocks drift apart."""
MIN_DRIFT, MIN_RISING = 0.2, 0.9
"""Minimum drift as a share of the passed time; minimum share of rising steps."""


def find_drifting_clock(
    time: str, executions: Sequence[str], header: Sequence[str], rows: Sequence[Sequence[str]]
) -> str | None:
    """Find the first other column of dates that drifts away from the mapped times; None without one."""
    longest = max(group_by_execution(executions, header, rows), key=len, default=[])
    others = [
        (name, [row[place].strip() for row in longest])
        for place, name in enumerate(header)
        if name != time
        and name not in executions
        and any(":" in row[place] for row in longest[:MIN_CLOCK_SAMPLES])
    ]
    date_columns = [(name, cells) for name, cells in others if _are_dates(cells)]
    if not date_columns:
        return None
    place = header.index(time)
    times = _to_seconds(time, [row[place].strip() for row in longest])
    return next((name for name, cells in date_columns if _drift_apart(times, _to_seconds(name, cells))), None)


def _are_dates(cells: Sequence[str]) -> bool:
    return 2 * sum(":" in cell and is_date(cell) for cell in cells) > len(cells)


def _to_seconds(name: str, cells: Sequence[str]) -> list[float | None]:
    unit = guess_time_unit(name, cells).unit
    if unit in READERS:
        return [READERS[unit](cell) for cell in cells]
    numbers = [parse_number(cell) for cell in cells]
    return [None if one is None else one.value * TIME_FACTORS.get(unit, 1.0) for one in numbers]


def _drift_apart(times: Sequence[float | None], other_times: Sequence[float | None]) -> bool:
    both = [(a, b) for a, b in zip(times, other_times, strict=False) if a is not None and b is not None]
    if len(both) < MIN_CLOCK_SAMPLES:
        return False
    rising = sum(after[0] > before[0] and after[1] > before[1] for before, after in pairwise(both))
    apart = (both[-1][1] - both[0][1]) - (both[-1][0] - both[0][0])
    return rising >= MIN_RISING * (len(both) - 1) and abs(apart) > MIN_DRIFT * (both[-1][0] - both[0][0])
