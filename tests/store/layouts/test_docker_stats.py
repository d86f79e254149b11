"""What docker stats writes, read as trace sets."""

import json

import pytest

from core.store import inspect_file, read_with_report
from core.store.formats.logs import text_table
from core.traces.model import Role
from core.units import GIB
from tests.store.layouts.files import of, write


def test_docker_stats_as_json_lines(tmp_path):
    rows = [
        {"Name": name, "CPUPerc": f"{10 * i + 5}.30%", "MemUsage": "1.5GiB / 4GiB", "MemPerc": "37%",
         "NetIO": "1.2kB / 0B", "BlockIO": "-- / --", "PIDs": "7",
         "timestamp": f"2024-01-31T10:00:{2 * i:02d}Z"}
        for i in range(4) for name in ("web", "train")
    ]  # fmt: skip
    path = write(tmp_path, "stats.jsonl", "\n".join(json.dumps(row) for row in rows) + "\n{broken\n")
    assert inspect_file(path).layout == "docker_stats"
    traces, report = read_with_report(path)
    assert traces.ids == ("web", "train")
    assert of(traces, Role.CPU, "train") == pytest.approx([0.053, 0.153, 0.253, 0.353])
    assert of(traces, Role.MEMORY, "web") == [1.5 * GIB] * 4
    assert of(traces, Role.MEMORY_LIMIT, "web") == [4 * GIB] * 4
    assert traces.period == 2
    assert report.count("ragged") == 1
    assert report.rows_read == 9


def test_docker_stats_as_a_refreshed_table(tmp_path):
    text = ""
    for i in range(3):
        text += (
            "\x1b[2J\x1b[HCONTAINER ID  NAME   CPU %   MEM USAGE / LIMIT  MEM %  NET I/O   BLOCK I/O  PIDS\n"
        )
        text += f"0123456789ab  train  {100 + i}.5%  1.2GiB / 4GiB  30%  1.2kB / 0B  0B / 12MB  12\n"
        text += "0123456789ac   idle      --        -- / --\n"
    path = write(tmp_path, "stats.txt", text)
    traces, report = read_with_report(path)
    assert traces.ids == ("train",)
    assert of(traces, Role.CPU) == pytest.approx([1.005, 1.015, 1.025])
    assert of(traces, Role.MEMORY) == pytest.approx([1.2 * GIB] * 3)
    assert traces.column("block_out_bytes").tolist() == [0.0] * 3
    assert traces.time.tolist() == [0, 1, 2]
    assert "Row 3 has 4 cells instead of the 8" in report.sentences()[0]


def test_a_column_that_comes_too_late_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(text_table, "HEAD_LINES", 3)
    row = {"Name": "a", "CPUPerc": "5%", "MemUsage": "1MiB / 2MiB"}
    rows = [row] * 4 + [{**row, "PIDs": "3"}] * 2
    path = write(tmp_path, "stats.jsonl", "\n".join(map(json.dumps, rows)))
    _, report = read_with_report(path)
    (late,) = [one for one in report.problems if one.kind == "late_column"]
    assert (late.column, late.row, late.count) == ("pids", 5, 2)
    assert "too late" in late.sentence()
    assert not report.clean
