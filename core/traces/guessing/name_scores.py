"""Whether a column is CPU or memory usage, by the words of its name."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from core.traces.guessing.words import key, words

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_NO_USAGE = frozenset(
    ("limit", "limits", "request", "requests", "requested", "reserved", "reservation", "allocatable",
     "assigned", "guaranteed", "capacity", "provisioned", "delta", "diff", "change", "temp", "temperature",
     "clock", "bucket", "le", "quantile", "gpu", "target", "desired", "predicted", "prediction",
     "forecast", "recommended", "recommendation", "threshold", "bound", "unused", "remaining", "headroom",
     "wasted", "req", "pressure", "power", "watts", "energy", "joules", "voltage", "fan", "cost", "price",
     "credit", "credits")
)  # fmt: skip
"""What is promised, expected or left, how it changes, a temperature: words of columns that are no usage."""
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
_EXACT_MEMORY = re.compile(
    r"(mem|memory)(_(usage|used))?(_(bytes|[kmgt]i?b))?|container_memory_working_set_bytes"
)
_USED = frozenset(("usage", "used", "util", "utilization", "utilisation", "use", "consumption", "consumed"))


def cpu_score(name: str) -> int:
    """How much a name speaks for CPU usage; 0: not at all."""
    said = words(name)
    if said == ("usage", "usec"):  # of a control group's cpu.stat
        return 13
    if not _CPU & set(said) or _NO_CPU & set(said):
        return 0
    better = bool(_USED & set(said)) or bool({"cores", "millicores", "percent", "perc", "pct"} & set(said))
    exact = key(name) in (
        "cpu",
        "cpu_usage",
        "cpu_cores",
        "cpu_usage_cores",
        "container_cpu_usage_seconds_total",
    )
    score = 1 + 4 * better + 8 * exact + 2 * ("cores" in said)
    return max(score - 4 * extreme(name), 1)


def memory_score(name: str) -> int:
    """How much a name speaks for memory usage; 0: not at all."""
    said = set(words(name))
    if not (_MEMORY & said or {"working", "set"} <= said or {"resident", "set"} <= said) or _NO_MEMORY & said:
        return 0
    better = bool((_USED | {"bytes", "current", "working", "rss"}) & said)
    exact = _EXACT_MEMORY.fullmatch(key(name)) is not None
    # a percentage is second to a size
    score = 1 + 4 * better + 8 * exact - 3 * bool({"percent", "perc", "pct"} & said)
    return max(score - 4 * extreme(name), 1)


def extreme(name: str) -> bool:
    """Whether a name is that of the highest, the lowest or a quantile, and not of the mean."""
    return any(_EXTREME.fullmatch(word) for word in words(name))


def likeliest(names: Sequence[str], score: Callable[[str], int]) -> str | None:
    """The name that speaks most for something; of equals the mean, else the first; None where none does."""
    best = max(names, key=lambda name: (score(name), bool(_MEAN & set(words(name)))), default=None)
    return best if best is not None and score(best) > 0 else None


def unnamed(name: str) -> bool:
    """Whether a name says nothing of what is measured: ``value``, ``value 2``, ``value (memory)``."""
    return re.fullmatch(r"(?:value|val)s?(?:_\d+)?", key(name)) is not None
