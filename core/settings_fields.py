"""Settings as typed data: a frozen dataclass whose fields describe themselves to people.

A field made by `setting` carries its label, bounds, unit and one sentence of help. From that the screen
draws a form (`describe`), and text or JSON becomes an instance (`build`), with an error that names the
field and its bounds.
"""

from __future__ import annotations

import math
from dataclasses import MISSING, dataclass, field, fields
from typing import TYPE_CHECKING, Any, TypeVar

from core.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

S = TypeVar("S")

_KEY = "setting"
_TRUE, _FALSE = ("true", "yes", "on", "1"), ("false", "no", "off", "0")


@dataclass(frozen=True)
class NoSettings:
    """The settings of whatever has nothing to choose."""


@dataclass(frozen=True, slots=True)
class FieldSpec:
    """The description of one setting for forms."""

    #: The field's name in the dataclass.
    name: str
    #: ``"int"``, ``"float"``, ``"bool"``, ``"text"`` or ``"choice"``; or what a text names: ``"model"``,
    #: ``"traces"`` (their ids) or ``"provisioning"`` (a policy).
    kind: str
    #: The value it has when nothing is given.
    default: Any
    #: Its label, and one sentence about it.
    label: str
    help: str
    #: Inclusive bounds of a number, or None.
    low: float | None = None
    high: float | None = None
    #: The unit of a number, or empty.
    unit: str = ""
    #: The values a choice may have, each with its label.
    choices: tuple[tuple[str, str], ...] = ()
    #: Its letter in the paper, or empty.
    symbol: str = ""

    @property
    def bounds(self) -> str:
        """The allowed values, in words."""
        if self.kind == "choice":
            return "one of " + ", ".join(value for value, _ in self.choices)
        if self.kind == "bool":
            return "true or false"
        what = {"int": "a whole number", "float": "a number"}.get(self.kind, "text")
        match self.low, self.high:
            case None, None:
                return what
            case low, None:
                return f"{what} from {low:g} on"
            case None, high:
                return f"{what} up to {high:g}"
            case low, high:
                return f"{what} from {low:g} to {high:g}"


def setting(  # noqa: PLR0913 - the names are a form's own
    default: Any,
    *,
    label: str,
    help: str,  # noqa: A002
    low: float | None = None,
    high: float | None = None,
    unit: str = "",
    choices: Mapping[str, str] | None = None,
    of: str = "text",
    symbol: str = "",
) -> Any:
    """Declare a field of a settings dataclass; parameters as in `FieldSpec`, and `of`, the kind of a text."""
    kind = "choice" if choices else {bool: "bool", int: "int", float: "float"}.get(type(default), of)
    options = tuple((choices or {}).items())
    spec = {"kind": kind, "label": label, "help": help, "low": low, "high": high, "symbol": symbol}
    return field(default=default, metadata={_KEY: {**spec, "unit": unit, "choices": options}})


def describe(cls: type[Any]) -> tuple[FieldSpec, ...]:
    """The settings of a dataclass, in the order of its fields."""
    return tuple(
        FieldSpec(name=each.name, default=each.default, **each.metadata[_KEY])
        for each in fields(cls)
        if _KEY in each.metadata and each.default is not MISSING
    )


def _refuse(spec: FieldSpec, value: object) -> InputError:
    return InputError(f"{spec.label} ({spec.name}) cannot be “{value}”.", f"It must be {spec.bounds}.")


def _read_number(spec: FieldSpec, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise _refuse(spec, value)
    try:
        number = float(value)
    except (ValueError, OverflowError):
        raise _refuse(spec, value) from None
    fits_kind = spec.kind == "float" or number == math.floor(number) if math.isfinite(number) else False
    above = spec.low is None or number >= spec.low
    below = spec.high is None or number <= spec.high
    if not (fits_kind and above and below):
        raise _refuse(spec, value)
    return number


def _read_boolean(spec: FieldSpec, value: object) -> bool:
    if isinstance(value, bool):
        return value
    text = str(value).strip().lower()
    if text not in _TRUE + _FALSE:
        raise _refuse(spec, value)
    return text in _TRUE


def check(spec: FieldSpec, value: object) -> Any:
    """Bring a value, or its text, to the setting's type.

    Raises InputError if the value is of the wrong kind or out of bounds; the sentence names the field and its
    bounds.
    """
    match spec.kind:
        case "int":
            return int(_read_number(spec, value))
        case "float":
            return _read_number(spec, value)
        case "bool":
            return _read_boolean(spec, value)
        case "choice" if value not in [choice for choice, _ in spec.choices]:
            raise _refuse(spec, value)
        case _:
            return "" if value is None else str(value)


def parse_assignments(texts: Iterable[str]) -> dict[str, dict[str, str]]:
    """Settings by their owner, from strings such as ``event.tries=20``; the field follows the last dot.

    Raises InputError if a string names no owner, no setting or no value.
    """
    values_by_owner: dict[str, dict[str, str]] = {}
    for text in texts:
        path, sign, value = text.partition("=")
        owner, dot, name = path.strip().rpartition(".")
        if not (sign and dot and owner and name):
            raise InputError(f"“{text}” is not of the form policy.setting=value.", "Try event.tries=20.")
        values_by_owner.setdefault(owner, {})[name] = value.strip()
    return values_by_owner


def build(cls: type[S], values: Mapping[str, object]) -> S:
    """Make an instance of a settings dataclass from a mapping of names to values or their text.

    Settings that are not named keep their defaults. Raises InputError if a name is unknown or a value is not
    allowed.
    """
    specs = {spec.name: spec for spec in describe(cls)}
    for name in values:
        if name not in specs:
            raise InputError(f"There is no setting called “{name}”.", f"There are: {', '.join(specs)}.")
    return cls(**{name: check(specs[name], value) for name, value in values.items()})
