"""The times that people's loops print before a line of a tool, or on a line of their own above its answer."""

from __future__ import annotations

import re

from core.traces.cells.dates import is_clock, is_date

MOST_WORDS = 6
"""The words of the longest date: Sat 14 Mar 2026 09:00:00 UTC."""
_LIKELY = re.compile(r"\[?(?:\d{4}[-/.]|\d{1,2}[-/.:]\d|\d{10}|\w{2,4}[.,]? )")
"""How times begin: most lines have none, and to find that out word by word takes long."""
_FRACTION = re.compile(r",(?=\d)")
_EPOCH = re.compile(r"\d{10}(?:\.\d+)?|\d{13}|\d{16}|\d{19}")


def time_of(line: str) -> str:
    """The time that a line consists of; "" where it is something else."""
    text = _FRACTION.sub(".", line.strip().strip("[]"))
    return text if _EPOCH.fullmatch(text) or is_date(text) or is_clock(text) else ""


def stamped(line: str) -> tuple[str, str]:
    """A time before a line, "" where there is none, and the rest of the line as it is."""
    if not _LIKELY.match(line):
        return "", line
    for n in range(min(MOST_WORDS, len(line.split(maxsplit=MOST_WORDS)) - 1), 0, -1):
        words = line.split(maxsplit=n)
        if stamp := time_of(" ".join(words[:n])):
            return stamp, words[n]
    return "", line
