"""How short a machine is of CPU and memory."""

import pytest

from core.engines.docker_host.pressure import (
    PressureReader,
    parse_cpu_times,
    parse_pressure,
    pressure_between,
)

PSI = "some avg10={} avg60=53.05 avg300=26.74 total=24790604282\nfull avg10=0.00 avg60=0.00 total=0\n"
STAT = "cpu  {} 0 0 {} 0 0 0 {} 0 0\ncpu0 1 0 0 1 0 0 0 0 0 0\ncpu1 1 0 0 1 0 0 0 0 0 0\nprocs_running {}\n"


def kernel(folder, cpu=None, memory=None, stat=""):
    (folder / "pressure").mkdir(exist_ok=True)
    for name, text in (("cpu", cpu), ("memory", memory)):
        if text is not None:
            (folder / "pressure" / name).write_text(text)
    (folder / "stat").write_text(stat)
    return folder


def test_pressure_is_the_larger_share_of_the_last_ten_seconds(tmp_path):
    assert PressureReader(kernel(tmp_path, PSI.format("54.93"), PSI.format("0.00")))() == pytest.approx(
        0.5493
    )
    assert PressureReader(kernel(tmp_path, PSI.format("1.00"), PSI.format("30.50")))() == pytest.approx(0.305)
    assert parse_pressure("") is None
    assert parse_pressure("some avg10=nan") is None


@pytest.mark.parametrize(
    ("idle", "stolen", "tasks", "share"),
    [
        (100, 0, 8, 0.0),  # a processor was free
        (0, 0, 2, 0.0),
        (0, 0, 8, 0.75),  # six of eight tasks wait for two processors
        (50, 50, 1, 0.5),
    ],
)
def test_without_pressure_information_stolen_time_and_waiting_tasks_say_it(idle, stolen, tasks, share):
    before = parse_cpu_times(STAT.format(1000, 1000, 0, 1))
    now = parse_cpu_times(STAT.format(1100 - idle - stolen, 1000 + idle, stolen, tasks))
    assert pressure_between(before, now) == pytest.approx(share)
    assert pressure_between(now, now) is None


def test_the_first_look_and_an_unreadable_kernel_say_nothing(tmp_path):
    reader = PressureReader(kernel(tmp_path, stat=STAT.format(1000, 1000, 0, 1)))
    assert reader() is None
    kernel(tmp_path, stat=STAT.format(1100, 1000, 0, 4))
    assert reader() == pytest.approx(0.5)
    assert PressureReader(tmp_path / "none")() is None
