"""A guard around all readers: a file yields its content or one of PhaseDock's errors, never anything else.

Errors that a reader raises on purpose pass, their sentences cut to a readable length. Any other exception
becomes one general sentence; the exception itself is in the log and in ``__cause__``.
"""

from __future__ import annotations

import logging
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from core.errors import InputError, PhaseDockError, shorten_sentence
from core.progress_reporting import silent

if TYPE_CHECKING:
    from collections.abc import Iterator
    from os import PathLike

    from core.progress_reporting import Progress

_LOG = logging.getLogger(__name__)
UNKNOWN_DAMAGE = "is damaged in a way that PhaseDock does not know"


@contextmanager
def guard_reader(path: str | PathLike[str] | None, progress: Progress = silent) -> Iterator[Progress]:
    """Run a reader; yields the callback that it reports to.

    Raises PhaseDockError for the reader's own errors, with sentences of at most
    `core.errors.MAX_SENTENCE_LENGTH` characters; InputError in place of any other exception but MemoryError.
    """
    callback = _GuardedCallback(progress)
    try:
        yield callback
    except MemoryError:
        raise
    except PhaseDockError as error:
        error.message, error.hint = shorten_sentence(error.message), shorten_sentence(error.hint)
        error.args = (error.message,)
        raise
    except Exception as error:
        if error is callback.raised:
            raise
        name = "The file" if path is None else f"“{Path(path).name}”"
        _LOG.warning("%s: unexpected error of a reader", name, exc_info=True)
        raise InputError(
            shorten_sentence(f"{name} {UNKNOWN_DAMAGE} ({type(error).__name__})."),
            "Write or copy the whole file again.",
        ) from error


class _GuardedCallback:
    """A callback that remembers its exception."""

    def __init__(self, callback: Progress) -> None:
        self._callback = callback
        self.raised: Exception | None = None

    def __call__(self, fraction: float, message: str, /, **metrics: float) -> None:
        try:
            self._callback(fraction, message, **metrics)
        except Exception as error:
            self.raised = error
            raise
