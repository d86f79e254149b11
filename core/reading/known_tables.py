"""Known tables of traces as data: how their columns are called, and what these measure."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from core.reading.guessing.units import clear_doubtful_percentages
from core.reading.mapping import UNKNOWN, MappedColumn
from core.reading.numbers import parse_numbers
from core.reading.tool_facts import ToolColumn, ToolFacts
from core.traces.model import Resampling, Role

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.reading.mapping import ColumnMapping
    from core.reading.tool_facts import TableHead

AI4DL_FEATURES = (
    MappedColumn("cpu.usage"),
    MappedColumn("cpu.usage.cores", Role.CPU, "cores"),
    MappedColumn("cpu.usage.pct"),
    MappedColumn("cpu.usage.pct.container.requested"),
    MappedColumn("mem.current", Role.MEMORY, "bytes"),
    MappedColumn("mem.limit", Role.MEMORY_LIMIT, "bytes"),
    MappedColumn("mem.usage.pct"),
    MappedColumn("mem.working.set"),
)
AI4DL = ToolFacts(
    "ai4dl",
    "AI4DL",
    tuple(ToolColumn(re.escape(one.column), one.role, one.unit_key) for one in AI4DL_FEATURES),
    requires=(r"pod\.id", "timestamp", r"cpu\.usage|mem\.current"),
    executions=(r"pod\.id",),
    attributes=("service",),
    resampling=Resampling.NONE,
)
"""AI4DL's published traces, with cAdvisor's figures."""

RECORDER = ToolFacts(
    "recorder",
    "PhaseDock's recorder",
    (
        ToolColumn("cpu_cores", Role.CPU, "cores"),
        ToolColumn("memory_bytes", Role.MEMORY, "bytes"),
        ToolColumn("cpu_limit_cores", Role.CPU_LIMIT, "cores"),
        ToolColumn("memory_limit_bytes", Role.MEMORY_LIMIT, "bytes"),
        ToolColumn("loss", Role.LOSS),
        ToolColumn("throttled", Role.THROTTLED, "share_of_machine"),
        ToolColumn("cpu_withheld_cores", Role.WITHHELD, "cores"),
        ToolColumn("host_pressure", Role.HOST_PRESSURE, "share_of_machine"),
    ),
    requires=("execution", "timestamp", "cpu_cores", "memory_bytes"),
    executions=("execution",),
    guesses_others=True,
)
"""What PhaseDock's own recorder exports: cores and bytes, limits, the loss, and what held use back."""

_MAX_CORES, _BUSY = 16.0, 90.0
"""CPU of at most so much may be in cores; what comes near 100 and never passes it is a percentage."""
_KIB = 4e6
"""What exceeds this is more memory in MiB than machines have, and may be in KiB."""


def _finish_batch_jobs(mapping: ColumnMapping, head: TableHead) -> ColumnMapping:
    """Ask for units that the values leave open: CPU in cores, memory in percent or KiB."""
    cpu, memory = ([one.value for one in parse_numbers(head.column(name))] for name in ("cpu", "mem"))
    busy, most = max(cpu, default=0.0), max(memory, default=0.0)
    in_cores = busy <= _MAX_CORES and not all(map(float.is_integer, cpu))
    in_mib = most <= 1 or 100 < most < _KIB  # what is no MiB at all is doubted in any case
    unknown = {name for name, is_open in (("cpu", in_cores), ("mem", not in_mib)) if is_open}
    features = tuple(
        replace(one, unit_key=UNKNOWN) if one.column in unknown else one for one in mapping.features
    )
    assumed = ("cpu",) if busy < _BUSY and not in_cores else ()
    mapping = replace(mapping, features=features, assumed=(*mapping.assumed, *assumed))
    return clear_doubtful_percentages(mapping, head.header, head.rows)


BATCH_JOBS = ToolFacts(
    "batch_jobs",
    "batch jobs with sar columns",
    (
        ToolColumn("cpu", Role.CPU, "percent_of_machine"),
        ToolColumn("mem", Role.MEMORY, "mib"),
        ToolColumn("cpu_iowait", Role.OTHER, "percent_of_machine"),
        ToolColumn("disk_read|disk_write"),
    ),
    requires=("execution", "timestamp", "cpu", "mem", "cpu_iowait"),
    executions=("execution",),
    attributes=("workload",),
    resampling=Resampling.MEAN,
    finish=_finish_batch_jobs,
)

BITBRAINS = ToolFacts(
    "bitbrains",
    "Bitbrains GWA-T-12 or Materna GWA-T-13",
    (
        ToolColumn(r"CPU usage \[cores\]", Role.CPU, "cores"),
        ToolColumn(r"CPU usage \[%\]", Role.CPU, "percent_of_machine"),
        ToolColumn(r"Memory usage \[KB\]", Role.MEMORY, "kib"),
        ToolColumn("CPU cores", Role.CPU_LIMIT, "cores"),
        ToolColumn(r"Memory capacity provisioned \[KB\]", Role.MEMORY_LIMIT, "kib"),
        ToolColumn(r"Disk read throughput \[KB/s\]", Role.BLOCK_IN, "kib_per_s"),
        ToolColumn(r"Disk write throughput \[KB/s\]", Role.BLOCK_OUT, "kib_per_s"),
        ToolColumn(r"Network received throughput \[KB/s\]", Role.NETWORK_IN, "kib_per_s"),
        ToolColumn(r"Network transmitted throughput \[KB/s\]", Role.NETWORK_OUT, "kib_per_s"),
    ),
    requires=(r"(?i:timestamp \[.*)|Timestamp", "CPU cores", r"CPU usage \[%\]", r"Memory usage \[KB\]"),
    times=(r"(?i:timestamp \[.*)|Timestamp",),
)
"""Virtual machines, one file each; the file's reader adds the usage in cores
(`core.reading.formats.bitbrains`)."""

ALIBABA_HEADER = ("container_id", "machine_id", "time_stamp", "cpu_util_percent", "mem_util_percent", "cpi",
                  "mem_gps", "mpki", "net_in", "net_out", "disk_io_percent")  # fmt: skip
_MIN_ALIBABA = 9
_ALIBABA_SECONDS = 9 * 86_400.0
"""The trace is of eight days, and its times are seconds since its start."""


def _finish_alibaba(mapping: ColumnMapping, head: TableHead) -> ColumnMapping:
    """Believe the published trace, whose idle machines have percentages below 1, and ask about any other."""
    times = parse_numbers(head.column("time_stamp"))
    is_published = (
        all(re.fullmatch(r"c_\d+", name) for name in head.column("container_id"))
        and all(re.fullmatch(r"m_\d+", name) for name in head.column("machine_id"))
        and bool(times)
        and all(0 <= time.value <= _ALIBABA_SECONDS and not time.suffix for time in times)
    )
    if is_published:
        mapping = replace(mapping, time_unit="s", assumed=())
        if len(head.header) >= _MIN_ALIBABA:
            return mapping
    return clear_doubtful_percentages(mapping, head.header, head.rows)


def find_header(first_row: tuple[str, ...]) -> tuple[str, ...] | None:
    """The header of Alibaba's trace, which has none, if a first row is of it: ``c_1,m_2556,600,…``."""
    known = re.match(r"c_\d+,m_\d+,[\d.eE+-]+,", ",".join(first_row))
    fits = _MIN_ALIBABA <= len(first_row) <= len(ALIBABA_HEADER)
    return ALIBABA_HEADER[: len(first_row)] if known and fits else None


ALIBABA = ToolFacts(
    "alibaba",
    "Alibaba container_usage (2018)",
    (
        ToolColumn("cpu_util_percent", Role.CPU, "percent_of_machine"),
        ToolColumn("mem_util_percent", Role.MEMORY, "percent_of_machine"),
        *map(ToolColumn, ALIBABA_HEADER[5:]),
    ),
    requires=("container_id", "machine_id", "time_stamp", "cpu_util_percent"),
    executions=("container_id",),
    attributes=("machine_id",),
    times=("time_stamp",),
    finish=_finish_alibaba,
)

_RELATIVE = ("_runtime", "Relative Time (Process)", "Relative Time (Wall)")
"""Times of W&B that are seconds since a run's start."""


def is_chart(header: Sequence[str]) -> bool:
    """Whether a table is a chart as W&B exports it: an axis of its own, or extremes beside the values."""
    return header[0] in _RELATIVE or any(name.endswith("__MIN") for name in header)


def _finish_tracking(mapping: ColumnMapping, head: TableHead) -> ColumnMapping:
    """Take times for seconds where their size does not say: so are those of charts."""
    is_relative = mapping.time in _RELATIVE or (head.is_chart and mapping.time is not None)
    if is_relative and (mapping.time_unit == UNKNOWN or mapping.time in mapping.assumed):
        assumed = tuple(name for name in mapping.assumed if name != mapping.time)
        mapping = replace(mapping, time_unit="s", assumed=assumed)
    return mapping if head.is_chart else clear_doubtful_percentages(mapping, head.header, head.rows)


TRACKING = ToolFacts(
    "tracking",
    "W&B or MLflow system metrics",
    (
        ToolColumn(r"system[./]cpu", Role.CPU, "percent_of_machine"),
        ToolColumn(r"system[./]proc\.memory\.rssMB", Role.MEMORY, "mib"),
        ToolColumn(r"system[./]memory(?:_percent)?", Role.MEMORY, "percent_of_machine"),
        ToolColumn(r"system[./]gpu\.(\d+)\.gpu", Role.GPU, "percent"),
        ToolColumn(r"system[./]gpu\.(\d+)\.memoryAllocatedBytes", Role.GPU_MEMORY, "bytes"),
        ToolColumn(r"system[./]gpu\.(\d+)\.memoryAllocated", Role.GPU_MEMORY, "percent"),
        ToolColumn(r"system[./]gpu\.(\d+)\.powerWatts", Role.GPU_POWER, "watts"),
        ToolColumn(r"system[./]network\.recv", Role.NETWORK_IN, "bytes_total"),
        ToolColumn(r"system[./]network\.sent", Role.NETWORK_OUT, "bytes_total"),
        ToolColumn(r"system/cpu_utilization_percentage", Role.CPU, "percent_of_machine"),
        ToolColumn(r"system/system_memory_usage_megabytes", Role.MEMORY, "mb"),
        ToolColumn(r"system/system_memory_usage_percentage", Role.MEMORY, "percent_of_machine"),
        ToolColumn(r"system/gpu_(\d+)_utilization_percentage", Role.GPU, "percent"),
        ToolColumn(r"system/gpu_(\d+)_memory_usage_megabytes", Role.GPU_MEMORY, "mb"),
        ToolColumn(r"system/gpu_(\d+)_memory_usage_percentage", Role.GPU_MEMORY, "percent"),
        ToolColumn(r"system/gpu_(\d+)_power_usage_watts", Role.GPU_POWER, "watts"),
        ToolColumn(r"system/network_receive_megabytes", Role.NETWORK_IN, "mb_total"),
        ToolColumn(r"system/network_transmit_megabytes", Role.NETWORK_OUT, "mb_total"),
        ToolColumn(r"(?:train[/_])?loss", Role.LOSS),
    ),
    # `system.cpu` alone is anybody's: one name has to be of a tracker alone
    requires=(
        r"system[./].+",
        r"system/.+|system\.proc\.memory\..+|system\.gpu\.\d+\..+|_timestamp|_runtime|Relative Time .+",
    ),
    executions=("execution|run_id|run|Run ID|run_name|Name",),
    times=("timestamp", "_timestamp", *map(re.escape, _RELATIVE)),
    finish=_finish_tracking,
)
"""Metrics of systems that experiment trackers record.

W&B: ``system.cpu`` is the utilisation of all processors, ``system.proc.memory.rssMB`` in MiB, network figures
are bytes since the start. MLflow takes psutil's and NVML's figures: percentages of the whole machine, memory
in MB of 1000² bytes, network in MB since the start. Sources: their documentation of system metrics.
"""
CHARTS = replace(TRACKING, requires=(r"system[./].+",))
"""Tables that a reader made of charts, which only W&B exports so."""
