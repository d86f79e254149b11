"""What can go wrong, said so that a person can act on it.

Every error of PhaseDock carries one sentence about what is wrong (`message`) and one about what
to do next (`hint`). The screen and the command line show these two; everything else goes to the log.
"""

from __future__ import annotations


class PhaseDockError(Exception):
    """Base of all errors that PhaseDock raises on purpose.

    Parameters
    ----------
    message
        One sentence: what is wrong, naming the thing that is wrong.
    hint
        One sentence: what to do about it.
    """

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        """Both sentences, as a command line prints them."""
        return f"{self.message} {self.hint}".strip()


class InputError(PhaseDockError):
    """A file or a value that a person gave cannot be used."""


class MismatchError(InputError):
    """Two things that are fine by themselves do not fit together, such as a model and a trace set."""


class RefusedError(InputError):
    """Something was turned away for safety, such as code inside a model file."""


class NotFoundError(PhaseDockError):
    """A name or an id that nothing answers to."""


class ConflictError(PhaseDockError):
    """The thing is not in a state in which this can be done to it."""


class SettingsError(PhaseDockError):
    """A setting of the environment has a value that it may not have."""


class Cancelled(PhaseDockError):  # noqa: N818 - it is a wish that was granted, not a fault
    """A person asked for this work to stop."""

    def __init__(self) -> None:
        super().__init__("Cancelled.", "Start it again when you like; nothing was kept.")


class Interrupted(PhaseDockError):  # noqa: N818 - the worker was asked to end; nobody did wrong
    """The worker is ending, so its tasks have to."""
