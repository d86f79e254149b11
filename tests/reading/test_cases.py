"""Files of other tools that were once misread, each with its right reading."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from core.errors import InputError
from core.reading import inspect_file, read_with_report
from core.reading.mapping import INTERVAL, UNKNOWN, ColumnMapping, MappedColumn
from core.traces.model import Role
from core.units import GIB, MIB, Unit

CASES = Path(__file__).with_name("cases")


def read(name, mapping=None):
    return read_with_report(CASES / name, mapping)


def values(traces, role, execution=None):
    column = traces.column(traces.feature(role).name)
    return column if execution is None else column[traces.slice_of(execution)]


def kinds(report):
    return {one.kind for one in report.problems}


def test_a_limit_that_is_the_hosts_memory_is_no_limit_and_names_come_before_ids():
    found = inspect_file(CASES / "01-docker-stats-split-limit.csv")
    assert "the host’s memory, and no limit" in " ".join(found.reasons)
    traces, _ = read("01-docker-stats-split-limit.csv")
    assert traces.ids == ("store", "worker")
    assert traces.feature(Role.MEMORY_LIMIT) is None
    assert values(traces, Role.CPU, "worker")[0] == pytest.approx(1.05)


def test_a_process_that_top_does_not_print_was_idle():
    traces, report = read("02-top-idle-hidden.log")
    assert traces.period == 1.0
    assert values(traces, Role.CPU, "train/700")[:4].tolist() == [0.5, 0.0, 0.0, 0.53]
    assert set(values(traces, Role.MEMORY, "train/700")) == {200_000 * 1024.0}
    assert report.count("idle_rows") == 9


def test_a_task_that_pidstat_does_not_print_used_no_cpu():
    traces, _ = read("16-pidstat-idle-hidden.txt")
    assert traces.period == 1.0
    assert values(traces, Role.CPU, "eval/5000").tolist() == [0.22, 0, 0, 0.25, 0, 0, 0.28]


def test_a_wide_table_of_grafana_has_an_execution_per_pod_and_asks_what_it_measures():
    found = inspect_file(CASES / "03-grafana-wide-null.csv")
    assert [one.kind for one in found.problems] == ["summary_columns"]
    assert "“avg”" in found.problems[0].message
    assert [question.role for question in found.questions] == [True]
    memory = MappedColumn("value", Role.MEMORY, "bytes")
    traces, report = read(
        "03-grafana-wide-null.csv", ColumnMapping((memory,), "execution", "timestamp", "iso")
    )
    assert traces.ids == ("Pod 1", "Pod 2", "Pod 3")
    assert np.diff(traces.offsets).tolist() == [10, 16, 11]
    assert kinds(report) == {"summary_columns"}


def test_memory_profiler_is_read_in_mib_under_the_name_of_its_command():
    traces, report = read("04-mprofile.dat")
    assert traces.ids == ("python train.py --epochs 3",)
    assert values(traces, Role.MEMORY)[:2].tolist() == [20 * MIB, 25.5 * MIB]
    assert traces.period == pytest.approx(0.1)
    assert report.faultless


def test_docker_stats_may_be_a_list_on_each_line():
    found = inspect_file(CASES / "06-docker-stats-arrays.log")
    assert found.mapping.unknown == (INTERVAL,)
    traces, _ = read("06-docker-stats-arrays.log", replace(found.mapping, period=5.0))
    assert traces.ids == ("broker", "router")
    assert values(traces, Role.CPU, "broker")[0] == pytest.approx(1.2)
    assert values(traces, Role.MEMORY, "broker")[0] == pytest.approx(700.3 * MIB)
    assert traces.feature(Role.NETWORK_IN).unit is Unit.BYTES_PER_SECOND


@pytest.mark.parametrize(
    ("name", "export"), [("07-wandb-runs-table.csv", "chart"), ("11-sacct.txt", "sstat")]
)
def test_a_row_per_run_is_refused_with_the_export_that_has_samples(name, export):
    with pytest.raises(InputError) as caught:
        inspect_file(CASES / name)
    assert "a row per" in caught.value.message
    assert export in caught.value.hint


def test_a_query_of_nvidia_smi_without_a_header_is_read_by_its_units():
    traces, report = read("09-nvidia-smi-noheader.csv")
    assert values(traces, Role.GPU)[4] == pytest.approx(0.94)
    assert values(traces, Role.GPU_MEMORY)[0] == 2 * MIB
    assert values(traces, Role.GPU_POWER)[0] == pytest.approx(11.64)
    assert traces.column("gpu 0 memory_bandwidth")[1] == pytest.approx(0.01)
    assert "unnamed_gpu_columns" in kinds(report)


def test_sizes_in_cells_of_a_network_are_counters():
    traces, _ = read("10-cells-kB.csv")
    assert set(values(traces, Role.NETWORK_IN)) == {600.0}
    assert set(values(traces, Role.NETWORK_OUT)) == {200.0}


def test_answers_of_dockers_api_are_read():
    traces, _ = read("12-docker-engine-api.jsonl")
    assert traces.ids == ("train-0",)
    assert values(traces, Role.CPU)[[0, -1]].tolist() == pytest.approx([0.4, 1.7])
    assert values(traces, Role.MEMORY_LIMIT)[0] == 16 * GIB
    assert set(values(traces, Role.NETWORK_IN)) == {1000.0}


def test_answers_of_a_metrics_server_are_read_by_pod_and_container():
    traces, report = read("13-metrics-k8s-io.jsonl")
    assert traces.ids == ("train-0/main", "train-1/main")
    assert values(traces, Role.CPU, "train-0/main")[0] == pytest.approx(0.3)
    assert values(traces, Role.MEMORY, "train-0/main")[0] == 600_000 * 1024
    assert report.faultless


def test_an_epoch_of_training_is_no_time():
    found = inspect_file(CASES / "17-epoch-beside-elapsed.csv").mapping
    assert (found.time, found.time_unit) == ("elapsed_s", "s")
    traces, _ = read("17-epoch-beside-elapsed.csv")
    assert traces.column("epoch")[-1] == 3
    assert traces.period == 10


def test_requests_have_a_role_and_kubernetes_units():
    traces, _ = read("18-requests-in-cells.csv")
    assert set(values(traces, Role.CPU_REQUEST)) == {4.0}
    assert set(values(traces, Role.MEMORY_REQUEST)) == {8 * GIB}
    assert values(traces, Role.MEMORY)[0] == 600 * MIB


def test_memory_that_is_always_zero_was_not_measured():
    traces, report = read("memory_all_zero.csv")
    assert traces.feature(Role.MEMORY) is None
    assert kinds(report) == {"not_measured"}


def test_an_infinite_value_is_missing_and_does_not_take_the_unit_away():
    traces, report = read("prom_plus_inf.json")
    assert traces.feature(Role.CPU).unit is Unit.CORES
    assert values(traces, Role.CPU)[5] == values(traces, Role.CPU)[4]
    assert report.count("infinite") == 1


def test_one_container_scraped_through_two_targets_is_one():
    traces, report = read("prom_two_targets.json")
    assert traces.ids == ("train-0/m",)
    assert "second_target" in kinds(report)


def test_a_small_z_is_utc():
    traces, _ = read("time_lowercase_z.csv")
    assert traces.period == 5
    assert traces.time[0] == 1790000000


def test_a_column_called_time_that_cannot_be_read_is_asked(tmp_path):
    path = tmp_path / "odd.csv"
    path.write_text("time,cpu_cores\n" + "".join(f"lap {i},0.{i}\n" for i in range(9)))
    found = inspect_file(path)
    assert (found.mapping.time, found.mapping.time_unit) == ("time", UNKNOWN)
    assert found.questions[0].choices == ("none",)
    with pytest.raises(InputError, match="time"):
        read_with_report(path)


def read_text(folder, text, name="t.csv"):
    path = folder / name
    path.write_text(text)
    return read_with_report(path)


def test_a_size_that_people_do_not_set_is_no_limit_in_any_table(tmp_path):
    header = "timestamp,container_name,cpu_percent,mem_usage,mem_limit\n"
    rows = [f"{1700000000 + 2 * i},web,{150 + i}%,{200 + i}.5MiB,{{}}\n" for i in range(9)]
    host, _ = read_text(tmp_path, header + "".join(row.format("15.53GiB") for row in rows))
    assert host.feature(Role.MEMORY_LIMIT) is None
    own, _ = read_text(tmp_path, header + "".join(row.format("8GiB") for row in rows))
    assert own.feature(Role.MEMORY_LIMIT) is not None


def test_short_words_for_requests_and_limits_are_known(tmp_path):
    header = "ts,container,cpu_req,cpu_lim,mem_req,mem_lim,cpu_cores,mem_mib\n"
    rows = (f"{1700000000 + 60 * i},w,500m,2,1Gi,2Gi,0.{i},{500 + i}\n" for i in range(9))
    traces, _ = read_text(tmp_path, header + "".join(rows))
    assert [feature.role for feature in traces.features] == [
        Role.CPU_REQUEST, Role.CPU_LIMIT, Role.MEMORY_REQUEST, Role.MEMORY_LIMIT, Role.CPU, Role.MEMORY,
    ]  # fmt: skip
    assert set(values(traces, Role.CPU_REQUEST)) == {0.5}


def test_the_default_columns_of_sacct_are_refused_too(tmp_path):
    text = "       JobID    JobName  AllocCPUS      State ExitCode \n1000  train  8  COMPLETED  0:0 \n"
    with pytest.raises(InputError, match="sacct"):
        read_text(tmp_path, text * 2, "s.txt")
