"""Samples of several runs or machines in one file are never read as those of one without saying so."""

import pytest

from core.reading import inspect_file, read_with_report
from core.reading.mapping import ColumnMapping, MappedColumn
from core.traces.model import Resampling, Role
from tests.reading.layouts.files import of, write

CPU = (MappedColumn("cpu_cores", Role.CPU, "cores"),)


def kinds(report):
    return {one.kind for one in report.harmful}


def test_a_second_run_whose_time_starts_again_is_said(tmp_path, sentence):
    rows = [f"{first + i},{1 + first}" for first in (0, 0.5) for i in range(100)]
    path = write(tmp_path, "two.csv", "elapsed_s,cpu_cores\n" + "\n".join(rows) + "\n")
    _, report = read_with_report(path)
    assert kinds(report) == {"unsorted", "starts_again"}
    (again,) = (one for one in report.problems if one.kind == "starts_again")
    assert again.rows == (102,)
    sentence(again.message)


def test_a_row_that_comes_late_is_sorted_in_and_does_not_matter(tmp_path):
    rows = [f"{i},1" for i in range(1000)]
    rows[500:502] = rows[501:499:-1]
    _, report = read_with_report(write(tmp_path, "late.csv", "elapsed_s,cpu_cores\n" + "\n".join(rows)))
    assert [one.kind for one in report.problems] == ["unsorted"]
    assert report.faultless


def test_first_rows_that_changed_places_are_no_second_run(tmp_path):
    rows = [f"{1.7e9 + 10 * i},1" for i in (1, 0, *range(2, 3000))]
    _, report = read_with_report(write(tmp_path, "swapped.csv", "time,cpu_cores\n" + "\n".join(rows)))
    assert [one.kind for one in report.problems] == ["unsorted"]
    assert report.faultless


@pytest.mark.parametrize("other", ["gpu", "exported_namespace"])
def test_what_an_exporter_measures_is_told_apart(tmp_path, other):
    rows = [f"{1.7e9 + 5 * i},exporter-x,train,{i % 2},{(5, 90)[i % 2]}" for i in range(40)]
    text = f"timestamp,pod,exported_pod,{other},DCGM_FI_DEV_GPU_UTIL\n" + "\n".join(rows)
    traces, report = read_with_report(write(tmp_path, "dcgm.csv", text))
    assert traces.ids == ("train/0", "train/1")
    assert of(traces, Role.GPU, "train/1") == [0.9] * 20
    assert report.faultless


def test_machines_that_take_turns_within_an_execution_are_said(tmp_path):
    rows = [f"{1.7e9 + i / 2},trainer,{'ab'[i % 2]},{1 + 6 * (i % 2)}" for i in range(40)]
    path = write(tmp_path, "hosts.csv", "time,container,host,cpu_cores\n" + "\n".join(rows))
    mapping = ColumnMapping(CPU, "container", "time", attributes=("host",))
    assert kinds(read_with_report(path, mapping)[1]) == {"mixed_identity"}
    traces, report = read_with_report(path)
    assert traces.ids == ("trainer/a", "trainer/b")
    assert of(traces, Role.CPU, "trainer/b") == [7.0] * 20
    assert report.faultless


def test_a_container_that_moves_to_another_machine_is_one(tmp_path):
    rows = [f"{1.7e9 + i},trainer,{'ab'[i // 20]},1" for i in range(40)]
    traces, report = read_with_report(
        write(tmp_path, "moved.csv", "time,container,host,cpu_cores\n" + "\n".join(rows))
    )
    assert traces.ids == ("trainer",)
    assert report.faultless


@pytest.mark.parametrize(("rule", "said"), [(Resampling.HOLD, {"thinned"}), (Resampling.MEAN, set())])
def test_samples_that_no_period_shows_are_counted(tmp_path, rule, said):
    rows = [f"{1.7e9 + i},a,1" for i in range(100)] + [f"{1.7e9 + 10 * i},b,1" for i in range(20)]
    path = write(tmp_path, "periods.csv", "time,pod,cpu_cores\n" + "\n".join(rows))
    traces, report = read_with_report(path, ColumnMapping(CPU, "pod", "time", resampling=rule))
    assert traces.period == 10
    assert kinds(report) == said
    assert report.count("thinned") == (89 if said else 0)


def test_a_counter_that_falls_as_usage_does_is_doubted(tmp_path):
    rows = [f"{1.7e9 + i},{0.1 * (i % 3)}" for i in range(20)]
    path = write(tmp_path, "rate.csv", "time,container_cpu_usage_seconds_total\n" + "\n".join(rows))
    assert inspect_file(path).questions
    mapping = ColumnMapping(
        (MappedColumn("container_cpu_usage_seconds_total", Role.CPU, "cpu_seconds_total"),), time="time"
    )
    _, report = read_with_report(path, mapping)
    (doubt,) = report.harmful
    assert doubt.kind == "doubtful"
    assert doubt.message.endswith("falls at 6 rows: is it usage, and no counter?")


def test_dates_in_a_column_of_their_own_are_not_left_out_in_silence(tmp_path):
    rows = [f"2026-01-01,12:00:{10 + i},1" for i in range(20)]
    _, report = read_with_report(write(tmp_path, "d.csv", "started_on,time,cpu_cores\n" + "\n".join(rows)))
    assert any("the dates of another column were not used" in one.message for one in report.harmful)
