"""Tables in which an id, a size or a time is easily taken for something else."""

import numpy as np
import pytest

from core.reading import inspect_file, read_with_report
from core.traces.model import Role

MIB = 2.0**20


def inspect(tmp_path, text, name="t.csv"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return inspect_file(path), path


def read(tmp_path, text, name="t.csv"):
    found, path = inspect(tmp_path, text, name)
    assert not found.questions
    return read_with_report(path, found.mapping)[0]


def table(header, row, rows=40, separator=","):
    return "\n".join([header, *(separator.join(map(str, row(i))) for i in range(rows))]) + "\n"


@pytest.mark.parametrize(
    ("header", "time", "decimal", "period"),
    [
        ("elapsed_ms;cpu_cores", lambda i: f"{500 * i + 0.25:.2f}", ",", 0.5),
        ("Zeit [min];cpu_cores", lambda i: f"{0.25 * i:.2f}", ",", 15.0),
        ("time;cpu_cores", lambda i: f"{1_705_309_200_123 + 5000 * i:,}", ",", 5.0),
        ("time;cpu_cores", lambda i: f"{1_705_309_200_123 + 5000 * i:,}", ".", 5.0),
        ("Elapsed (ms);cpu_cores", lambda i: f"{500 * i:,}.00", ".", 0.5),
    ],
)
def test_times_in_the_style_of_other_countries_keep_their_unit(tmp_path, header, time, decimal, period):
    marks = str.maketrans(".,", ",." if decimal == "," else ".,")
    text = table(
        header, lambda i: (time(i).translate(marks), f"{1.5 + i % 3}".translate(marks)), separator=";"
    )
    assert read(tmp_path, text).period == pytest.approx(period)


@pytest.mark.parametrize(
    ("time", "choices"),
    [
        (lambda i: 1_728_000_000_170_376 + 1_000_000_000 * i, ("ns", "us")),
        (lambda i: f"{i / 100:.2f}".replace(".", ","), ("s", "ms", "us", "ns", "min", "h")),
    ],
)
def test_times_of_which_nobody_knows_the_unit_are_asked(tmp_path, time, choices):
    found, _ = inspect(tmp_path, table("t;cpu_cores", lambda i: (time(i), f"{1 + i % 4},5"), separator=";"))
    assert [one.choices for one in found.questions if one.time] == [choices]


def test_a_date_in_digits_is_no_moment_of_the_future(tmp_path):
    found, path = inspect(tmp_path, table("time,cpu_cores", lambda i: (2024011500 + i % 24, 1.5 + i % 3), 20))
    assert not read_with_report(path, found.mapping)[1].faultless


@pytest.mark.parametrize("name", ["executor_id", "broker", "config_id", "seed", "fold"])
def test_numbers_that_tell_executions_apart_are_no_measure(tmp_path, name):
    text = table(
        f"time,{name},cpu_cores,memory_mib", lambda i: (5 * (i // 3), i % 3, 0.5 + i % 7, 100 + i), 90
    )
    assert len(read(tmp_path, text).ids) == 3


def test_gpus_of_two_hosts_are_not_one(tmp_path):
    text = table(
        "timestamp, hostname, index, utilization.gpu [%], memory.used [MiB]",
        lambda i: (f"2024/01/15 09:00:{i // 2:02}.000", f" node-{i % 2}", " 0", f" {30 + i} %", " 100 MiB"),
    )
    found, path = inspect(tmp_path, text)
    traces = None if found.questions else read_with_report(path, found.mapping)[0]
    assert traces is None or len(traces.ids) == 2


def test_gigabytes_of_a_query_are_no_mebibytes(tmp_path):
    header = "timestamp, index, utilization.gpu [%], memory.used [GB]"
    text = table(header, lambda i: (f"2024/01/15 09:00:{i:02}.000", " 0", " 30 %", f" {37 + i / 10:.1f}"))
    found, _ = inspect(tmp_path, text)
    assert any(one.column == "memory.used [GB]" for one in found.questions)


@pytest.mark.parametrize("kind", ["csv", "json"])
def test_containers_of_one_name_on_two_hosts_are_two(tmp_path, kind):
    lines = [
        f'{{"ts":"{1705309200 + i // 2}","host":"n{i % 2}","Name":"web","CPUPerc":"{i}.00%",'
        f'"MemUsage":"{100 + i}MiB / 2GiB"}}'
        if kind == "json"
        else f"{1705309200 + i // 2},n{i % 2},web,{i}.00%,{100 + i}MiB / 2GiB"
        for i in range(40)
    ]
    head = ["ts,host,name,cpu,mem"] if kind == "csv" else []
    traces = read(tmp_path, "\n".join([*head, *lines]) + "\n", f"t.{'jsonl' if kind == 'json' else kind}")
    assert traces.ids == ("n0/web", "n1/web")


def of_cpu(tmp_path, text):
    traces = read(tmp_path, text)
    return [feature.name for feature in traces.features if feature.role is Role.CPU], traces


def test_what_is_used_comes_before_what_there_is(tmp_path):
    text = table("time,cpu_cores_total,cpu_cores_used", lambda i: (i, 16 + 8 * (i // 20), 2.5 + i % 7))
    assert of_cpu(tmp_path, text)[0] == ["cpu_cores_used"]


def test_a_size_that_was_changed_once_is_no_usage(tmp_path):
    text = table("time,container,cpu_cores,cpu_percent", lambda i: (i, "a", 2 + 2 * (i // 25), 130.5 + i))
    assert of_cpu(tmp_path, text)[0] == ["cpu_percent"]


def test_bandwidth_is_no_memory_in_use(tmp_path):
    traces = read(
        tmp_path, table("time,CPU usage (cores),Memory (MB/s)", lambda i: (i, 1.5 + i % 4, 8000 + i))
    )
    assert not [feature for feature in traces.features if feature.role is Role.MEMORY]


def test_lakhs_are_numbers(tmp_path):
    text = table("time,CPU (cores),Memory (KB)", lambda i: (i, 0.5 + i % 3, f'"1,{10 + i % 80},390"'))
    traces = read(tmp_path, text)
    (memory,) = [feature.name for feature in traces.features if feature.role is Role.MEMORY]
    values = traces.execution(traces.ids[0]).columns[memory]
    assert np.max(values) == pytest.approx(149_390 * 1000)


def test_the_mean_over_cores_is_not_that_of_one(tmp_path):
    found, _ = inspect(tmp_path, table("time,Avg CPU per core (%)", lambda i: (i, 20.5 + i % 9)))
    assert found.questions


def test_network_cards_are_parts_of_one_container(tmp_path):
    header = ",".join(f"network_{way}_bytes_total_eth{n}" for n in (0, 1) for way in ("receive", "transmit"))
    text = table(f"time,{header}", lambda i: (1705309200 + 10 * i, *(1000 * (n + 1) * i for n in range(4))))
    assert len(read(tmp_path, text).ids) == 1
