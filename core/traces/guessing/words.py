"""The words of a column's name, whatever separates them: ``container_cpu.usagePct [%]`` has five."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

MOST_NAME = 200
# Units are read before capital letters are lost: MB/s are bytes and Mb/s are bits, and both would fall apart
# at their capitals. What is neither, such as mb/s, stays as it is.
_PER_S = r"(?:ps|[\s_]*(?:/|[Pp]er)[\s_]*[Ss](?:ec(?:ond)?s?)?)(?![A-Za-z])"
_SIZES = re.compile(rf"(?<![A-Z])([KMGTPk]i?)B(?:ytes?)?({_PER_S}|(?![a-z]))")
_BYTE_RATE = re.compile(r"(?<![A-Z])Bps(?![A-Za-z])")
_BIT_RATES = re.compile(rf"(?<![A-Z])(?:([KMGT])b|([KMGTkmgt])[Bb]its?){_PER_S}")
_LONG = {
    **{f"{one}{end}": f"{one[0]}b" for one in ("kilo", "mega", "giga", "tera") for end in ("byte", "bytes")},
    **{f"{one}{end}": f"{one[0]}ib" for one in ("kibi", "mebi", "gibi", "tebi") for end in ("byte", "bytes")},
    **{f"{one}{end}": f"{one[0]}bit" for one in ("kilo", "mega", "giga") for end in ("bit", "bits")},
    **{f"{one}{end}": f"{one}b" for one in "kmgt" for end in ("byte", "bytes")},
}
_PREFIXED = re.compile(
    r"(?<![A-Za-z0-9])([mM])[\s_-]*((?i:cores?|cpus?)(?![a-z]))|(?<=[a-z])(M)(Cores?(?![a-z]))|"
    r"((?i:kilo|mega|giga|tera|kibi|mebi|gibi|tebi))[\s_-]*((?i:bytes?|bits?)(?![a-z]))|"
    r"((?i:milli|micro|nano))[\s_-]*((?i:cores?|seconds?|secs?)(?![a-z]))|"
    r"(?<![A-Za-z])((?i:[kmgt]))((?i:bytes?)(?![a-z]))"
)
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_PER_SEC = re.compile(r"per_s(?:ec(?:ond)?s?)?(?![a-z])")
_GPU = re.compile(r"(gpu)s?(?![a-z])", re.IGNORECASE)
_SPLIT = re.compile(r"[^a-z0-9%µ]+")


@lru_cache(maxsize=2**15)  # the columns of a wide table are looked at again and again
def words(name: str) -> tuple[str, ...]:
    """The words of a name in lower case; a percent sign is the word ``percent``, ``/s`` is ``per_s``."""
    letters = unicodedata.normalize("NFD", name[:MOST_NAME])  # accents are marks behind their letters
    text = _with_units(re.sub("[\u0300-\u036f]", "", letters))
    text = _GPU.sub(r"\1 ", text)
    text = re.sub(r"/\s*s(ec(ond)?s?)?\b", " per_s ", _HUMP.sub(" ", text))
    text = _PER_SEC.sub(" pers ", text.lower()).replace("%", " percent ")
    found = ["per_s" if word == "pers" else word for word in _SPLIT.split(text) if word]
    return tuple(found)


def _with_units(text: str) -> str:
    """A name whose units are words of their own, in lower case."""
    text = _BIT_RATES.sub(lambda found: f" {(found[1] or found[2]).lower()}bps ", text)
    text = _SIZES.sub(lambda found: f" {found[1].lower()}b {'per_s' if found[2] else ''} ", text)
    text = _BYTE_RATE.sub(" bytes per_s ", text)
    return _PREFIXED.sub(_joined, text)


def _joined(found: re.Match[str]) -> str:
    """A prefix and its unit as one word: ``Milli Cores``, ``MegaBytes``."""
    word = "".join(part for part in found.groups() if part).lower()
    return f" {_LONG.get(word, word)} "


def key(name: str) -> str:
    """A name without its case, its unit in brackets and its punctuation."""
    bare = re.sub(r"[\[(].*?[\])]", "", name[:MOST_NAME])
    return re.sub(r"[^a-z0-9]+", "_", bare.lower()).strip("_")
