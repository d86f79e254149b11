"""Answers of Kubernetes' ``metrics.k8s.io`` (``kubectl get --raw``), and of ``crictl stats -o json``.

Usage has its unit in every value: ``300000000n`` cores, ``600000Ki`` bytes. A metrics server measures every
15 s; one that is asked more often answers the same measurement again, which is read once.
Crictl has a counter of CPU in nanoseconds and the working set in bytes. Sources: the types of
``k8s.io/metrics``, and of the container runtime interface.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from core.reading.formats.json_lines import read_objects
from core.reading.formats.text_table import Row, tool_format
from core.reading.tool_facts import ToolColumn, ToolFacts
from core.traces.model import Role

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from core.reading.formats.text_table import Line
    from core.traces.validation import ProblemLog

_BEGINS = re.compile(r'[\s\[]*\{.{0,4000}?"metrics\.k8s\.io/', re.DOTALL)


def parse(lines: Iterable[Line], log: ProblemLog) -> Iterator[Row]:
    """Rows of the containers, or of the nodes, of every answer."""
    latest: dict[str, dict[str, str]] = {}
    for number, text in lines:
        try:
            answer = json.loads(text)
            rows = [row for entry in answer.get("items", [answer]) for row in _read_entry(entry)]
        except (ValueError, AttributeError, TypeError, KeyError, RecursionError):
            log.add("ragged", f"Object {number} is no answer of metrics.k8s.io.", row=number)
            continue
        for cells in rows:
            key = f"{cells.get('namespace', '')} {cells['execution']}"
            if latest.get(key) != cells:
                latest[key] = cells
                yield Row(number, cells)


def _read_entry(entry: dict[str, Any]) -> Iterator[dict[str, str]]:
    about, time = entry["metadata"], entry["timestamp"]
    place = {"namespace": about["namespace"]} if about.get("namespace") else {}
    usages = (
        [(f"{about['name']}/{one['name']}", one["usage"]) for one in entry["containers"]]
        if "containers" in entry
        else [(about["name"], entry["usage"])]
    )
    for name, usage in usages:
        yield {"execution": name, **place, "timestamp": time, "cpu": usage["cpu"], "memory": usage["memory"]}


_FACTS = ToolFacts(
    "kubernetes_metrics",
    "metrics.k8s.io",
    (ToolColumn("cpu", Role.CPU, "cores"), ToolColumn("memory", Role.MEMORY, "bytes")),
    executions=("execution",),
    attributes=("namespace",),
)


def parse_crictl(lines: Iterable[Line], log: ProblemLog) -> Iterator[Row]:
    """Rows of the containers of every answer of crictl."""
    for number, text in lines:
        try:
            answer = json.loads(text)
            yield from [Row(number, _read_stats(entry)) for entry in answer.get("stats", [answer])]
        except (ValueError, AttributeError, TypeError, KeyError, RecursionError):
            log.add("ragged", f"Object {number} is no answer of crictl stats.", row=number)


def _read_stats(entry: dict[str, Any]) -> dict[str, str]:
    about, cpu, memory = entry["attributes"], entry.get("cpu") or {}, entry.get("memory") or {}
    labels = about.get("labels") or {}
    pod, container = labels.get("io.kubernetes.pod.name"), about.get("metadata", {}).get("name", about["id"])
    cells = {
        "execution": f"{pod}/{container}" if pod else container,
        "namespace": labels.get("io.kubernetes.pod.namespace"),
        "timestamp": cpu.get("timestamp") or memory.get("timestamp"),
        "cpu_nanoseconds_total": (cpu.get("usageCoreNanoSeconds") or {}).get("value"),
        "memory_bytes": (memory.get("workingSetBytes") or {}).get("value"),
    }
    return {key: str(value) for key, value in cells.items() if value is not None}


_CRICTL = re.compile(r'[\s\[]*\{\s*"stats"\s*:\s*\[\s*\{\s*"attributes"')
_CRICTL_FACTS = ToolFacts(
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
        "kubernetes_metrics",
        "metrics.k8s.io",
        (".jsonl", ".json"),
        lambda text: _BEGINS.match(text) is not None,
        parse,
        example="".join(
            '{"kind": "PodMetricsList", "apiVersion": "metrics.k8s.io/v1beta1", "items": [{"metadata": '
            f'{{"name": "a", "namespace": "ml"}}, "timestamp": "2026-01-31T12:00:{10 + i}Z", "containers": '
            f'[{{"name": "m", "usage": {{"cpu": "{i + 1}00000000n", "memory": "60000{i}Ki"}}}}]}}]}}\n'
            for i in range(6)
        ),
        facts=_FACTS,
        lines=read_objects,
    ),
    tool_format(
        "crictl_stats",
        "crictl stats",
        (".json", ".jsonl"),
        lambda text: _CRICTL.match(text) is not None,
        parse_crictl,
        example="".join(
            '{"stats": [{"attributes": {"id": "a", "metadata": {"name": "m"}}, "cpu": {"timestamp": '
            f'"17000000{10 + i}000000000", "usageCoreNanoSeconds": {{"value": "{i + 1}00000000"}}}}, '
            f'"memory": {{"workingSetBytes": {{"value": "{90_000_000 + i}"}}}}}}]}}\n'
            for i in range(7)
        ),
        facts=_CRICTL_FACTS,
        lines=read_objects,
    ),
)
