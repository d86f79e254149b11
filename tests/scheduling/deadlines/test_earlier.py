"""What runs of one kind teach the next one: times per step by cores, startup, steps, and how wrong it was."""

import json
import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.scheduling.deadline_planning.run_history import KindHistory, Pace, RunMeasurement
from core.scheduling.deadline_planning.speed import predict_speed, ratio_spread
from core.scheduling.model import Job, JobState

STARTUP = 4.0


def run(seconds, cores, earlier=None, steps=200, look=1.0, begin=100.0):
    """The course of a run whose steps take so long on these cores, each of them for an equal part of it."""
    course = RunMeasurement(None if earlier is None else earlier.profile(steps))
    now, done = begin, 0.0
    while done < steps:
        at = cores[min(int(done / steps * len(cores)), len(cores) - 1)]
        course = course.with_sample(observed(int(done), seconds(at), at, begin, steps), now, 8.0)
        now += look
        done += look / seconds(at) if now - begin > STARTUP else 0.0
    return course


def observed(done, seconds, limit, begin=100.0, steps=200, state=JobState.RUNNING):
    says = seconds if done else None
    return Job("j", state, "w", begin, begin, limit=limit, steps=done, total_steps=steps, step_seconds=says)


def test_a_run_shows_how_fast_a_step_is_with_every_number_of_cores_that_it_had():
    found = KindHistory().with_run(run(lambda cores: 0.05 + 0.4 / cores, (1.0, 2.0, 4.0)))
    assert dict(found.points) == pytest.approx({1.0: 0.45, 2.0: 0.25, 4.0: 0.15})
    assert (found.steps, found.runs, found.has_curve) == (200, 1, True)
    assert found.startup == pytest.approx(STARTUP, abs=1.0)
    profile = found.profile()
    assert (profile.curve, profile.steps, profile.spread) == (True, 200, None)
    assert predict_speed(profile).seconds(3.0) == pytest.approx(0.05 + 0.4 / 3, rel=1e-6)


def test_a_curve_is_believed_up_to_twice_the_cores_that_were_tried():
    one = KindHistory().with_run(run(lambda cores: 0.3 / cores, (2.0,)))
    assert not one.has_curve
    assert predict_speed(one.profile()).max_cores == 4.0
    assert predict_speed(one.profile()).seconds(4.0) == pytest.approx(0.075)


def test_a_later_run_counts_as_much_as_all_before_it():
    before = KindHistory().with_run(run(lambda _: 0.2, (1.0,)))
    after = before.with_run(run(lambda _: 0.4, (1.0,), before))
    assert dict(after.points)[1.0] == pytest.approx(math.sqrt(0.2 * 0.4))
    assert after.ratios == pytest.approx((2.0,))
    assert after.runs == 2


def test_a_few_steps_or_a_pause_teach_nothing():
    course = RunMeasurement()
    for now in range(4):
        course = course.with_sample(observed(now, 0.5, 1.0), 100.0 + now, 8.0)
    assert KindHistory().with_run(course) == KindHistory()
    held = run(lambda _: 0.2, (1.0,)).with_sample(observed(200, 9.0, 1.0, state=JobState.PAUSED), 999.0, 8.0)
    again = held.with_sample(observed(201, 9.0, 1.0), 1000.0, 8.0)
    assert again.paces == held.paces, "what it says right after a pause is of before"


def test_what_a_run_does_after_its_last_step_is_counted_in_core_seconds():
    """Its last step comes at 110.5, between two looks; then it has two cores, half of one, and rests."""
    course = RunMeasurement()
    for now, done, cores, state in (
        (100.0, 0, 2.0, JobState.RUNNING),
        (110.0, 199, 2.0, JobState.RUNNING),
        (112.0, 200, 2.0, JobState.RUNNING),
        (113.0, 200, 0.5, JobState.RUNNING),
        (115.0, 200, 0.5, JobState.PAUSED),
        (190.0, 200, 0.5, JobState.RUNNING),
    ):
        course = course.with_sample(observed(done, 0.5, cores, state=state), now, 8.0)
    assert course.teardown == pytest.approx(1.5 + 1.0 + 1.0)
    found = KindHistory().with_run(replace(course, paces={1.0: Pace(0.5, 1.0)}))
    assert found.profile().teardown == pytest.approx(3.5)
    assert KindHistory.from_dict(json.loads(json.dumps(found.to_dict()))) == found
    assert found.with_run(replace(course, paces={1.0: Pace(0.5, 1.0)}, teardown=1.5)).teardown == 2.5
    old = {key: value for key, value in found.to_dict().items() if key != "teardown"}
    assert KindHistory.from_dict(old).profile().teardown == 0.0


def test_a_job_without_a_limit_has_all_cores():
    assert set(run(lambda _: 0.2, (None,)).paces) == {8.0}


def test_how_wrong_five_runs_were_is_how_far_the_next_may_be_off():
    found = KindHistory()
    for factor in (1.0, 1.0, 1.1, 0.9, 1.0, 1.3, 1.0):
        found = found.with_run(run(lambda _, f=factor: 0.2 * f, (1.0,), found if found.points else None))
    low, high = found.profile().spread
    assert low == pytest.approx(ratio_spread(found.ratios)[0])
    assert low < 1.0 < high


@given(st.lists(st.tuples(st.floats(0.01, 10.0), st.floats(0.01, 5.0)), min_size=1, max_size=20))
def test_a_pace_lies_between_what_it_was_shown_however_often(shown):
    pace = Pace(shown[0][0])
    for seconds, lives in shown:
        pace = pace.blend(seconds, lives)
    every = [seconds for seconds, _ in shown]
    assert min(every) * (1 - 1e-9) <= pace.seconds <= max(every) * (1 + 1e-9)
    assert pace.half_lives == pytest.approx(sum(lives for _, lives in shown))


@given(st.lists(st.tuples(st.floats(0.25, 8.0), st.floats(0.02, 3.0)), min_size=1, max_size=40))
def test_what_is_known_survives_the_way_to_the_disk_and_stays_bounded(runs):
    found = KindHistory()
    for cores, seconds in runs:
        found = found.with_run(RunMeasurement(paces={cores: Pace(seconds, 1.0)}, steps=10))
    assert KindHistory.from_dict(json.loads(json.dumps(found.to_dict()))) == found
    assert len(found.points) <= 32
    assert [at for at, _ in found.profile().points] == sorted({at for at, _ in found.points})
