"""What the benchmark of the training programs makes of what it saw."""

from itertools import product

import pytest

from benchmarks.jobs.container import Step, read_steps
from benchmarks.jobs.resizes import ARMS, CORES, Stage, shrinking
from benchmarks.jobs.resizes import table as table_of_resizes
from benchmarks.jobs.saving import STAGES, Saving, by_progress
from benchmarks.jobs.saving import table as table_of_saving

SECONDS = {"static": 0.4, "one": 0.2, "following": 0.1}


def stages():
    """Three repeats; in the last of them everything takes ten times as long."""
    return [
        Stage("NumPy", arm, place, SECONDS[arm] * slow / cores, min(cores, 1.5), 2)
        for slow, arm, (place, cores) in product((1, 1, 10), ARMS, enumerate(CORES))
    ]


def test_stages_are_medians_over_repeats(sentence):
    lines = table_of_resizes(stages()).splitlines()
    sentence(lines[0])
    assert lines[2].startswith("| NumPy | static | 200.0 ms, 1.50 | 400.0 ms, 1.00 | 800.0 ms, 0.50 |")
    assert len(lines) == 2 + len(ARMS)


def test_following_is_compared_with_one_thread_where_cores_are_fewest():
    assert shrinking(stages()) == pytest.approx({"NumPy": 0.5})


def test_saving_is_told_by_program_and_by_progress(sentence):
    found = [Saving("vae", share, 2.0 + share, 0.25 * share) for share in (0.3, 0.5, 0.7)]
    found += [Saving("mlp", share, 1.0, 0.5) for share in STAGES]
    lines = table_of_saving(found).splitlines()
    sentence(*lines[2:])
    sentence(by_progress(found))


def test_a_step_that_is_half_written_is_not_read(tmp_path):
    path = tmp_path / "readings.csv"
    assert read_steps(path) == []
    path.write_text("1700000000.125,1,0.5\n1700000001.5,2,0.25\n17000000")
    assert read_steps(path) == [Step(1, 1700000000.125, "0.5"), Step(2, 1700000001.5, "0.25")]
