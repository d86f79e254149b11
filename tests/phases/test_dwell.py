"""The minimum dwell time: what is merged into what, what never is, and what the data suggest."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.phases import dwell, phase_runs
from core.phases.dwell import suggested_minimum_dwell, with_minimum_dwell
from tests.oracles.slow_dwell import merged
from tests.phases.making import trace_set


def labelled(*executions, breaks=(), period=10.0):
    traces = trace_set([np.ones((len(labels), 2)) for labels in executions], breaks=breaks, period=period)
    return traces, np.array([label for labels in executions for label in labels], np.int16)


def after(minimum, *executions, breaks=()):
    traces, labels = labelled(*executions, breaks=breaks)
    return with_minimum_dwell(traces, labels, minimum).tolist()


def test_a_short_segment_joins_the_longer_neighbour_and_what_it_parted_becomes_one():
    assert after(30, [0] * 4 + [1] + [0] * 3) == [0] * 8
    assert after(30, [0] * 3 + [1] + [2] * 5) == [0] * 3 + [2] * 6
    assert after(30, [0] * 3 + [1] + [2] * 3) == [0] * 4 + [2] * 3  # of equal neighbours the one before
    assert after(20, [0, 1, 0, 1, 1, 1]) == [1] * 6  # the first has one neighbour only


def test_a_stretch_that_is_too_short_as_a_whole_becomes_one_segment():
    assert after(1000, [0, 1, 1, 2]) == [1] * 4
    assert after(1000, [3] * 4) == [3] * 4


def test_nothing_crosses_a_gap_an_execution_or_a_warm_up_which_stays():
    assert after(30, [0] * 5 + [1], [1] * 5) == [0] * 6 + [1] * 5
    assert after(30, [0] * 5 + [1] + [0] * 5, breaks=[5, 6]) == [0] * 5 + [1] + [0] * 5
    assert after(30, [-1, 1] + [0] * 4 + [-1] + [2] * 3) == [-1] + [0] * 5 + [-1] + [2] * 3


def test_no_minimum_changes_nothing():
    assert after(0, [0, 1, 0, 2]) == [0, 1, 0, 2]


phases = st.lists(st.integers(-1, 3), min_size=1, max_size=40)


@given(st.lists(phases, min_size=1, max_size=3), st.sets(st.integers(1, 60), max_size=4), st.integers(1, 8))
def test_it_is_the_slow_twin_and_twice_is_once(executions, gaps, periods):
    n = sum(len(labels) for labels in executions)
    traces, labels = labelled(*executions, breaks=sorted(gap for gap in gaps if gap < n))
    minimum, once = periods * 10.0, with_minimum_dwell(traces, labels, periods * 10.0)
    assert with_minimum_dwell(traces, once, minimum).tolist() == once.tolist()
    assert (once[labels == -1] == -1).all()
    assert (labels[once == -1] == -1).all()
    for low, high in itertools.pairwise(traces.segments().tolist()):
        for warm, part in itertools.groupby(range(low, high), key=lambda at: labels[at] == -1):
            if warm:
                continue
            stretch = list(part)
            segments = [
                (phase, 10.0 * len(list(same))) for phase, same in itertools.groupby(labels[stretch].tolist())
            ]
            found = [
                (phase, 10.0 * len(list(same))) for phase, same in itertools.groupby(once[stretch].tolist())
            ]
            assert found == merged(segments, minimum)
            assert len(found) == 1 or min(seconds for _, seconds in found) >= minimum


def test_many_segments_are_merged_by_a_compiled_loop_with_the_same_result(monkeypatch):
    rng = np.random.default_rng(5)
    traces, labels = labelled(rng.integers(-1, 4, 3_000).tolist(), rng.integers(0, 3, 500).tolist())
    plain = with_minimum_dwell(traces, labels, 45.0)
    monkeypatch.setattr(dwell, "WORTH_COMPILING", 0)
    assert with_minimum_dwell(traces, labels, 45.0).tolist() == plain.tolist()


def test_segments_that_flicker_suggest_a_minimum_and_no_phase_is_lost_by_it():
    labels = ([0] * 20 + [1] + [0] * 20 + [2]) * 3 + [1] * 40 + [2] * 40
    traces, marked = labelled(labels)
    runs = phase_runs(traces, marked)
    minimum = suggested_minimum_dwell(runs, traces.period)
    kept = with_minimum_dwell(traces, marked, minimum)
    assert 20.0 <= minimum <= 200.0
    assert len(phase_runs(traces, kept).start) == 3
    for phase in range(3):
        assert (kept == phase).sum() >= 0.85 * (marked == phase).sum()


def test_a_phase_that_loses_a_fifth_of_its_time_to_another_still_flickers():
    traces, marked = labelled(([0] * 30 + [2, 1] * 5 + [2] * 20 + [1] * 30) * 3)
    minimum = suggested_minimum_dwell(phase_runs(traces, marked), traces.period)
    kept = with_minimum_dwell(traces, marked, minimum)
    assert phase_runs(traces, kept).phase.tolist() == [0, 2, 1] * 3


@pytest.mark.parametrize(
    "labels",
    [
        [0] * 20 + [1] * 20,  # nothing is shorter than most
        ([0] * 20 + [1]) * 8,  # a phase that is brief by nature does not flicker
        [-1] * 9,
    ],
)
def test_segments_that_do_not_flicker_suggest_none(labels):
    traces, marked = labelled(labels)
    assert suggested_minimum_dwell(phase_runs(traces, marked), traces.period) == 0.0


def test_phases_of_one_length_are_kept_when_single_samples_flicker_between_them():
    labels = [-1] * 3 + [0] * 42 + ([1] + [2] * 44 + [1] * 45 + [0] * 45) * 2 + [1] + [2] * 44
    traces, marked = labelled(labels)
    # stamps of a real recorder are some milliseconds late
    late = replace(traces, time=traces.time * 1.0003, period=10.003)
    minimum = suggested_minimum_dwell(phase_runs(late, marked), late.period)
    assert minimum == pytest.approx(20.0, abs=0.1)
    kept = with_minimum_dwell(late, marked, minimum)
    assert phase_runs(late, kept).phase.tolist() == [-1, 0, 2, 1, 0, 2, 1, 0, 2]
    assert (kept[3:45] == 0).all()
