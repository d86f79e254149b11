"""How long a step takes of a program that only says at which step it is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.progress import ProgressReader, StepClock


def test_it_is_the_mean_over_the_last_seconds():
    clock = StepClock()
    assert clock.seconds is None
    clock.note(10.0, 0)
    assert clock.seconds is None
    for step in range(1, 41):
        clock.note(10.0 + step * 0.5, step)
    assert clock.seconds == pytest.approx(0.5)
    for step in range(1, 41):
        clock.note(30.0 + step * 1.0, 40 + step)
    assert clock.seconds == pytest.approx(1.0), "what was longer ago is forgotten"


def test_long_steps_are_known_from_the_last_one():
    clock = StepClock()
    for step in range(4):
        clock.note(step * 60.0, step)
        clock.note(step * 60.0 + 30.0, step)
    assert clock.seconds == pytest.approx(60.0)


def test_a_program_that_begins_anew_begins_anew():
    clock = StepClock()
    clock.note(0.0, 5)
    clock.note(1.0, 6)
    clock.note(100.0, 1)
    assert clock.seconds is None
    clock.note(102.0, 2)
    assert clock.seconds == pytest.approx(2.0)


def test_the_reader_of_a_log_knows_it():
    reader = ProgressReader()
    reader.feed((float(at), f"step {at}/50 loss=0.5") for at in range(2, 12))
    assert reader.step_seconds == pytest.approx(1.0)
    assert (reader.position.steps, reader.position.total_steps) == (11, 50)


@given(st.lists(st.tuples(st.floats(0.0, 1e4), st.integers(0, 1000) | st.none()), max_size=60))
def test_whatever_it_is_shown_its_answer_is_above_zero(shown):
    clock = StepClock()
    for time, steps in shown:
        clock.note(time, steps)
        assert clock.seconds is None or clock.seconds > 0
