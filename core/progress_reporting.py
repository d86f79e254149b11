"""Progress callbacks for long work."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """How long work tells where it is; the callee may raise `core.errors.Cancelled`."""

    def __call__(self, fraction: float, message: str, /, **metrics: float) -> None:
        """Tell the share that is done, a sentence, and named numbers."""


def silent(fraction: float, message: str, /, **metrics: float) -> None:
    """Tell nobody."""


def part_of(progress: Progress, start: float, end: float) -> Progress:
    """The progress of a step that is the part from `start` to `end` of the whole."""

    def say(fraction: float, message: str, /, **metrics: float) -> None:
        progress(start + (end - start) * fraction, message, **metrics)

    return say
