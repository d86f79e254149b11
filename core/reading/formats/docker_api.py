"""Answers of Docker's ``GET /containers/ID/stats``, one after the other or as lists.

CPU is a counter of nanoseconds. What is reclaimable at once, ``inactive_file``, is no use of memory, as the
``docker`` command computes it. Where a container has no memory limit, ``limit`` is the memory of its host.
Source: the Engine API's documentation of ``ContainerStats``.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from core.reading.formats.docker_stats import DOCKER_COLUMNS, clear_host_limit
from core.reading.formats.json_lines import read_objects
from core.reading.formats.text_table import Row, tool_format
from core.reading.tool_facts import ToolColumn, ToolFacts
from core.traces.model import Role

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from core.reading.formats.text_table import Line
    from core.traces.validation import ProblemLog

_BEGINS = re.compile(r'[\s\[]*\{.{0,2000}?"(?:pre)?cpu_stats"\s*:', re.DOTALL)
_INACTIVE = ("inactive_file", "total_inactive_file")
"""What control groups of version 2 and 1 call it."""


def parse(lines: Iterable[Line], log: ProblemLog) -> Iterator[Row]:
    """Rows of the answers; what an answer does not have stays empty."""
    for number, text in lines:
        try:
            answer = json.loads(text)
            cells = _cells(answer)
        except (ValueError, AttributeError, TypeError, OverflowError, RecursionError):
            log.add("ragged", f"Object {number} is no answer of Docker's stats.", row=number)
            continue
        if "cpu_stats" in answer or "memory_stats" in answer:
            yield Row(number, clear_host_limit(cells, cells.get("memory_limit_bytes", ""), number, log))


def _cells(answer: dict[str, Any]) -> dict[str, str]:
    memory, pids = answer.get("memory_stats") or {}, answer.get("pids_stats") or {}
    networks = list((answer.get("networks") or {}).values())
    moved = (answer.get("blkio_stats") or {}).get("io_service_bytes_recursive") or []
    cells: dict[str, object] = {
        "name": str(answer.get("name") or answer.get("id", "")[:12]).strip("/"),
        "timestamp": answer.get("read"),
        "cpu_nanoseconds_total": ((answer.get("cpu_stats") or {}).get("cpu_usage") or {}).get("total_usage"),
        "memory_bytes": _used(memory),
        "memory_limit_bytes": memory.get("limit"),
        "net_in_bytes": sum(one["rx_bytes"] for one in networks) if networks else None,
        "net_out_bytes": sum(one["tx_bytes"] for one in networks) if networks else None,
        "block_in_bytes": _moved(moved, "read"),
        "block_out_bytes": _moved(moved, "write"),
        "pids": pids.get("current"),
    }
    # CPU and memory that no answer has are named in the report; the others are often not there
    return {key: "" if value is None else str(value) for key, value in cells.items()
            if value is not None or key in ("cpu_nanoseconds_total", "memory_bytes")}  # fmt: skip


def _used(memory: dict[str, Any]) -> int | None:
    """Return the bytes that are not reclaimable at once; None where memory is not measured."""
    if memory.get("usage") is None:
        return None
    statistics = memory.get("stats") or {}
    inactive = next((statistics[key] for key in _INACTIVE if key in statistics), 0)
    return int(memory["usage"]) - int(inactive)


def _moved(entries: list[dict[str, Any]], direction: str) -> int | None:
    values = [int(one["value"]) for one in entries if one.get("op", "").lower() == direction]
    return sum(values) if values else None


_FACTS = ToolFacts(
    "docker_api",
    "Docker's API",
    (
        ToolColumn("cpu_nanoseconds_total", Role.CPU, "cpu_nanoseconds_total"),
        *DOCKER_COLUMNS,
        ToolColumn("pids"),
    ),
    executions=("name",),
)
FORMATS = (
    tool_format(
        "docker_api",
        "Docker's API",
        (".jsonl", ".json"),
        lambda text: _BEGINS.match(text) is not None,
        parse,
        example="".join(
            f'{{"name": "/a", "read": "2026-01-31T12:00:0{i}Z", "cpu_stats": {{"cpu_usage": {{"total_usage": '
            f'{i + 1}00000000}}}}, "memory_stats": {{"usage": {9_000_000 + i}, "limit": 2147483648}}}}\n'
            for i in range(7)
        ),
        facts=_FACTS,
        lines=read_objects,
    ),
)
