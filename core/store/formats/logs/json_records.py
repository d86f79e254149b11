"""Samples as JSON objects in a list, or one after the other over several lines.

So pandas (``to_json(orient="records")``), jq and most interfaces of the web write them; the list may be the
first value of an object, and such documents may follow each other. Each object becomes a row as a
JSON line does.
"""

from __future__ import annotations

import io
import json
import re
from typing import TYPE_CHECKING

from core.errors import InputError
from core.store.formats.base import Format
from core.store.formats.logs.json_lines import is_sample, is_samples, parse
from core.store.formats.logs.text_table import MOST_LINE, Line, TextTable
from core.store.formats.opening import open_content

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_LIST = re.compile(r'\s*(?:\{\s*"[^"]{0,100}"\s*:\s*)?\[')
_REST = re.compile(r'\](?:\s*,\s*"[^"]{0,100}"\s*:\s*(?:"[^"]{0,1000}"|[-+.\w]{1,100}))*\s*\}?\s*')
"""How a list ends: with what else the object has that it is in, as far as that is no list."""
_DECODER = json.JSONDecoder()
_BETWEEN = re.compile(r"[\s,]*")


def is_records(start: str) -> bool:
    """Tell whether a text begins with a list of JSON objects that have numbers, or with two such objects.

    Those of JSON lines are rows as they are, even where they begin with a list.
    """
    if is_samples(start) and start.partition("\n")[2].startswith("{"):
        return False
    begins = _LIST.match(start)
    first, after = _object(start, begins.end() if begins else 0)
    if first is None or not is_sample(first):
        return False
    return bool(begins) or start[after : after + 1] == "{"


def objects_of(path: Path) -> Iterator[Line]:
    """The objects of a text, each on a line and numbered from 1.

    Raises
    ------
    InputError
        If one is too long to be a sample.
    """
    with open_content(path) as stream:
        text = io.TextIOWrapper(stream, "utf-8-sig", errors="replace")
        kept = text.read(MOST_LINE)
        begins = _LIST.match(kept)
        place, number = begins.end() if begins else 0, 0
        while True:
            found, place = _object(kept, place)
            if found is not None:
                number += 1
                yield Line(number, found)
            elif len(kept) - place <= MOST_LINE and (more := text.read(MOST_LINE)):
                kept, place = kept[place:] + more, 0
            elif (after := _next_list(kept, place)) > place:
                place = after
            else:
                break
        if len(kept) - place > MOST_LINE:
            raise InputError(
                f"Object {number + 1} of “{path.name}” is longer than {MOST_LINE >> 20} MiB.",
                "Save one object with named numbers for each sample.",
            )
        if kept[place:]:
            yield Line(number + 1, kept[place : place + 100])


def _next_list(text: str, place: int) -> int:
    """Where the objects of the next list begin, where one ends at a place; else that place."""
    ends = _REST.match(text, place)
    if ends is None:
        return place
    begins = _LIST.match(text, ends.end())
    return begins.end() if begins else ends.end()


def _object(text: str, place: int) -> tuple[str | None, int]:
    """The object that begins at a place, or behind the space there, and where the next may begin."""
    start = _BETWEEN.match(text, place).end()  # type: ignore[union-attr]  # nothing is a match, too
    if text[start : start + 1] != "{":
        return None, start
    try:
        _, end = _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):
        return None, start
    return text[start:end], _BETWEEN.match(text, end).end()  # type: ignore[union-attr]


FORMATS = (
    Format(
        "json_records",
        "JSON records",
        (".json",),
        lambda start: is_records(start.text),
        lambda start: TextTable.open(start.path, parse, "a list of JSON objects", lines=objects_of),
        '[{"container": "a", "cpu_cores": 0.5, "memory": {"bytes": 250000000}}'
        + ',\n {"container": "a", "cpu_cores": 0.7, "memory": {"bytes": 260000000}}' * 5
        + "]",
    ),
)
