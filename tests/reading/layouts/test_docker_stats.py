"""What docker stats writes, read as trace sets."""

import json

import numpy as np
import pytest

from core.errors import InputError
from core.reading import inspect_file, read_with_report
from core.reading.formats import text_table
from core.traces.model import Role
from core.units import GIB
from tests.reading.layouts.files import of, read_rows, write


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


HOSTS = ["15.53GiB", "62.7GiB", "7.653GiB", "1.922GiB", "957.1MiB", "125.6GiB", "3.828GiB", "15.5GiB"]
SET = ["2GiB", "1.5GiB", "512MiB", "300MiB", "2.441GiB", "953.7MiB", "16GiB", "128GiB", "2MiB", "14.9GiB"]


@pytest.mark.parametrize("limit", [*HOSTS, *SET])
def test_the_memory_of_the_host_is_no_limit(tmp_path, limit):
    """Docker prints it where a container has none."""
    rows = [
        {"Name": name, "CPUPerc": "5%", "MemUsage": f"1MiB / {size}",
         "timestamp": f"2024-01-31T10:00:{2 * i:02d}Z"}
        for i in range(4) for name, size in (("free", limit), ("bound", "4GiB"))
    ]  # fmt: skip
    path = write(tmp_path, "stats.jsonl", "\n".join(json.dumps(row) for row in rows))
    traces, report = read_with_report(path)
    assert of(traces, Role.MEMORY_LIMIT, "bound") == [4 * GIB] * 4
    given = np.isfinite(of(traces, Role.MEMORY_LIMIT, "free"))
    assert given.all() == (limit in SET)
    assert given.any() == (limit in SET)
    assert report.count("host_memory") == (0 if limit in SET else 4)
    assert report.faultless


def test_json_lines_may_begin_with_a_time(tmp_path):
    row = json.dumps({"Name": "a", "CPUPerc": "5%", "MemUsage": "1MiB / 2MiB"})
    text = "\n".join(f"2024-01-31T10:00:{2 * i:02d}Z {row}" for i in range(4))
    path = write(tmp_path, "stats.log", text)
    assert inspect_file(path).layout == "docker_stats"
    assert read_with_report(path)[0].period == 2


LOOPS = {
    "json": '{{"Name":"a","CPUPerc":"{i}5.00%","MemUsage":"1.5GiB / 4GiB"}}',
    "table": "NAME   CPU %   MEM USAGE / LIMIT\na      {i}5.00%   1.5GiB / 4GiB",
    "cells": "a,{i}5.00%,1.5GiB / 4GiB",
}


@pytest.mark.parametrize("form", LOOPS)
@pytest.mark.parametrize(
    "time", ["2026-01-31T12:00:{:02d}+01:00", "17000000{:02d}", "Sat Jan 31 12:00:{:02d} UTC 2026"]
)
def test_the_time_of_a_loop_may_stand_above_every_answer(tmp_path, form, time):
    text = "".join(f"{time.format(10 * i)}\n{LOOPS[form].format(i=i)}\n" for i in range(6))
    traces, report = read_with_report(write(tmp_path, "loop.txt", text))
    assert traces.ids == ("a",)
    assert traces.period == 10
    assert of(traces, Role.CPU) == pytest.approx([(10 * i + 5) / 100 for i in range(6)])
    assert report.faultless


@pytest.mark.parametrize("form", LOOPS)
def test_the_codes_that_redraw_a_terminal_are_no_part_of_what_is_read(tmp_path, form):
    """Docker writes them into files, too."""
    text = "".join(f"\x1b[2J\x1b[H\x1b[K{LOOPS[form].format(i=i)}\x1b[K\n\x1b[J" for i in range(6))
    path = write(tmp_path, "stats.txt", text)
    assert inspect_file(path).layout == "docker_stats"
    traces, _ = read_rows(path)
    assert traces.ids == ("a",)
    assert of(traces, Role.MEMORY) == [1.5 * GIB] * 6


def test_docker_stats_as_a_refreshed_table(tmp_path, sentence):
    text = ""
    for i in range(3):
        text += (
            "\x1b[2J\x1b[HCONTAINER ID  NAME   CPU %   MEM USAGE / LIMIT  MEM %  NET I/O   BLOCK I/O  PIDS\n"
        )
        text += f"0123456789ab  train  {100 + i}.5%  1.2GiB / 4GiB  30%  1.2kB / 0B  0B / 12MB  12\n"
        text += "0123456789ac   idle      --        -- / --\n"
    path = write(tmp_path, "stats.txt", text)
    traces, report = read_rows(path)
    assert traces.ids == ("train",)
    assert of(traces, Role.CPU) == pytest.approx([1.005, 1.015, 1.025])
    assert of(traces, Role.MEMORY) == pytest.approx([1.2 * GIB] * 3)
    assert traces.column("block_out_bytes").tolist() == [0.0] * 3
    assert traces.time.tolist() == [0, 1, 2]
    sentence(report.sentences()[0])


def test_a_column_that_comes_too_late_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(text_table, "HEAD_LINES", 3)
    row = {"Name": "a", "CPUPerc": "5%", "MemUsage": "1MiB / 2MiB"}
    rows = [row] * 4 + [{**row, "PIDs": "3"}] * 2
    path = write(tmp_path, "stats.jsonl", "\n".join(map(json.dumps, rows)))
    _, report = read_rows(path)
    (late,) = [one for one in report.problems if one.kind == "late_column"]
    assert (late.column, late.row, late.count) == ("pids", 5, 2)
    assert "too late" in late.sentence()
    assert "warning" in {one.severity for one in report.problems}


FIELDS = {
    "time": lambda i: f"2026-01-31T12:00:{i:02d}Z",
    "name": lambda _: "train",
    "cpu%": lambda i: f"{250 + i / 10:.1f}%",
    "mem": lambda i: f"{2.5 + i / 10:.1f}GiB / 62GiB",
    "mem%": lambda i: f"{(2.5 + i / 10) / 62 * 100:.2f}%",
    "net": lambda i: f"{1 + i}MB / 3MB",
    "block": lambda i: f"{5 + i}kB / 0B",
    "pids": lambda _: "12",
}


def cells(order, header=True, n=10):
    rows = [",".join(FIELDS[name](i) for name in order) for i in range(n)]
    return "\n".join([*([",".join(order)] if header else []), *rows]) + "\n"


@pytest.mark.parametrize(
    "order",
    [
        ("time", "name", "mem%", "cpu%", "net", "mem"),
        ("block", "net", "mem", "cpu%", "name", "time"),
        ("name", "pids", "cpu%", "mem%", "mem", "time", "net"),
        ("mem", "mem%", "cpu%", "time", "name"),
    ],
)
@pytest.mark.parametrize("header", [True, False])
def test_cells_are_told_by_their_header_or_by_what_they_hold(tmp_path, order, header):
    traces, report = read_with_report(write(tmp_path, "stats.csv", cells(order, header)))
    assert traces.ids == ("train",)
    assert of(traces, Role.CPU) == pytest.approx([2.5 + i / 1000 for i in range(10)])
    assert of(traces, Role.MEMORY) == pytest.approx([(2.5 + i / 10) * GIB for i in range(10)])
    assert of(traces, Role.MEMORY_LIMIT) == [62 * GIB] * 10
    # docker writes network and disk alike: without a header neither is taken for the other
    names = {feature.name for feature in traces.features}
    assert ("net_in_bytes" in names) is (header and "net" in order)
    assert ("block_in_bytes" in names) is (header and "block" in order)
    left = 0 if header else len({"net", "block"} & set(order))
    assert report.count("unnamed_io") == left
    assert report.faultless is (left == 0)


def test_a_header_counts_more_than_how_sizes_are_written(tmp_path):
    text = "time,name,mem,cpu,net\n" + "".join(
        f"{1_700_000_000 + i},a,{100 + i}MB / 8.2GB,{5 + i}.00%,1KiB / 2KiB\n" for i in range(5)
    )
    traces, _ = read_with_report(write(tmp_path, "podman.csv", text))
    assert of(traces, Role.MEMORY) == [(100 + i) * 1e6 for i in range(5)]
    assert of(traces, Role.CPU) == pytest.approx([(5 + i) / 100 for i in range(5)])


@pytest.mark.parametrize(
    "row",
    [
        "{time},a,12.0%,250.{i}%,2.5GiB / 62GiB",
        "{time},a,5{i}.0%,1.2MB / 3MB",
        "{time},a,5{i}.0%,1MiB / 2MiB,3MiB / 4MiB",
    ],
)
def test_what_nothing_tells_is_not_guessed(tmp_path, row, refuses):
    text = "".join(row.format(time=1_700_000_000 + i, i=i) + "\n" for i in range(6))
    with refuses(InputError):
        read_with_report(write(tmp_path, "stats.csv", text))


def test_columns_that_change_their_order_are_refused(tmp_path, refuses):
    text = cells(("time", "name", "cpu%", "mem")) + cells(("time", "name", "mem", "cpu%"))
    with refuses(InputError):
        read_with_report(write(tmp_path, "stats.csv", text))
    same = cells(("time", "name", "cpu%", "mem"), n=5)
    _, report = read_with_report(
        write(tmp_path, "stats.csv", same + "train,oops\n" + same.replace("train", "b"))
    )
    assert [(one.kind, one.row) for one in report.harmful] == [("ragged", 7)]


def test_only_the_share_of_memory_is_no_cpu(tmp_path):
    text = cells(("time", "name", "mem", "mem%"), header=False)
    names = [one.column for one in inspect_file(write(tmp_path, "stats.csv", text)).mapping.features]
    assert "cpu_percent" not in names


@pytest.mark.parametrize("header", ["timestamp,container_id,image,cpu,mem\n", ""])
def test_an_id_names_containers_of_one_image(tmp_path, header):
    rows = [
        f"2026-01-31T12:00:{10 + i}Z,{'ab'[i % 2] * 12},pytorch:2,{5 + 145 * (i % 2)}.00%,{100 + i}MiB / 2GiB"
        for i in range(20)
    ]
    traces, _ = read_with_report(write(tmp_path, "stats.csv", header + "\n".join(rows)))
    assert traces.ids == ("a" * 12, "b" * 12)
    assert of(traces, Role.CPU, "b" * 12) == [1.5] * 10


def test_a_limit_is_not_taken_for_cpu(tmp_path):
    text = "time,name,mem_usage,cpu_limit_pct,cpu_pct\n" + "".join(
        f"2026-01-31T12:00:{10 + i}Z,web,{100 + i}MiB / 2GiB,100.00%,{5 + i}.00%\n" for i in range(10)
    )
    traces, _ = read_with_report(write(tmp_path, "stats.csv", text))
    assert of(traces, Role.CPU) == pytest.approx([(5 + i) / 100 for i in range(10)])
