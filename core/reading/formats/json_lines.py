"""Samples as JSON lines: an object per line, as programs and log shippers write them.

Objects inside objects, and lists, become columns whose names are the path: ``cpu.percent``, ``gpus.0.util``.
An object in a list is called by its name, id or index where it has one, and else by its place.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from core.errors import InputError
from core.reading.formats.base import open_text
from core.reading.formats.text_table import MAX_LINE, Line, Row, tool_format
from core.reading.numbers import parse_number

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from core.traces.validation import ProblemLog


_NAMES = ("name", "id", "uuid", "index")
MAX_VALUES = 256
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
    return _has_number(entry) or any(parse_number(value) is not None for value in texts)


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
    values_: dict[str, object] = {}
    pending: list[tuple[str, object]] = [(str(name), value) for name, value in reversed(entry.items())]
    while pending and len(values_) <= MAX_VALUES:
        name, value = pending.pop()
        if isinstance(value, dict):
            pending += [(f"{name}.{key}", one) for key, one in reversed(value.items())]
        elif isinstance(value, list):
            names = _names(value)
            pending += [(f"{name}.{part}", one) for part, one in zip(names[::-1], value[::-1], strict=True)]
        else:
            values_[name] = value
    return values_ if 0 < len(values_) <= MAX_VALUES else None


def _names(items: list[object]) -> list[str]:
    """What the items of a list are called: by a name or number of their own, else by their places."""
    for key in _NAMES:
        values_ = [str(one[key]) for one in items if isinstance(one, dict) and key in one]
        if len(set(values_)) == len(items):
            return values_
    return [str(position) for position in range(len(items))]


_LIST = re.compile(r'\s*(?:\{\s*"[^"]{0,100}"\s*:\s*)?\[')
_LIST_END = re.compile(r'\](?:\s*,\s*"[^"]{0,100}"\s*:\s*(?:"[^"]{0,1000}"|[-+.\w]{1,100}))*\s*\}?\s*')
"""How a list ends: with what else the object has that it is in, as far as that is no list."""
_DECODER = json.JSONDecoder()
_GAP = re.compile(r"[\s,]*")
_NEXT_LINE = re.compile(r"\n[\[{]")


def is_records(start: str) -> bool:
    """Tell whether a text begins with a list of JSON objects that have numbers, or with two such objects.

    Those of JSON lines are rows as they are, even where they begin with a list.
    """
    if is_samples(start) and start.partition("\n")[2].startswith("{"):
        return False
    list_start = _LIST.match(start)
    first, next_place = _object(start, list_start.end() if list_start else 0)
    if first is None or not is_sample(first):
        return False
    return bool(list_start) or start[next_place : next_place + 1] == "{"


def read_objects(path: Path, skip: int = 0) -> Iterator[Line]:
    """The objects of a text behind its first lines, each on a line and numbered from 1.

    Raises InputError if one is too long to be a sample.
    """
    with open_text(path) as text:
        for _ in range(skip):
            text.readline(MAX_LINE)
        buffer = text.read(MAX_LINE)
        list_start = _LIST.match(buffer)
        position, number = list_start.end() if list_start else 0, 0
        while True:
            values_, position = _object(buffer, position)
            if values_ is not None:
                number += 1
                yield Line(number, values_)
            elif len(buffer) - position <= MAX_LINE and (block := text.read(MAX_LINE)):
                buffer, position = buffer[position:] + block, 0
            elif (next_place := _next_list(buffer, position)) > position:
                position = next_place
            elif next_line := _NEXT_LINE.search(buffer, position):  # what is between is reported as no object
                number += 1
                yield Line(number, buffer[position : position + 100])
                position = next_line.end() - 1
            else:
                break
        if len(buffer) - position > MAX_LINE:
            raise InputError(
                f"Object {number + 1} of “{path.name}” is longer than {MAX_LINE >> 20} MiB.",
                "Save one object with named numbers for each sample.",
            )
        if buffer[position:]:
            yield Line(number + 1, buffer[position : position + 100])


def _next_list(text: str, position: int) -> int:
    """Where the objects of the next list begin, where one ends at a place; else that place."""
    list_end = _LIST_END.match(text, position)
    if list_end is None:
        return position
    list_start = _LIST.match(text, list_end.end())
    return list_start.end() if list_start else list_end.end()


def _object(text: str, position: int) -> tuple[str | None, int]:
    """The object that begins at a place, or behind the space there, and where the next may begin."""
    start = _GAP.match(text, position).end()  # type: ignore[union-attr]  # nothing is a match, too
    if text[start : start + 1] != "{":
        return None, start
    try:
        _, end = _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):
        return None, start
    return text[start:end], _GAP.match(text, end).end()  # type: ignore[union-attr]


FORMATS = (
    tool_format(
        "json_records", "JSON records", (".json",), r"[{\[]", parse, check=is_records, lines=read_objects
    ),
    tool_format("json_lines", "JSON lines", (".jsonl", ".ndjson", ".json"), r"\{", parse, check=is_samples),
)
