"""A run's ledger as bytes: entries to compressed JSON and back, with nothing lost.

Frozen values of the scheduling model are written by the names of their classes; the names of their fields
stand once at the head of every chunk, so that a field that is added later does not make an old ledger
unreadable. Floats keep all their bits (JSON's shortest form); infinities and NaN, which JSON does
not have, are written as words.
"""

from __future__ import annotations

import math
import zlib
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import orjson

from core.errors import InputError
from core.scheduling import actions, model
from core.scheduling.lazy_tuple import LazyTuple
from core.scheduling.loop import Entry
from core.scheduling.model import JobState, Trigger

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

FORMAT = 1
_CLASSES: dict[str, type[Any]] = {
    each.__name__: each
    for each in (
        Entry, model.Observation, model.Worker, model.Job, model.Terms, model.Profile, model.Hidden,
        model.Use, model.Failure, actions.Start, actions.Refuse, actions.SetLimit, actions.SetMemory,
        actions.SetThreads, actions.Migrate, actions.Pause, actions.Resume, actions.Stop, actions.Reason,
        actions.Mark,
    )
}  # fmt: skip
_NAMES = {cls: tuple(each.name for each in fields(cls)) for cls in _CLASSES.values()}
_ENUMS: dict[tuple[str, str], Callable[[str], Any]] = {
    ("Job", "state"): JobState,
    ("Observation", "trigger"): Trigger,
}
_FLOAT = "~"


def pack(entries: Sequence[Entry]) -> bytes:
    """Return entries as compressed bytes."""
    heads = {name: _NAMES[cls] for name, cls in _CLASSES.items()}
    document = {"format": FORMAT, "fields": heads, "entries": [_plain(entry) for entry in entries]}
    return zlib.compress(orjson.dumps(document), 6)


def unpack(data: bytes) -> tuple[Entry, ...]:
    """Return the entries that `pack` wrote.

    Raises InputError if the data are not a ledger, or one of a newer PhaseDock.
    """
    try:
        document = orjson.loads(zlib.decompress(data))
        if document["format"] != FORMAT:
            raise InputError(
                f"The ledger has format {document['format']}; this PhaseDock reads {FORMAT}.",
                "Use the version of PhaseDock that wrote it.",
            )
        reader = _Reader(document["fields"])
        return tuple(reader.value(entry) for entry in document["entries"])
    except (zlib.error, orjson.JSONDecodeError, KeyError, TypeError, ValueError) as error:
        raise InputError("This part of a ledger cannot be read.", "Run the experiment again.") from error


def _plain(value: Any) -> Any:
    """Return a frozen value as JSON: an object with its class's name, a list for a tuple, or itself."""
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else {_FLOAT: repr(float(value))}
    if isinstance(value, tuple | LazyTuple):
        return [_plain(each) for each in value]
    names = _NAMES.get(type(value))
    if names is None:
        return value
    return {type(value).__name__: [_plain(getattr(value, name)) for name in names]}


class _Reader:
    """Rebuilds frozen values by the field names in the head of a chunk."""

    def __init__(self, heads: dict[str, list[str]]) -> None:
        self._heads = heads

    def value(self, plain: Any) -> Any:
        if isinstance(plain, list):
            return tuple(self.value(each) for each in plain)
        if not isinstance(plain, dict):
            return plain
        ((name, inner),) = plain.items()
        if name == _FLOAT:
            return float(inner)
        values = dict(zip(self._heads[name], map(self.value, inner), strict=True))
        for (cls, field), enum in _ENUMS.items():
            if cls == name and field in values:
                values[field] = enum(values[field])
        field_names = _NAMES[_CLASSES[name]]
        return _CLASSES[name](**{field: value for field, value in values.items() if field in field_names})
