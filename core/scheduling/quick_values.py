"""Frozen values that are made by the thousand: a constructor that fills their slots directly.

The constructor of a frozen dataclass calls `object.__setattr__` with a name for each field. Where a class has
slots, each slot can be filled by its own descriptor, which leaves the same value in a third of the time.
"""

from __future__ import annotations

from dataclasses import MISSING, fields
from typing import Any, TypeVar

T = TypeVar("T")


def filled_by_slot(cls: type[T]) -> type[T]:
    """Give a frozen dataclass with slots a constructor of the same signature that fills its slots directly.

    Parameters
    ----------
    cls
        The class, without `__post_init__`.
    """
    known: dict[str, Any] = {"MISSING": MISSING}
    given, filling = "", ""
    for each in fields(cls):  # type: ignore[arg-type]
        name, value = each.name, each.name
        known[f"set_{name}"], known[f"default_{name}"] = cls.__dict__[name].__set__, each.default
        if each.default_factory is not MISSING:
            known[f"make_{name}"] = each.default_factory
            value = f"make_{name}() if {name} is MISSING else {name}"
        has_default = each.default is not MISSING or each.default_factory is not MISSING
        given += f", {name}=default_{name}" if has_default else f", {name}"
        filling += f"\n    set_{name}(self, {value})"
    exec(f"def __init__(self{given}):{filling}", known)  # noqa: S102  as dataclasses do it
    made = known["__init__"]
    made.__qualname__, made.__module__ = f"{cls.__qualname__}.__init__", cls.__module__
    made.__annotations__ = cls.__init__.__annotations__
    cls.__init__ = made  # type: ignore[method-assign]
    return cls
