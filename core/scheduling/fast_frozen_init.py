"""A faster constructor for frozen dataclasses with slots.

The generated constructor of a frozen dataclass calls `object.__setattr__` once per field, because the class
refuses assignment. Here the object has a mutable twin class with the same slots while its fields are
assigned; that takes a quarter to a half of the time.
"""

from __future__ import annotations

from dataclasses import MISSING, fields
from types import new_class
from typing import Any, TypeVar

T = TypeVar("T")

_CLASS = object.__dict__["__class__"]
"""The attribute's own setter: a frozen object refuses the assignment."""


def fast_frozen_init(cls: type[T]) -> type[T]:
    """Give a frozen dataclass with slots a faster constructor of the same signature."""
    slots = {"__slots__": tuple(each.name for each in fields(cls))}  # type: ignore[arg-type]
    bases = getattr(cls, "__orig_bases__", cls.__bases__)
    twin = new_class(cls.__name__, bases, exec_body=lambda body: body.update(slots))
    namespace: dict[str, Any] = {"MISSING": MISSING, "Frozen": cls, "Twin": twin, "become": _CLASS.__set__}
    parameters, filling = "", "\n    become(self, Twin)"
    for each in fields(cls):  # type: ignore[arg-type]
        name, value = each.name, each.name
        namespace[f"default_{name}"] = each.default
        if each.default_factory is not MISSING:
            namespace[f"make_{name}"] = each.default_factory
            value = f"make_{name}() if {name} is MISSING else {name}"
        has_default = each.default is not MISSING or each.default_factory is not MISSING
        parameters += f", {name}=default_{name}" if has_default else f", {name}"
        filling += f"\n    self.{name} = {value}"
    filling += "\n    self.__class__ = Frozen"
    exec(f"def __init__(self{parameters}):{filling}", namespace)  # noqa: S102  as dataclasses do it
    constructor = namespace["__init__"]
    constructor.__qualname__, constructor.__module__ = f"{cls.__qualname__}.__init__", cls.__module__
    constructor.__annotations__ = cls.__init__.__annotations__
    cls.__init__ = constructor  # type: ignore[method-assign]
    return cls
