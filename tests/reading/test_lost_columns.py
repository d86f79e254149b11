"""A column that cannot be read goes away by its name, and one bad cell costs no column."""

import json

import numpy as np
import pytest

from core.reading import inspect_file, read_with_report
from core.traces.model import Role
from core.units import MIB
from tests.reading.layouts.files import of, read_rows, write

TOKENS = ("N/A", "null", "-", "ERR", "nan%", "")


def docker_csv(cpu, memory="{i}.5MiB / 2GiB", header="time,name,cpu,mem,memp"):
    rows = [f"{1_700_000_000 + i},web,{cpu(i)},{memory.format(i=i)},2.1%" for i in range(10, 30)]
    return "\n".join([header, *rows]) + "\n"


def loud(report, column):
    return [one for one in report.problems if one.column == column and not report.faultless]


@pytest.mark.parametrize("token", TOKENS)
def test_one_cell_of_docker_stats_costs_no_column(tmp_path, token):
    text = docker_csv(lambda i: token if i == 15 else f"{i}.00%")
    traces, report = read_with_report(write(tmp_path, "stats.csv", text))
    assert of(traces, Role.CPU) == pytest.approx([0.14 if i == 15 else i / 100 for i in range(10, 30)])
    assert of(traces, Role.MEMORY)[0] == 10.5 * MIB
    assert [one.row for one in loud(report, "cpu_percent")] == [7]


@pytest.mark.parametrize("token", TOKENS)
def test_a_column_of_docker_stats_without_numbers_is_named(tmp_path, token):
    traces, report = read_with_report(write(tmp_path, "stats.csv", docker_csv(lambda _: token)))
    assert traces.feature(Role.CPU) is None
    assert loud(report, "cpu_percent")


def test_memory_of_docker_stats_that_is_no_size_is_reported(tmp_path):
    text = docker_csv(lambda i: f"{i}.00%").replace("15.5MiB / 2GiB", "ERR")
    traces, report = read_with_report(write(tmp_path, "stats.csv", text))
    assert of(traces, Role.MEMORY)[5] == 14.5 * MIB
    assert "“ERR”" in loud(report, "memory_bytes")[0].message


@pytest.mark.parametrize(
    ("header", "cpu", "factor", "doubted"),
    [("cpu", 40, 0.01, True), ("cpu_percent", 40, 0.01, False), ("cpu_cores", 0.4, 1, False)],
)
def test_cpu_beside_dockers_sizes_may_lack_its_percent_sign(tmp_path, header, cpu, factor, doubted):
    text = docker_csv(lambda i: cpu + i, header=f"time,name,{header},mem,memp")
    traces, report = read_with_report(write(tmp_path, "stats.csv", text))
    assert of(traces, Role.CPU) == pytest.approx([(cpu + i) * factor for i in range(10, 30)])
    assert ("assumed_unit" in {one.kind for one in report.problems}) is doubted


@pytest.mark.parametrize("token", ["ERR", "n/a", "unknown", ""])
@pytest.mark.parametrize("lost", ["cpu_cores", "memory_mib"])
def test_a_column_of_words_is_named_in_the_form_and_in_the_report(tmp_path, lost, token):
    row = {"time": 0, "name": "a", "cpu_cores": 0.5, "memory_mib": 300.0, lost: token}
    rows = [{**row, "time": 1_700_000_000 + 5 * i} for i in range(8)]
    csv = ",".join(row) + "\n" + "".join(",".join(map(str, one.values())) + "\n" for one in rows)
    spaced = csv.replace(",", "  ") if token else csv
    texts = {"t.csv": csv, "t.txt": spaced, "t.jsonl": "\n".join(map(json.dumps, rows))}
    for name, text in texts.items():
        path = write(tmp_path, name, text)
        assert lost in {one.column for one in inspect_file(path).problems}
        _, report = read_with_report(path)
        assert [one.kind for one in loud(report, lost)] == ["empty_column"]


def test_words_beside_a_column_that_is_read_are_no_loss(tmp_path):
    text = "time,name,cpu_cores,cpu_model\n" + "".join(
        f"{1_700_000_000 + i},a,0.{i},Xeon\n" for i in range(9)
    )
    _, report = read_with_report(write(tmp_path, "t.csv", text))
    assert report.faultless


def test_memory_that_docker_does_not_measure_is_named(tmp_path):
    rows = [
        {"name": "a", "read": f"2026-01-31T12:00:{i:02d}Z", "memory_stats": {},
         "cpu_stats": {"cpu_usage": {"total_usage": i * 10**8}}} for i in range(9)
    ]  # fmt: skip
    _, report = read_with_report(write(tmp_path, "answers.jsonl", "\n".join(map(json.dumps, rows))))
    assert loud(report, "memory_bytes")


def test_memory_that_is_infinite_in_dockers_answer_concerns_that_answer(tmp_path):
    rows = [
        {"name": "a", "read": f"2026-01-31T12:00:{i:02d}Z", "memory_stats": {"usage": [1e6, 1e999][i == 4]},
         "cpu_stats": {"cpu_usage": {"total_usage": i * 10**8}}} for i in range(9)
    ]  # fmt: skip
    _, report = read_with_report(write(tmp_path, "answers.jsonl", "\n".join(map(json.dumps, rows))))
    assert report.count("ragged") == 1


CGTOP = "/ 212 90.0 3652190208 - -\na.service 24 {cpu} {memory} - -\n"


def test_a_control_group_with_an_odd_cell_is_kept(tmp_path):
    text = "\n".join(CGTOP.format(cpu=10 + i, memory="nan%" if i == 4 else 1000 + i) for i in range(9))
    traces, report = read_rows(write(tmp_path, "cgtop.txt", text))
    assert traces.ids == ("a.service",)
    assert of(traces, Role.MEMORY)[4] == 1003
    assert "“nan%”" in loud(report, "memory_bytes")[0].message
    _, report = read_rows(write(tmp_path, "none.txt", CGTOP.format(cpu=5, memory="-") * 9))
    assert loud(report, "memory_bytes")


def test_blank_lines_between_control_groups_part_no_answer(tmp_path):
    text = "\n\n".join(CGTOP.format(cpu=10 + i, memory=1000).replace("\n", "\n\n") for i in range(9))
    assert read_rows(write(tmp_path, "cgtop.txt", text))[0].ids == ("a.service",)


DSTAT = (
    '"Dstat 0.7.3 CSV output"\n"Host:","h"\n"Cmdline:","dstat",,,,"Date:","15 Jan 2026 10:00:00 UTC"\n\n'
    '"system","total cpu usage",,"memory usage",\n"time","{group}usr","{group}idl","used","free"\n'
)


@pytest.mark.parametrize("group", ["", "total cpu usage:"])
def test_dstat_names_its_columns_with_or_without_their_group(tmp_path, group):
    rows = "".join(f"15-01 10:00:{i}0,5.0,{90 - i}.0,5e8,1e9\n" for i in range(6))
    traces, _ = read_with_report(write(tmp_path, "d.csv", DSTAT.format(group=group) + rows))
    assert of(traces, Role.CPU) == pytest.approx([0.1 + i / 100 for i in range(1, 6)])


def test_cpu_that_dstat_did_not_measure_is_named(tmp_path):
    rows = "".join(f"15-01 10:00:{i}0,5.0,null,5e8,1e9\n" for i in range(6))
    _, report = read_with_report(write(tmp_path, "d.csv", DSTAT.format(group="") + rows))
    assert loud(report, "busy")


SAR = "Linux 6.1 (h) \t01/01/2024 \t_x86_64_\t(4 CPU)\n\n00:00:00  CPU  %user  %idle\n"


def test_idle_time_below_zero_is_no_usage(tmp_path):
    rows = "".join(f"00:0{i}:00  all  5.00  {-5.5 if i == 4 else 80 + i}\n" for i in range(1, 9))
    traces, report = read_with_report(write(tmp_path, "sar.txt", SAR + rows))
    assert max(of(traces, Role.CPU)) < 1
    assert loud(report, "busy_cores")


PIDSTAT = (
    "Linux 6.1 (h) \t01/13/2024 \t_x86_64_\t(4 CPU)\n\n"
    "00:00:00  UID  PID  %usr  %system  %CPU  CPU  Command\n"
)


def test_usage_below_zero_is_not_replaced_by_its_parts(tmp_path):
    rows = "".join(
        f"00:0{i}:00  0  7  0.00  0.00  {-1 if i == 4 else 50 + i}.00  1  python\n" for i in range(1, 9)
    )
    traces, report = read_with_report(write(tmp_path, "p.txt", PIDSTAT + rows))
    assert of(traces, Role.CPU)[3] == pytest.approx(0.53)
    assert [one.kind for one in loud(report, "cpu_percent")] == ["negative"]


def test_times_that_a_reader_computed_are_in_seconds(tmp_path):
    rows = "".join(
        f"{t // 3600:02d}:{t // 60 % 60:02d}:{t % 60:02d}  0  7  0.00  9.00  9.00  1  python\n"
        for t in range(1801, 20_000, 1801)
    )
    found = inspect_file(write(tmp_path, "p.txt", PIDSTAT + rows))
    assert found.mapping.time_unit == "s"
    assert found.questions == ()


@pytest.mark.parametrize("name", ["Unix Timestamp", "sample epoch", "time (unix)", "metric_ts"])
def test_a_time_since_1970_may_have_any_name_with_a_word_for_it(tmp_path, name):
    text = f"pod,{name},cpu_cores\n" + "".join(f"a,{1_740_681_008 + 60 * i},0.{i}\n" for i in range(9))
    traces, _ = read_with_report(write(tmp_path, "t.csv", text))
    assert traces.period == 60
    assert np.diff(traces.time).tolist() == [60] * 8


def test_the_moment_at_which_a_container_was_created_is_no_time(tmp_path):
    text = "pod,created_timestamp,cpu_cores\n" + "".join(
        f"{pod},{1_740_681_008 + 60 * p},0.{i}\n" for i in range(9) for p, pod in enumerate("ab")
    )
    assert inspect_file(write(tmp_path, "t.csv", text)).mapping.time is None


WIDE_TEXTS = {
    "stats.txt": "".join(
        f"2026-01-31T12:00:1{i}Z\nNAME   CPU %   MEM USAGE / LIMIT\na      {i}5.00%   1.5GiB / 4GiB\n"
        for i in range(6)
    ),
    "samples.json": json.dumps(
        [{"time": 1_700_000_000 + 10 * i, "container": "a", "cpu_cores": i} for i in range(6)]
    ),
    "answer.json": json.dumps(
        {"status": "success", "data": {"resultType": "matrix", "result": [
            {"metric": {"__name__": "container_memory_usage_bytes", "container": "a"},
             "values": [[1_700_000_000 + 10 * i, str(10**6 + i)] for i in range(6)]}]}}
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WIDE_TEXTS)
def test_what_powershell_redirects_to_a_file_is_read(tmp_path, name):
    """It writes UTF-16 with its mark."""
    plain, _ = read_with_report(write(tmp_path, f"plain-{name}", WIDE_TEXTS[name]))
    path = tmp_path / name
    path.write_bytes(WIDE_TEXTS[name].replace("\n", "\r\n").encode("utf-16"))
    traces, _ = read_with_report(path)
    assert [column.tolist() for column in traces.columns] == [column.tolist() for column in plain.columns]
    assert inspect_file(path).layout == inspect_file(tmp_path / f"plain-{name}").layout


def test_a_unit_that_changes_in_a_short_file_is_doubted(tmp_path):
    text = "time,cpu_cores,memory_mib\n" + "".join(
        f"{1_700_000_000 + i},0.5,{(600 + 9 * i) * (1 if i < 6 else 1024)}\n" for i in range(12)
    )
    _, report = read_with_report(write(tmp_path, "t.csv", text))
    assert any("did its unit change" in one.message for one in report.harmful)


@pytest.mark.parametrize("said", ["error", "ERR", "failed", "", "N/A"])
def test_memory_that_is_only_a_share_of_the_machine_names_the_column_without_numbers(tmp_path, said):
    path = tmp_path / "stats.csv"
    lines = [f"{1_700_000_000 + 10 * i},{150 + i}.5%,0.4{i}%,web,{said},12" for i in range(9)]
    path.write_text("\n".join(["time,CPUPerc,MemPerc,name,MemUsage,PIDs", *lines]) + "\n")
    _, report = read_with_report(path)
    assert [one.column for one in report.problems if one.kind == "empty_column"] == ["MemUsage"]
    assert not report.faultless
