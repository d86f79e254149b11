"""Progress callbacks for long-running work."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Callback with the progress of long-running work; it may raise `core.errors.Cancelled`."""

    def __call__(self, fraction: float, message: str, /, **metrics: float) -> None:
        """Report the fraction done, a sentence, and named numbers."""


def silent(fraction: float, message: str, /, **metrics: float) -> None:
    """Report nothing."""


def scale_progress(progress: Progress, start: float, end: float) -> Progress:
    """The progress of a step that is the part from `start` to `end` of the whole."""

    def say(fraction: float, message: str, /, **metrics: float) -> None:
        progress(start + (end - start) * fraction, message, **metrics)

    return say
