"""Resampling equals its slow twin, and leaves alone what is regular."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import InputError
from core.reading.cleaning.resample import infer_period, median_steps, resample, usual_steps
from core.traces.model import Resampling
from tests.oracles import slow_traces

STEPS = st.sampled_from([0.5, 1.0, 2.0, 4.0, 4.5, 5.0, 5.5, 6.0, 7.0, 10.0, 13.0, 15.0, 15.5, 40.0])
MOSTLY_STEADY = st.sampled_from([5.0] * 9 + [4.5, 5.5, 7.0, 9.5, 14.0, 40.0])
WHOLE = st.sampled_from([4.0, 5.0, 5.0, 5.0, 6.0, 7.0, 11.0])


@st.composite
def executions(draw):
    found = []
    for _ in range(draw(st.integers(1, 5))):
        steps = draw(st.lists(draw(st.sampled_from([STEPS, MOSTLY_STEADY, WHOLE])), max_size=14))
        start = draw(st.integers(0, 1000))
        times = np.cumsum([start, *steps]).tolist()
        values = draw(st.lists(st.integers(-9, 9), min_size=len(times), max_size=len(times)))
        found.append((times, [float(value) for value in values]))
    return found


def flat(parts):
    time = np.concatenate([np.array(times) for times, _ in parts])
    values = np.concatenate([np.array(values) for _, values in parts])
    return time, values, np.cumsum([0, *(len(times) for times, _ in parts)])


@given(
    executions(), st.sampled_from(Resampling), st.sampled_from([1.0, 5.0, 6.0]), st.sampled_from([1, 2.5, 3])
)
def test_it_equals_the_slow_twin(parts, rule, period, max_gap):
    time, values, offsets = flat(parts)
    done = resample(time, (values,), offsets, period, rule, max_gap)
    times, wanted, bounds, breaks = slow_traces.resample(parts, period, rule, max_gap)
    np.testing.assert_allclose(done.time, times)
    np.testing.assert_allclose(done.columns[0], wanted)
    np.testing.assert_array_equal(done.offsets, bounds)
    np.testing.assert_array_equal(done.breaks, breaks)


@given(executions())
def test_median_steps_equal_the_slow_twin(parts):
    time, _, offsets = flat(parts)
    wanted = [slow_traces.median_step(times) for times, _ in parts]
    np.testing.assert_allclose(median_steps(time, offsets), wanted)


@given(st.lists(st.integers(1, 5), min_size=1, max_size=4), st.sampled_from([0.5, 2.0, 10.0]))
def test_where_all_steps_are_one_it_is_the_usual_one(lengths, step):
    time = np.concatenate([100.0 * i + step * np.arange(n) for i, n in enumerate(lengths)])
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    wanted = [step if n > 1 else np.nan for n in lengths]
    np.testing.assert_array_equal(usual_steps(time, offsets), wanted)
    np.testing.assert_array_equal(median_steps(time, offsets), wanted)


@given(executions(), st.sampled_from([Resampling.HOLD, Resampling.MEAN]))
def test_once_is_enough(parts, rule):
    time, values, offsets = flat(parts)
    once = resample(time, (values,), offsets, 5.0, rule)
    # each stretch alone: the grid's last point may come closer to the next stretch than a gap is
    stretches = np.union1d(once.offsets, once.breaks)
    again = resample(once.time, once.columns, stretches, 5.0, rule)
    assert again.changed == 0
    assert again.columns[0] is once.columns[0]


def test_a_regular_set_is_not_even_copied():
    time, values = np.arange(0.0, 100, 10), np.arange(10.0)
    done = resample(time, (values,), np.array([0, 4, 10]), 10.0, Resampling.HOLD)
    assert done.time is time
    assert done.columns[0] is values
    assert done.changed == 0


def test_jitter_is_regular_and_stays_as_it_is():
    time = np.array([0, 4.1, 10.2, 14.9, 20.0])
    done = resample(time, (time,), np.array([0, 5]), 5.0, Resampling.HOLD)
    assert done.time is time


def loop(period, samples, whole=True, late=()):
    """The stamps of a loop that takes `period` seconds a round; rounds in `late` take half as long again."""
    rounds = np.full(samples - 1, period)
    rounds[list(late)] *= 1.5
    times = 100.3 + np.concatenate([[0.0], np.cumsum(rounds)])
    return np.floor(times) if whole else times


@pytest.mark.parametrize("period", [1.6, 2.4, 2.7, 3.05, 3.3, 4.5, 7.2])
def test_a_loop_whose_stamps_were_cut_to_whole_seconds_keeps_every_sample(period):
    time = loop(period, 300)
    bounds = np.array([0, 300])
    usual = infer_period(usual_steps(time, bounds))
    assert usual == pytest.approx(period, rel=0.01)
    done = resample(time, (np.arange(300.0),), bounds, usual, Resampling.HOLD)
    assert done.time is time
    assert (done.changed, done.skipped, done.filled) == (0, 0, 0)


@pytest.mark.parametrize("whole", [True, False])
def test_a_late_round_moves_no_other_sample(whole):
    time = loop(4.1, 60, whole, late=[10, 30])
    done = resample(time, (np.arange(60.0),), np.array([0, 60]), 4.1, Resampling.HOLD)
    places = np.searchsorted(done.time, time)
    np.testing.assert_array_equal(done.time[places], time)
    np.testing.assert_array_equal(done.columns[0][places], np.arange(60.0))
    assert (done.skipped, done.filled) == (0, len(done.time) - 60)
    assert done.filled <= 2


def test_a_lost_sample_is_held_once_and_counted():
    time = np.delete(loop(3.05, 100), [20, 50, 51])
    done = resample(time, (time,), np.array([0, 97]), 3.05, Resampling.HOLD)
    assert (len(done.time), done.skipped, done.filled) == (100, 0, 3)
    assert np.isin(time, done.time).all()


def test_what_a_grid_repeats_is_counted():
    time = np.array([0, 9.0, 11, 20, 29, 40])
    done = resample(time, (np.arange(6.0),), np.array([0, 6]), 8.0, Resampling.HOLD)
    assert done.time.tolist() == [0, 8, 16, 24, 32, 40]
    assert done.columns[0].tolist() == [0, 0, 2, 3, 4, 5]
    assert (done.skipped, done.filled) == (1, 1)


def test_the_sample_after_the_last_grid_point_is_not_lost():
    time, values = np.array([0.0, 10, 17]), np.array([1.0, 2, 3])
    done = resample(time, (values,), np.array([0, 3]), 10.0, Resampling.HOLD)
    assert done.time.tolist() == [0, 10, 20]
    assert done.columns[0].tolist() == [1, 2, 3]


def test_a_period_that_fills_the_memory_is_refused(refuses):
    time = np.array([0.0, 3e9, 3.1e9])
    with refuses(InputError):
        resample(time, (time,), np.array([0, 3]), 1e-6, Resampling.HOLD, 1e300)


@pytest.mark.parametrize(
    ("medians", "period"),
    [
        ([5.0], 5),
        ([1.0] * 304 + [5.0] * 196, 5),
        ([10.0] * 99 + [600.0], 10),
        ([np.nan, 3.0], 3),
        ([np.nan], 1),
    ],
)
def test_the_period_is_that_of_the_usual_slow_execution(medians, period):
    assert infer_period(np.array(medians)) == period


def test_without_samples_there_is_nothing_to_do():
    empty = np.empty(0)
    assert len(resample(empty, (empty,), np.array([0]), 1.0, Resampling.HOLD).time) == 0
