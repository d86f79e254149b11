"""Which column is CPU usage, and which memory usage: the words of a name have to be known, or it is said.

No list of words that are no usage is ever complete. So it is the other way round: a column is taken in
silence only if every word of its name is known. Columns that may be different things are asked: the host's
beside the container's, or one per service; what never changes beside a column that does is a size.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from core.traces.cells.numbers import EMPTY
from core.traces.guessing.column_names import cpu_score, extreme, key, likeliest, memory_score, unnamed, words
from core.traces.guessing.order import by_execution, is_place
from core.traces.mapping import UNKNOWN
from core.traces.model import Role
from core.units import file_unit

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from core.traces.mapping import MappedColumn


WHAT = {Role.CPU: "CPU usage", Role.MEMORY: "memory usage"}
SCORES: dict[Role, Callable[[str], int]] = {Role.CPU: cpu_score, Role.MEMORY: memory_score}
_STEPS, _LONG = 3, 20
"""A size changes so often at most, in so many samples at least."""
_ROUND = re.compile(r"[1-9]\d*(?:\.[05]0*)?")
LEAST_SAMPLES = 3
"""Of fewer samples of an execution nobody can say that they never change."""
_CLEAR = 5
_INSIDE = frozenset(
    ("container", "containers", "pod", "pods", "process", "proc", "app", "application", "task", "job",
     "workload", "program")
)  # fmt: skip
_OUTSIDE = frozenset(("host", "node", "machine", "system", "server", "sys"))
_MEASURED_BY = frozenset(
    ("kubernetes", "kube", "k8s", "docker", "podman", "cgroup", "cgroups", "prometheus", "cadvisor",
     "windows", "psutil", "ps", "top", "influx", "telegraf", "metricbeat", "aws", "ecs", "azure", "gcp")
)  # fmt: skip
_NAMED = frozenset(("namespace", "instance", "vm", "execution", "service"))
OF_WHOM = _INSIDE | _OUTSIDE | _MEASURED_BY | _NAMED
"""Words that say whose usage it is, or who measured it: two columns that differ in them are of two things."""
MEASURES = frozenset(
    ("usage", "used", "use", "util", "utilization", "utilisation", "consumption", "consumed", "current",
     "actual", "measured", "observed", "real", "now", "value", "val", "metric", "metrics", "stats",
     "total", "overall", "all", "rate", "irate", "deriv", "sum", "of", "by", "in", "the", "per", "per_s",
     "pers", "avg", "average", "mean", "median", "max", "maximum", "min", "minimum", "peak", "percent",
     "percentage", "perc", "pct", "ratio", "share", "raw", "time", "timestamp", "auslastung", "nutzung",
     "verbrauch", "belegt", "genutzt", "verwendet", "uso", "usada", "usado", "utilise", "utilisee",
     "utilizzo", "utilizzata", "de", "du", "la", "del", "van", "der", "utilized", "ave", "stat", "last",
     "carga", "compute", "googleapis", "com")
)  # fmt: skip
"""Words that say that something was measured, and nothing of what."""
_KNOWN = OF_WHOM | MEASURES
_OF = {
    Role.CPU: frozenset(
        ("cpu", "cpus", "vcpu", "vcpus", "cpuacct", "processor", "prozessor", "processeur", "procesador",
         "processore", "core", "cores", "kern", "kerne", "kernen", "coeurs", "nucleos", "millicores",
         "mcores", "millicore", "milli", "mcore", "mcpu", "millicpu", "nanocores", "nanocore", "nano", "m",
         "seconds", "second", "sec", "secs", "s", "ms", "msec", "milliseconds", "us", "usec", "usecs",
         "microseconds", "ns", "nanos", "nanosec", "nanoseconds", "cumulative", "counter", "load", "busy",
         "active", "information")
    ),
    Role.MEMORY: frozenset(
        ("mem", "memory", "ram", "rss", "pss", "uss", "speicher", "arbeitsspeicher", "memoire", "memoria",
         "kbmemused", "wss", "working", "set", "workingset", "resident", "size", "physical", "private",
         "byte", "bytes", "k", "m", "g", "b", "ki", "mi", "gi", "kb", "mb", "gb", "tb", "kib", "mib",
         "gib", "tib", "kio", "mio", "gio", "ko", "mo", "go", "octets", "megabytes", "gigabytes",
         "kilobytes", "main")
    ),
}  # fmt: skip
_PARTS = frozenset(
    ("anon", "anonymous", "file", "kernel", "stack", "heap", "nonheap", "kmem", "sock", "shmem",
     "pgtables", "sreclaimable", "sunreclaim", "children", "child", "metaspace", "jvm", "allocated", "alloc",
     "buffer", "code")
)  # fmt: skip
"""What is only a part: it gives way to the whole."""
_USED = frozenset(("usage", "used", "use", "util", "utilization", "utilisation", "consumed", "utilized"))
_RESIDENT = frozenset(("resident", "rss", "working", "workingset", "wss", "set"))
_CHANGES_OF = {Role.CPU: frozenset[str](), Role.MEMORY: frozenset(("rate", "irate", "deriv"))}
"""What makes usage of a counter, and changes of memory."""
_SIZE_OF = {Role.CPU: frozenset[str](), Role.MEMORY: frozenset(("size", "physical", "main"))}
"""Words of what a machine has, unless another one says that it is used."""
_CPU_OF_PS = frozenset(("%cpu", "pcpu"))
_MEMORY_OF_PS = frozenset(("rss", "rsz", "rssize", "vsz", "vsize", "%mem", "pmem"))
_SIZES = frozenset(("total", "size", "capacity", "max", "all"))
_RATES = frozenset(("per_s", "pers", "bandwidth", "throughput"))
_WINDOW = re.compile(r"p50|(?:rate)?\d+[smh]")
_OF_PARTS = re.compile(r"^sum(?![a-z])|sum *\(|:|sum[ _]i?rate", re.IGNORECASE)
"""Sums over the parts of a container, as Prometheus makes them; one behind a name may be over time."""
_LABELS = re.compile(r"^\\\\[^\\]+\\|\{[^}]*\}|\[\d+[a-z]+(?::\w*)?\]|\b(?:by|without) *\([^)]*\)")
_LONGEST: Final = 4_000
"""Characters of a name that are looked at: what opens thousands of brackets and closes none takes long."""


@dataclass(frozen=True, slots=True)
class Usage:
    """The column that is CPU or memory usage."""

    #: The likeliest one; None where there is none.
    column: str | None
    #: Others that it may be, which a person has to say.
    rivals: tuple[str, ...] = ()


def without_labels(name: str) -> str:
    """A name without the labels and the window of a series."""
    return _LABELS.sub(" ", name[:_LONGEST])


def _labels(name: str) -> list[str]:
    return _LABELS.findall(name[:_LONGEST])


def strange(name: str, role: Role) -> frozenset[str]:
    """The words of a column's name that say nothing of a role's usage, as far as is known."""
    said = words(without_labels(name))
    odd = frozenset(said) - _KNOWN - _OF[role] | _CHANGES_OF[role] & frozenset(said)
    if not (_USED | _RESIDENT) & frozenset(said):
        odd |= _SIZE_OF[role] & frozenset(said)
    return frozenset(word for word in odd if not _WINDOW.fullmatch(word))


def taken_for(
    one: MappedColumn, features: Sequence[MappedColumn], executions: Sequence[str] = ()
) -> str | None:
    """What is said of a column that is only taken for CPU or memory usage; None where its name is known."""
    if one.role not in SCORES:
        return None
    what = WHAT[one.role]
    if one.unit_key != UNKNOWN:
        what = f"{what} in {file_unit(one.unit_key).label}"
    said = words(without_labels(one.column))
    strangers = strange(one.column, one.role) | ({"sum"} if not _OF_PARTS.search(one.column) else set())
    odd = next((word for word in said if word in strangers or extreme(word)), None)
    if odd is not None:
        return f"Column “{one.column}” was taken for {what}; “{odd}” may say that it is not."
    cpu = next((other for other in features if other.role is Role.CPU), one)
    if _is_of_ps(one, features):
        return f"Column “{one.column}” was taken for {what}; ps prints the mean since a process was started."
    if scope(one.column) == "outside" and _of_containers(executions, features):
        return f"Column “{one.column}” was taken for {what}; its name says that it is of the host."
    if one.role is Role.MEMORY and _mixed(cpu.column, one.column):
        return f"Column “{one.column}” was taken for {what}; “{cpu.column}” is of something else."
    return None


def _of_containers(executions: Sequence[str], features: Sequence[MappedColumn]) -> bool:
    """Whether executions are or may be containers: neither is all usage of hosts, nor are they named so."""
    if any(scope(name) == "inside" for name in executions):
        return True
    usage = [feature.column for feature in features if feature.role in SCORES]
    hosts = all(scope(name) == "outside" for name in usage) or any(map(is_place, executions))
    return bool(executions) and not hosts


def _is_of_ps(one: MappedColumn, features: Sequence[MappedColumn]) -> bool:
    """Whether a table has columns as ps calls them, whose ``%CPU`` is no usage of an interval."""
    names = {feature.column.strip().lower() for feature in features}
    return one.column.strip().lower() in _CPU_OF_PS and bool(names & _MEMORY_OF_PS) and "%usr" not in names


def _mixed(cpu: str, memory: str) -> bool:
    """Whether one is of a container or process, and the other of its host or of another one beside it."""
    mine, others = (_owners(name) for name in (cpu, memory))
    return {scope(cpu), scope(memory)} == {"inside", "outside"} or bool(mine - others and others - mine)


def _owners(name: str) -> frozenset[str]:
    """The words of a name that say of what it is, each in the singular: ``containers.app.cpu``."""
    return frozenset(word.removesuffix("s") for word in words(name) if word in _INSIDE | _OUTSIDE)


def scope(name: str) -> str:
    """What a name measures: ``inside`` a container, ``outside`` on its host, or "" where it does not say."""
    said = set(words(name))
    return "inside" if said & _INSIDE else "outside" if said & _OUTSIDE else ""


def find(role: Role, names: Sequence[str], still: Collection[str] = ()) -> Usage:
    """The column that is CPU or memory usage."""
    there = candidates(role, names)
    there = [name for name in there if name not in still] or there
    known = [name for name in there if not strange(name, role)]
    whole = [name for name in there if not strange(name, role) & _PARTS]
    best = likeliest(known or whole or there, SCORES[role])
    if best is None:
        return Usage(None)
    best = next((name for name in known if _is_used_of(name, best)), best)
    return Usage(best, tuple(name for name in there if _rival(name, best, role)))


def _is_used_of(name: str, size: str) -> bool:
    """Whether two names differ in that one says usage: ``cpu_cores_used`` beside ``cpu_cores_total``."""
    mine, other = set(words(name)), set(words(size))
    return bool(mine & _USED) and not other & _USED and mine - _USED == other - _SIZES


def _rival(name: str, best: str, role: Role) -> bool:
    """Whether a column may be usage as well as the likeliest one, and of something else."""
    more, most = strange(name, role), strange(best, role)
    if scope(name) != scope(best) and not more & _PARTS:
        return True
    mine, others = (OF_WHOM & set(words(one)) for one in (name, best))
    if mine - others and others - mine and not more & _PARTS:
        return True
    if more == most and _labels(name) == _labels(best):
        return False
    score = SCORES[role]
    parts = more and more <= _PARTS and not most
    return not parts and score(name) >= min(score(best), _CLEAR)


def candidates(role: Role, names: Sequence[str]) -> list[str]:
    """The columns whose names speak for CPU or memory usage, the likelier ones first."""
    score = SCORES[role]
    if role is Role.MEMORY:  # what goes through memory is none that is in use
        names = [name for name in names if not _RATES & set(words(name))]
    return sorted((name for name in names if not unnamed(name) and score(name) > 0), key=score, reverse=True)


def asked_for(name: str) -> Role | None:
    """CPU or memory where a column's name speaks for it; else None."""
    return next((role for role in SCORES if candidates(role, [name])), None)


def about_gpus(memory: str, executions: Sequence[str], names: Sequence[str], roles: Collection[Role]) -> bool:
    """Whether a column called memory may be the memory of a GPU."""
    if scope(memory) == "inside" or {"rss", "working"} & set(words(memory)):
        return False
    if any({"gpu", "cuda", "device"} & set(words(name)) for name in executions):
        return True
    gpus = any("gpu" in words(name) for name in names)
    named = any(scope(name) == "inside" for name in executions)
    return gpus and not named and not {Role.CPU, Role.GPU_MEMORY} & set(roles)


def unchanging(
    names: Sequence[str], executions: Sequence[str], header: Sequence[str], rows: Sequence[Sequence[str]]
) -> frozenset[str]:
    """The columns that have one value in each execution, or a few round ones, as sizes that change have."""
    groups = [group for group in by_execution(executions, header, rows) if len(group) >= LEAST_SAMPLES]

    def still(name: str, group: Sequence[Sequence[str]]) -> bool:
        place = header.index(name)
        found = [cell for row in group if (cell := row[place].strip()) not in EMPTY]
        kinds = set(found)
        if len(kinds) == 1:
            return kinds != {"0"}  # what is idle is zero
        changes = sum(before != after for before, after in pairwise(found))
        stepped = 0 < changes <= _STEPS and len(found) >= _LONG
        return stepped and all(_ROUND.fullmatch(cell) for cell in kinds)

    return frozenset(name for name in names if groups and all(still(name, group) for group in groups))


_SIZE_UNITS = frozenset(("bytes", "kb", "kib", "mb", "mib", "gb", "gib"))
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
    used = {"used", "usage", "allocated", "fb", "vram", *_SIZE_UNITS} & said
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
