"""Every known layout, from a file as its tool writes it to a trace set in cores and bytes."""

import gzip
import json

import numpy as np
import pytest

from core.errors import InputError
from core.store import inspect_file, read_traces, read_with_report
from core.traces.model import Resampling, Role
from core.units import GIB, KIB, MIB, Unit


def write(folder, name, text):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def of(traces, role, execution=None):
    values = traces.values(role)
    return values.tolist() if execution is None else values[traces.slice_of(execution)].tolist()


def test_ai4dl_keeps_rows_and_values_as_they_are(tmp_path):
    text = (
        '"timestamp","service","pod.id","cpu.num.cores","cpu.usage","cpu.usage.cores","cpu.usage.pct",'
        '"cpu.usage.pct.container.requested","mem.current","mem.limit","mem.usage.pct","mem.working.set"\n'
        '1565962220,"s1","exec1",4,756911788,0.041,1.03,1,2478080,5242880000,0.05,2478080\n'
        '1565962270,"s1","exec1",4,686240513,0.026,0.65,0.63,10842112,5242880000,0.2,10719232\n'
        '1565962300,"s1","exec1",4,679150611,0.029,0.73,0.71,12382208,5242880000,0.23,12259328\n'
    )
    path = write(tmp_path, "sample.csv", text)
    assert inspect_file(path).layout == "ai4dl"
    traces, report = read_with_report(path)
    assert traces.ids == ("exec1",)
    assert [feature.name for feature in traces.features] == [
        "cpu.usage", "cpu.usage.cores", "cpu.usage.pct", "cpu.usage.pct.container.requested",
        "mem.current", "mem.limit", "mem.usage.pct", "mem.working.set",
    ]  # fmt: skip
    assert traces.column("cpu.usage").tolist() == [756911788, 686240513, 679150611]
    assert traces.feature(Role.CPU).name == "cpu.usage.cores"
    assert traces.feature(Role.MEMORY).name == "mem.current"
    assert traces.feature(Role.MEMORY_LIMIT).name == "mem.limit"
    assert traces.resampling is Resampling.NONE
    assert traces.breaks.tolist() == []
    assert traces.time.tolist() == [1565962220, 1565962270, 1565962300]
    assert traces.attributes == {"service": ["s1"]}
    assert report.clean


def test_bitbrains_is_one_execution_per_file_and_its_milliseconds_are_seconds(tmp_path):
    header = (
        "Timestamp [ms];\tCPU cores;\tCPU capacity provisioned [MHZ];\tCPU usage [MHZ];\tCPU usage [%];"
        "\tMemory capacity provisioned [KB];\tMemory usage [KB];\tDisk read throughput [KB/s];"
        "\tDisk write throughput [KB/s];\tNetwork received throughput [KB/s];"
        "\tNetwork transmitted throughput [KB/s]\n"
    )
    rows = "".join(
        f"{1376314846 + 300 * i};\t4;\t11703.99824;\t10912.02;\t{50.0 + i};\t6.7108864E7;\t6129274.4;"
        "\t0.13;\t20.4;\t1.5;\t2.5\n"
        for i in range(4)
    )
    path = write(tmp_path, "vm17.csv", header + rows)
    assert inspect_file(path).layout == "bitbrains"
    traces = read_traces(path)
    assert traces.ids == ("vm17",)
    assert traces.period == 300
    assert of(traces, Role.CPU) == pytest.approx([2.0, 2.04, 2.08, 2.12])
    assert of(traces, Role.MEMORY)[0] == pytest.approx(6129274.4 * KIB)
    assert of(traces, Role.MEMORY_LIMIT)[0] == 64 * GIB
    assert traces.column("Disk write throughput [KB/s]")[0] == 20.4


@pytest.mark.parametrize("width", [9, 10, 11])
def test_alibaba_has_no_header_and_some_empty_cells(tmp_path, width):
    rows = [
        f"c_{c},m_25{c},{600 + 10 * i},{12.5 + i},{30 + c},1.1,,0.2,0.1,0.2,5".split(",")[:width]
        for i in range(5)
        for c in (1, 2)
    ]
    path = write(tmp_path, "container_usage.csv", "".join(",".join(row) + "\n" for row in rows))
    assert inspect_file(path).layout == "alibaba"
    traces, report = read_with_report(path)
    assert traces.ids == ("c_1", "c_2")
    assert traces.n_samples == 10
    assert of(traces, Role.CPU, "c_2") == pytest.approx([0.125, 0.135, 0.145, 0.155, 0.165])
    assert traces.feature(Role.CPU).unit is Unit.SHARE
    assert traces.attributes["machine_id"] == ["m_251", "m_252"]
    assert [one.kind for one in report.problems] == ["interleaved", "empty_column"]
    assert report.problems[1].column == "mem_gps"


def test_the_recorder_keeps_a_loss_that_comes_late(tmp_path):
    text = (
        "execution,timestamp,cpu_cores,memory_bytes,cpu_limit_cores,memory_limit_bytes,"
        "read_bytes,loss,workload\n"
    )
    text += "".join(
        f"a,{1.7e9 + 5 * i:.1f},{0.5 + i},{2**20 * (i + 1)},2,{2**30},{i},{'' if i < 2 else 0.5},vision\n"
        for i in range(5)
    )
    path = write(tmp_path, "recorded.csv", text)
    assert inspect_file(path).layout == "recorder"
    traces, report = read_with_report(path)
    assert traces.n_samples == 5
    assert np.isnan(of(traces, Role.LOSS)[:2]).all()
    assert of(traces, Role.CPU_LIMIT) == [2.0] * 5
    assert traces.attributes == {"workload": ["vision"]}
    assert traces.column("read_bytes").tolist() == [0, 1, 2, 3, 4]
    assert [one.kind for one in report.problems] == ["missing_kept"]


def test_batch_jobs_of_mixed_sampling_come_to_one_period(tmp_path):
    lines = ["execution,timestamp,cpu,mem,cpu_iowait,disk_read,disk_write,workload"]
    lines += [f"fast,{i},{i},1024,0,0,0,sort" for i in range(20)]
    lines += [f"slow,{5 * i},50,2048,1,0,0,join" for i in range(8)]
    path = write(tmp_path, "jobs.csv", "\n".join(lines))
    assert inspect_file(path).layout == "batch_jobs"
    traces, report = read_with_report(path)
    assert traces.period == 5
    assert of(traces, Role.CPU, "fast") == pytest.approx([0.02, 0.07, 0.12, 0.17])
    assert of(traces, Role.MEMORY, "slow") == [2048 * MIB] * 8
    assert report.count("mixed_periods") == 1


def test_sadf_blocks_are_joined_by_time(tmp_path):
    text = (
        "# hostname;interval;timestamp;CPU;%user;%nice;%system;%iowait;%steal;%idle\n"
        "node1;10;2024-01-31 00:00:10 UTC;-1;20.00;0.00;5.00;1.00;0.00;74.00\n"
        "node1;10;2024-01-31 00:00:10 UTC;0;40.00;0.00;5.00;1.00;0.00;54.00\n"
        "node1;10;2024-01-31 00:00:20 UTC;-1;30.00;0.00;5.00;1.00;0.00;64.00\n"
        "node1;-1;2024-01-31 00:00:25 UTC;LINUX-RESTART\t(4 CPU)\n"
        "# hostname;interval;timestamp;kbmemfree;kbavail;kbmemused;%memused\n"
        "node1;10;2024-01-31 00:00:10 UTC;1000;2000;4096;40.00\n"
        "node1;10;2024-01-31 00:00:20 UTC;1000;2000;8192;80.00\n"
        "# hostname;interval;timestamp;DEV;tps;bread/s\n"
        "node1;10;2024-01-31 00:00:20 UTC;sda;3;99\n"
    )
    path = write(tmp_path, "sar.csv", text)
    assert inspect_file(path).layout == "sar"
    traces = read_traces(path)
    assert traces.ids == ("node1",)
    assert of(traces, Role.CPU) == pytest.approx([0.26, 0.36])
    assert of(traces, Role.MEMORY) == [4096 * KIB, 8192 * KIB]
    assert np.diff(traces.time).tolist() == [10]
    assert traces.time[0] == 1706659210


def test_sar_text_knows_the_machine_and_midnight(tmp_path):
    text = (
        "Linux 5.15.0-91 (node1) \t01/31/2024 \t_x86_64_\t(4 CPU)\n\n"
        "11:59:40 PM     CPU     %user     %nice   %system   %iowait    %steal     %idle\n"
        "11:59:50 PM     all     20.00      0.00      5.00      1.00      0.00     75.00\n"
        "11:59:50 PM       0     90.00      0.00      5.00      1.00      0.00      5.00\n"
        "12:00:00 AM     all     45.00      0.00      5.00      1.00      0.00     50.00\n"
        "Average:        all     32.50      0.00      5.00      1.00      0.00     62.50\n\n"
        "11:59:40 PM kbmemfree   kbavail kbmemused  %memused\n"
        "11:59:50 PM      1000      2000      4096     40.00\n"
        "12:00:00 AM      1000      2000      8192     80.00\n"
        "12:00:10 AM      1000      2000\n"
    )
    path = write(tmp_path, "sar.txt", text)
    inspection = inspect_file(path)
    assert inspection.layout == "sar"
    assert inspection.mapping.cores == 4
    traces, report = read_with_report(path)
    assert of(traces, Role.CPU) == pytest.approx([1.0, 2.0])
    assert of(traces, Role.MEMORY) == [4096 * KIB, 8192 * KIB]
    assert np.diff(traces.time).tolist() == [10]
    assert report.count("ragged") == 1
    assert "Row 12" in next(one for one in report.sentences() if "cells" in one)


@pytest.mark.parametrize(
    ("date", "first"),
    [
        ("2024-01-31", 1706659200),
        ("31/01/24", 1706659200),
        ("01/31/24", 1706659200),
        ("99/99/99", 0),
        ("1-2", 0),
    ],
)
def test_sar_dates_are_told_apart(tmp_path, date, first):
    text = (
        f"Linux 5.15.0 (n) {date} _x86_64_ (2 CPU)\n"
        "00:00:00        CPU     %user     %idle\n"
        "00:00:00        all     20.00     75.00\n00:00:01        all     20.00     oops\n"
        "00:00:02        all     20.00     75.00\n"
    )
    traces, report = read_with_report(write(tmp_path, "sar.txt", text))
    assert traces.time[0] == first
    assert report.count("unparsable") == 1


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
    assert traces.column("block_out_bytes").tolist() == [12e6] * 3
    assert traces.time.tolist() == [0, 1, 2]
    assert "Row 3 has 4 cells instead of the 8" in report.sentences()[0]


def answer(series):
    return {"status": "success", "data": {"resultType": "matrix", "result": series}}


def series(metric, pod, values, **labels):
    return {"metric": {"__name__": metric, "pod": pod, **labels}, "values": values}


def test_a_prometheus_answer_joins_metrics_and_makes_rates(tmp_path):
    cpu, memory = "container_cpu_usage_seconds_total", "container_memory_working_set_bytes"
    found = [
        series(name, pod, [[1.7e9 + 15 * i, str(value(i))] for i in range(6)], container="main")
        for pod in ("a", "b")
        for name, value in ((cpu, lambda i: 100 + 30 * i), (memory, lambda i: 1000 + i))
    ]
    path = write(tmp_path, "answer.json", json.dumps(answer(found)))
    inspection = inspect_file(path)
    assert inspection.layout == "prometheus"
    assert inspection.columns[2].name == cpu
    traces, report = read_with_report(path)
    assert traces.ids == ("a/main", "b/main")
    assert of(traces, Role.CPU, "a/main") == pytest.approx([2.0] * 5)
    assert of(traces, Role.MEMORY, "b/main") == [1001, 1002, 1003, 1004, 1005]
    assert report.count("counter_start") == 2


def test_several_prometheus_answers_one_per_line(tmp_path):
    one = answer([{"metric": {"name": "x"}, "values": [[10 * i, str(i)] for i in range(4)]}])
    two = answer([{"metric": {"name": "y"}, "values": [[10 * i, "2"] for i in range(4)]}])
    path = write(tmp_path, "answers.json", json.dumps(one) + "\n" + json.dumps(two))
    traces = read_traces(path)
    assert traces.ids == ("x", "y")
    assert traces.column("value").tolist() == [0, 1, 2, 3, 2, 2, 2, 2]


def test_series_of_one_name_are_told_apart_by_their_labels(tmp_path):
    found = [
        series("m", "a", [[i, "1"] for i in range(3)], cpu="0"),
        series("m", "a", [[i, "2"] for i in range(3)], cpu="1"),
    ]
    traces = read_traces(write(tmp_path, "a.json", json.dumps(answer(found))))
    assert traces.ids == ("cpu=0", "cpu=1")


def test_a_large_prometheus_answer_is_inspected_by_its_head(tmp_path):
    found = [series("m", f"pod{p}", [[i, str(i)] for i in range(9000)]) for p in range(5)]
    path = write(tmp_path, "large.json", json.dumps(answer(found)))
    assert path.stat().st_size > 600_000
    inspection = inspect_file(path)
    assert [one.name for one in inspection.columns] == ["execution", "timestamp", "m"]
    assert read_traces(path).n_samples == 45_000


def test_a_prometheus_table_with_one_value_per_row(tmp_path):
    lines = ["timestamp,__name__,pod,value"]
    for i in range(4):
        for pod in ("a", "b"):
            lines.append(f"{1.7e9 + 10 * i:.0f},container_cpu_usage_seconds_total,{pod},{5 * i}")
            lines.append(f"{1.7e9 + 10 * i:.0f},container_memory_working_set_bytes,{pod},{100 + i}")
    traces = read_traces(write(tmp_path, "long.csv", "\n".join(lines)))
    assert traces.ids == ("a", "b")
    assert of(traces, Role.CPU, "b") == pytest.approx([0.5] * 3)
    assert of(traces, Role.MEMORY, "a") == [101, 102, 103]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"status": "error", "error": "bad query"}', "bad query"),
        ('{"status": "success", "data": {"result": []}}', "without a single sample"),
        ('{"some": "thing"}', "not the response"),
        ("[1, 2]", "not the response"),
        ('{"data": ', "row 1, column"),
        ('{"data": {"result": [{"metric": {}, "values": [[1, "x"]]}]}}', "Series 1"),
        ('{"data": {"result": [3]}}', "Series 1"),
        ('{"data": {"result": [{"metric": {}, "values": [[' + "9" * 400 + ', "1"]]}]}}', "Series 1"),
        ("[" * 100_000, "row 1"),
    ],
)
def test_json_that_is_no_answer_is_refused(tmp_path, text, said):
    with pytest.raises(InputError, match=said) as caught:
        read_traces(write(tmp_path, "a.json", text))
    assert caught.value.hint


def test_parquet_and_gzip_give_what_the_plain_csv_gives(tmp_path):
    import pandas as pd

    rng = np.random.default_rng(1)
    table = pd.DataFrame(
        {
            "execution": np.repeat(["a", "b", "c"], 40),
            "time": np.tile(pd.date_range("2024-01-01", periods=40, freq="10s"), 3),
            "cpu": rng.random(120).round(6),
            "memory_mib": rng.integers(1, 999, 120),
            "kind": np.repeat(["x", "y", "x"], 40),
        }
    )
    plain, packed, columnar = tmp_path / "t.csv", tmp_path / "t.csv.gz", tmp_path / "t.parquet"
    table.to_csv(plain, index=False)
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    table.to_parquet(columnar)
    first = read_traces(plain)
    assert first.feature(Role.MEMORY).unit is Unit.BYTES
    assert first.time[0] == pd.Timestamp("2024-01-01", tz="UTC").timestamp()
    for other in (read_traces(packed), read_traces(columnar)):
        assert other.ids == first.ids
        assert other.attributes == first.attributes == {"kind": ["x", "y", "x"]}
        np.testing.assert_array_equal(other.time, first.time)
        for mine, theirs in zip(other.columns, first.columns, strict=True):
            np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize(
    "changes",
    [
        {"features": ("timestamp",), "time_unit": "none"},
        {"execution": "m"},
        {"time": "m"},
        {"attributes": ("n",)},
    ],
)
def test_metrics_are_features_and_nothing_else(tmp_path, changes):
    from core.traces.mapping import ColumnMapping, MappedColumn

    names = changes.pop("features", ("l",))
    found = [series(name, "a", [[i, "1"] for i in range(3)]) for name in "lmn"]
    path = write(tmp_path, "a.json", json.dumps(answer(found)))
    mapping = ColumnMapping(tuple(MappedColumn(name) for name in names), **changes)
    with pytest.raises(InputError, match="cannot be mapped") as caught:
        read_traces(path, mapping)
    assert "Map only metrics" in caught.value.hint
