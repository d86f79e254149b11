"""Known tables, from a file as its tool writes it to a trace set in cores and bytes."""

import gzip
from dataclasses import replace

import numpy as np
import pytest

from core.reading import inspect_file, read_traces, read_with_report
from core.reading.mapping import MappedColumn
from core.traces.model import Resampling, Role
from core.units import GIB, KIB, MIB, Unit
from tests.reading.layouts.files import of, write


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
        "mem.current", "mem.limit", "mem.usage.pct", "mem.working.set"
    ]  # fmt: skip
    assert traces.column("cpu.usage").tolist() == [756911788, 686240513, 679150611]
    assert traces.feature(Role.CPU).name == "cpu.usage.cores"
    assert traces.feature(Role.MEMORY).name == "mem.current"
    assert traces.feature(Role.MEMORY_LIMIT).name == "mem.limit"
    assert traces.resampling is Resampling.NONE
    assert traces.breaks.tolist() == []
    assert traces.time.tolist() == [1565962220, 1565962270, 1565962300]
    assert traces.attributes == {"service": ["s1"]}
    assert {one.severity for one in report.problems} <= {"info"}


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
    assert of(traces, Role.BLOCK_OUT)[0] == pytest.approx(20.4 * KIB)


BITBRAINS = (
    "Timestamp [ms];\tCPU cores;\tCPU capacity provisioned [MHZ];\tCPU usage [MHZ];\tCPU usage [%];"
    "\tMemory capacity provisioned [KB];\tMemory usage [KB]\n"
)


def test_materna_is_bitbrains_with_dates_and_decimal_commas(tmp_path):
    names = (
        "Timestamp", "CPU cores", "CPU capacity provisioned [MHZ]", "CPU usage [MHZ]", "CPU usage [%]",
        "Memory capacity provisioned [KB]", "Memory usage [KB]", "Memory usage [%]"
    )  # fmt: skip
    rows = (f"15.01.2026 10:{5 * i:02}:00;4;9600;480;{5 + i},5;4194304;{409600 + i};9,77" for i in range(9))
    text = "\n".join([";".join(f'"{name}"' for name in names), *rows]) + "\n"
    traces, report = read_with_report(write(tmp_path, "01.csv", text))
    assert (traces.ids, traces.period, report.faultless) == (("01",), 300, True)
    assert of(traces, Role.CPU)[:2] == pytest.approx([0.22, 0.26])
    assert of(traces, Role.MEMORY)[0] == 409600 * KIB


def bitbrains(cores, usage=50):
    return BITBRAINS + "".join(
        f"{1376314846 + 300 * i};\t{many};\t10400;\t520;\t{usage};\t67108864;\t6129274\n"
        for i, many in enumerate(cores)
    )


def test_a_virtual_machine_that_grows_is_counted_in_the_cores_of_each_row(tmp_path):
    path = write(tmp_path, "vm.csv", bitbrains([4] * 300 + [16] * 5))
    traces, report = read_with_report(path)
    assert of(traces, Role.CPU)[298:302] == pytest.approx([2.0, 2.0, 8.0, 8.0])
    assert of(traces, Role.CPU_LIMIT)[-1] == 16
    assert report.faultless
    assert inspect_file(path).mapping.cores is None  # no one size is that of all rows


def test_rows_without_cores_have_no_usage_in_cores(tmp_path):
    path = write(tmp_path, "off.csv", bitbrains([4, 4, "", 4, 4, 4]))
    traces, report = read_with_report(path)
    assert of(traces, Role.CPU) == pytest.approx([2.0] * 6)
    assert [one.kind for one in report.harmful] == ["missing"]
    idle = write(tmp_path, "idle.csv", bitbrains([0] * 5, usage=0))
    assert of(read_traces(idle), Role.CPU) == [0.0] * 5


def test_percent_of_a_virtual_machine_can_still_be_chosen(tmp_path):
    path = write(tmp_path, "vm.csv", bitbrains([4] * 5))
    mapping = inspect_file(path).mapping
    share = MappedColumn("CPU usage [%]", Role.CPU, "percent_of_machine")
    found = read_traces(path, replace(mapping, features=(share, *mapping.features[1:]), cores=8.0))
    assert of(found, Role.CPU) == [4.0] * 5


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
    assert [one.kind for one in report.problems] == ["interleaved", "blank_column"]
    assert report.problems[1].column == "mem_gps"


def test_the_recorder_keeps_a_loss_that_comes_late(tmp_path):
    text = (
        "execution,timestamp,cpu_cores,memory_bytes,cpu_limit_cores,memory_limit_bytes,"
        "read_bytes,loss,workload\n"
    )
    text += "".join(
        f"a,{1.7e9 + 5 * i:.1f},{0.5 + i},{2**20 * (i + 1)},8,{2**30},{i},{'' if i < 2 else 0.5},vision\n"
        for i in range(5)
    )
    path = write(tmp_path, "recorded.csv", text)
    assert inspect_file(path).layout == "recorder"
    traces, report = read_with_report(path)
    assert traces.n_samples == 5
    assert np.isnan(of(traces, Role.LOSS)[:2]).all()
    assert of(traces, Role.CPU_LIMIT) == [8.0] * 5
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
