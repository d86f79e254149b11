"""Sanitising file names that come from outside.

Whatever a browser or an archive calls a file, here it becomes one plain name: no folders, no control
characters, not hidden, of a length that every file system takes, and still telling its suffix.
"""

from __future__ import annotations

import re
import unicodedata

_LONGEST = 160


def safe_name(name: str) -> str:
    """Make a name that is one plain file name on every system and still reads like the original."""
    base = unicodedata.normalize("NFC", name).replace("\\", "/").rsplit("/", 1)[-1]
    base = re.sub(r"[\x00-\x1f\x7f<>:\"|?*]", "_", base).strip(" .") or "file"
    base = "".join(char for char in base if unicodedata.category(char) not in ("Cs", "Cf", "Cc"))
    stem, suffixes = _split_suffixes(base or "file")
    room = _LONGEST - len(suffixes.encode())
    return stem.encode()[:room].decode(errors="ignore") + suffixes


def _split_suffixes(name: str) -> tuple[str, str]:
    match = re.search(r"((?:\.[A-Za-z0-9]{1,10}){1,2})$", name)
    cut = match.start() if match and match.start() > 0 else len(name)
    return name[:cut], name[cut:]
