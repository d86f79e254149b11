"""Which processors a process uses: those that others use least, exchanged where others crowd them."""

import os
import threading
import time
from pathlib import Path

import pytest

from core.jobs.threads import (
    CHECK_INTERVAL,
    ProcessorLimit,
    ProcessorUsage,
    allowed_now,
    exchange_crowded_processor,
    least_used_processors,
    parse_busy_ticks,
)

ALL = os.sched_getaffinity(0)
needs_two = pytest.mark.skipif(len(ALL) < 2, reason="needs two processors")


@pytest.fixture(autouse=True)
def _all_again():
    yield
    for task in Path("/proc/self/task").iterdir():
        os.sched_setaffinity(int(task.name), ALL)


def test_the_least_used_are_chosen_and_never_none():
    used = {0: 0.9, 1: 0.1, 2: 0.5, 3: 0.1}
    assert least_used_processors(2, range(4), used) == {1, 3}
    assert least_used_processors(3, range(4), used) == {1, 2, 3}
    assert least_used_processors(0, range(4), used) == {1}
    assert least_used_processors(1, [5, 0], used) == {5}, "of which nothing is known counts as idle"


def test_a_crowded_processor_is_left_for_one_that_is_clearly_less_used():
    assert exchange_crowded_processor({0}, range(3), {0: 0.9, 1: 0.5, 2: 0.1}) == {2}
    assert exchange_crowded_processor({0, 1}, range(3), {0: 0.2, 1: 0.9, 2: 0.1}) == {0, 2}
    assert exchange_crowded_processor({0}, range(2), {0: 0.5, 1: 0.4}) == {0}
    assert exchange_crowded_processor({0, 1}, range(2), {0: 1.0}) == {0, 1}, "there is no other"


STAT = """cpu  100 0 50 1000 5 0 1 0 0 0
cpu0 40 1 25 500 3 0 1 2 7 0
cpu11 60 0 25 500 2 0 0 0 0 0
intr 12345
cpufreq is no processor
"""


def test_busy_ticks_leave_idle_and_waiting_out():
    assert parse_busy_ticks(STAT) == {0: 40 + 1 + 25 + 1 + 2, 11: 85}
    assert parse_busy_ticks("") == {}


@needs_two
def test_a_limit_holds_for_threads_of_before_and_after():
    over = threading.Event()
    threads = [threading.Thread(target=over.wait) for _ in range(3)]
    threads[0].start()
    limit = ProcessorLimit()
    limit.limit(1)
    threads[1].start()
    assert len(allowed_now()) == 1
    limit.limit(2)
    threads[2].start()
    assert len(allowed_now()) == 2
    limit.limit(1000)
    assert allowed_now() == ALL
    over.set()
    for one in threads:
        one.join()


def test_what_others_use_is_what_is_left_of_a_processors_use():
    before = ProcessorUsage(at=10.0, process_seconds=5.0, busy={0: 1000, 1: 0, 2: 0})
    after = ProcessorUsage(at=12.0, process_seconds=7.0, busy={0: 1180, 1: 100, 2: 50})
    assert after.used_by_others_since(before, {0, 1}) == pytest.approx({0: 0.4, 1: 0.0, 2: 0.25})


@needs_two
def test_it_leaves_a_processor_that_another_process_uses():
    seconds, busy, chances = 0.0, dict.fromkeys(ALL, 0), [0.9, 0.1]
    limit = ProcessorLimit(
        chance=lambda: chances.pop(0), read_usage=lambda: ProcessorUsage(seconds, 0.0, dict(busy))
    )
    limit.limit(1)
    (mine,) = allowed_now()
    for expected in (mine, min(ALL - {mine})):
        seconds += CHECK_INTERVAL
        busy[mine] += round(100 * CHECK_INTERVAL)
        limit.move_if_crowded()
        assert allowed_now() == {expected}, "it may stay once, so that two do not both leave"
    limit.move_if_crowded()
    assert not chances, "too soon after the last look"


def test_the_counters_of_this_machine_grow_with_its_work():
    before = ProcessorUsage.now()
    assert set(before.busy) >= ALL
    while time.process_time() < before.process_seconds + 0.3:
        pass
    after = ProcessorUsage.now()
    assert after.at > before.at
    assert sum(after.busy.values()) - sum(before.busy.values()) >= 25


def test_without_a_limit_nothing_is_changed():
    limit = ProcessorLimit(chance=lambda: 0.0)
    time.sleep(CHECK_INTERVAL + 0.1)
    limit.move_if_crowded()
    assert allowed_now() == ALL
