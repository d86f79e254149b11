"""What the rest of a table says of a unit: of whom percentages are, and whether GB are of 1000³ bytes.

A name and its values say that 240 is a percentage of one core, unless the table is of pods: there it may be
one of what a pod requested. ``node_cpu_percent`` is of a machine where a column names nodes, and may be that
of a program in Node.js elsewhere. What programs call GB is 1024³ bytes about as often as 1000³; the memory of
a whole machine tells which, since it is a little less than what was built in.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from core.traces.cells.quantities import BINARY
from core.traces.guessing.percentages import of_one_core
from core.traces.guessing.words import words
from core.traces.mapping import UNKNOWN
from core.traces.model import Role
from core.units import FILE_UNITS, GIB, Unit

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from core.traces.guessing.units import Column
    from core.traces.mapping import MappedColumn

_REQUESTED = frozenset(
    ("pod", "pods", "namespace", "kubernetes", "k8s", "kube", "ecs", "cluster", "deployment", "statefulset",
     "replicaset", "daemonset", "workload", "request", "requests", "requested", "reserved", "reservation")
)  # fmt: skip
"""Words of tables of containers that are given shares of a machine, and percentages of these."""
_POD = re.compile(r"[a-z0-9.-]+-[bcdfghjklmnpqrstvwxz2456789]{6,10}-[bcdfghjklmnpqrstvwxz2456789]{5}")
"""What Kubernetes calls a pod of a deployment; it leaves out vowels and what looks like other characters."""
_PROGRAMS = frozenset(("process", "proc", "program", "app", "application", "service", "server"))
"""Words beside which a node may be Node.js, as it may where it stands first."""
_NODES = frozenset(("node", "nodes", "nodename", "host", "hostname", "machine", "instance"))
_WHOLES = frozenset(("total", "size", "capacity", "installed"))
_BUILT_IN = tuple(GIB * factor * 2**power for power in range(14) for factor in (1, 1.5))
_LEFT = (0.94, 0.999)
"""The share of the memory built in that a system says it has: it keeps a little for itself."""

Mapped = list[tuple["MappedColumn", bool]]


def in_context(mapped: Mapped, columns: Mapping[str, Column], names: Sequence[str]) -> Mapped:
    """The features of a table and whether they are sure, in the light of all its columns."""
    pods = _of_pods(columns, names)
    nodes = any(_NODES & set(words(name)) and not column.numeric for name, column in columns.items())
    bytes_of = _meant(columns)
    seen = [_seen(one, sure, pods, nodes, bytes_of) for one, sure in mapped]
    # of cells with a unit, each says so itself when it is read
    written = {one.column for one, _ in mapped if columns[one.column].written is Unit.BYTES}
    return [
        before if before[0].column in written else after for before, after in zip(mapped, seen, strict=True)
    ]


def _seen(
    one: MappedColumn, sure: bool, pods: bool, nodes: bool, bytes_of: Mapping[str, str]
) -> tuple[MappedColumn, bool]:
    """A feature in a table that is of pods, that names nodes, or whose GB are known."""
    said = words(one.column)
    of_requests = pods and one.unit_key == "percent_of_core" and not of_one_core(said)
    program = said[:1] == ("node",) or ("node" in said and bool(_PROGRAMS & set(said)))
    of_js = not nodes and one.unit_key == "percent_of_machine" and program
    if one.role is Role.CPU and (of_requests or of_js):
        return replace(one, unit_key=UNKNOWN), True
    if one.role in (Role.MEMORY, Role.GPU_MEMORY) and one.unit_key in BINARY:
        meant = bytes_of.get(one.unit_key) if one.role is Role.MEMORY else None
        return replace(one, unit_key=meant or one.unit_key), sure and meant is not None
    return one, sure


def _of_pods(columns: Mapping[str, Column], names: Collection[str]) -> bool:
    """Whether a table is of containers that request shares of a machine, by its columns or by their names."""
    if any(_REQUESTED & set(words(name)) for name in columns):
        return True
    return any(_POD.fullmatch(cell.strip()) for name in names for cell in set(columns[name].cells))


def _meant(columns: Mapping[str, Column]) -> dict[str, str]:
    """Which of 1000 and 1024 a unit's name means, where the memory of a machine is among the columns."""
    found: dict[str, str] = {}
    for name, column in columns.items():
        said = set(words(name))
        unit = next((key for key in BINARY if key in said), None)
        sizes = set(column.values()) if unit and _WHOLES & said else set()
        if unit is None or len(sizes) != 1 or column.written is not None:
            continue
        size = sizes.pop()
        fits = [key for key in (unit, BINARY[unit]) if _is_of_machine(size * FILE_UNITS[key].factor)]
        if len(fits) == 1:
            found[unit] = fits[0]
    return found


def _is_of_machine(size: float) -> bool:
    """Whether so many bytes are what is left of the memory built into a machine."""
    return any(_LEFT[0] <= size / whole <= _LEFT[1] for whole in _BUILT_IN)
