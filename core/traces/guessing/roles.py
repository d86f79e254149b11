"""What a column measures, by the words of its name: CPU, memory, a limit, a GPU, network, disk, loss."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

from core.traces.guessing.words import key, words
from core.traces.model import Role

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
_SIZES = frozenset(("bytes", "kb", "kib", "mb", "mib", "gb", "gib"))
_USED = frozenset(("usage", "used", "util", "utilization", "utilisation", "use", "consumption", "consumed"))
_NOT_MEASURED = frozenset(("packets", "packet", "errors", "errs", "dropped", "drops", "ops", "iops", "count",
                           "time", "ms", "pkts", "queue", "requests", "free", "nvlink", "pcie",
                           "pci"))  # fmt: skip
_IN = frozenset(("in", "rx", "receive", "received", "recv", "download", "input", "ingress", "rcv"))
_OUT = frozenset(
    ("out", "tx", "transmit", "transmitted", "sent", "send", "upload", "output", "egress", "xmit")
)
_READ = frozenset(("read", "reads", "in", "input", "bread", "rd"))
_WRITE = frozenset(("write", "writes", "written", "out", "output", "bwrtn", "wr", "wrtn"))
_NETWORK = frozenset(("net", "network", "rx", "tx", "netio", "eth0"))
_DISK = frozenset(("block", "blk", "blkio", "blockio", "disk", "fs", "bread", "bwrtn"))
_MOVED = {("bytes", way) for way in _IN | _OUT} | {(way, "bytes") for way in (_IN | _OUT) - {"in"}}
"""Bytes that come in or go out are the network's (Ganglia, psutil)."""
_BYTES = frozenset(("bytes",))
_BYTES_READ = _READ - {"in", "input"}
_BYTES_WRITTEN = _WRITE - {"out", "output"}


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
    if not (_MEMORY & said or {"working", "set"} <= said) or _NO_MEMORY & said:
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


def further_role(name: str) -> Role:
    """What a column beside CPU and memory measures; `Role.OTHER` where its name does not say."""
    said = set(words(name))
    if _MOVED & set(pairwise(words(name))) and not _DISK & said:
        said.add("net")
    asked = next((role for role, fits in _FURTHER if fits(said)), None)
    if asked is not None:
        return asked
    return (
        Role.LOSS if key(name) in ("loss", "train_loss", "training_loss", "train_epoch_loss") else Role.OTHER
    )


def _limit(said: set[str], of: set[str]) -> bool:
    return bool({"limit", "limits"} & said) and bool(of & said) and not {"pct", "percent", "gpu"} & said


def _gpu_memory(said: set[str]) -> bool:
    if not {"gpu", "dcgm", "nvidia", "cuda", "vram"} & said:
        return False
    used = {"used", "usage", "allocated", "fb", "vram", *_SIZES} & said
    other = {"free", "copy", "util", "reserved", "total", "limit", "capacity", "bandwidth"} & said
    return bool({"mem", "memory", "fb", "vram"} & said and used) and not other


def _gpu(said: set[str]) -> bool:
    wrong = {
        "mem",
        "memory",
        "fb",
        "power",
        "temp",
        "temperature",
        "clock",
        "count",
        "copy",
        "limit",
        "enc",
        "dec",
        "encoder",
        "decoder",
        "fan",
        "idle",
        "free",
    }
    names = {"util", "utilization", "utilisation", "usage", "load", "percent", "pct", "busy"}
    alone = all(word == "gpu" or word.isdigit() for word in said)
    return "gpu" in said and not wrong & said and (bool(names & said) or alone)


def _direction(said: set[str], of: frozenset[str], way: frozenset[str], other: frozenset[str]) -> bool:
    return bool(of & said) and bool(way & said) and not other & said and not _NOT_MEASURED & said


_CAP = frozenset(("limit", "cap", "capping", "max", "min", "default", "enforced", "requested"))
_FURTHER: tuple[tuple[Role, Callable[[set[str]], bool]], ...] = (
    (Role.CPU_LIMIT, lambda said: _limit(said, {"cpu", "cpus"})),
    (Role.MEMORY_LIMIT, lambda said: _limit(said, {"mem", "memory"})),
    (Role.GPU_POWER, lambda said: "gpu" in said and bool({"power", "watts"} & said) and not _CAP & said),
    (Role.GPU_MEMORY, _gpu_memory),
    (Role.GPU, _gpu),
    (Role.NETWORK_IN, lambda said: _direction(said, _NETWORK, _IN, _OUT)),
    (Role.NETWORK_OUT, lambda said: _direction(said, _NETWORK, _OUT, _IN)),
    (Role.BLOCK_IN, lambda said: _direction(said, _DISK, _READ, _WRITE | _NETWORK)),
    (Role.BLOCK_OUT, lambda said: _direction(said, _DISK, _WRITE, _READ | _NETWORK)),
    (Role.BLOCK_IN, lambda said: _direction(said, _BYTES, _BYTES_READ, _WRITE | _NETWORK)),
    (Role.BLOCK_OUT, lambda said: _direction(said, _BYTES, _BYTES_WRITTEN, _READ | _NETWORK)),
)
