"""Dates and times as programs and people write them.

Most writings have one meaning (``2026-01-31T12:00:00Z``, ``31 Jan 2026 12:00``, ``20260131T120000``). Of
``01/02/2026`` nobody can say whether the day or the month comes first, and ``26/01/31`` may begin with its
year: `kind_of` looks at all cells of a column together, at which order exists and at which makes time go
forwards in small steps, and gives up where several do. A time of day without a date counts from midnight;
`core.traces.cleaning.rows` carries it over midnight.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone
from itertools import pairwise
from typing import TYPE_CHECKING

from core.traces.cells.numbers import EMPTY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

NAMED, DAY_FIRST, MONTH_FIRST, YEAR_FIRST, CLOCK, MINUTES = "iso", "dmy", "mdy", "ymd", "clock", "mmss"
"""Keys of `core.traces.mapping.TIME_UNITS`: one meaning, day, month or year first, time of day, a span."""
MOST = 80
_MONTHS = {
    name: i + 1
    for i, name in enumerate(
        ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
    )
}
_CLOCK = r"(?P<h>\d{1,2}):(?P<m>\d\d)(?::(?P<s>\d\d)(?:[.,](?P<f>\d{1,9}))?)?\s*(?P<half>[AaPp]\.?[Mm]\.?)?"
_HOURS = {
    "PST": -8, "PDT": -7, "MST": -7, "MDT": -6, "CDT": -5, "EST": -5, "EDT": -4, "WET": 0, "WEST": 1,
    "BST": 1, "CET": 1, "CEST": 2, "EET": 2, "EEST": 3, "MSK": 3, "SGT": 8, "HKT": 8, "JST": 9, "KST": 9,
    "AEST": 10, "AEDT": 11, "NZST": 12, "NZDT": 13, "CST": 0, "IST": 0,
}  # fmt: skip
"""The zones that ``date`` prints, in hours before UTC; of CST and IST nobody can say which they are."""
_SEVERAL = re.compile(r"(?<![A-Za-z])(?:CST|IST)(?![A-Za-z])")
SEVERAL_ZONES = "CST (Central, China) or IST (India, Ireland, Israel)"
"""What `in_several_zones` finds, for people."""
_ZONE = (
    rf"\s*(?P<zone>Z|(?:UTC|GMT)?[+-]\d\d:?(?:\d\d)?|UTC|GMT|{'|'.join(_HOURS)})?"
    r"(?:\s*\([A-Za-z][A-Za-z ]{1,38}\))?"
)
_AFTER = rf"(?:(?:T|,?\s+(?:@\s+)?|_){_CLOCK}{_ZONE})?"
_DAY_NAME = r"(?:[A-Za-z]{3,9}\.?,?\s+)?"
_YMD = re.compile(rf"(?P<y>\d{{4}})[-/.](?P<mo>\d{{1,2}})[-/.](?P<d>\d{{1,2}}){_AFTER}")
_COMPACT = re.compile(
    r"(?P<y>(?:19|20)\d\d)(?P<mo>\d\d)(?P<d>\d\d)(?:[T _-]?(?P<h>\d\d):?(?P<m>\d\d):?(?P<s>\d\d)"
    rf"(?:[.,](?P<f>\d{{1,9}}))?(?P<half>){_ZONE})?"
)
_D_NAME_Y = re.compile(
    rf"{_DAY_NAME}(?P<d>\d{{1,2}})(?:st|nd|rd|th)?[-/ .]+(?P<name>[A-Za-z]{{3,9}})\.?,?[-/ .]+"
    rf"(?P<y>\d{{4}}){_AFTER}"
)
_NAME_D_Y = re.compile(
    rf"{_DAY_NAME}(?P<name>[A-Za-z]{{3,9}})\.?\s+(?P<d>\d{{1,2}})(?:st|nd|rd|th)?,?\s+(?P<y>\d{{4}}){_AFTER}"
)
_C_TIME = re.compile(
    rf"{_DAY_NAME}(?P<name>[A-Za-z]{{3}})\s+(?P<d>\d{{1,2}})\s+{_CLOCK}{_ZONE}\s+(?P<y>\d{{4}})"
)
_TWO_FIRST = re.compile(
    rf"(?P<a>\d{{1,2}})(?P<mark>[-/.])(?P<b>\d{{1,2}})(?P=mark)(?P<y>\d{{4}}|\d\d){_AFTER}"
)
_TIME_OF_DAY = re.compile(rf"(?:(?P<days>\d{{1,6}})\s*(?:days?,?\s+|-))?{_CLOCK}")
_LONG_TIME = re.compile(r"(?P<h>\d{1,6}):(?P<m>\d\d):(?P<s>\d\d)(?:[.,](?P<f>\d{1,9}))?")
_MINUTES = re.compile(r"(?P<m>\d{1,6}):(?P<s>[0-5]\d)(?:[.,](?P<f>\d{1,9}))?")
_ONE_MEANING = (_YMD, _COMPACT, _D_NAME_Y, _NAME_D_Y, _C_TIME)
# a time before this or after that is no time at which a container was measured
_FIRST, _LAST = datetime(1970, 1, 1, tzinfo=UTC).timestamp(), datetime(2200, 1, 1, tzinfo=UTC).timestamp()


def named_time(text: str) -> float | None:
    """Seconds since 1970 of a date with one meaning; UTC where it names no zone; None for anything else."""
    bare = text.strip()
    if len(bare) > MOST:
        return None
    for pattern in _ONE_MEANING:
        found = pattern.fullmatch(bare)
        if found is not None:
            part = found.groupdict()
            name = part.get("name")
            month = int(part["mo"]) if name is None else _MONTHS.get(name[:3].lower(), 0)
            return _moment(int(part["y"]), month, int(part["d"]), part)
    return None


def _ordered(text: str, order: str) -> float | None:
    bare = text.strip()
    found = _TWO_FIRST.fullmatch(bare) if len(bare) <= MOST else None
    if found is None:
        return named_time(text)
    part = found.groupdict()
    first, second, year = int(part["a"]), int(part["b"]), int(part["y"])
    if order == YEAR_FIRST:
        return _moment(first + 2000, second, year, part) if len(part["y"]) == 2 else None
    day, month = (first, second) if order == DAY_FIRST else (second, first)
    return _moment(year + 2000 if year < 100 else year, month, day, part)


def day_first_time(text: str) -> float | None:
    """Seconds since 1970 of a date like ``31/01/2026 12:00`` or one with one meaning."""
    return _ordered(text, DAY_FIRST)


def month_first_time(text: str) -> float | None:
    """Seconds since 1970 of a date like ``01/31/2026 12:00 PM`` or one with one meaning."""
    return _ordered(text, MONTH_FIRST)


def year_first_time(text: str) -> float | None:
    """Seconds since 1970 of a date like ``26/01/31 12:00``, as log4j writes it, or one with one meaning."""
    return _ordered(text, YEAR_FIRST)


def clock_time(text: str) -> float | None:
    """Seconds since midnight of a time of day, or of a span like ``1 day, 02:03:04`` or ``36:00:00``."""
    bare = text.strip()
    if len(bare) > MOST:
        return None
    found = _TIME_OF_DAY.fullmatch(bare)
    if found is None or (int(found["h"]) > 23 and not found["days"]):
        found = _LONG_TIME.fullmatch(bare)
        if found is None or int(found["m"]) > 59 or int(found["s"]) > 59:
            return None
        return int(found["h"]) * 3600.0 + int(found["m"]) * 60 + int(found["s"]) + _fraction(found["f"])
    day = _seconds_of_day(found.groupdict())
    return None if day is None else int(found["days"] or 0) * 86_400.0 + day


def minutes_time(text: str) -> float | None:
    """Seconds of a span of minutes and seconds: ``75:30``."""
    found = _MINUTES.fullmatch(text.strip()) if len(text) <= MOST else None
    return None if found is None else int(found["m"]) * 60.0 + int(found["s"]) + _fraction(found["f"])


_ORDERED: dict[str, Callable[[str], float | None]] = {
    DAY_FIRST: day_first_time,
    MONTH_FIRST: month_first_time,
    YEAR_FIRST: year_first_time,
}
READERS: dict[str, Callable[[str], float | None]] = {
    NAMED: named_time,
    **_ORDERED,
    CLOCK: clock_time,
    MINUTES: minutes_time,
}
"""How a cell of each kind of time is read."""


def _moment(year: int, month: int, day: int, part: dict[str, str | None]) -> float | None:
    seconds = _seconds_of_day(part) if part.get("h") else 0.0
    if seconds is None:
        return None
    try:
        moment = datetime(year, month, day, tzinfo=_zone(part.get("zone"))).timestamp() + seconds
    except (ValueError, OverflowError):
        return None
    return moment if _FIRST <= moment < _LAST else None


def _seconds_of_day(part: dict[str, str | None]) -> float | None:
    hour, minute, second = (int(part.get(key) or 0) for key in ("h", "m", "s"))
    half = (part.get("half") or "").lower()
    if half:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + 12 * half.startswith("p")
    if hour > 23 or minute > 59 or second > 60:
        return None
    return hour * 3600 + minute * 60 + second + _fraction(part.get("f"))


def _fraction(digits: str | None) -> float:
    return float(f"0.{digits}") if digits else 0.0


def _zone(text: str | None) -> timezone:
    shown = (text or "").removeprefix("UTC").removeprefix("GMT")
    if shown[:1] not in ("+", "-"):
        return timezone(timedelta(hours=_HOURS.get(shown, 0)))
    digits = shown[1:].replace(":", "").ljust(4, "0")
    shift = timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
    return timezone(shift if shown[0] == "+" else -shift)


def is_date(text: str) -> bool:
    """Tell whether a cell is a date with or without a time of day, whatever its order."""
    bare = text.strip()
    if bare.isdigit() and len(bare) != 14:
        return False
    return any(read(bare) is not None for read in (named_time, *_ORDERED.values()))


def in_several_zones(text: str) -> bool:
    """Tell whether a date names its time zone by letters that stand for several, as IST does."""
    return _SEVERAL.search(text) is not None


def is_clock(text: str) -> bool:
    """Tell whether a cell is a time of day or a span of time with colons."""
    return clock_time(text) is not None or minutes_time(text) is not None


def kind_of(texts: Iterable[str]) -> tuple[str, ...]:
    """Ways to read a column of dates: one of the keys above, several if ambiguous, or none."""
    filled = [text.strip() for text in texts if text.strip() not in EMPTY]
    fits = {key: [read(text) for text in filled] for key, read in READERS.items()}
    good = {key: sum(value is not None for value in values) for key, values in fits.items()}
    most = max(good.values())
    if most * 2 <= len(filled):
        return ()
    best = [key for key in (NAMED, CLOCK, MINUTES, *_ORDERED) if good[key] == most]
    if best == [CLOCK, MINUTES]:
        return (CLOCK, MINUTES)
    if best[0] in (NAMED, CLOCK) or len(best) == 1:
        return (best[0],)
    open_ = _by_steps({key: [value for value in fits[key] if value is not None] for key in best})
    if len(open_) > 1 and DAY_FIRST in open_ and all("." in text.split()[0] for text in filled):
        return (DAY_FIRST,)  # with points, hardly anything else comes first
    return open_


def _by_steps(times: dict[str, Sequence[float]]) -> tuple[str, ...]:
    """The order in which time does not jump; all where none or several are so."""
    jumps = {}
    for key, values in times.items():
        steps = sorted(abs(after - before) for before, after in pairwise(values))
        jumps[key] = steps[-1] if steps else 0.0
    # read in the wrong order, the next day is a month away
    calm = [key for key, largest in jumps.items() if 0 < largest <= 3 * 86_400]
    wild = [key for key, largest in jumps.items() if largest >= 27 * 86_400]
    return tuple(calm) if len(calm) == 1 and len(wild) == len(times) - 1 else tuple(times)
