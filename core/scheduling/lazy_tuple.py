"""Tuples whose values are built on first access.

Most observations and reasons of a simulated run are read by the policy alone, and only in part.
"""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, overload

if TYPE_CHECKING:
    from collections.abc import Iterator

T = TypeVar("T")


class LazyTuple(Sequence[T]):
    """A sequence that equals, copies and pickles as the tuple of its values."""

    __slots__ = ()

    @abstractmethod
    def _values(self) -> tuple[T, ...]:
        """Return all values, the same ones every time."""

    def __len__(self) -> int:
        return len(self._values())

    def __iter__(self) -> Iterator[T]:
        return iter(self._values())

    @overload
    def __getitem__(self, place: int) -> T: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[T]: ...
    def __getitem__(self, place: int | slice) -> T | Sequence[T]:
        return self._values()[place]

    def __eq__(self, other: object) -> bool:
        return tuple(other) == self._values() if isinstance(other, tuple | LazyTuple) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._values())

    def __repr__(self) -> str:
        return repr(self._values())

    def __reduce__(self) -> tuple[type, tuple[tuple[T, ...]]]:
        return tuple, (self._values(),)

    def __deepcopy__(self, memo: dict[int, Any]) -> tuple[T, ...]:
        return copy.deepcopy(self._values(), memo)


class PartlyLazyTuple(LazyTuple[T]):
    """A tuple of values and of functions that build them."""

    __slots__ = ("_cache", "_parts")

    def __init__(self, parts: Sequence[T | Callable[[], T]]) -> None:
        self._parts = parts
        self._cache: tuple[T, ...] | None = None

    def _values(self) -> tuple[T, ...]:
        if self._cache is None:
            self._cache = tuple([part() if callable(part) else part for part in self._parts])
        return self._cache

    def __len__(self) -> int:
        return len(self._parts)
