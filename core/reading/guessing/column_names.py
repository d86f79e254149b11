"""Words of column names (``container_cpu.usagePct [%]`` has five) and scores for CPU and memory usage."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


MAX_NAME_LENGTH = 200
# Units are read before the name is lower-cased: MB/s are bytes and Mb/s are bits, and splitting at capitals
# would break both. Ambiguous units such as mb/s stay unchanged.
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


@lru_cache(maxsize=2**15)  # the same columns of a wide table are split many times
def split_words(name: str) -> tuple[str, ...]:
    """Split a name into lower-case words; a percent sign becomes ``percent``, ``/s`` becomes ``per_s``."""
    letters = unicodedata.normalize("NFD", name[:MAX_NAME_LENGTH])  # NFD puts accents behind letters
    text = _separate_units(re.sub("[\u0300-\u036f]", "", letters))
    text = _GPU.sub(r"\1 ", text)
    text = re.sub(r"/\s*s(ec(ond)?s?)?\b", " per_s ", _HUMP.sub(" ", text))
    text = _PER_SEC.sub(" pers ", text.lower()).replace("%", " percent ")
    found = ["per_s" if word == "pers" else word for word in _SPLIT.split(text) if word]
    return tuple(found)


def _separate_units(text: str) -> str:
    text = _BIT_RATES.sub(lambda found: f" {(found[1] or found[2]).lower()}bps ", text)
    text = _SIZES.sub(lambda found: f" {found[1].lower()}b {'per_s' if found[2] else ''} ", text)
    text = _BYTE_RATE.sub(" bytes per_s ", text)
    return _PREFIXED.sub(_join_prefix, text)


def _join_prefix(found: re.Match[str]) -> str:
    """Join a prefix and its unit to one word: ``Milli Cores``, ``MegaBytes``."""
    word = "".join(part for part in found.groups() if part).lower()
    return f" {_LONG.get(word, word)} "


def normalize_name(name: str) -> str:
    """Return a name in lower case, without units in brackets and punctuation."""
    bare = re.sub(r"[\[(].*?[\])]", "", name[:MAX_NAME_LENGTH])
    return re.sub(r"[^a-z0-9]+", "_", bare.lower()).strip("_")


_NO_USAGE = frozenset(
    ("limit", "limits", "lim", "request", "requests", "requested", "reserved", "reservation", "allocatable",
     "assigned", "guaranteed", "capacity", "provisioned", "delta", "diff", "change", "temp", "temperature",
     "clock", "bucket", "le", "quantile", "gpu", "target", "desired", "predicted", "prediction",
     "forecast", "recommended", "recommendation", "threshold", "bound", "unused", "remaining", "headroom",
     "wasted", "req", "pressure", "power", "watts", "energy", "joules", "voltage", "fan", "cost", "price",
     "credit", "credits")
)  # fmt: skip
"""Words of columns that are not usage: limits, forecasts, remainders, changes, temperatures."""
_NO_CPU = _NO_USAGE | frozenset(
    ("allocated", "iowait", "system", "steal", "idle", "nice", "user", "usr", "sys", "kernel", "guest",
     "softirq", "irq", "throttle", "throttled", "throttling", "periods", "quota", "shares", "weight",
     "freq", "frequency", "mhz", "ghz", "hz", "count", "num", "number", "online", "load", "wait", "alloc",
     "free", "avail", "available")
)  # fmt: skip
_NO_MEMORY = _NO_USAGE | frozenset(
    ("free", "avail", "available", "cap", "swap", "cache", "cached", "buffers", "failcnt", "failures",
     "faults", "total", "shared", "virtual", "virt", "vms", "vsz", "gps", "bandwidth", "copy", "mapped",
     "cuda", "vram", "hbm", "device", "nvidia", "growth", "increase", "active", "inactive", "slab",
     "dirty", "commit", "committed", "writeback")
)  # fmt: skip
_EXTREME = re.compile(r"min|max|peak|minimum|maximum|p(?!50)\d{1,3}|std|stddev|var|high|highest|low|lowest")
_MEAN = frozenset(("mean", "avg", "average"))
_CPU = frozenset(
    ("cpu", "cpuacct", "cpus", "vcpu", "processor", "prozessor", "processeur", "procesador", "processore")
)
_MEMORY = frozenset(
    ("mem", "memory", "rss", "ram", "kbmemused", "speicher", "arbeitsspeicher", "memoire", "memoria")
)
_EXACT_CPU = re.compile(r"cpu(_usage)?(_cores)?|container_cpu_usage_seconds_total")
_EXACT_MEMORY = re.compile(
    r"(mem|memory)(_(usage|used))?(_(bytes|[kmgt]i?b))?|container_memory_working_set_bytes"
)
_USED = frozenset(("usage", "used", "util", "utilization", "utilisation", "use", "consumption", "consumed"))


def score_cpu_name(name: str) -> int:
    """Score how likely a name means CPU usage; 0: not at all."""
    name_words = split_words(name)
    if name_words == ("usage", "usec"):  # of a control group's cpu.stat
        return 13
    if not _CPU & set(name_words) or _NO_CPU & set(name_words):
        return 0
    better = bool((_USED | {"cores", "millicores", "percent", "perc", "pct"}) & set(name_words))
    exact = _EXACT_CPU.fullmatch(normalize_name(name)) is not None
    score = 1 + 4 * better + 8 * exact + 2 * ("cores" in name_words)
    return max(score - 4 * is_extreme(name), 1)


def score_memory_name(name: str) -> int:
    """Score how likely a name means memory usage; 0: not at all."""
    name_words = set(split_words(name))
    if (
        not (_MEMORY & name_words or {"working", "set"} <= name_words or {"resident", "set"} <= name_words)
        or _NO_MEMORY & name_words
    ):
        return 0
    better = bool((_USED | {"bytes", "current", "working", "rss"}) & name_words)
    exact = _EXACT_MEMORY.fullmatch(normalize_name(name)) is not None
    # a size is better than a percentage
    score = 1 + 4 * better + 8 * exact - 3 * bool({"percent", "perc", "pct"} & name_words)
    return max(score - 4 * is_extreme(name), 1)


def is_extreme(name: str) -> bool:
    """Whether a name means a minimum, a maximum, a deviation or a quantile."""
    return any(_EXTREME.fullmatch(word) for word in split_words(name))


def pick_likeliest(names: Sequence[str], score: Callable[[str], int]) -> str | None:
    """Return the name with the best score, among equals the mean, else the first; None without a score."""
    best = max(names, key=lambda name: (score(name), bool(_MEAN & set(split_words(name)))), default=None)
    return best if best is not None and score(best) > 0 else None


def is_unnamed(name: str) -> bool:
    """Whether a name does not say what is measured: ``value``, ``value 2``, ``value (memory)``."""
    return re.fullmatch(r"(?:value|val)s?(?:_\d+)?", normalize_name(name)) is not None
