"""YAML and JSON as plain values that know their lines, so that every error names its line.

JSON is a subset of YAML, so one parser reads both. Only what an experiment needs is accepted: mappings with
text keys, lists, text, numbers, true, false and null, read as YAML 1.2 has them (``1e3`` is a number, ``no``
is text). Tags, aliases and duplicate keys are refused: the first would do nothing here, the second can
grow without bounds, and the third hide a mistake.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import yaml

from core.errors import InputError
from core.settings_fields import FieldSpec, check, describe

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping


Path: TypeAlias = tuple[str | int, ...]

_INTEGER = re.compile(r"[-+]?\d+")
_FLOAT = re.compile(r"[-+]?(\.\d+|\d+(\.\d*)?)([eE][-+]?\d+)?")
_HALVES = re.compile(r"((?<!\\)(?:\\\\)*)\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})")
_WORDS: dict[str, Any] = {
    "": None, "~": None, "null": None, "Null": None, "NULL": None,
    "true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False,
    ".inf": float("inf"), "+.inf": float("inf"), "-.inf": float("-inf"), ".nan": float("nan"),
}  # fmt: skip
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the first is many times faster, where it was built
LARGEST = 1_000_000
"""The most characters that an experiment may have."""
_DEEPEST = 12


class SpecError(InputError):
    """Something in an experiment is invalid; `path` is its place in the values."""

    def __init__(self, path: Path, message: str, hint: str = "") -> None:
        super().__init__(message, hint)
        self.path = path


@dataclass(frozen=True)
class MarkedValues:
    """Values and the line on which each begins."""

    #: Plain dictionaries, lists, text and numbers.
    values: dict[str, Any]
    #: The line of each value, counted from 1, by its path.
    lines: dict[Path, int] = field(default_factory=dict)

    def line(self, path: Path) -> int:
        """The line of a value, or of the nearest one around it that is written down."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 1)

    def located(self, error: SpecError) -> InputError:
        """The error with its line in front."""
        return InputError(f"Line {self.line(error.path)}: {error.message}", error.hint)


def read_marked(text: str) -> MarkedValues:
    """Read a YAML or JSON document whose outermost value is a mapping."""
    if len(text) > LARGEST:
        raise InputError(f"The experiment has more than {LARGEST:,} characters.", "Describe jobs by groups.")
    if text.lstrip().startswith("{"):
        # where JSON and YAML differ: tabs between values, and characters written as two escapes
        text = _HALVES.sub(_join_surrogates, text.replace("\t", " "))
    lines: dict[Path, int] = {}
    try:
        values = _document(_events(text.encode("utf-8", "replace").decode()), lines)
    except yaml.MarkedYAMLError as error:
        raise _unreadable(error) from None
    except yaml.YAMLError as error:
        what = str(error).splitlines()[0].rstrip(".")
        raise InputError(f"This is not YAML or JSON: {what}.", "Save it as plain text in UTF-8.") from None
    return MarkedValues(values, lines)


def _events(text: str) -> Iterator[Any]:
    """The parser's events without those around documents; unsupported ones are refused at once."""
    for event in yaml.parse(text, Loader=_LOADER):
        if (
            isinstance(event, yaml.AliasEvent)
            or getattr(event, "anchor", None)
            or getattr(event, "tag", None)
        ):
            raise InputError(
                f"Line {_line(event)}: anchors (&), aliases (*) and tags (!) are not read.",
                "Write plain values.",
            )
        if not isinstance(event, yaml.StreamStartEvent | yaml.DocumentStartEvent | yaml.DocumentEndEvent):
            yield event


def _document(events: Iterator[Any], lines: dict[Path, int]) -> dict[str, Any]:
    first = next(events)
    if not isinstance(first, yaml.MappingStartEvent):
        raise InputError("Line 1: an experiment is a mapping.", "Begin with “version: 1”.")
    values = _mapping(events, (), lines)
    after = next(events)
    if not isinstance(after, yaml.StreamEndEvent):
        raise InputError(f"Line {_line(after)}: a second document begins.", "Put one experiment in a file.")
    return values


def _unreadable(error: yaml.MarkedYAMLError) -> InputError:
    mark = error.problem_mark or error.context_mark
    position = f"Line {mark.line + 1}: " if mark else ""
    return InputError(
        f"{position}this is not YAML or JSON: {error.problem or error.context}.",
        "Look at the indentation, brackets and colons there and just above.",
    )


def _line(event: Any) -> int:
    return int(event.start_mark.line) + 1


def _value(event: Any, events: Iterator[Any], path: Path, lines: dict[Path, int]) -> Any:
    lines.setdefault(path, _line(event))
    if len(path) > _DEEPEST:
        raise InputError(f"Line {lines[path]}: this is nested too deeply.", "See docs/experiments.md.")
    if isinstance(event, yaml.MappingStartEvent):
        return _mapping(events, path, lines)
    if isinstance(event, yaml.SequenceStartEvent):
        return _sequence(events, path, lines)
    return _scalar(event.value, plain=not event.style)


def _sequence(events: Iterator[Any], path: Path, lines: dict[Path, int]) -> list[Any]:
    values: list[Any] = []
    while not isinstance(event := next(events), yaml.SequenceEndEvent):
        values.append(_value(event, events, (*path, len(values)), lines))
    return values


def _mapping(events: Iterator[Any], path: Path, lines: dict[Path, int]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    while not isinstance(key := next(events), yaml.MappingEndEvent):
        if not isinstance(key, yaml.ScalarEvent):
            raise InputError(f"Line {_line(key)}: a key must be text.", "Write “name: value”.")
        name = str(key.value)
        if name in values:
            raise InputError(f"Line {_line(key)}: “{name}” appears twice.", "Keep one of them.")
        lines[*path, name] = _line(key)
        values[name] = _value(next(events), events, (*path, name), lines)
    return values


def _scalar(text: str, *, plain: bool) -> Any:
    if not plain:
        return text
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.fullmatch(text) and len(text) < 19:
        return int(text)
    return float(text) if _FLOAT.fullmatch(text) else text


def _join_surrogates(halves: re.Match[str]) -> str:
    return halves[1] + bytes.fromhex(halves[2] + halves[3]).decode("utf-16-be")


S = TypeVar("S")

_SECONDS = {"s": 1.0, "sec": 1.0, "second": 1.0, "seconds": 1.0, "ms": 1e-3, "min": 60.0, "minutes": 60.0}
_SECONDS |= {"h": 3600.0, "hours": 3600.0}
_CORES = {"cores": 1.0, "core": 1.0, "millicores": 1e-3, "m": 1e-3}
_WORK = {"core-s": 1.0, "core-seconds": 1.0, "core-min": 60.0, "core-h": 3600.0}
_SHARE = {"%": 0.01}
_MEMORY = {"GiB": 1.0, "MiB": 1 / 1024, "TiB": 1024.0, "GB": 1e9 / 2**30, "MB": 1e6 / 2**30}
_UNITS = {"s": _SECONDS, "cores": _CORES, "core-s": _WORK, "GiB": _MEMORY}
_UNIT_WORDS = {"s": "seconds", "cores": "cores", "core-s": "core-seconds", "GiB": "GiB"}
_QUANTITY = re.compile(r"([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*([A-Za-z%µ/·-]+)")


def require_mapping(value: Any, path: Path, what: str) -> Mapping[str, Any]:
    """A value that must be a mapping."""
    if not isinstance(value, dict):
        raise SpecError(path, f"{what} must be a mapping, not “{value}”.", "Write “name: value” lines.")
    return value


def require_list(value: Any, path: Path, what: str) -> list[Any]:
    """A value that must be a list."""
    if not isinstance(value, list):
        raise SpecError(path, f"{what} must be a list, not “{value}”.", "Begin each item with “- ”.")
    return value


def refuse_unknown(values: Mapping[str, Any], names: Collection[str], path: Path, what: str) -> None:
    """Refuse a field that is not known."""
    for name in values:
        if name not in names:
            raise SpecError((*path, name), f"{what} has no field “{name}”.", f"It has: {', '.join(names)}.")


def read_value(spec: FieldSpec, value: Any, path: Path) -> Any:
    """One value, brought to its field's unit and type."""
    if value is None or isinstance(value, list | dict):
        raise SpecError(path, f"{spec.label} ({spec.name}) has no value here.", f"It must be {spec.bounds}.")
    try:
        return check(spec, _in_unit(spec, value, path) if spec.kind in ("int", "float") else value)
    except SpecError:
        raise
    except InputError as error:
        raise SpecError(path, error.message, error.hint) from None


def read_settings(cls: type[S], values: Mapping[str, Any], path: Path, what: str) -> S:
    """An instance of a settings dataclass from plain values; missing fields have their defaults."""
    return cls(**read_fields(cls, values, path, what))


def read_fields(cls: type[Any], values: Mapping[str, Any], path: Path, what: str) -> dict[str, Any]:
    """Read fields of a settings dataclass and check them, without making an instance."""
    specs = {spec.name: spec for spec in describe(cls)}
    refuse_unknown(values, specs, path, what)
    return {name: read_value(specs[name], value, (*path, name)) for name, value in values.items()}


def read_span(spec: FieldSpec, value: Any, path: Path) -> tuple[float, float]:
    """A number, or two between which one is drawn: ``[180, 260]``."""
    if not isinstance(value, list):
        number = read_value(spec, value, path)
        return number, number
    if len(value) != 2:
        raise SpecError(path, f"{spec.label} ({spec.name}) has {len(value)} values.", "Write one, or two.")
    low, high = (read_value(spec, each, (*path, at)) for at, each in enumerate(value))
    if low > high:
        raise SpecError(path, f"{spec.label} ({spec.name}) goes from {low:g} down to {high:g}.", "Swap them.")
    return low, high


def _in_unit(spec: FieldSpec, value: Any, path: Path) -> Any:
    """A number in the field's own unit; text with a unit is converted."""
    match = _QUANTITY.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None:
        return value
    units = _UNITS.get(spec.unit, _SHARE if spec.kind == "float" else {})
    if match[2] not in units:
        raise SpecError(
            path,
            f"{spec.label} ({spec.name}) cannot be in “{match[2]}”: it is {_expected_unit(spec)}.",
            f"Write a number, or one with {', '.join(units)}." if units else "Write a number.",
        )
    return float(match[1]) * units[match[2]]


def _expected_unit(spec: FieldSpec) -> str:
    return f"in {_UNIT_WORDS[spec.unit]}" if spec.unit in _UNIT_WORDS else "a plain number"
