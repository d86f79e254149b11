"""What stands around a tool's output: commands above it, headers again, several hosts, lists on lines."""

from dataclasses import replace

import pytest

from core.errors import InputError
from core.reading import inspect_file, read_with_report
from core.reading.formats.register import FORMATS
from core.reading.mapping import INTERVAL
from core.traces.model import Role
from tests.reading.format_examples import EXAMPLES

ABOVE = {
    "a command": "$ sudo tool --with options 5 > out.txt\n",
    "two sentences": "Script started on 2026-01-31 12:00:00+00:00\nmeasuring the training run\n",
    "a comment": "# recorded by me, 3 runs\n",
    "blank lines": "\n\n",
}
PIDSTAT = (
    "Linux 6.1 ({host}) \t01/13/2024 \t_x86_64_\t(4 CPU)\n\n00:00:00  UID  PID  %CPU  CPU  Command\n"
    + "".join(f"00:0{i}:00  0  7  5{i}.00  1  python\n" for i in range(5))
)


def read(folder, name, text):
    path = folder / name
    path.write_text(text)
    mapping = inspect_file(path).mapping
    if mapping.unknown == (INTERVAL,):
        mapping = replace(mapping, period=1.0)
    traces, report = read_with_report(path, mapping)
    return traces, report


@pytest.mark.parametrize("above", ABOVE)
@pytest.mark.parametrize("name", [one.name for one in FORMATS.values() if one.is_of_tool])
def test_text_above_the_output_of_a_tool_changes_nothing(tmp_path, name, above):
    example, suffix = EXAMPLES[name], FORMATS[name].suffixes[0]
    plain, _ = read(tmp_path, f"a{suffix}", example)
    below, report = read(tmp_path, f"b{suffix}", ABOVE[above] + example)
    assert below.features == plain.features
    assert [one.tolist() for one in below.columns] == [one.tolist() for one in plain.columns]
    assert below.time.tolist() == plain.time.tolist()
    # a tool whose beginning is looked for further down reports the lines as rows
    assert report.count("preamble") + report.count("ragged") <= ABOVE[above].count("\n")


def test_a_row_of_a_table_is_not_taken_for_text_above_a_tool(tmp_path):
    rows = "".join(f"2026/01/31 12:00:0{i}.000, 9{i} %, 1000 MiB, 250.6 W, x\n" for i in range(6))
    path = tmp_path / "t.csv"
    path.write_text("when, util, mem, power, note\n" + rows)
    assert inspect_file(path).layout == "generic"


def test_processes_of_two_hosts_are_told_apart(tmp_path):
    traces, report = read(tmp_path, "p.txt", PIDSTAT.format(host="a") + PIDSTAT.format(host="b"))
    assert traces.ids == ("a/python/7", "b/python/7")
    assert report.faultless


def test_a_host_that_comes_late_is_refused(tmp_path, refuses):
    long = "".join(
        f"{i // 3600:02}:{i // 60 % 60:02}:{i % 60:02}  0  7  5.00  1  python\n" for i in range(5_000)
    )
    path = tmp_path / "p.txt"
    path.write_text(PIDSTAT.format(host="a") + long + PIDSTAT.format(host="b"))
    with refuses(InputError):
        read_with_report(path)


def test_samples_may_be_a_list_on_each_line(tmp_path):
    line = '[{{"pod": "a", "t": {0}, "cpu_cores": 0.5}}, {{"pod": "b", "t": {0}, "cpu_cores": 0.7}}]\n'
    traces, _ = read(tmp_path, "x.jsonl", "".join(line.format(10 * i) for i in range(6)))
    assert traces.ids == ("a", "b")
    assert traces.n_samples == 12


def test_the_header_again_is_no_series_of_a_long_table(tmp_path):
    header = "timestamp,__name__,container,value\n"
    rows = [f"{10 * i},container_memory_usage_bytes,a,{10**7 + i}\n" for i in range(12)]
    traces, report = read(tmp_path, "l.csv", header + "".join(rows[:6]) + header + "".join(rows[6:]))
    assert [feature.role for feature in traces.features] == [Role.MEMORY]
    assert traces.n_samples == 12
    assert report.count("repeated_header") == 1


def test_a_damaged_object_does_not_end_a_file_of_objects(tmp_path):
    example = EXAMPLES["docker_api"].splitlines(keepends=True)
    traces, report = read(
        tmp_path, "d.jsonl", "".join([*example[:3], '{"name": "/a", "read":\n', *example[3:]])
    )
    assert traces.n_samples == 6
    assert report.count("ragged") == 1


def test_gpus_that_are_not_named_take_turns_within_a_sample(tmp_path):
    header = "timestamp, utilization.gpu [%], memory.used [MiB]\n"
    rows = (
        f"2026/03/07 00:20:{i:02}.0{7 + gpu}1, {90 - 10 * gpu} %, {1000 * gpu + i} MiB\n"
        for i in range(12)
        for gpu in (0, 1)
    )
    traces, report = read(tmp_path, "g.csv", header + "".join(rows))
    assert set(traces.column("gpu 0 utilization")) == {0.9}
    assert set(traces.column("gpu 1 utilization")) == {0.8}
    assert traces.period == 1.0
    assert report.faultless
