"""What sar and sadf write, read as trace sets."""

import numpy as np
import pytest

from core.reading import inspect_file, read_traces, read_with_report
from core.traces.model import Role
from core.units import KIB
from tests.reading.layouts.files import of, write


def roles(inspection):
    return {one.column: (one.role, one.unit_key) for one in inspection.mapping.features}


def printed(host, cpus, busy=50):
    processors = f"\t_x86_64_\t({cpus} CPU)" if cpus else ""
    head = f"Linux 6.1.0 ({host}) \t2026-01-31 {processors}\n\n12:00:00     CPU     %user     %idle\n"
    return head + "".join(f"12:00:0{i}     all     {busy}.00     {100 - busy}.00\n" for i in range(1, 8))


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
    assert roles(inspection)["busy_cores"] == (Role.CPU, "cores")
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


@pytest.mark.parametrize(
    ("date", "clock", "day", "sure"),
    [
        ("04.01.2020", "12:00:10", 1578096000, True),
        ("01/04/2020", "12:00:10", 1578096000, False),
        ("01/04/2020", "12:00:10 PM", 1578096000, False),
        ("13/01/2020", "12:00:10", 1578873600, True),
        ("2020-01-04", "12:00:10", 1578096000, True),
    ],
)
def test_a_date_of_two_meanings_is_no_sure_one(tmp_path, date, clock, day, sure):
    head = clock.replace("12:00:10", "12:00:00")
    rows = [f"{clock.replace('12:00:10', f'12:00:{n}0')}     all     5.00     90.00" for n in range(1, 6)]
    text = f"Linux 6.1 (node1) \t{date} \t_x86_64_\t(4 CPU)\n\n{head}     CPU     %user     %idle\n"
    traces, report = read_with_report(write(tmp_path, "sar.txt", text + "\n".join(rows) + "\n"))
    assert traces.time[0] == day + 43_210
    assert (report.count("assumed_date") == 0) is sure
    assert report.faultless is sure


def test_each_machine_has_its_own_processors(tmp_path):
    path = write(tmp_path, "both.txt", printed("n1", 4) + "\n" + printed("n2", 64))
    traces, report = read_with_report(path)
    assert of(traces, Role.CPU, "n1") == [2.0] * 7
    assert of(traces, Role.CPU, "n2") == [32.0] * 7
    assert report.faultless
    folder = tmp_path / "several"
    folder.mkdir()
    write(folder, "a.txt", printed("n1", 4))
    write(folder, "b.txt", printed("n2", 64))
    traces, report = read_with_report(folder)
    assert of(traces, Role.CPU, "n1") == [2.0] * 7
    assert of(traces, Role.CPU, "n2") == [32.0] * 7
    assert report.faultless


def test_a_machine_of_unknown_size_keeps_its_share(tmp_path):
    path = write(tmp_path, "both.txt", printed("n1", 4) + "\n" + printed("n2", 0))
    assert roles(inspect_file(path))["busy"] == (Role.CPU, "percent_of_machine")
    traces = read_traces(path)
    assert of(traces, Role.CPU) == [0.5] * 14


def test_two_rows_of_one_time_are_told(tmp_path):
    """Two recordings in one file, as ``cat`` makes them, and not in silence one of them."""
    text = "# hostname;interval;timestamp;CPU;%user;%nice;%system;%iowait;%steal;%idle\n" + "".join(
        f"n1;1;{1769860800 + i};-1;{busy};0;0;0;0;{100 - busy}\n" for i in range(8) for busy in (10, 60)
    )
    traces, report = read_with_report(write(tmp_path, "sar.txt", text))
    assert traces.n_samples == 8
    assert report.rows_read == 16
    assert report.count("duplicate_time") == 8
    assert not report.faultless
    # the same block printed again says nothing else
    again = "\n".join([*text.splitlines()[:1], *text.splitlines()[1::2]]) + "\n"
    _, report = read_with_report(write(tmp_path, "same.txt", again * 2))
    assert report.faultless
    _, report = read_with_report(write(tmp_path, "sar.txt", printed("n1", 4) + printed("n1", 4, busy=70)))
    assert report.count("duplicate_time") == 7


def test_blocks_that_take_turns_go_on_after_midnight(tmp_path):
    """``sar -u -r 5`` prints both headers again at every sample."""
    text = "Linux 6.1.0 (n1) \t2026-01-31 \t_x86_64_\t(4 CPU)\n"
    clock = ["23:59:50", "23:59:55", "00:00:00", "00:00:05", "00:00:10"]
    for i in range(1, 5):
        text += (
            f"\n{clock[i - 1]}     CPU     %user     %idle\n{clock[i]}     all     {i}.00     {100 - i}.00\n"
        )
        text += f"\n{clock[i - 1]}    kbmemfree kbmemused\n{clock[i]}    1000    {300000 + i}\n"
    traces, report = read_with_report(write(tmp_path, "sar.txt", text))
    assert np.diff(traces.time).tolist() == [5] * 3
    assert traces.time[0] == 1769903995
    assert of(traces, Role.CPU) == pytest.approx([0.04, 0.08, 0.12, 0.16])
    assert of(traces, Role.MEMORY) == [(300000 + i) * KIB for i in range(1, 5)]
    assert report.faultless


def test_thousands_of_digits_are_no_number_of_processors(tmp_path):
    text = f"Linux 6.1 (h) \t01/13/2024 \t_x86_64_\t({'9' * 5_001} CPU)\n\n00:00:00  CPU  %user  %idle\n"
    text += "".join(f"00:0{i}:00  all  5.00  {90 - i}.00\n" for i in range(5))
    path = write(tmp_path, "sar.txt", text)
    assert [one.column for one in inspect_file(path).mapping.features] == ["busy"]
