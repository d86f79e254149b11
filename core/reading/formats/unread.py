"""Known but unsupported outputs of tools, with the export to use instead.

Without this list the error for such a file would only say that no column has numbers.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import re2

from core.errors import InputError

if TYPE_CHECKING:
    from core.reading.formats.base import FileStart

INSPECTED_CHARS = 4_000
"""Number of characters to search for the beginnings of `UNSUPPORTED`."""


_JQ = "Make a line per sample of it: jq -c '{}' FILE > samples.jsonl"
# fmt: off
UNSUPPORTED = (
    ("output of xentop", r"\s*NAME\s+STATE\s+CPU\(sec\)\s+CPU\(%\)",
     "Write time, name, CPU(%) and MEM(k) between commas: xentop -b | awk, or Prometheus' Xen exporter."),
    ("output of BusyBox's top", r"Mem:\s+\d+K used,",
     "Log docker stats on the host, or pidstat -r -u in a container that has sysstat."),
    ("what dstat shows on a screen", r"-+(?:total-(?:cpu-)?usage|system|dsk/total|net/total|memory-usage)-+",
     "Let dstat write its file, which is read: dstat -tcmnd --output FILE.csv"),
    ("an accounting table of Slurm’s sacct, with a row per finished job",
     (r"(?:JobID(?:Raw)?|Account|User|Cluster)[|,\s][^\n]*\b(?:MaxRSS|AveRSS|CPUTimeRAW|CPUTime|ReqMem|AllocTRES|"
     r"TotalCPU|ElapsedRaw|ElapsedRAW|ExitCode|State)\b"),
     ("Sample jobs while they run: sstat --parsable2 --format=JobID,AveCPU,MaxRSS in a loop, or Slurm’s "
     "profile plugin (acct_gather_profile/hdf5) and sh5util --export.")),
    ("a table of runs of Weights & Biases, with a row per run",
     r'"?Name"?,"?State"?,[^\n]*"?(?:Created|Runtime|Sweep|Notes|Tags|User)"?(?:,|$)',
     "Export the CSV of a chart of the system metrics, or save run.history(stream='systemMetrics')."),
    ("MLflow’s table of runs, with a row per run",
     (r'"?(?:Start Time|run_id|Run ID)"?,"?(?:Duration|experiment_id|Name|status)"?,[^\n]*"?(?:Source Type|'
     r'User|Status|end_time|artifact_uri)"?(?:,|$)'),
     "Save the history of the system metrics: MlflowClient().get_metric_history(run_id, key)."),
    ("output of vmstat", r"procs -+memory-+|\s*r\s+b\s+swpd\s+free\s+buff\s+cache",
     "It knows no memory of a container. Use docker stats or pidstat -r -u, or sar -u -r for the machine."),
    ("output of free", r"\s+total\s+used\s+free\s+shared",
     "It has the memory of a machine alone. Use sar -u -r for the machine, docker stats for containers."),
    ("output of iostat", r"avg-cpu:\s+%user",
     "Use sar -u -r -d, whose output is read."),
    ("a recording of nmon", r"AAA,progname,nmon",
     "Convert it with nmon2csv or njmon, or record with sar -o and print it with sadf -d."),
    ("output of atop -P",
     r"(?:RESET\n)?(?:CPU|cpu|CPL|MEM|PRC|PRM) \S+ \d{9,10} \d{4}/\d\d/\d\d \d\d:\d\d:\d\d \d+ ",
     "Record with sar -o and print it with sadf -d, or use pidstat -r -u for processes."),
    ("what intel_gpu_top prints", r"\s*Freq MHz\s+IRQ RC6",
     "Let it write JSON, which is read: intel_gpu_top -J -o FILE.json"),
    ("output of nvidia-smi pmon", r"#\s*(?:Date\s+Time\s+)?(?:Time\s+)?gpu\s+pid\s+type\b",
     "Log nvidia-smi dmon, or --query-compute-apps=timestamp,pid,process_name,used_memory --format=csv."),
    ("output of ps, asked again and again",
     r"(?:(?:USER|UID)\s+)?\s*PID\s+(?:PPID\s+|USER\s+)?(?:%CPU|%MEM)\s",
     "Use pidstat -r -u, top -b or psrecord: the %CPU of ps is the mean since a process was started."),
    ("output of crictl stats", r"CONTAINER\s+(?:NAME\s+)?CPU %\s+MEM\s+DISK\s+INODES",
     "Log crictl stats -o json, or kubectl top pod --containers."),
    ("output of ifstat", r"\s*(?:[KM]?B|Kbps|kbps)/?s? in\s+(?:[KM]?B|Kbps|kbps)/?s? out",
     "It has network alone. Log docker stats, or sar -n DEV beside sar -u -r."),
    ("InfluxDB's line protocol", r"[A-Za-z_][\w.]*(?:,[\w.-]+=[^ ,\n]+)+ [\w.-]+=[^ \n]+(?: \d{10,19})?$",
     "Ask InfluxDB for CSV: influx query --raw, or SELECT … with -format csv."),
    ("an answer of CloudWatch", r'\s*"(?:Datapoints|MetricDataResults)"\s*:',
     _JQ.format(".Datapoints[] | {time: .Timestamp, cpu_percent_of_machine: .Average}")),
    ("an answer of Azure Monitor", r'.{0,300}"Microsoft\.Insights/metrics"',
     _JQ.format(".value[].timeseries[].data[] | {time: .timeStamp, cpu_percent_of_machine: .average}")),
    ("an answer of Google Cloud Monitoring", r'\s*"(?:timeSeries|timeSeriesData|timeSeriesDescriptor)"\s*:',
     "Download the chart's CSV in Metrics Explorer."),
    ("an answer of Netdata", r'.{0,40}"labels"\s*:\s*\[\s*"time"',
     "Ask for format=csv&options=seconds, and name the columns: cpu_percent_of_machine, memory_mib."),
)
# fmt: on
"""Name, pattern at the start of a line in the beginning, how to get a file that is read."""


@lru_cache
def _compile(pattern: str) -> re2._Regexp:
    """Return an expression that is searched without backtracking, which empty lines would make endless."""
    return re2.compile(rf"(?m)^[{{\s]*(?:{pattern})".encode())


def find_unsupported(beginning: FileStart) -> InputError | None:
    """Return the error for a file of an unsupported format; None for any other file."""
    start = beginning.text[:INSPECTED_CHARS].encode(errors="replace")
    for name, pattern, hint in UNSUPPORTED:
        if _compile(pattern).search(start):
            return InputError(f"“{beginning.path.name}” is {name}, which PhaseDock does not read.", hint)
    return None
