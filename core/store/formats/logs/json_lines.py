"""Samples as JSON lines: an object per line, as programs and log shippers write them.

Objects inside objects, and lists, become columns whose names are the path: ``cpu.percent``, ``gpus.0.util``.
An object in a list is called by its name, id or index where it has one, and else by its place.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from core.store.formats.base import Format
from core.store.formats.logs.text_table import Row, TextTable
from core.traces.cells.numbers import read

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from core.store.formats.logs.text_table import Line
    from core.traces.validation import ProblemLog

_NAMES = ("name", "id", "uuid", "index")
MOST_VALUES = 256
"""A line with more values than this is a document, and no sample."""


def is_samples(start: str) -> bool:
    """Tell whether a text begins with a sample on one line."""
    return is_sample(start.split("\n", 1)[0])


def is_sample(text: str) -> bool:
    """Tell whether a text is a JSON object that has a number outside of its lists, or among its texts.

    An answer of Prometheus has its numbers in lists, but for statistics of the query, and texts as labels.
    """
    try:
        if '"resultType"' in text or _values(text) is None:
            return False
        entry = json.loads(text)
    except RecursionError:
        return False
    texts = [value for value in entry.values() if isinstance(value, str)]
    return _has_number(entry) or any(read(value) is not None for value in texts)


def _has_number(value: object) -> bool:
    if isinstance(value, dict):
        return any(map(_has_number, value.values()))
    return isinstance(value, int | float) and not isinstance(value, bool)


def parse(lines: Iterable[Line], log: ProblemLog) -> Iterator[Row]:
    """Rows of the lines; what is no object is reported."""
    for number, text in lines:
        if not text.strip():
            continue
        values = _values(text)
        if values is None:
            log.add("ragged", f"Row {number} is not a JSON object with values.", row=number)
            continue
        yield Row(number, {name: "" if value is None else str(value) for name, value in values.items()})


def _values(text: str) -> dict[str, object] | None:
    """The values of a line by their path; None where it is not one object of a few values."""
    try:
        entry = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(entry, dict):
        return None
    found: dict[str, object] = {}
    inner: list[tuple[str, object]] = [(str(name), value) for name, value in reversed(entry.items())]
    while inner and len(found) <= MOST_VALUES:
        name, value = inner.pop()
        if isinstance(value, dict):
            inner += [(f"{name}.{key}", one) for key, one in reversed(value.items())]
        elif isinstance(value, list):
            names = _names(value)
            inner += [(f"{name}.{part}", one) for part, one in zip(names[::-1], value[::-1], strict=True)]
        else:
            found[name] = value
    return found if 0 < len(found) <= MOST_VALUES else None


def _names(items: list[object]) -> list[str]:
    """What the items of a list are called: by a name or number of their own, else by their places."""
    for key in _NAMES:
        found = [str(one[key]) for one in items if isinstance(one, dict) and key in one]
        if len(set(found)) == len(items):
            return found
    return [str(place) for place in range(len(items))]


FORMATS = (
    Format(
        "json_lines",
        "JSON lines",
        (".jsonl", ".ndjson", ".json"),
        lambda start: is_samples(start.text),
        lambda start: TextTable.open(start.path, parse, "JSON lines"),
        '{"container": "a", "cpu_cores": 0.5, "memory": {"bytes": 250000000}}\n' * 6,
    ),
)
