"""Reading an experiment's fields: unknown ones, wrong units and wrong values are refused with their position.

A quantity is a number in the field's own unit, or text with a unit of the same kind: ``90``, ``"90 s"`` and
``"1.5 min"`` are one duration, and ``"2 cores"`` is not.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, TypeVar

from core.errors import InputError
from core.experiments.reading.marked import Path, SpecError
from core.settings_fields import FieldSpec, check, describe

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

S = TypeVar("S")

_SECONDS = {"s": 1.0, "sec": 1.0, "second": 1.0, "seconds": 1.0, "ms": 1e-3, "min": 60.0, "minutes": 60.0}
_SECONDS |= {"h": 3600.0, "hours": 3600.0}
_CORES = {"cores": 1.0, "core": 1.0, "millicores": 1e-3, "m": 1e-3}
_WORK = {"core-s": 1.0, "core-seconds": 1.0, "core-min": 60.0, "core-h": 3600.0}
_SHARE = {"%": 0.01}
_MEMORY = {"GiB": 1.0, "MiB": 1 / 1024, "TiB": 1024.0, "GB": 1e9 / 2**30, "MB": 1e6 / 2**30}
_UNITS = {"s": _SECONDS, "cores": _CORES, "core-s": _WORK, "GiB": _MEMORY}
_WORDS = {"s": "seconds", "cores": "cores", "core-s": "core-seconds", "GiB": "GiB"}
_QUANTITY = re.compile(r"([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*([A-Za-z%µ/·-]+)")


def mapping(value: Any, path: Path, what: str) -> Mapping[str, Any]:
    """A value that must be a mapping.

    Raises
    ------
    SpecError
        If it is not.
    """
    if not isinstance(value, dict):
        raise SpecError(path, f"{what} must be a mapping, not “{value}”.", "Write “name: value” lines.")
    return value


def listing(value: Any, path: Path, what: str) -> list[Any]:
    """A value that must be a list.

    Raises
    ------
    SpecError
        If it is not.
    """
    if not isinstance(value, list):
        raise SpecError(path, f"{what} must be a list, not “{value}”.", "Begin each item with “- ”.")
    return value


def only(values: Mapping[str, Any], names: Collection[str], path: Path, what: str) -> None:
    """Refuse a field that is not known.

    Raises
    ------
    SpecError
        If there is one.
    """
    for name in values:
        if name not in names:
            raise SpecError((*path, name), f"{what} has no field “{name}”.", f"It has: {', '.join(names)}.")


def one(spec: FieldSpec, value: Any, path: Path) -> Any:
    """One value, brought to its field's unit and type.

    Raises
    ------
    SpecError
        If it is in another unit, of another type or out of bounds.
    """
    if value is None or isinstance(value, list | dict):
        raise SpecError(path, f"{spec.label} ({spec.name}) has no value here.", f"It must be {spec.bounds}.")
    try:
        return check(spec, _in_unit(spec, value, path) if spec.kind in ("int", "float") else value)
    except SpecError:
        raise
    except InputError as error:
        raise SpecError(path, error.message, error.hint) from None


def typed(cls: type[S], values: Mapping[str, Any], path: Path, what: str) -> S:
    """An instance of a settings dataclass from plain values; what is not named keeps its default.

    Raises
    ------
    SpecError
        If a field is unknown or a value is invalid.
    """
    return cls(**read(cls, values, path, what))


def read(cls: type[Any], values: Mapping[str, Any], path: Path, what: str) -> dict[str, Any]:
    """The given fields of a settings dataclass, checked; `typed` without making an instance.

    Raises
    ------
    SpecError
        If a field is unknown or a value is invalid.
    """
    specs = {spec.name: spec for spec in describe(cls)}
    only(values, specs, path, what)
    return {name: one(specs[name], value, (*path, name)) for name, value in values.items()}


def span(spec: FieldSpec, value: Any, path: Path) -> tuple[float, float]:
    """A number, or two between which one is drawn: ``[180, 260]``.

    Raises
    ------
    SpecError
        If either is invalid, or the first is above the second.
    """
    if not isinstance(value, list):
        both = one(spec, value, path)
        return both, both
    if len(value) != 2:
        raise SpecError(path, f"{spec.label} ({spec.name}) has {len(value)} values.", "Write one, or two.")
    low, high = (one(spec, each, (*path, at)) for at, each in enumerate(value))
    if low > high:
        raise SpecError(path, f"{spec.label} ({spec.name}) goes from {low:g} down to {high:g}.", "Swap them.")
    return low, high


def _in_unit(spec: FieldSpec, value: Any, path: Path) -> Any:
    """A number in the field's own unit; text with a unit is converted."""
    match = _QUANTITY.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None:
        return value
    known = _UNITS.get(spec.unit, _SHARE if spec.kind == "float" else {})
    if match[2] not in known:
        raise SpecError(
            path,
            f"{spec.label} ({spec.name}) cannot be in “{match[2]}”: it is {_wanted(spec)}.",
            f"Write a number, or one with {', '.join(known)}." if known else "Write a number.",
        )
    return float(match[1]) * known[match[2]]


def _wanted(spec: FieldSpec) -> str:
    return f"in {_WORDS[spec.unit]}" if spec.unit in _WORDS else "a plain number"
