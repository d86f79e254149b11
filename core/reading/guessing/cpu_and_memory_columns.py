"""Which column is CPU usage and which is memory usage, and what other columns measure.

A column is mapped without a warning only if every word of its name is known, because no list of words that
exclude usage is complete. Rival columns become a question: the host's beside the container's, or one for each
service. A constant column beside a changing one is a size.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from core.reading.guessing.column_names import (
    is_extreme,
    is_unnamed,
    normalize_name,
    pick_likeliest,
    score_cpu_name,
    score_memory_name,
    split_words,
)
from core.reading.guessing.order import group_by_execution, is_place_name
from core.reading.mapping import UNKNOWN
from core.reading.numbers import EMPTY
from core.traces.model import Role
from core.units import file_unit

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from core.reading.mapping import MappedColumn


USAGE_NAMES = {Role.CPU: "CPU usage", Role.MEMORY: "memory usage"}
SCORES: dict[Role, Callable[[str], int]] = {Role.CPU: score_cpu_name, Role.MEMORY: score_memory_name}
_MAX_STEPS, _MIN_STEPPED_SAMPLES = 3, 20
"""A size changes at most this often, in at least this many samples."""
_ROUND = re.compile(r"[1-9]\d*(?:\.[05]0*)?")
MIN_SAMPLES = 3
"""Fewer samples of an execution are not enough to call a column constant."""
_CLEAR_SCORE = 5
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
SCOPE_WORDS = _INSIDE | _OUTSIDE | _MEASURED_BY | _NAMED
"""Words for the measured object or the measuring tool; columns that differ in them measure two things."""
MEASUREMENT_WORDS = frozenset(
    ("usage", "used", "use", "util", "utilization", "utilisation", "consumption", "consumed", "current",
     "actual", "measured", "observed", "real", "now", "value", "val", "metric", "metrics", "stats",
     "total", "overall", "all", "rate", "irate", "deriv", "sum", "of", "by", "in", "the", "per", "per_s",
     "pers", "avg", "average", "mean", "median", "max", "maximum", "min", "minimum", "peak", "percent",
     "percentage", "perc", "pct", "ratio", "share", "raw", "time", "timestamp", "auslastung", "nutzung",
     "verbrauch", "belegt", "genutzt", "verwendet", "uso", "usada", "usado", "utilise", "utilisee",
     "utilizzo", "utilizzata", "de", "du", "la", "del", "van", "der", "utilized", "ave", "stat", "last",
     "carga", "compute", "googleapis", "com")
)  # fmt: skip
"""Words of measurements that do not say what is measured."""
_KNOWN_WORDS = SCOPE_WORDS | MEASUREMENT_WORDS
_ROLE_WORDS = {
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
_PART_WORDS = frozenset(
    ("anon", "anonymous", "file", "kernel", "stack", "heap", "nonheap", "kmem", "sock", "shmem",
     "pgtables", "sreclaimable", "sunreclaim", "children", "child", "metaspace", "jvm", "allocated", "alloc",
     "buffer", "code")
)  # fmt: skip
"""Words for parts of usage; a column of the whole is preferred."""
_USED_WORDS = frozenset(
    ("usage", "used", "use", "util", "utilization", "utilisation", "consumed", "utilized")
)
_RESIDENT_WORDS = frozenset(("resident", "rss", "working", "workingset", "wss", "set"))
_CHANGE_WORDS = {Role.CPU: frozenset[str](), Role.MEMORY: frozenset(("rate", "irate", "deriv"))}
"""Functions that make usage of a counter, but changes of memory."""
_SIZE_WORDS = {Role.CPU: frozenset[str](), Role.MEMORY: frozenset(("size", "physical", "main"))}
"""Words for the size of a machine, unless another word says that it is used."""
_CPU_OF_PS = frozenset(("%cpu", "pcpu"))
_MEMORY_OF_PS = frozenset(("rss", "rsz", "rssize", "vsz", "vsize", "%mem", "pmem"))
_WHOLE_WORDS = frozenset(("total", "size", "capacity", "max", "all"))
_RATE_WORDS = frozenset(("per_s", "pers", "bandwidth", "throughput"))
_WINDOW = re.compile(r"p50|(?:rate)?\d+[smh]")
_OF_PARTS = re.compile(r"^sum(?![a-z])|sum *\(|:|sum[ _]i?rate", re.IGNORECASE)
"""Sums over the parts of a container in PromQL; ``sum`` behind a name may be a sum over time."""
_LABELS = re.compile(r"^\\\\[^\\]+\\|\{[^}]*\}|\[\d+[a-z]+(?::\w*)?\]|\b(?:by|without) *\([^)]*\)")
_MAX_NAME_LENGTH: Final = 4_000
"""Longer names are cut: thousands of opening brackets take the expression long."""


@dataclass(frozen=True, slots=True)
class UsageColumn:
    """The column of CPU or memory usage."""

    #: The likeliest column; None without one.
    column: str | None
    #: Other possible columns, for a question.
    rivals: tuple[str, ...] = ()


def strip_labels(name: str) -> str:
    """Return a name without the labels and the window of a series."""
    return _LABELS.sub(" ", name[:_MAX_NAME_LENGTH])


def _find_labels(name: str) -> list[str]:
    return _LABELS.findall(name[:_MAX_NAME_LENGTH])


def find_unknown_words(name: str, role: Role) -> frozenset[str]:
    """Find the words of a column's name that are not known for usage of a role."""
    name_words = split_words(strip_labels(name))
    unknown_word = frozenset(name_words) - _KNOWN_WORDS - _ROLE_WORDS[role] | _CHANGE_WORDS[role] & frozenset(
        name_words
    )
    if not (_USED_WORDS | _RESIDENT_WORDS) & frozenset(name_words):
        unknown_word |= _SIZE_WORDS[role] & frozenset(name_words)
    return frozenset(word for word in unknown_word if not _WINDOW.fullmatch(word))


def describe_doubt(
    one: MappedColumn, features: Sequence[MappedColumn], executions: Sequence[str] = ()
) -> str | None:
    """Describe why a column may not be the usage it is mapped to; None if its name is known."""
    if one.role not in SCORES:
        return None
    usage = USAGE_NAMES[one.role]
    if one.unit_key != UNKNOWN:
        usage = f"{usage} in {file_unit(one.unit_key).label}"
    name_words = split_words(strip_labels(one.column))
    unknown_words = find_unknown_words(one.column, one.role) | (
        {"sum"} if not _OF_PARTS.search(one.column) else set()
    )
    unknown_word = next((word for word in name_words if word in unknown_words or is_extreme(word)), None)
    if unknown_word is not None:
        return f"Column “{one.column}” was taken for {usage}; “{unknown_word}” may say that it is not."
    cpu = next((other for other in features if other.role is Role.CPU), one)
    if _is_ps_table(one, features):
        return f"Column “{one.column}” was taken for {usage}; ps prints the mean since a process was started."
    if find_scope(one.column) == "outside" and _are_containers(executions, features):
        return f"Column “{one.column}” was taken for {usage}; its name says that it is of the host."
    if one.role is Role.MEMORY and _have_different_owners(cpu.column, one.column):
        return f"Column “{one.column}” was taken for {usage}; “{cpu.column}” is of something else."
    return None


def _are_containers(executions: Sequence[str], features: Sequence[MappedColumn]) -> bool:
    """Whether executions may be containers: not all usage is of hosts, and no name means a host."""
    if any(find_scope(name) == "inside" for name in executions):
        return True
    usage = [feature.column for feature in features if feature.role in SCORES]
    hosts = all(find_scope(name) == "outside" for name in usage) or any(map(is_place_name, executions))
    return bool(executions) and not hosts


def _is_ps_table(one: MappedColumn, features: Sequence[MappedColumn]) -> bool:
    """Whether a table has the columns of ps, whose ``%CPU`` is the mean since the process started."""
    names = {feature.column.strip().lower() for feature in features}
    return one.column.strip().lower() in _CPU_OF_PS and bool(names & _MEMORY_OF_PS) and "%usr" not in names


def _have_different_owners(cpu: str, memory: str) -> bool:
    """Whether two columns measure different objects: a container and its host, or two processes."""
    own_words, other_words = (_find_owner_words(name) for name in (cpu, memory))
    return {find_scope(cpu), find_scope(memory)} == {"inside", "outside"} or bool(
        own_words - other_words and other_words - own_words
    )


def _find_owner_words(name: str) -> frozenset[str]:
    """Find the words for the measured object in a name, in the singular: ``containers.app.cpu``."""
    return frozenset(word.removesuffix("s") for word in split_words(name) if word in _INSIDE | _OUTSIDE)


def find_scope(name: str) -> str:
    """Find the scope of a name: ``inside`` a container, ``outside`` on its host, or "" if unknown."""
    name_words = set(split_words(name))
    return "inside" if name_words & _INSIDE else "outside" if name_words & _OUTSIDE else ""


def find_usage_column(role: Role, names: Sequence[str], constant: Collection[str] = ()) -> UsageColumn:
    """Find the column of CPU or memory usage and its rivals."""
    names_with_score = find_candidates(role, names)
    names_with_score = [name for name in names_with_score if name not in constant] or names_with_score
    known = [name for name in names_with_score if not find_unknown_words(name, role)]
    whole = [name for name in names_with_score if not find_unknown_words(name, role) & _PART_WORDS]
    best = pick_likeliest(known or whole or names_with_score, SCORES[role])
    if best is None:
        return UsageColumn(None)
    best = next((name for name in known if _is_used_part(name, best)), best)
    return UsageColumn(best, tuple(name for name in names_with_score if _is_rival(name, best, role)))


def _is_used_part(name: str, size: str) -> bool:
    """Whether a name is the used part of another: ``cpu_cores_used`` beside ``cpu_cores_total``."""
    own_words, other = set(split_words(name)), set(split_words(size))
    return (
        bool(own_words & _USED_WORDS)
        and not other & _USED_WORDS
        and own_words - _USED_WORDS == other - _WHOLE_WORDS
    )


def _is_rival(name: str, best: str, role: Role) -> bool:
    """Whether a column may be usage like the likeliest one, but of another object."""
    more, most = find_unknown_words(name, role), find_unknown_words(best, role)
    if find_scope(name) != find_scope(best) and not more & _PART_WORDS:
        return True
    own_words, other_words = (SCOPE_WORDS & set(split_words(one)) for one in (name, best))
    if own_words - other_words and other_words - own_words and not more & _PART_WORDS:
        return True
    if more == most and _find_labels(name) == _find_labels(best):
        return False
    score = SCORES[role]
    parts = more and more <= _PART_WORDS and not most
    return not parts and score(name) >= min(score(best), _CLEAR_SCORE)


def find_candidates(role: Role, names: Sequence[str]) -> list[str]:
    """Find the columns whose names can mean CPU or memory usage, the likelier ones first."""
    score = SCORES[role]
    if role is Role.MEMORY:  # memory bandwidth is not usage
        names = [name for name in names if not _RATE_WORDS & set(split_words(name))]
    return sorted(
        (name for name in names if not is_unnamed(name) and score(name) > 0), key=score, reverse=True
    )


def guess_usage_role(name: str) -> Role | None:
    """Return CPU or memory if a column's name can mean its usage; else None."""
    return next((role for role in SCORES if find_candidates(role, [name])), None)


def may_be_gpu_memory(
    memory: str, executions: Sequence[str], names: Sequence[str], roles: Collection[Role]
) -> bool:
    """Whether a column called memory may be the memory of a GPU."""
    if find_scope(memory) == "inside" or {"rss", "working"} & set(split_words(memory)):
        return False
    if any({"gpu", "cuda", "device"} & set(split_words(name)) for name in executions):
        return True
    has_gpus = any("gpu" in split_words(name) for name in names)
    has_inside = any(find_scope(name) == "inside" for name in executions)
    return has_gpus and not has_inside and not {Role.CPU, Role.GPU_MEMORY} & set(roles)


def find_constant_columns(
    names: Sequence[str], executions: Sequence[str], header: Sequence[str], rows: Sequence[Sequence[str]]
) -> frozenset[str]:
    """Find the columns with one value in each execution, or a few round ones: sizes."""
    groups = [group for group in group_by_execution(executions, header, rows) if len(group) >= MIN_SAMPLES]

    places = {name: place for place, name in reversed(list(enumerate(header)))}

    def constant(name: str, group: Sequence[Sequence[str]]) -> bool:
        found = [cell for row in group if (cell := row[places[name]].strip()) not in EMPTY]
        kinds = set(found)
        if len(kinds) == 1:
            return kinds != {"0"}  # an idle container
        changes = sum(before != after for before, after in pairwise(found))
        changes_in_steps = 0 < changes <= _MAX_STEPS and len(found) >= _MIN_STEPPED_SAMPLES
        return changes_in_steps and all(_ROUND.fullmatch(cell) for cell in kinds)

    return frozenset(name for name in names if groups and all(constant(name, group) for group in groups))


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
_MOVED_BYTES = {("bytes", direction) for direction in _IN | _OUT} | {
    (direction, "bytes") for direction in (_IN | _OUT) - {"in"}
}
"""Incoming and outgoing bytes mean the network (Ganglia, psutil)."""
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
     "limits", "lim", "spec", "resource", "resources", "quota", "hard", "in", "milli", "mcpu", "millicpu",
     "nanocores")
)  # fmt: skip
_PART = re.compile(r" (?:gpu|minor_number|index|device|interface|uuid|direction) \S+$")
"""The label that distinguishes several columns of one metric."""
LOOPBACK = re.compile(r" (?:interface|device) lo0?$")
"""The loopback interface."""
_NUMBERED = re.compile(
    r"\d+|[0-9a-f]*\d[0-9a-f]{5,}|(?:eth|ens|eno|enp|wlan|veth|br|bond|sd|nvme|vd|xvd|hd|md|dm)\w*\d\w*|"
    r"sd[a-z]|vd[a-z]|[ahvplkt]\d{2,4}\w{0,6}|[tl]4|\d+[smh]|rate\d+[smh]"
)
"""Numbered network cards, disks and GPUs; the window of a rate."""


def _is_known(name: str, of: frozenset[str]) -> bool:
    """Whether every word of a name is known for a role and the name is not an extreme."""
    name_words = set(split_words(strip_labels(_PART.sub("", name)))) - of - SCOPE_WORDS - MEASUREMENT_WORDS
    return not is_extreme(name) and all(_NUMBERED.fullmatch(word) for word in name_words)


def guess_other_role(name: str) -> Role:
    """Guess the role of a column beside CPU and memory; `Role.OTHER` if its name does not say."""
    if LOOPBACK.search(name):
        return Role.OTHER
    name_words, pairs = set(split_words(name)), set(pairwise(split_words(name)))
    if ("in", "use") in pairs:
        name_words.discard("in")  # not a direction
    if _MOVED_BYTES & pairs and not _DISK & name_words:
        name_words.add("net")
    if all(word == "gpu" or word.isdigit() for word in name_words):
        name_words.add("util")  # `gpu 0`
    rule = next((one for one in _RULES if one.fits(name_words)), None)
    if rule is not None:
        return rule.role if _is_known(name, rule.known) else Role.OTHER
    is_loss = normalize_name(name) in ("loss", "train_loss", "training_loss", "train_epoch_loss")
    return Role.LOSS if is_loss else Role.OTHER


@dataclass(frozen=True, slots=True)
class _RoleRule:
    """The words of a column's name by which it has a role."""

    role: Role
    #: A name has a word of each, and none that excludes the role.
    needed: tuple[frozenset[str], ...]
    excluded: frozenset[str]
    #: The words that it may have besides.
    known: frozenset[str]

    def fits(self, name_words: set[str]) -> bool:
        return all(name_words & words for words in self.needed) and not name_words & self.excluded


_CPU_WORDS, _MEMORY_WORDS = frozenset(("cpu", "cpus")), frozenset(("mem", "memory"))
_LIMIT_WORDS = frozenset(("limit", "limits", "lim"))
_REQUEST_WORDS = frozenset(("request", "requests", "requested", "req", "reqs"))
_OF_SET = _OF_LIMIT | _REQUEST_WORDS
_NO_LIMIT = frozenset(
    ("pct", "percent", "ratio", "share", "gpu", "used", "util", "utilization", "utilisation", "consumed",
     "reached", "exceeded", "hit", "hits", "left", "remaining")
)  # fmt: skip
"""Words for the used part of a limit, or how often it was reached."""
_NO_REQUEST = _NO_LIMIT | {"usage", "use", "per_s", "rate", "http", "count"}
_NO_GPU_POWER = frozenset(
    ("limit", "cap", "capping", "max", "min", "default", "enforced", "requested", "idle", "mem", "memory")
)
"""Words that exclude the power draw of a whole GPU."""
_NO_GPU_MEMORY = frozenset(("free", "copy", "util", "reserved", "total", "limit", "capacity", "bandwidth"))
_NO_GPU_USAGE = frozenset(
    ("mem", "memory", "fb", "power", "temp", "temperature", "clock", "count", "copy", "limit", "enc", "dec",
     "encoder", "decoder", "fan", "idle", "free", "sum")
)  # fmt: skip
_GPU_USAGE = frozenset(("util", "utilization", "utilisation", "usage", "load", "percent", "pct", "busy"))
_GPU_NAMES = frozenset(("gpu", "dcgm", "nvidia", "cuda", "vram"))
_GPU_MEMORY = (_GPU_NAMES, _MEMORY_WORDS | {"fb", "vram"},
               frozenset(("used", "usage", "allocated", "fb", "vram", *_SIZE_UNITS)))  # fmt: skip
_NO_DISK_IN, _NO_DISK_OUT = (other | _NETWORK | _NOT_MEASURED for other in (_WRITE, _READ))
_RULES = (
    _RoleRule(Role.CPU_LIMIT, (_LIMIT_WORDS, _CPU_WORDS), _NO_LIMIT, _OF_SET),
    _RoleRule(Role.MEMORY_LIMIT, (_LIMIT_WORDS, _MEMORY_WORDS), _NO_LIMIT, _OF_SET),
    _RoleRule(Role.CPU_REQUEST, (_REQUEST_WORDS, _CPU_WORDS), _NO_REQUEST, _OF_SET),
    _RoleRule(Role.MEMORY_REQUEST, (_REQUEST_WORDS, _MEMORY_WORDS), _NO_REQUEST, _OF_SET),
    _RoleRule(
        Role.GPU_POWER, (frozenset(("gpu",)), frozenset(("power", "watts"))), _NO_GPU_POWER, _OF_GPU_POWER
    ),
    _RoleRule(Role.GPU_MEMORY, _GPU_MEMORY, _NO_GPU_MEMORY, _OF_GPU_MEMORY),
    _RoleRule(Role.GPU, (frozenset(("gpu",)), _GPU_USAGE), _NO_GPU_USAGE, _OF_GPU),
    _RoleRule(Role.NETWORK_IN, (_NETWORK, _IN), _OUT | _NOT_MEASURED, _OF_NETWORK),
    _RoleRule(Role.NETWORK_OUT, (_NETWORK, _OUT), _IN | _NOT_MEASURED, _OF_NETWORK),
    _RoleRule(Role.BLOCK_IN, (_DISK, _READ), _NO_DISK_IN, _OF_DISK),
    _RoleRule(Role.BLOCK_OUT, (_DISK, _WRITE), _NO_DISK_OUT, _OF_DISK),
    _RoleRule(Role.BLOCK_IN, (_BYTES, _BYTES_READ), _NO_DISK_IN, _OF_DISK),
    _RoleRule(Role.BLOCK_OUT, (_BYTES, _BYTES_WRITTEN), _NO_DISK_OUT, _OF_DISK),
)
"""The roles beside CPU and memory usage, the first one that fits first."""
