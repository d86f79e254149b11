"""Fitted policies as plain values and arrays, to be kept in files and loaded without running what they hold.

A class or function is kept by the name under which it was registered with `kept`; nothing else is ever made
from a file.
"""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from core.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_KNOWN: dict[str, Any] = {}
_Kept = TypeVar("_Kept", bound="type[Any] | Callable[..., Any]")


def kept(what: _Kept) -> _Kept:
    """Register a frozen dataclass, or a function without state, under its own name.

    Raises
    ------
    ValueError
        If there is another one of that name.
    """
    if _KNOWN.setdefault(what.__name__, what) is not what:
        raise ValueError(f"There are two of the name {what.__name__}.")
    return what


def to_plain(value: Any) -> tuple[Any, dict[str, np.ndarray]]:
    """A value as JSON can hold it, and the arrays in it by name.

    Raises
    ------
    TypeError
        If something in it was not registered with `kept`.
    """
    arrays: dict[str, np.ndarray] = {}
    return _plain(value, arrays), arrays


def _plain(value: Any, arrays: dict[str, np.ndarray]) -> Any:
    match value:
        case None | bool() | str():
            plain: Any = value
        case int() | np.integer():
            plain = int(value)
        case float() | np.floating():
            plain = {"float": float(value).hex()}
        case np.ndarray():
            plain = {"array": f"a{len(arrays)}"}
            arrays[plain["array"]] = value
        case tuple():
            plain = [_plain(each, arrays) for each in value]
        case _ if _KNOWN.get(type(value).__name__) is type(value):
            own = {each.name: _plain(getattr(value, each.name), arrays) for each in fields(value)}
            plain = {"kind": type(value).__name__, "fields": own}
        case _ if _KNOWN.get(name := getattr(value, "__name__", "")) is value:
            plain = {"function": name}
        case _:
            raise TypeError(f"A {type(value).__name__} cannot be kept.")
    return plain


def from_plain(plain: Any, arrays: Mapping[str, np.ndarray]) -> Any:
    """The value that `to_plain` described.

    Raises
    ------
    InputError
        If the description is damaged, or of a policy that is not there any more.
    """
    try:
        return _value(plain, arrays)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError("The fitted policy cannot be read.", "Fit it again.") from error


def _value(plain: Any, arrays: Mapping[str, np.ndarray]) -> Any:
    if isinstance(plain, list):
        return tuple(_value(each, arrays) for each in plain)
    if not isinstance(plain, dict):
        return plain
    match plain:
        case {"float": text}:
            return float.fromhex(text)
        case {"array": name}:
            return arrays[name]
        case {"function": name} if not isinstance(_KNOWN[name], type):
            return _KNOWN[name]
        case {"kind": name, "fields": own} if isinstance(_KNOWN[name], type):
            return _KNOWN[name](**{key: _value(each, arrays) for key, each in own.items()})
    raise ValueError("This describes nothing.")
