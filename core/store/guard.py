"""A guard around all readers: a file yields its content or one of PhaseDock's errors, never anything else.

What readers know to go wrong they refuse in sentences of their own, which pass, cut to a readable length.
What they do not expect becomes one sentence here; what happened is in the log and in ``__cause__``.
"""

from __future__ import annotations

import logging
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from core.errors import InputError, PhaseDockError, shorten_sentence

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from os import PathLike

    Progress = Callable[[float, str], None]

_LOG = logging.getLogger(__name__)
UNKNOWN_DAMAGE = "is damaged in a way that PhaseDock does not know"


@contextmanager
def guard_reader(
    path: str | PathLike[str] | None, progress: Progress | None = None
) -> Iterator[Progress | None]:
    """Run a reader.

    Raises PhaseDockError for the reader's own, its sentences cut to `core.errors.MOST_SENTENCE` characters;
    InputError in place of any other exception but MemoryError.
    """
    outside = None if progress is None else _Outside(progress)
    try:
        yield outside
    except MemoryError:
        raise
    except PhaseDockError as error:
        error.message, error.hint = shorten_sentence(error.message), shorten_sentence(error.hint)
        error.args = (error.message,)
        raise
    except Exception as error:
        if outside is not None and error is outside.raised:
            raise
        name = "The file" if path is None else f"“{Path(path).name}”"
        _LOG.warning("%s: unexpected error of a reader", name, exc_info=True)
        raise InputError(
            shorten_sentence(f"{name} {UNKNOWN_DAMAGE} ({type(error).__name__})."),
            "Write or copy the whole file again.",
        ) from error


class _Outside:
    """A callback that remembers its exception."""

    def __init__(self, callback: Progress) -> None:
        self._callback = callback
        self.raised: Exception | None = None

    def __call__(self, share: float, message: str) -> None:
        try:
            self._callback(share, message)
        except Exception as error:
            self.raised = error
            raise
