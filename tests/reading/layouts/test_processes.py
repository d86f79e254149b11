"""What pidstat and top print about processes."""

import pytest

from core.reading import inspect_file, read_with_report
from core.traces.model import Role
from core.units import GIB, KIB
from tests.reading.layouts.files import of, write

BANNER = "Linux 5.15.0-100-generic (gpu7) \t03/14/2026 \t_x86_64_\t(16 CPU)\n\n"
NAMES = "UID PID %usr %system %guest %wait %CPU CPU"
START = 1_773_446_390


def test_blocks_of_pidstat_are_joined_by_time_and_process(tmp_path):
    text = BANNER
    for i, time in enumerate(("23:59:50", "23:59:55", "00:00:00", "00:00:05")):
        text += f"{time} {NAMES} Command\n"
        text += f"{time} 1000 7 1.0 1.0 0.0 0.0 {150 + i}.50 3 python3 train.py\n"
        text += f"{time} 0 8 1.0 1.0 0.0 0.0 2.00 0 sshd\n\n"
        text += f"{time} UID PID minflt/s majflt/s VSZ RSS %MEM Command\n"
        text += f"{time} 1000 7 9.0 0.0 9000 {2000 + i} 0.4 python3 train.py\n"
        text += f"{time} 0 8 0.0 0.0 90 20 0.0 sshd\n\n"
        text += f"{time} UID PID kB_rd/s kB_wr/s kB_ccwr/s iodelay Command\n"
        text += f"{time} 1000 7 {i}.00 4.00 0.00 0 python3 train.py\n\n"
    text += f"Average: {NAMES} Command\nAverage: 1000 7 1.0 1.0 0.0 0.0 151.0 - python3 train.py\n"
    path = write(tmp_path, "pidstat.txt", text)
    assert inspect_file(path).layout == "processes"
    traces, _ = read_with_report(path)
    assert traces.ids[0] == "python3 train.py/7"
    assert [one - traces.time[0] for one in traces.time[:4]] == [0, 5, 10, 15]
    assert of(traces, Role.CPU, "python3 train.py/7") == pytest.approx([1.505, 1.515, 1.525, 1.535])
    assert of(traces, Role.MEMORY, "python3 train.py/7") == [(2000 + i) * KIB for i in range(4)]
    assert of(traces, Role.BLOCK_IN, "python3 train.py/7") == [i * KIB for i in range(4)]
    assert of(traces, Role.CPU, "sshd/8") == [0.02] * 4


@pytest.mark.parametrize("stamp", ["epoch", "clock"])
def test_pidstat_on_one_line_has_its_time_in_front(tmp_path, stamp):
    text = BANNER + f"# Time {NAMES} VSZ RSS Command\n"
    for i in range(4):
        time = str(START + 5 * i) if stamp == "epoch" else f"09:00:{5 * i:02} AM"
        text += f" {time} 1000 7 1,0 1,0 0,0 0,0 {50 + i},50 3 9000 {2000 + i} python3\n"
    traces, report = read_with_report(write(tmp_path, "pidstat.txt", text))
    assert report.faultless
    assert of(traces, Role.CPU) == pytest.approx([0.505, 0.515, 0.525, 0.535])
    assert of(traces, Role.MEMORY) == [(2000 + i) * KIB for i in range(4)]
    assert traces.period == 5


def test_threads_of_pidstat_are_no_processes(tmp_path):
    text = BANNER
    for i in range(4):
        text += f"09:00:0{i} UID TGID TID %usr %CPU CPU Command\n"
        text += f"09:00:0{i} 0 7 - 1.0 {50 + i}.0 3 python3\n09:00:0{i} 0 - 8 1.0 49.0 3 |__python3\n\n"
    traces, report = read_with_report(write(tmp_path, "threads.txt", text))
    assert report.faultless
    assert traces.ids == ("python3/7",)


def test_a_header_of_pidstat_without_processes_is_none(tmp_path):
    text = BANNER + f"09:00:00 {NAMES} Command\n09:00:00 0 7 1 1 0 0 50.0 3 python3\n"
    text += "PID %usr Command\n" + "".join(f"09:00:0{i} 0 7 1 1 0 0 5{i}.0 3 python3\n" for i in range(1, 4))
    traces, _ = read_with_report(write(tmp_path, "damaged.txt", text))
    assert of(traces, Role.CPU) == pytest.approx([0.5, 0.51, 0.52, 0.53])


def test_two_recordings_of_pidstat_at_one_time_are_marked(tmp_path):
    text = BANNER + f"09:00:00 {NAMES} Command\n"
    text += "".join(f"09:00:0{i // 2} 0 7 1 1 0 0 {50 + i}.0 3 python3\n" for i in range(8))
    _, report = read_with_report(write(tmp_path, "twice.txt", text))
    assert [one.kind for one in report.harmful] == ["duplicate_time"]


def test_sizes_of_top_have_their_own_units_and_its_clock_passes_midnight(tmp_path):
    text = ""
    for time, cpu, size in (
        ("23:59:50", "139,2", 812344),
        ("23:59:55", 262.4, "1.5g"),
        ("0:00:00", 796.0, "2g"),
    ):
        text += f"top - {time} up 10 days, 3:05, 1 user, load average: 8.10, 7.90, 7.20\n"
        text += "Tasks: 312 total\n%Cpu(s):  8.7 us, 1.2 sy\nMiB Mem : 15929.5 total\n\n"
        text += "  PID USER PR NI VIRT RES SHR S %CPU %MEM TIME+ COMMAND\n"
        text += f" 3487 alice 20 0 40.1g {size} 8044 R {cpu} 6.0 74:27.57 python3 train.py\n"
        text += " 3490 alice 20 0 275432 31000 5032 S 3.0 0.2 0:12.34 bash\n\n"
    traces, report = read_with_report(write(tmp_path, "top.txt", text))
    assert report.faultless
    assert traces.ids == ("python3 train.py/3487", "bash/3490")
    assert of(traces, Role.CPU, "python3 train.py/3487") == pytest.approx([1.392, 2.624, 7.96])
    assert of(traces, Role.MEMORY, "python3 train.py/3487") == [812344 * KIB, 1.5 * GIB, 2 * GIB]
    assert list(traces.time[:3] - traces.time[0]) == [0, 5, 10]


def test_a_line_that_top_did_not_end_is_reported(tmp_path):
    text = "".join(
        f"top - 09:00:{i}0 up 1 day\n\n PID RES %CPU COMMAND\n 7 {i}200 5{i}.0 python3\n" for i in range(5)
    )
    _, report = read_with_report(write(tmp_path, "top.txt", text + " 8 12\n"))
    assert [one.kind for one in report.problems] == ["ragged"]


def test_percentages_that_pidstat_divided_are_those_of_their_parts(tmp_path):
    text = BANNER + f"00:00:00 {NAMES} Command\n"
    for i in range(1, 8):
        text += f"00:00:0{i} 1000 7 {140 + i}.00 8.00 0.00 0.0 9.{i}0 3 python3 train.py\n"
        text += f"00:00:0{i} 0 8 0.00 0.00 0.00 0.0 0.00 0 sshd\n"
    traces, _ = read_with_report(write(tmp_path, "pidstat.txt", text))
    assert of(traces, Role.CPU, "python3 train.py/7")[:2] == pytest.approx([1.49, 1.50])
    assert of(traces, Role.CPU, "sshd/8") == [0.0] * 7


@pytest.mark.parametrize(("percent", "sure"), [(160, True), (20, False)])
def test_percentages_of_top_that_may_be_of_all_cores_are_doubted(tmp_path, percent, sure):
    text = "".join(
        f"top - 09:00:{10 + i} up 1 day\n%Cpu(s): 20.{i} us,  0.0 sy,  0.0 ni, 79,{9 - i} id\n\n"
        f"    PID   RES  %CPU COMMAND\n      7  {i}200  {percent}.{i} python3\n      8   100   0.0 sshd\n\n"
        for i in range(8)
    )
    _, report = read_with_report(write(tmp_path, "top.txt", text))
    said = [one.message for one in report.harmful if one.kind == "doubtful"]
    assert said == (
        [] if sure else ["Top prints percentages of one core or of all of them: which are these?"]
    )


def test_threads_of_top_are_doubted(tmp_path):
    text = "".join(
        f"top - 09:00:{10 + i} up 1 day\nThreads: 2 total\n\n    PID   RES  %CPU COMMAND\n"
        f"      7  {i}200  60.{i} python3\n      8  {i}200  50.{i} python3\n\n"
        for i in range(8)
    )
    _, report = read_with_report(write(tmp_path, "top.txt", text))
    assert [one.kind for one in report.harmful] == ["doubtful"]
