"""The words of a column's name, whatever separates them: ``container_cpu.usagePct [%]`` has five."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

MOST_NAME = 200
# MiB and the like would fall apart at their capitals
_SIZES = re.compile(r"(?<![A-Z])([KMGTPk]i?)B(?![a-z])")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_GPU = re.compile(r"(gpu)s?(?![a-z])", re.IGNORECASE)
_SPLIT = re.compile(r"[^a-z0-9%µ]+")


@lru_cache(maxsize=4096)
def words(name: str) -> tuple[str, ...]:
    """The words of a name in lower case; a percent sign is the word ``percent``, ``/s`` is ``per_s``."""
    letters = unicodedata.normalize("NFD", name[:MOST_NAME])  # accents are marks behind their letters
    text = _SIZES.sub(lambda found: f" {found[1].lower()}b ", re.sub("[\u0300-\u036f]", "", letters))
    text = _GPU.sub(r"\1 ", text)
    text = re.sub(r"/\s*s(ec(ond)?s?)?\b", " per_s ", _HUMP.sub(" ", text))
    text = text.replace("per_s", " pers ").replace("%", " percent ").lower()
    found = ["per_s" if word == "pers" else word for word in _SPLIT.split(text) if word]
    return tuple(found)


def key(name: str) -> str:
    """A name without its case, its unit in brackets and its punctuation."""
    bare = re.sub(r"[\[(].*?[\])]", "", name[:MOST_NAME])
    return re.sub(r"[^a-z0-9]+", "_", bare.lower()).strip("_")
