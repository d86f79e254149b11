"""The errors of PhaseDock, each with a sentence that a person can act on.

Every error of PhaseDock carries one sentence about what is wrong (`message`) and one about what
to do next (`hint`). The screen and the command line show these two; everything else goes to the log.

What a sentence quotes comes from files and forms, so it is cut to a readable length.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from core.plain_text import without_controls

if TYPE_CHECKING:
    from collections.abc import Iterable

MAX_SENTENCE_LENGTH = 400
_MAX_QUOTED, _MAX_LISTED = 60, 160
_MAX_PATH = 200
_OVERLONG_QUOTE = re.compile(f"“([^“”]{{{_MAX_PATH - 1}}})[^“”]{{2,}}”")
_LONG_QUOTE = re.compile(f"“([^“”]{{{_MAX_QUOTED - 1}}})[^“”]{{2,}}”")


def shorten_sentence(sentence: str) -> str:
    """Shorten a sentence to `MAX_SENTENCE_LENGTH` characters: long quotations cut, no control characters."""
    return _bounded(_LONG_QUOTE.sub(r"“\1…”", without_controls(sentence)))


def _bounded(sentence: str) -> str:
    """Cut a sentence to `MAX_SENTENCE_LENGTH` characters; quotations are cut first, but paths stay whole."""
    if len(sentence) <= MAX_SENTENCE_LENGTH:
        return sentence
    short = _OVERLONG_QUOTE.sub(r"“\1…”", sentence)
    return short if len(short) <= MAX_SENTENCE_LENGTH else short[: MAX_SENTENCE_LENGTH - 1] + "…"


def format_names(names: Iterable[str]) -> str:
    """Names in quotation marks with commas between them, as many as fit in a sentence."""
    all_names, listed, length = list(names), list[str](), 0
    for name in all_names:
        listed.append(shorten_sentence(f"“{name}”"))
        length += len(listed[-1]) + 2
        if length > _MAX_LISTED:
            break
    return ", ".join(listed) + (" …" if len(listed) < len(all_names) else "")


class PhaseDockError(Exception):
    """Base of all errors that PhaseDock raises on purpose; its sentences are cut to a readable length."""

    def __init__(self, message: str, hint: str = "") -> None:
        self.message = _bounded(message)
        self.hint = _bounded(hint)
        super().__init__(self.message)

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
    """No such name or id exists."""


class ConflictError(PhaseDockError):
    """The thing is not in a state in which this can be done to it."""


class SettingsError(PhaseDockError):
    """An environment variable has a value that is not allowed."""


class Cancelled(PhaseDockError):  # noqa: N818 - a granted request, not a fault
    """The user cancelled this work."""

    def __init__(self) -> None:
        super().__init__("Cancelled.", "Start it again if you like; nothing was saved.")


class Interrupted(PhaseDockError):  # noqa: N818 - the worker was asked to end; nobody did wrong
    """The worker is ending, so its tasks have to."""
