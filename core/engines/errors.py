"""Errors that any engine with containers can raise."""

from __future__ import annotations

from typing import Literal, TypeAlias

from core.errors import ConflictError, NotFoundError, RefusedError

LossKind: TypeAlias = Literal["missing", "denied", "lost"]
"""Why a host does not answer: no listener, no permission, or a lost connection."""


class HostLost(ConflictError):  # noqa: N818 - it says what happened
    """A host does not answer."""

    def __init__(self, message: str, hint: str = "", kind: LossKind = "lost") -> None:
        super().__init__(message, hint)
        self.kind: LossKind = kind


class ContainerGone(NotFoundError):  # noqa: N818 - it says what happened
    """A container no longer exists."""


class ChangeRefused(ConflictError):  # noqa: N818 - it says what happened
    """The host refused a change, or applied another one."""


class OddAnswer(ChangeRefused):
    """The host answered about one container with something that cannot be read, or with an error."""


class NotOurs(ChangeRefused, RefusedError):  # noqa: N818 - it says what happened
    """PhaseDock may not change this container."""
