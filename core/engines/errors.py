"""Errors that any engine with containers can raise."""

from __future__ import annotations

from typing import Literal, TypeAlias

from core.errors import ConflictError, NotFoundError, RefusedError

LossKind: TypeAlias = Literal["missing", "denied", "lost"]
"""Why a host does not answer: nothing is there, its socket may not be opened, or it stopped answering."""


class HostLost(ConflictError):  # noqa: N818 - it says what happened
    """A host that does not answer."""

    def __init__(self, message: str, hint: str = "", kind: LossKind = "lost") -> None:
        super().__init__(message, hint)
        self.kind: LossKind = kind


class ContainerGone(NotFoundError):  # noqa: N818 - it says what happened
    """A container that was there and is not any more."""


class ChangeRefused(ConflictError):  # noqa: N818 - it says what happened
    """The host did not do what it was asked to do, or did something else."""


class NotOurs(ChangeRefused, RefusedError):  # noqa: N818 - it says what happened
    """A container that PhaseDock was not told about was about to be changed."""
