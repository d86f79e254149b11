"""Forecasts and stays against exact fractions."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import InputError, NotFoundError
from core.sequences import END, Step, dwell_times_after, forecaster
from tests.oracles import slow_sequences as slow
from tests.sequences.making import labels_of, sequences

some = st.lists(labels_of(3, 16), min_size=1, max_size=6)


@given(some, st.data(), st.integers(1, 3), st.integers(1, 3), st.sampled_from([Step.RUN, Step.SAMPLE]))
def test_a_forecast_equals_its_slow_twin(found, data, memory, steps, step):
    made = sequences(found, [0, 1, 2])
    if not made.n_runs:
        return
    after = data.draw(st.lists(st.integers(0, 2), min_size=1, max_size=3))
    if after[-1] not in made.phase:
        return
    outlook = forecaster(made, memory, step, min_count=2).forecast(after, steps)
    executions = [made.runs_of(i) for i in range(made.n_executions)]
    exact = slow.forecast(executions, after, steps, memory, 2, step.value)
    assert {each.phase: each.probability for each in outlook.phases} == pytest.approx(
        {phase: float(chance) for phase, chance in exact.items()}
    )
    assert sum(each.probability for each in outlook.phases) == pytest.approx(1.0)
    if steps == 1:
        assert sum(each.count for each in outlook.phases) == outlook.count


def test_too_few_observations_fall_back_to_a_shorter_memory():
    made = sequences([[0, 1, 2]] * 19 + [[2, 1, 0]] * 21)
    made_from = forecaster(made)
    rare, frequent = made_from.forecast((0, 1)), made_from.forecast((2, 1))
    assert (rare.used, rare.count) == ((1,), 40)
    assert (frequent.used, frequent.count) == ((2, 1), 21)
    assert [(each.phase, each.probability) for each in frequent.phases] == [(0, 1.0)]
    assert [each.probability for each in rare.phases] == [21 / 40, 19 / 40]


def test_far_ahead_all_have_ended():
    outlook = forecaster(sequences([[0, 1, 0], [0]])).forecast((0,), 200)
    assert outlook.phases[0].phase == END
    assert outlook.phases[0].probability == pytest.approx(1.0)


def test_what_cannot_be_forecast_is_said(refuses):
    made_from = forecaster(sequences([[0, 1]], phases=[0, 1, 2]))
    with refuses(NotFoundError):
        made_from.forecast((2,))
    for after, steps in (((), 1), ((0,), 0)):
        with refuses(InputError):
            made_from.forecast(after, steps)
    with refuses(InputError):
        forecaster(sequences([[0]]), step=Step.WINDOW)


@given(some, st.integers(0, 2), st.floats(0, 100), st.floats(0, 60), st.booleans())
def test_leaving_equals_its_slow_twin(found, phase, seconds, stayed, ends_leave):
    made = sequences(found, [0, 1, 2])
    stays = dwell_times_after(made, (phase,), ends_leave=ends_leave)
    durations, left = [], []
    for i in range(made.n_executions):
        runs = made.runs_of(i)
        for place, (each, _, lasted) in enumerate(runs):
            if each == phase:
                durations.append(lasted)
                left.append(ends_leave or place < len(runs) - 1)
    assert stays.n_runs == len(durations)
    chance = stays.leave_within(seconds, stayed)
    if not durations or stayed >= max(durations):
        assert math.isnan(chance)
    else:
        assert chance == pytest.approx(float(slow.leave_within(durations, left, seconds, stayed)))
    if ends_leave and durations:
        assert stays.leave_within(seconds) == pytest.approx(
            sum(lasted <= seconds for lasted in durations) / len(durations)
        )
        assert stays.share_ended_by[-1] == pytest.approx(1.0)


def test_stays_after_other_phases():
    made = sequences([[0, 1, 1, 0, 0], [2, 1]])
    assert dwell_times_after(made, (0, 1)).seconds.tolist() == [20.0]
    assert dwell_times_after(made, (1,)).median == 15.0
    assert dwell_times_after(made, (1,)).mean == 15.0
    assert math.isnan(dwell_times_after(made, (1, 2)).median)
    assert math.isnan(dwell_times_after(made, (1, 2)).mean)
