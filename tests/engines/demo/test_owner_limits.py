"""A policy gives a container at most what its owner allows: the limit that it found, or one set since."""

from dataclasses import replace

import pytest

from core.engines.submitted import SubmittedJob
from core.scheduling.actions import SetLimit, SetMemory, Start
from core.scheduling.model import Terms
from core.simulation.replay import ReplayPlan, StartingPlace
from core.units import MIB
from tests.engines.demo.making import Demo, flat, job_of

OWNED = StartingPlace(cores=0.6, memory=256 * MIB, first=0.0)


@pytest.fixture
def owned(tmp_path):
    """A host of two cores with one container, whose owner limits its cores and its memory."""
    return Demo(tmp_path, ReplayPlan(2.0, 1e9, (flat("one", 600.0),), (OWNED,), 5.0))


def limits_of(demo):
    limits = job_of(demo.host(), "one").limits
    return limits.cores, limits.memory_bytes


@pytest.mark.parametrize("limit", [2.0, 0.7, None])
def test_no_policy_gives_more_cores_than_the_container_was_found_with(owned, limit):
    with owned.engine() as engine:
        engine.wait(1.0)
        assert engine.apply([SetLimit("one-01", 0.2)]) == ()
        assert limits_of(owned)[0] == 0.2
        assert engine.apply([SetLimit("one-01", limit)]) == ()
        assert limits_of(owned)[0] == 0.6
        assert engine.observe().jobs[0].max_cores == 0.6


@pytest.mark.parametrize("limit", [800.0 * MIB, None])
def test_no_policy_gives_more_memory_than_the_container_was_found_with(owned, limit):
    with owned.engine() as engine:
        engine.wait(1.0)
        assert engine.apply([SetMemory("one-01", 128.0 * MIB), SetMemory("one-01", limit)]) == ()
        assert limits_of(owned)[1] == 256 * MIB
        assert engine.observe().jobs[0].owner_memory == 256 * MIB


def test_with_permission_limits_are_raised_and_restored(owned):
    with owned.engine(may_raise=True) as engine:
        engine.wait(1.0)
        assert engine.apply([SetLimit("one-01", 1.5), SetMemory("one-01", 512.0 * MIB)]) == ()
        assert limits_of(owned) == (1.5, 512 * MIB)
        assert engine.observe().jobs[0].max_cores is None
    assert limits_of(owned) == (0.6, 256 * MIB)


def set_by_hand(demo, **limits):
    """What somebody does beside PhaseDock, which keeps nothing of it."""
    container = job_of(demo.host(), "one")
    demo.host()._give(container, replace(container.limits, **limits))


@pytest.mark.parametrize("may_raise", [False, True])
def test_a_limit_that_somebody_sets_meanwhile_is_the_new_bound_and_stays(owned, may_raise):
    with owned.engine(may_raise=may_raise) as engine:
        engine.wait(1.0)
        assert engine.apply([SetLimit("one-01", 0.3), SetMemory("one-01", 200.0 * MIB)]) == ()
        set_by_hand(owned, cores=0.45)
        engine.wait(3.0)
        assert engine.observe().jobs[0].max_cores == 0.45
        assert engine.apply([SetLimit("one-01", 0.55)]) == ()
        assert limits_of(owned) == (0.45, 200 * MIB)
    assert limits_of(owned) == (0.45, 256 * MIB), "of memory the limit that was found comes back"


def test_a_change_just_before_an_action_is_respected(owned):
    with owned.engine() as engine:
        engine.wait(1.0)
        engine.observe()
        set_by_hand(owned, cores=0.4, memory_bytes=190 * MIB)
        assert engine.apply([SetLimit("one-01", 0.6), SetMemory("one-01", 250.0 * MIB)]) == ()
        assert limits_of(owned) == (0.4, 190 * MIB)
    assert limits_of(owned) == (0.4, 190 * MIB)


def test_an_owner_may_also_raise_the_bound(owned):
    with owned.engine() as engine:
        engine.wait(1.0)
        assert engine.apply([SetLimit("one-01", 0.3)]) == ()
        set_by_hand(owned, cores=1.2)
        engine.wait(3.0)
        engine.observe()
        assert engine.apply([SetLimit("one-01", 2.0)]) == ()
        assert limits_of(owned)[0] == 1.2
    assert limits_of(owned)[0] == 1.2


@pytest.mark.parametrize("may_raise", [False, True])
def test_a_submitted_job_never_gets_more_than_its_terms_allow(owned, may_raise):
    with owned.engine(may_raise=may_raise) as engine:
        job = SubmittedJob("a" * 32, "mine", "mine", 0.0, "image", request=0.5, terms=Terms(max=1.0))
        name = engine.submit(job)
        engine.observe()
        assert engine.apply([Start(name, "demo")]) == ()
        mine = job_of(owned.host(), "mine")
        assert mine.limits.cores == 1.0
        engine.wait(1.0)
        assert engine.apply([SetLimit(name, 0.2), SetLimit(name, 2.0)]) == ()
        assert owned.host().inspect(mine.id).limits.cores == 1.0
        engine.revise(name, Terms(max=1.5))
        assert engine.apply([SetLimit(name, 2.0)]) == ()
        assert owned.host().inspect(mine.id).limits.cores == 1.5
