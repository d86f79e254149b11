"""Dates and times as programs and people write them.

Most formats have one meaning (``2026-01-31T12:00:00Z``, ``31 Jan 2026 12:00``, ``20260131T120000``).
``01/02/2026`` may begin with the day or the month, and ``26/01/31`` may begin with its year:
`find_date_formats` looks at all cells of a column together, at which order exists and at which makes time go
forwards in small steps, and gives up where several do. A time of day without a date counts from midnight;
`core.reading.cleaning.rows` carries it over midnight.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

from core.reading.numbers import EMPTY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

NAMED, DAY_FIRST, MONTH_FIRST, YEAR_FIRST, CLOCK, MINUTES = "iso", "dmy", "mdy", "ymd", "clock", "mmss"
"""Keys of `core.reading.mapping.TIME_UNITS` for formats of dates, times of day and spans."""
MAX_LENGTH = 80
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
"""Zones as ``date`` prints them, in hours ahead of UTC; CST and IST are ambiguous."""
_SEVERAL = re.compile(r"(?<![A-Za-z])(?:CST|IST)(?![A-Za-z])")
AMBIGUOUS_ZONES = "CST (Central, China) or IST (India, Ireland, Israel)"
"""The ambiguous zones, for a message."""
_ZONE = (
    rf"\s*(?P<zone>[Zz]|(?:UTC|GMT)?[+-]\d\d:?(?:\d\d)?|UTC|GMT|{'|'.join(_HOURS)})?"
    r"(?:\s*\([A-Za-z][A-Za-z ]{1,38}\))?"
)
_AFTER = rf"(?:(?:[Tt]|,?\s+(?:@\s+)?|_){_CLOCK}{_ZONE})?"
_DAY_NAME = r"(?:[A-Za-z]{3,9}\.?,?\s+)?"
_YMD = re.compile(rf"(?P<y>\d{{4}})[-/.](?P<mo>\d{{1,2}})[-/.](?P<d>\d{{1,2}}){_AFTER}")
_COMPACT = re.compile(
    r"(?P<y>(?:19|20)\d\d)(?P<mo>\d\d)(?P<d>\d\d)(?:[Tt _-]?(?P<h>\d\d):?(?P<m>\d\d):?(?P<s>\d\d)"
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
# the plausible times of a measurement
_FIRST, _LAST = datetime(1970, 1, 1, tzinfo=UTC).timestamp(), datetime(2200, 1, 1, tzinfo=UTC).timestamp()


def parse_named_date(text: str) -> float | None:
    """Parse a date with one meaning to seconds since 1970, in UTC without a zone; None if it is not one."""
    bare = text.strip()
    if len(bare) > MAX_LENGTH:
        return None
    for pattern in _ONE_MEANING:
        found = pattern.fullmatch(bare)
        if found is not None:
            part = found.groupdict()
            name = part.get("name")
            month = int(part["mo"]) if name is None else _MONTHS.get(name[:3].lower(), 0)
            return _moment(int(part["y"]), month, int(part["d"]), part)
    return None


def parse_ordered_date(text: str, order: str) -> float | None:
    """Parse a date like ``31/01/2026 12:00`` in an order, or one with one meaning, to seconds since 1970."""
    bare = text.strip()
    found = _TWO_FIRST.fullmatch(bare) if len(bare) <= MAX_LENGTH else None
    if found is None:
        return parse_named_date(text)
    part = found.groupdict()
    first, second, year = int(part["a"]), int(part["b"]), int(part["y"])
    if order == YEAR_FIRST:
        return _moment(first + 2000, second, year, part) if len(part["y"]) == 2 else None
    day, month = (first, second) if order == DAY_FIRST else (second, first)
    return _moment(year + 2000 if year < 100 else year, month, day, part)


def parse_clock(text: str) -> float | None:
    """Parse a time of day, or a span like ``1 day, 02:03:04`` or ``36:00:00``, to seconds."""
    bare = text.strip()
    if len(bare) > MAX_LENGTH:
        return None
    found = _TIME_OF_DAY.fullmatch(bare)
    if found is None or (int(found["h"]) > 23 and not found["days"]):
        found = _LONG_TIME.fullmatch(bare)
        if found is None or int(found["m"]) > 59 or int(found["s"]) > 59:
            return None
        return int(found["h"]) * 3600.0 + int(found["m"]) * 60 + int(found["s"]) + _fraction(found["f"])
    day = _seconds_of_day(found.groupdict())
    return None if day is None else int(found["days"] or 0) * 86_400.0 + day


def parse_minutes(text: str) -> float | None:
    """Parse a span of minutes and seconds such as ``75:30`` to seconds."""
    found = _MINUTES.fullmatch(text.strip()) if len(text) <= MAX_LENGTH else None
    return None if found is None else int(found["m"]) * 60.0 + int(found["s"]) + _fraction(found["f"])


_ORDERED: dict[str, Callable[[str], float | None]] = {
    order: partial(parse_ordered_date, order=order) for order in (DAY_FIRST, MONTH_FIRST, YEAR_FIRST)
}
READERS: dict[str, Callable[[str], float | None]] = {
    NAMED: parse_named_date,
    **_ORDERED,
    CLOCK: parse_clock,
    MINUTES: parse_minutes,
}
"""The parser of each format of time."""


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
    """Whether a cell is a date with or without a time of day, in any order."""
    bare = text.strip()
    if bare.isdigit() and len(bare) != 14:
        return False
    return any(read(bare) is not None for read in (parse_named_date, *_ORDERED.values()))


def has_ambiguous_zone(text: str) -> bool:
    """Whether a date has a time zone with several meanings, such as IST."""
    return _SEVERAL.search(text) is not None


def is_clock(text: str) -> bool:
    """Whether a cell is a time of day or a span of time with colons."""
    return parse_clock(text) is not None or parse_minutes(text) is not None


def find_date_formats(texts: Iterable[str]) -> tuple[str, ...]:
    """Find the possible formats of a column of dates: one key, several if ambiguous, or none."""
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
        return (DAY_FIRST,)  # dates with points nearly always begin with the day
    return open_


def _by_steps(times: dict[str, Sequence[float]]) -> tuple[str, ...]:
    """Return the order in which time does not jump; all orders if none or several qualify."""
    jumps = {}
    for key, values in times.items():
        steps = sorted(abs(after - before) for before, after in pairwise(values))
        jumps[key] = steps[-1] if steps else 0.0
    # in the wrong order, the next day is a month away
    calm = [key for key, largest in jumps.items() if 0 < largest <= 3 * 86_400]
    wild = [key for key, largest in jumps.items() if largest >= 27 * 86_400]
    return tuple(calm) if len(calm) == 1 and len(wild) == len(times) - 1 else tuple(times)
