"""Stripping control characters and escape sequences from text that comes from files and containers."""

from __future__ import annotations

import re

# ECMA-48: control sequences (ESC [ … letter), strings (ESC ] … BEL or ESC \), and other escapes (ESC letter),
# each with its one-character form of C1 as well
_SEQUENCES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"
    r"|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)"
    r"|\x1b[ -/]*[0-~]"
)
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff\ud800-\udfff]+")


def without_controls(text: str) -> str:
    """The text without escape sequences, and a space for each run of other control characters.

    Line ends, tabs, line separators, byte order marks and halves of surrogate pairs count as such.
    """
    return text if text.isprintable() else _CONTROLS.sub(" ", _SEQUENCES.sub("", text))
