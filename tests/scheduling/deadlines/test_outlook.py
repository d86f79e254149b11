"""What a job would be told before it is submitted is what the policy then does."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.scheduling.model import Job, JobState, Observation, Profile, Terms, Trigger, Worker
from core.scheduling.policies import POLICIES
from core.scheduling.policies.deadline.outlook import predict_outlook
from core.scheduling.policies.deadline.settings import DeadlineSettings

NOW = 100.0
SETTINGS = DeadlineSettings()
POINTS = ((1.0, 0.1), (2.0, 0.06), (4.0, 0.035))


def job(name, state=JobState.WAITING, deadline=None, steps=10_000, limit=None, points=POINTS, **more):
    runs = state is JobState.RUNNING
    terms = Terms(deadline=deadline, profile=None if points is None else Profile(points, steps=steps), **more)
    return Job(
        name, state, "w" if runs else None, 0.0 if runs else NOW, 0.0 if runs else None,
        limit=limit, request=1.0, can_resize=True, terms=terms
    )  # fmt: skip


def observation(*jobs, cores=4.0):
    return Observation(0, NOW, Trigger.ARRIVAL, (Worker("w", cores),), jobs)


def running(name, limit, deadline=None, **more):
    return job(name, JobState.RUNNING, deadline, limit=limit, promised=deadline is not None, **more)


def test_on_an_empty_machine_it_has_what_it_needs():
    said = predict_outlook(SETTINGS, observation(), job("new", deadline=700.0))
    assert (said.promised, said.cores, said.gives_way) == (True, 2.0, ())
    assert said.has >= said.cores
    assert NOW < said.ends <= NOW + 700.0
    assert said.soonest == pytest.approx(10_000 * 0.035, rel=0.02)


def test_what_is_out_of_reach_is_said_with_what_is_not(sentence):
    said = predict_outlook(SETTINGS, observation(), job("new", deadline=200.0))
    assert (said.promised, said.cores) == (False, None)
    sentence(said.why)
    later = predict_outlook(SETTINGS, observation(), job("new", deadline=said.soonest))
    assert later.promised


def test_who_gives_way_is_named_and_no_promise_is_broken(sentence):
    before = observation(running("dear", 2.0, 800.0), running("other", 2.0))
    said = predict_outlook(SETTINGS, before, job("new", deadline=700.0))
    assert said.promised
    lost = {name: (had, has) for name, had, has in said.gives_way}
    assert lost["other"][1] < lost["other"][0]
    full = observation(running("dear", 4.0, 470.0))
    refused = predict_outlook(SETTINGS, full, job("new", deadline=400.0))
    assert not refused.promised
    sentence(refused.why)
    assert predict_outlook(SETTINGS, full, job("new", deadline=refused.soonest)).promised


def test_without_earlier_runs_nothing_is_claimed():
    said = predict_outlook(SETTINGS, observation(), job("new", deadline=700.0, points=None))
    assert (said.known, said.promised, said.cores, said.ends, said.soonest) == (
        False,
        False,
        None,
        None,
        None,
    )
    assert said.has == 1.0


def test_without_a_deadline_it_says_when_it_would_end():
    said = predict_outlook(SETTINGS, observation(), job("new"))
    assert (said.promised, said.cores) == (None, None)
    assert said.ends == pytest.approx(NOW + 10_000 * 0.035)


def test_how_far_off_earlier_runs_were_is_shown():
    profile = Profile(POINTS, steps=10_000, spread=(0.9, 1.2))
    new = replace(job("new"), terms=Terms(deadline=4000.0, profile=profile))
    said = predict_outlook(SETTINGS, observation(), new)
    left = said.ends - NOW
    assert said.between == pytest.approx((NOW + 0.9 * left, NOW + 1.2 * left))
    assert said.soonest == pytest.approx(1.2 * 350.0, rel=0.02), "a reserve is kept"


@st.composite
def machines(draw):
    """Some jobs that run, with and without promises, and one that would be submitted."""
    jobs = []
    for at in range(draw(st.integers(0, 4))):
        deadline = draw(st.none() | st.floats(300.0, 4000.0))
        limit = draw(st.sampled_from((0.5, 1.0, 2.0)))
        jobs.append(running(f"job-{at}", limit, deadline, steps=draw(st.integers(100, 20_000))))
    new = job("new", deadline=draw(st.floats(50.0, 4000.0)), steps=draw(st.integers(100, 20_000)))
    return observation(*jobs, cores=draw(st.sampled_from((2.0, 4.0, 8.0)))), new


@given(machines())
def test_what_is_told_is_what_the_policy_then_does(drawn):
    before, new = drawn
    said = predict_outlook(SETTINGS, before, new)
    policy = POLICIES["deadline"]
    first = policy.decide(policy.begin(SETTINGS, 1), before)
    after = replace(before, number=1, jobs=(*before.jobs, new))
    then = policy.decide(first.state, after)
    marks = {mark.job: mark for mark in then.marks}
    assert marks["new"].promised == said.promised
    others = [mark for mark in first.marks if mark.promised]
    assert all(marks[mark.job].promised for mark in others if mark.job in marks), "no promise is taken back"
    if not said.promised and said.soonest is not None:
        sooner = replace(new, terms=replace(new.terms, deadline=said.soonest))
        assert predict_outlook(SETTINGS, before, sooner).promised
