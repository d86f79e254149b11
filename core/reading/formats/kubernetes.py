"""What Kubernetes answers: ``kubectl top pod``, ``metrics.k8s.io`` (``kubectl get --raw``), ``crictl stats``.

``kubectl top`` prints millicores and mebibytes with their unit; ``--containers`` and ``-A`` add the container
and the namespace. Values of ``metrics.k8s.io`` have a unit, too: ``300000000n`` cores, ``600000Ki`` bytes; a
metrics server measures every 15 s, and one that is asked more often answers the same again, which is read
once. Crictl (``-o json``) has a counter of CPU in nanoseconds and the working set in bytes. Sources: the
types of ``k8s.io/metrics``, and of the container runtime interface.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from core.reading.formats.json_lines import read_objects
from core.reading.formats.text_table import Row, json_parser, parse_under_headers, tool_format
from core.reading.tool_facts import ToolColumn, ToolFacts
from core.traces.model import Role

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from core.reading.formats.text_table import Line
    from core.traces.validation import ProblemLog

_HEADER = re.compile(r"(?:^|\s)CPU\((?:cores|%)\)\s+.*?MEMORY\((?:bytes|%)\)")
_NAMES = {"NAMESPACE": "namespace", "NODE": "node", "POD": "pod", "NAME": "name", "CPU(CORES)": "CPU(cores)",
          "CPU%": "cpu_percent", "CPU(%)": "cpu_percent", "MEMORY(BYTES)": "MEMORY(bytes)",
          "MEMORY%": "memory_percent", "MEMORY(%)": "memory_percent", "GPU": "gpu"}  # fmt: skip


def _find_names(text: str) -> list[str]:
    return [_NAMES.get(word.upper(), word) for word in text.split()] if _HEADER.search(text) else []


def parse_top(lines: Iterable[Line], log: ProblemLog) -> Iterator[Row]:
    """Rows of ``kubectl top``."""
    for number, stamp, values in parse_under_headers(lines, log, _find_names):
        parts = [values.pop(key) for key in ("namespace", "pod", "name") if key in values]
        yield Row(number, {"execution": "/".join(parts)} | ({"timestamp": stamp} if stamp else {}) | values)


def _read_metrics(answer: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Rows of the containers, or of the nodes, of an answer of a metrics server."""
    for entry in answer.get("items", [answer]):
        about = entry["metadata"]
        parts = entry.get("containers", [entry])
        for one in parts:
            yield {
                "execution": f"{about['name']}/{one['name']}" if "containers" in entry else about["name"],
                "namespace": about.get("namespace") or None,
                "timestamp": entry["timestamp"],
                "cpu": one["usage"]["cpu"],
                "memory": one["usage"]["memory"],
            }


def parse_metrics(lines: Iterable[Line], log: ProblemLog) -> Iterator[Row]:
    """Rows of a metrics server, without measurements that it answers again."""
    latest: dict[tuple[str | None, str], dict[str, str]] = {}
    for row in json_parser(_read_metrics, "metrics.k8s.io")(lines, log):
        key = (row.cells.get("namespace"), row.cells["execution"])
        if latest.get(key) != row.cells:
            latest[key] = row.cells
            yield row


def _read_crictl(answer: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for entry in answer.get("stats", [answer]):
        about, cpu, memory = entry["attributes"], entry.get("cpu") or {}, entry.get("memory") or {}
        labels, container = about.get("labels") or {}, about.get("metadata", {}).get("name", about["id"])
        pod = labels.get("io.kubernetes.pod.name")
        yield {
            "execution": f"{pod}/{container}" if pod else container,
            "namespace": labels.get("io.kubernetes.pod.namespace"),
            "timestamp": cpu.get("timestamp") or memory.get("timestamp"),
            "cpu_nanoseconds_total": (cpu.get("usageCoreNanoSeconds") or {}).get("value"),
            "memory_bytes": (memory.get("workingSetBytes") or {}).get("value"),
        }


_TOP = ToolFacts(
    "kubectl_top",
    "kubectl top",
    (
        ToolColumn(r"CPU\(cores\)", Role.CPU, "cores"),
        ToolColumn(r"MEMORY\(bytes\)", Role.MEMORY, "bytes"),
        ToolColumn("(?:cpu|memory)_percent", Role.OTHER, "percent"),
    ),
    executions=("execution",),
)
_METRICS = ToolFacts(
    "kubernetes_metrics",
    "metrics.k8s.io",
    (ToolColumn("cpu", Role.CPU, "cores"), ToolColumn("memory", Role.MEMORY, "bytes")),
    executions=("execution",),
    attributes=("namespace",),
)
_CRICTL = ToolFacts(
    "crictl_stats",
    "crictl stats",
    (
        ToolColumn("cpu_nanoseconds_total", Role.CPU, "cpu_nanoseconds_total"),
        ToolColumn("memory_bytes", Role.MEMORY, "bytes"),
    ),
    executions=("execution",),
    attributes=("namespace",),
)
FORMATS = (
    tool_format(
        "kubectl_top",
        "kubectl top",
        (".txt", ".log"),
        r"(?:.*\n){0,19}?(?:[^,\n]*\s)?CPU\((?:cores|%)\)\s[^,\n]*?MEMORY\((?:bytes|%)\)[^,\n]*(?:\n|$)",
        parse_top,
        facts=_TOP,
    ),
    tool_format(
        "kubernetes_metrics",
        "metrics.k8s.io",
        (".jsonl", ".json"),
        r'(?s)\[?\s*\{.{0,4000}?"metrics\.k8s\.io/',
        parse_metrics,
        facts=_METRICS,
        lines=read_objects,
    ),
    tool_format(
        "crictl_stats",
        "crictl stats",
        (".json", ".jsonl"),
        r'[\s\[]*\{\s*"stats"\s*:\s*\[\s*\{\s*"attributes"',
        json_parser(_read_crictl, "crictl stats"),
        facts=_CRICTL,
        lines=read_objects,
    ),
)
