"""Several files that are one upload: what they are called, how large they are, and where each one goes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.runtime.storage.files import safe_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

_NAMED = 3
"""Up to how many gathered files are all named."""


def group_name(names: Sequence[str]) -> str:
    """What several files are called together."""
    if len(names) <= _NAMED:
        return safe_name(" + ".join(names))
    return safe_name(f"{names[0]} and {len(names) - 1} more files")


def size_of(paths: Iterable[Path]) -> int:
    """Their bytes together."""
    return sum(path.stat().st_size for path in paths)


def free_path(path: Path) -> Path:
    """A path that is not taken: two files from different folders may have one name."""
    number = 1
    found = path
    while found.exists():
        number += 1
        found = path.with_name(f"{path.stem} ({number}){path.suffix}")
    return found
