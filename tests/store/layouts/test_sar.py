"""What sar and sadf write, read as trace sets."""

import numpy as np
import pytest

from core.store import inspect_file, read_traces, read_with_report
from core.traces.model import Role
from core.units import KIB
from tests.store.layouts.files import of, write


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
