"""A typed table of named things: encoders, layouts, kinds of task, policies, pages, engines.

Registration is one explicit line; the error for an unknown name lists the known ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

from core.errors import NotFoundError

if TYPE_CHECKING:
    from collections.abc import Iterator

T = TypeVar("T")


class Registry(Generic[T]):
    """Named things of one type, kept in the order of their registration."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._entries: dict[str, T] = {}
        self._sources: dict[str, str] = {}

    def add(self, name: str, entry: T, source: str = "") -> T:
        """Register `entry` as `name` and give it back.

        Raises ValueError if the name is taken: two entries of one name are a mistake in the code.
        """
        if name in self._entries:
            raise ValueError(f"{self._what} {name!r} is registered twice")
        self._entries[name] = entry
        if source:
            self._sources[name] = source
        return entry

    def remove(self, name: str) -> None:
        """Forget an entry that was added from outside."""
        del self._entries[name], self._sources[name]

    def source(self, name: str) -> str:
        """Return the origin of an entry; empty for PhaseDock's own."""
        return self._sources.get(name, "")

    def __getitem__(self, name: str) -> T:
        """Return an entry.

        Raises NotFoundError if there is no such name; its hint lists those there are.
        """
        try:
            return self._entries[name]
        except KeyError:
            raise NotFoundError(
                f"There is no {self._what} called “{name}”.",
                f"Choose one of: {', '.join(self._entries)}.",
            ) from None

    def __contains__(self, name: object) -> bool:
        """Tell whether a name is registered."""
        return name in self._entries

    def __iter__(self) -> Iterator[str]:
        """Go through the names in the order of registration."""
        return iter(self._entries)

    def __len__(self) -> int:
        """Count the entries."""
        return len(self._entries)

    def values(self) -> list[T]:
        """The entries in the order of the register."""
        return [entry for _, entry in self.items()]

    def items(self) -> Iterator[tuple[str, T]]:
        """Go through names and entries in the order of registration."""
        return iter(self._entries.items())
