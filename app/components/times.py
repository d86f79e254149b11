"""Moments as people say them: 3 s ago, yesterday, 18 Nov."""

from __future__ import annotations

from datetime import UTC, datetime

_MINUTE, _HOUR, _DAY = 60, 3600, 86400


def ago(moment: datetime, now: datetime | None = None) -> str:
    """How long ago a moment was; its date when that is more than a week.

    Parameters
    ----------
    moment
        An aware time.
    now
        The present; that of the clock when left out.
    """
    seconds = ((now or datetime.now(UTC)) - moment).total_seconds()
    if seconds < 5:
        return "just now"
    if seconds < _MINUTE:
        return f"{seconds:.0f} s ago"
    if seconds < _HOUR:
        return f"{seconds // _MINUTE:.0f} min ago"
    if seconds < _DAY:
        return f"{seconds // _HOUR:.0f} h ago"
    if seconds < 2 * _DAY:
        return "yesterday"
    if seconds < 7 * _DAY:
        return f"{seconds // _DAY:.0f} days ago"
    return f"{moment.day} {moment:%b %Y}"
