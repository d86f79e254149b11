"""A table with one column per cAdvisor metric, as the readers of Prometheus responses make it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from core.traces.guessing import guess_mapping
from core.traces.guessing.cpu_and_memory_columns import LOOPBACK
from core.traces.guessing.order import find_distinguishing_columns, is_identity_name
from core.traces.guessing.units import is_computed
from core.traces.layouts.base import Layout
from core.traces.mapping import MappedColumn
from core.traces.model import Role

if TYPE_CHECKING:
    from core.traces.layouts.base import TableHead
    from core.traces.mapping import ColumnMapping


def recognise(head: TableHead) -> ColumnMapping | None:
    """Return the mapping of a table of this layout, else None."""
    if not any(name.startswith(_STARTS) for name in head.header):
        return None
    guessed = guess_mapping(head.header, head.rows)
    if guessed is None:
        return None
    names = [one.column for one in guessed.features]
    memory = next((name for name in _MEMORY_METRICS if name in names), None)
    features = tuple(one if is_computed(one.column) else _metric(one, memory) for one in guessed.features)
    known = {one.column for one, before in zip(features, guessed.features, strict=True) if one != before}
    known |= {one.column for one in features if one.column.split(" ")[0] in _KNOWN}
    assumed = tuple(name for name in guessed.assumed if name not in known)
    return _of_measured(replace(guessed, features=features, assumed=assumed), head)


def _of_measured(guessed: ColumnMapping, head: TableHead) -> ColumnMapping:
    """The mapping whose executions are the containers that were measured, not those that measured them."""
    pod, container = "exported_pod", "exported_container"
    if pod not in head.header or not any(head.column(pod)):
        return guessed
    several = container in head.header and len(set(head.column(container))) > 1
    parts = (container,) if several else ()
    others = [
        name for name in head.header if is_identity_name(name) and name not in (pod, *parts, *_MEASURING)
    ]
    parts = (
        *parts,
        *find_distinguishing_columns((pod, *parts), others, guessed.time, head.header, head.rows),
    )
    return replace(
        guessed,
        execution=pod,
        execution_parts=parts,
        attributes=tuple(name for name in guessed.attributes if name not in (pod, *parts)),
        features=tuple(one for one in guessed.features if one.column not in (pod, *parts)),
    )


_MEASURING = ("pod", "container", "namespace", "instance")


# The first one present is the memory in use; the working set is what the kernel cannot reclaim.
_MEMORY_METRICS = (
    "container_memory_working_set_bytes",
    "container_memory_usage_bytes",
    "container_memory_rss",
)


_STARTS = ("container_cpu_", "container_memory_", "container_network_", "container_fs_", "DCGM_FI_")
# the name of a metric whose series of one container are several is followed by what tells them apart
_KNOWN = {
    "container_network_receive_bytes_total": (Role.NETWORK_IN, "bytes_total"),
    "container_network_transmit_bytes_total": (Role.NETWORK_OUT, "bytes_total"),
    "container_fs_reads_bytes_total": (Role.BLOCK_IN, "bytes_total"),
    "container_fs_writes_bytes_total": (Role.BLOCK_OUT, "bytes_total"),
    "DCGM_FI_DEV_GPU_UTIL": (Role.GPU, "percent"),
    "DCGM_FI_DEV_FB_USED": (Role.GPU_MEMORY, "mib"),
    "DCGM_FI_DEV_POWER_USAGE": (Role.GPU_POWER, "watts"),
    "DCGM_FI_DEV_MEM_COPY_UTIL": (Role.OTHER, "percent"),
    "DCGM_FI_PROF_GR_ENGINE_ACTIVE": (Role.OTHER, "share"),
}


def _metric(mapped: MappedColumn, memory: str | None) -> MappedColumn:
    name = mapped.column
    known = _KNOWN.get(name.split(" ")[0])
    if known is not None:
        return MappedColumn(name, Role.OTHER if LOOPBACK.search(name) else known[0], known[1])
    if name == memory:
        return MappedColumn(name, Role.MEMORY, "bytes")
    if name.endswith("_seconds_total"):
        role = Role.CPU if name == "container_cpu_usage_seconds_total" else Role.OTHER
        return MappedColumn(name, role, "cpu_seconds_total")
    if name == "container_spec_memory_limit_bytes":
        return MappedColumn(name, Role.MEMORY_LIMIT, "bytes")
    if name.startswith("container_memory_"):
        return MappedColumn(name, Role.OTHER, "bytes" if name.endswith("_bytes") else "plain")
    return mapped


LAYOUT = Layout(
    "prometheus",
    "Prometheus with cAdvisor metrics",
    recognise,
    example="*execution,timestamp,container_cpu_usage_seconds_total,container_memory_rss",
)
