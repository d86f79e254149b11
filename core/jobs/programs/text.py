"""A text of the project's own, as numbers: characters for networks that read, words for those that count."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Codes = npt.NDArray[np.int64]

ALPHABET = " abcdefghijklmnopqrstuvwxyz.,;"
"""The characters that are told apart; every other one counts as a space."""


def read_text() -> str:
    """Return the text in lower case."""
    return (Path(__file__).parent / "text.txt").read_text(encoding="utf-8").lower()


def characters() -> Codes:
    """Return the text as indices into `ALPHABET`, runs of spaces counted once."""
    known = re.sub(f"[^{re.escape(ALPHABET)}]", " ", read_text())
    return np.array([ALPHABET.index(one) for one in re.sub(" +", " ", known)], dtype=np.int64)


def words() -> tuple[Codes, tuple[str, ...]]:
    """Return the text as indices into its list of words, and that list."""
    spoken = re.findall("[a-z]+", read_text())
    listed = sorted(set(spoken))
    places = {word: place for place, word in enumerate(listed)}
    return np.array([places[word] for word in spoken], dtype=np.int64), tuple(listed)


def unspaced() -> tuple[Codes, Codes]:
    """Return the letters of the text without anything between its words, and each one's place in its word.

    Letters are indices into `ALPHABET`; places are 0 for a word's first letter, 1 for one inside, 2 for its
    last and 3 for a word of one letter.
    """
    spoken = re.findall("[a-z]+", read_text())
    places = [
        place for word in spoken for place in ([3] if len(word) == 1 else [0, *[1] * (len(word) - 2), 2])
    ]
    letters = [ALPHABET.index(one) for one in "".join(spoken)]
    return np.array(letters, dtype=np.int64), np.array(places, dtype=np.int64)
