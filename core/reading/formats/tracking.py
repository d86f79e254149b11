"""System metrics that experiment trackers record: Weights & Biases, and MLflow.

W&B: ``system.cpu`` is the utilisation of all processors, ``system.proc.memory.rssMB`` in MiB, network figures
are bytes since the start. MLflow takes psutil's and NVML's figures: percentages of the whole machine, memory
in MB of 1000² bytes, network in MB since the start. Sources: their documentation of system metrics.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from core.reading.guessing.units import clear_doubtful_percentages
from core.reading.mapping import UNKNOWN, ColumnMapping, MappedColumn
from core.reading.tool_facts import Layout, with_distinguished_executions, with_time
from core.traces.model import Role

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.reading.tool_facts import TableHead

TRACKING = "tracking"
_METRICS = tuple(
    (re.compile(pattern), role, unit)
    for pattern, role, unit in (
        (r"system[./]cpu", Role.CPU, "percent_of_machine"),
        (r"system[./]proc\.memory\.rssMB", Role.MEMORY, "mib"),
        (r"system[./]memory(?:_percent)?", Role.MEMORY, "percent_of_machine"),
        (r"system[./]gpu\.\d+\.gpu", Role.GPU, "percent"),
        (r"system[./]gpu\.\d+\.memoryAllocatedBytes", Role.GPU_MEMORY, "bytes"),
        (r"system[./]gpu\.\d+\.memoryAllocated", Role.GPU_MEMORY, "percent"),
        (r"system[./]gpu\.\d+\.powerWatts", Role.GPU_POWER, "watts"),
        (r"system[./]network\.recv", Role.NETWORK_IN, "bytes_total"),
        (r"system[./]network\.sent", Role.NETWORK_OUT, "bytes_total"),
        (r"system/cpu_utilization_percentage", Role.CPU, "percent_of_machine"),
        (r"system/system_memory_usage_megabytes", Role.MEMORY, "mb"),
        (r"system/system_memory_usage_percentage", Role.MEMORY, "percent_of_machine"),
        (r"system/gpu_\d+_utilization_percentage", Role.GPU, "percent"),
        (r"system/gpu_\d+_memory_usage_megabytes", Role.GPU_MEMORY, "mb"),
        (r"system/gpu_\d+_memory_usage_percentage", Role.GPU_MEMORY, "percent"),
        (r"system/gpu_\d+_power_usage_watts", Role.GPU_POWER, "watts"),
        (r"system/network_receive_megabytes", Role.NETWORK_IN, "mb_total"),
        (r"system/network_transmit_megabytes", Role.NETWORK_OUT, "mb_total"),
        (r"(?:train[/_])?loss", Role.LOSS, "plain"),
    )
)
_ONCE = (Role.CPU, Role.MEMORY, Role.LOSS)
_RELATIVE = ("_runtime", "Relative Time (Process)", "Relative Time (Wall)")
"""Times of W&B that are seconds since a run's start."""
_TIMES = ("timestamp", "_timestamp", *_RELATIVE)
_OWN = re.compile(
    r"system/.+|system\.proc\.memory\..+|system\.gpu\.\d+\..+|_timestamp|_runtime|Relative Time .+"
)
"""Names that nobody else gives: `system.cpu` alone is anybody's."""
_RUNS = ("execution", "run_id", "run", "Run ID", "run_name", "Name")


def is_chart(header: Sequence[str]) -> bool:
    """Whether a table is a chart as W&B exports it: an axis of its own, or extremes beside the values."""
    return header[:1] in [(axis,) for axis in _RELATIVE] or any(name.endswith("__MIN") for name in header)


def recognise(head: TableHead) -> ColumnMapping | None:
    """Return the mapping of a table of this layout, else None."""
    if not any(name.startswith(("system.", "system/")) for name in head.header):
        return None
    if head.made != TRACKING and not any(map(_OWN.fullmatch, head.header)):
        return None
    features = _features(head)
    if not features:
        return None
    time = next((name for name in _TIMES if name in head.header), "")
    execution = next((name for name in _RUNS if name in head.header), None)
    mapping = with_time(ColumnMapping(execution=execution, features=features), head, time)
    if head.made or time in _RELATIVE:
        mapping = _in_seconds(mapping, time)
    mapping = with_distinguished_executions(mapping, head)
    return mapping if head.made else clear_doubtful_percentages(mapping, head.header, head.rows)


def _in_seconds(mapping: ColumnMapping, time: str) -> ColumnMapping:
    """The mapping whose times are seconds where their size does not say: so are those of charts."""
    if mapping.time is None or (mapping.time_unit != UNKNOWN and time not in mapping.assumed):
        return mapping
    return replace(mapping, time_unit="s", assumed=tuple(name for name in mapping.assumed if name != time))


def _features(head: TableHead) -> tuple[MappedColumn, ...]:
    """The metrics that are known, in the order of the file."""
    features, taken = [], set[tuple[Role, str]]()
    for pattern, role, unit in _METRICS:
        for name in head.header:
            # one GPU's memory is often there twice, as bytes and as a percentage
            which = "" if role in _ONCE else re.sub(r"\D", "", name)
            if pattern.fullmatch(name) and (role, which) not in taken:
                taken.add((role, which))
                features.append(MappedColumn(name, role, unit))
    return tuple(sorted(features, key=lambda one: head.header.index(one.column)))


LAYOUT = Layout(
    TRACKING,
    "W&B or MLflow system metrics",
    recognise,
    example="*run_id,_timestamp,system.cpu,system.proc.memory.rssMB,system.gpu.0.gpu",
)
