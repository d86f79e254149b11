"""What sysstat's tools have in common: a banner with the date, and lines that begin with a time of day."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.store.formats.logs.text_table import Line
    from core.traces.validation import ProblemLog

BANNER = re.compile(r"Linux\s+\S+\s+\((?P<host>[^)]*)\)\s+(?P<date>[\d/.-]+)(?:.*\((?P<cpus>\d{1,6}) CPU\))?")
_TIME = re.compile(r"(\d{1,2}):(\d{2}):(\d{2})(?:\s+([AP]M))?\s+(.*)")
_NO_DATE = datetime(1970, 1, 1, tzinfo=UTC)
_LAST_YEAR = 3000


@dataclass
class Clock:
    """The moments of lines, and the machine that the banner names.

    A clock that falls has passed midnight. Every activity has its own day: they follow each other in a
    recording, and take turns on a screen.
    """

    host: str = ""
    cpus: str = ""
    _first: datetime = _NO_DATE
    _doubtful: str = ""
    _last: dict[tuple[str, ...], tuple[datetime, timedelta]] = field(default_factory=dict)

    def begins(self, text: str) -> bool:
        """Take in a banner; tell whether the text is one."""
        banner = BANNER.match(text)
        if banner is None:
            return False
        self._first, self._doubtful, self._last = _date(banner["date"]), _two_dates(banner["date"]), {}
        self.host, self.cpus = banner["host"], banner["cpus"] or ""
        return True

    def split(self, line: Line, log: ProblemLog) -> tuple[timedelta, list[str]] | None:
        """The time of day that a line begins with, and its cells; None where it begins with none."""
        found = _TIME.match(line.text)
        if found is None:
            return None
        if self._doubtful:
            log.add("assumed_date", f"“{self._doubtful}” in the banner can be two dates.", row=line.number)
            self._doubtful = ""
        hours, minutes, seconds = int(found[1]), int(found[2]), int(found[3])
        if found[4]:
            hours = hours % 12 + (12 if found[4] == "PM" else 0)
        return timedelta(hours=hours, minutes=minutes, seconds=seconds), found[5].split()

    def at(self, header: Sequence[str], of_day: timedelta) -> datetime:
        """The moment of a line of the activity that has this header."""
        day, before = self._last.get(tuple(header), (self._first, timedelta(0)))
        if of_day < before:
            day += timedelta(days=1)
        self._last[tuple(header)] = day, of_day
        return day + of_day


def _two_dates(text: str) -> str:
    """The date where nothing tells its day from its month; else an empty text."""
    parts = text.split("/")
    small = len(parts) == 3 and all(
        part.isdigit() and len(part) < 3 and 1 <= int(part) <= 12 for part in parts[:2]
    )
    return text if small and parts[0] != parts[1] else ""


def _date(text: str) -> datetime:
    """The banner's date: the day is first behind points, or where the second part is above 12."""
    texts = [part for part in re.split(r"[/.-]", text) if part]
    if len(texts) != 3 or max(map(len, texts)) > 4:
        return _NO_DATE
    parts = [int(part) for part in texts]
    if parts[0] > 31:
        year, month, day = parts
    else:
        month, day, year = parts
        year += 2000 if year < 100 else 0
        if month > 12 or "." in text:
            month, day = day, month
    try:
        # the days that are counted on from here must be dates as well
        return datetime(year, month, day, tzinfo=UTC) if year < _LAST_YEAR else _NO_DATE
    except ValueError:
        return _NO_DATE
