"""Reads deadlines as people write them: ``2 h``, ``18:00``, ``6 pm``, ``tomorrow 9:00``, a date.

Ambiguous input is refused: a bare number, a date without a time, a time of day that is over.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from core.units import format_duration

EXAMPLES: Final = "Write 2 h, 18:00, 6 pm, tomorrow 9:00 or 2026-12-24 18:00."
_SECONDS: Final = {"s": 1.0, "min": 60.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_WORDS: Final = {
    "second": "s", "seconds": "s", "sec": "s", "minute": "min", "minutes": "min", "hour": "h", "hours": "h",
    "day": "d", "days": "d",
}  # fmt: skip
_PART = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]+)\s*")
_CLOCK = re.compile(r"(?:(today|tomorrow)\s+)?(\d{1,2})(?::(\d{2}))?\s*(am|pm)?")
_LONGEST: Final = 366 * 86400.0


def read_deadline(text: str, now: float, zone: str = "") -> float | None:
    """Return the deadline in seconds since 1970; None for an empty text.

    Raises
    ------
    ValueError
        With a sentence, if it means nothing, more than one thing, or a moment that is over.
    """
    normalized = " ".join(text.lower().split())
    if not normalized:
        return None
    span = _read_span(normalized)
    until = _read_time(text.strip(), normalized, now, zone) if span is None else now + span
    if not 0 < until - now <= _LONGEST:
        problem = "is over" if until <= now else "is more than a year from now"
        raise ValueError(f"“{text.strip()[:40]}” {problem}. {EXAMPLES}")
    return until


def format_deadline(until: float, now: float, zone: str = "") -> str:
    """Format a deadline: ``18:00 (in 2 h 05 min)``, with its day unless that is today.

    Raises
    ------
    ValueError
        If the time zone is not known.
    """
    local_zone = _load_zone(zone)
    then, today = datetime.fromtimestamp(until, local_zone), datetime.fromtimestamp(now, local_zone).date()
    days = (then.date() - today).days
    day = {0: "", 1: "tomorrow "}.get(days, f"{then:%Y-%m-%d} ")
    remaining = until - now
    return f"{day}{then:%H:%M} ({f'in {format_duration(remaining)}' if remaining >= 0 else 'over'})"


def _read_span(normalized: str) -> float | None:
    """Return the seconds of ``in 1 h 30 min``; None for other texts."""
    remainder, total = normalized.removeprefix("in "), 0.0
    while remainder:
        match = _PART.match(remainder)
        unit = "" if match is None else _WORDS.get(match[2], match[2])
        if match is None or unit not in _SECONDS:
            return None
        total += float(match[1]) * _SECONDS[unit]
        remainder = remainder[match.end() :]
    return total


def _read_time(written: str, normalized: str, now: float, zone: str) -> float:
    local_zone = _load_zone(zone)
    today = datetime.fromtimestamp(now, local_zone)
    match = _CLOCK.fullmatch(re.sub(r"^(by|at)\s+", "", normalized))
    if match is not None and (match[3] or match[4]):
        hour, minute = _read_hour(int(match[2]), match[4] or "", written), int(match[3] or 0)
        if hour > 23 or minute > 59:
            raise ValueError(f"“{written[:40]}” is not a time of day. {EXAMPLES}")
        day = today + timedelta(days=match[1] == "tomorrow")
        until = day.replace(hour=hour, minute=minute, second=0, microsecond=0).timestamp()
        if until <= now:
            raise ValueError(f"It is {today:%H:%M} now, so “{written[:40]}” is over; write tomorrow with it.")
        return until
    try:
        then = datetime.fromisoformat(written)
    except ValueError:
        raise ValueError(f"“{written[:40]}” is not a time. {EXAMPLES}") from None
    if len(written) <= len("2026-12-24"):
        raise ValueError(f"“{written}” has no time of day: write {then:%Y-%m-%d} 18:00.")
    return (then if then.tzinfo is not None else then.replace(tzinfo=local_zone)).timestamp()


def _read_hour(hour: int, half: str, written: str) -> int:
    """Hours since midnight of a clock with or without halves of the day."""
    if not half:
        return hour
    if not 1 <= hour <= 12:
        raise ValueError(f"“{written[:40]}” is not a time of day. {EXAMPLES}")
    return hour % 12 + (12 if half == "pm" else 0)


def _load_zone(name: str) -> tzinfo:
    try:
        return ZoneInfo(name) if name else datetime.now(UTC).astimezone().tzinfo or UTC
    except (ZoneInfoNotFoundError, ValueError, OSError):  # a long name, or that of a folder
        raise ValueError(
            f"The time zone “{name[:40]}” is not known here; write a duration, such as 2 h."
        ) from None
