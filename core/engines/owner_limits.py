"""The bound that a container's owner sets: its limits when it was found, and later changes by others.

A policy gives a container at most that much, unless the person who attaches it lets it raise limits. A limit
that somebody else changes during control is the new bound, and is what is restored at the end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from core.engines.values import SUBMISSION

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from core.engines.ports import Container, Limits, SteeredHost


_TOLERANCE = 1e-3
"""Relative difference up to which two limits of cores are the same; engines round."""


class OwnerLimits:
    """The limits of one container that its owner set, and those that it has now."""

    def __init__(self) -> None:
        #: The most cores and bytes that its owner allows; None without a bound.
        self.cores: float | None = None
        self.memory: float | None = None
        self._present: Limits | None = None

    def begin(self, container: Container, *, may_raise: bool) -> None:
        """Take the limits that a container has when it is found.

        A submitted job's container has the CPU limit of a policy, so only its memory limit is its owner's.
        """
        self._present = container.limits
        if not may_raise:
            self.memory = container.limits.memory_bytes
            self.cores = None if SUBMISSION in container.labels else container.limits.cores

    def note_change(self, limits: Limits) -> None:
        """Note the limits that the run has set, so that they are not taken for the owner's."""
        self._present = limits

    def update(self, host: SteeredHost, container: Container) -> bool:
        """Compare a container with its last known limits; return whether somebody else changed them.

        What others changed is the new bound, and replaces that part of the saved limits.
        """
        if self._present is None or _agree(self._present, container.limits):
            return False
        now = host.inspect(container.id).limits  # a listing may be older than the run's own last change
        before, self._present = self._present, now
        if _agree(before, now):
            return False
        if not _same(before.cores, now.cores):
            self.cores = now.cores
        if before.memory_bytes != now.memory_bytes:
            self.memory = now.memory_bytes
        keeper = host.keeper
        saved = None if keeper is None else keeper.saved_limits(host.key(), container.id)
        if keeper is not None and saved is not None:
            found, last = now.to_dict(), before.to_dict()
            changed = {name: value for name, value in found.items() if value != last[name]}
            keeper.replace(host.key(), container.id, {**saved, **changed})
        return True


def keep_owner_changes(
    host: SteeredHost, container: Container, new_limits: Sequence[Mapping[str, Any]]
) -> None:
    """Replace in a container's saved limits what somebody else changed after its run had ended with a kill.

    `new_limits`: the limits that the run set last and before that; the kill left one of them.
    """
    ours = [host.read_limits(each) for each in new_limits]
    if not ours or any(_allow_same(each, container.limits, host.info().cores) for each in ours):
        return
    owner = OwnerLimits()
    owner.note_change(ours[-1])
    owner.update(host, container)


def _allow_same(one: Limits, other: Limits, cores: float) -> bool:
    """Whether two limits allow the same on a machine of `cores` cores; all of them are no limit."""
    first, second = (
        None if each.cores is None or each.cores >= cores else each.cores for each in (one, other)
    )
    return one.memory_bytes == other.memory_bytes and _same(first, second)


def _agree(one: Limits, other: Limits) -> bool:
    return one.memory_bytes == other.memory_bytes and _same(one.cores, other.cores)


def _same(one: float | None, other: float | None) -> bool:
    if one is None or other is None:
        return one is other
    return abs(one - other) <= _TOLERANCE * max(one, other)
