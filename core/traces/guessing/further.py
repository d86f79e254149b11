"""What a column beside CPU and memory measures, by the words of its name: a limit, a GPU, network, disk.

As of CPU and memory, no list of what is none is ever complete: RDMA is no container's network, an occupancy
no utilisation, and Redis reads no disk. A role is given only where every word of a name is known to speak of
it; else the column stays a plain number, and a person can say what it is.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

from core.traces.guessing.cpu_and_memory_columns import MEASURES, OF_WHOM, without_labels
from core.traces.guessing.name_scores import extreme
from core.traces.guessing.words import key, words
from core.traces.model import Role

if TYPE_CHECKING:
    from collections.abc import Callable

_SIZES = frozenset(("bytes", "kb", "kib", "mb", "mib", "gb", "gib"))
_NOT_MEASURED = frozenset(
    ("packets", "packet", "errors", "errs", "dropped", "drops", "ops", "iops", "count", "time", "ms", "pkts",
     "queue", "requests", "free", "nvlink", "pcie", "pci", "percent", "percentage", "perc", "pct", "ratio",
     "share", "util", "utilization", "utilisation")
)  # fmt: skip
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
_UNITS = frozenset(
    ("byte", "bytes", "octets", "octet", "kb", "kib", "mb", "mib", "gb", "gib", "tb", "tib", "k", "m", "g",
     "kbytes", "mbytes", "bps", "kbps", "mbps", "gbps", "bit", "bits", "kbit", "mbit", "gbit", "s", "sec",
     "secs", "second", "seconds", "persec", "throughput", "bandwidth", "counter", "cumulative")
)  # fmt: skip
_OF_NETWORK = _UNITS | _IN | _OUT | _NETWORK | frozenset(
    ("io", "i", "o", "traffic", "interface", "if", "nic", "eth", "data", "volume", "device", "kafka")
)  # fmt: skip
_OF_DISK = _UNITS | _READ | _WRITE | _DISK | frozenset(
    ("io", "i", "o", "storage", "volume", "device", "dev", "filesystem", "data", "service", "recursive",
     "physical", "logical")
)  # fmt: skip
_CARDS = frozenset(
    ("gpu", "cuda", "nvidia", "dcgm", "fi", "dev", "amd", "rocm", "card", "device", "process", "tesla",
     "geforce", "rtx", "titan", "quadro", "index", "minor", "number", "uuid", "monitor", "monitoring", "wrk",
     "smi", "nv")
)  # fmt: skip
_OF_GPU = _CARDS | frozenset(("sm", "busy", "load"))
_OF_GPU_MEMORY = _CARDS | _UNITS | frozenset(("vram", "fb", "mem", "memory", "allocated"))
_OF_GPU_POWER = _CARDS | frozenset(
    ("power", "watt", "watts", "w", "mw", "milliwatts", "draw", "instant", "graphics", "package")
)
_OF_LIMIT = _UNITS | frozenset(
    ("cpu", "cpus", "vcpu", "vcpus", "mem", "memory", "ram", "core", "cores", "millicores", "limit",
     "limits", "spec", "resource", "resources", "quota", "hard", "in", "milli", "mcpu", "millicpu",
     "nanocores")
)  # fmt: skip
_PART = re.compile(r" (?:gpu|minor_number|index|device|interface|uuid|direction) \S+$")
"""What tells columns of one metric apart, as series that differ in a label are called."""
LOOPBACK = re.compile(r" (?:interface|device) lo0?$")
"""A card over which a machine speaks with itself."""
_NUMBERED = re.compile(
    r"\d+|[0-9a-f]*\d[0-9a-f]{5,}|(?:eth|ens|eno|enp|wlan|veth|br|bond|sd|nvme|vd|xvd|hd|md|dm)\w*\d\w*|"
    r"sd[a-z]|vd[a-z]|[ahvplkt]\d{2,4}\w{0,6}|[tl]4|\d+[smh]|rate\d+[smh]"
)
"""Cards, disks and GPUs by their numbers; the window of a rate."""


def _is_known(name: str, of: frozenset[str]) -> bool:
    """Whether every word of a name is known to speak of something, and none is of an extreme."""
    said = set(words(without_labels(_PART.sub("", name)))) - of - OF_WHOM - MEASURES
    return not extreme(name) and all(_NUMBERED.fullmatch(word) for word in said)


def further_role(name: str) -> Role:
    """What a column beside CPU and memory measures; `Role.OTHER` where its name does not say."""
    if LOOPBACK.search(name):
        return Role.OTHER
    said, pairs = set(words(name)), set(pairwise(words(name)))
    if ("in", "use") in pairs:
        said.discard("in")  # nothing that comes in
    if _MOVED & pairs and not _DISK & said:
        said.add("net")
    asked = next((role for role, fits in _FURTHER if fits(said)), None)
    if asked is not None:
        return asked if _is_known(name, _KNOWN_OF[asked]) else Role.OTHER
    return (
        Role.LOSS if key(name) in ("loss", "train_loss", "training_loss", "train_epoch_loss") else Role.OTHER
    )


def _limit(said: set[str], of: set[str]) -> bool:
    return bool({"limit", "limits"} & said) and bool(of & said) and not _NO_LIMIT & said


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
        "sum",
    }
    names = {"util", "utilization", "utilisation", "usage", "load", "percent", "pct", "busy"}
    alone = all(word == "gpu" or word.isdigit() for word in said)
    return "gpu" in said and not wrong & said and (bool(names & said) or alone)


def _direction(said: set[str], of: frozenset[str], way: frozenset[str], other: frozenset[str]) -> bool:
    return bool(of & said) and bool(way & said) and not other & said and not _NOT_MEASURED & said


_NO_LIMIT = frozenset(
    ("pct", "percent", "ratio", "share", "gpu", "used", "util", "utilization", "utilisation", "consumed",
     "reached", "exceeded", "hit", "hits", "left", "remaining")
)  # fmt: skip
"""What is not a limit, but how much of it is used, or how often it was reached."""
_CAP = frozenset(
    ("limit", "cap", "capping", "max", "min", "default", "enforced", "requested", "idle", "mem", "memory")
)
"""What is no power of a whole GPU in use."""
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
_KNOWN_OF: dict[Role, frozenset[str]] = {
    **dict.fromkeys((Role.CPU_LIMIT, Role.MEMORY_LIMIT), _OF_LIMIT),
    Role.GPU: _OF_GPU,
    Role.GPU_MEMORY: _OF_GPU_MEMORY,
    Role.GPU_POWER: _OF_GPU_POWER,
    **dict.fromkeys((Role.NETWORK_IN, Role.NETWORK_OUT), _OF_NETWORK),
    **dict.fromkeys((Role.BLOCK_IN, Role.BLOCK_OUT), _OF_DISK),
}
"""The words that may stand in the name of a column of a role."""
