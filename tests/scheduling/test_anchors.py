"""Least attained service, shortest remaining work, and greedy marginal loss reduction."""

import pytest

from core.engines.simulated import simulated
from core.scheduling.actions import SetLimit
from core.scheduling.loop import drive
from core.scheduling.model import Failure, Hidden
from core.scheduling.policies import POLICIES
from core.scheduling.policies.slaq import Gain, divide_units
from core.simulation.scenario import JobSpec, Scenario, WorkerSpec
from tests.scheduling.making import Table


def ends(policy, *jobs, cores=1.0):
    """When each job ended."""
    chosen, engine = POLICIES[policy], simulated(Scenario((WorkerSpec("w", cores),), jobs), seed=0)
    return {
        job.id: entry.observation.time
        for entry in drive(
            engine, chosen, chosen.build_settings({"quantum": 1.0} if policy != "free" else {}), 0
        )
        for job in entry.observation.ended
    }


def test_srpt_serves_the_least_work_left_first():
    made = Table("srpt")
    made.on("w", "a", "b", "c")
    for name, left in (("a", 50.0), ("b", 20.0), ("c", 90.0)):
        made.put(name, hidden=Hidden(left))
    made.step(0.0)
    assert made.labels == {"a": "#2", "b": "#1", "c": "#3"}
    assert made.weights == {"a": 0.01, "c": 0.0001}


def test_srpt_has_the_least_mean_completion_of_all_on_one_worker():
    jobs = [JobSpec(f"j{place}", work, 3.0 * place) for place, work in enumerate((60.0, 20.0, 40.0, 10.0))]
    least = sum(ends("srpt", *jobs).values())
    for policy in ("free", "las", "slaq"):
        assert least <= sum(ends(policy, *jobs).values())


def test_srpt_takes_what_it_does_not_know_last():
    made = Table("srpt")
    made.on("w", "a", "b")
    made.put("b", hidden=Hidden(1e6))
    made.step(0.0)
    assert made.labels == {"a": "#2", "b": "#1"}


def test_las_serves_the_least_attained_first_and_looks_again_after_a_quantum():
    made = Table("las", {"quantum": 10.0})
    made.on("w", "a")
    made.put("a", cpu_seconds=40.0)
    made.put("b")
    made.step(3.0)
    assert made.labels == {"a": "#2", "b": "#1"}
    assert made.answer.wake == 10.0
    made.put("b", cpu_seconds=41.0)
    made.step(10.0)
    assert made.weights == {"a": 1.0, "b": 0.01}


def test_las_lets_a_short_newcomer_through():
    jobs = (JobSpec("long", 300.0), JobSpec("short", 10.0, 100.0))
    assert ends("las", *jobs)["short"] == pytest.approx(110.0, abs=1.0)


def test_weights_leave_no_processor_idle():
    jobs = (JobSpec("first", 10.0, demand=0.25), JobSpec("second", 30.0))
    assert max(ends("srpt", *jobs).values()) == pytest.approx(40.0, abs=0.5)


def test_slaq_gives_the_units_to_the_largest_marginal_gain():
    quick, slow = Gain(0.0, 0.0, 1.0, 0.1), Gain(0.0, 0.0, 1.0, 0.01)
    assert divide_units({"a": quick, "b": slow}, 50, 0.2) == {"a": 49, "b": 1}


def test_slaq_divides_where_gains_fall():
    quick, slow = Gain(0.0, 0.0, 1.0, 0.1, decay=0.5), Gain(0.0, 0.0, 1.0, 0.05, decay=0.5)
    got = divide_units({"a": quick, "b": slow}, 50, 0.2)
    # equal marginal gains: 0.1·exp(−0.1·x) = 0.05·exp(−0.1·y), x + y = 50
    assert got["a"] + got["b"] == 50
    assert got["a"] - got["b"] == pytest.approx(6.93, abs=1.1)


def test_slaq_serves_those_it_knows_nothing_of_first_and_alike():
    known = Gain(0.0, 0.0, 1.0, 0.1)
    got = divide_units({"a": known, "b": None, "c": None}, 51, 0.2)
    assert got == {"a": 1, "b": 25, "c": 25}


def test_slaq_gives_each_job_a_unit_however_many_there_are():
    assert set(divide_units({str(i): None for i in range(80)}, 50, 0.2).values()) == {1}


def test_slaq_measures_gain_per_core_second():
    made = Table("slaq", {"quantum": 10.0})
    made.on("w", "a", "b")
    for name in ("a", "b"):
        made.prints(name, 1.0)
    made.step(0.0)
    made.prints("a", 0.5, cpu=5.0)
    made.prints("b", 0.9, cpu=5.0)
    made.step(10.0)
    assert made.growths == {"a": pytest.approx(0.1), "b": pytest.approx(0.02)}
    assert made.weights == {"a": 0.98, "b": 0.02}


def test_a_refused_weight_is_asked_for_again_at_the_next_look_only():
    made = Table("las")
    made.on("w", "a", "b")
    made.put("a", cpu_seconds=9.0)
    made.step(0.0)
    asked = made.answer.actions
    assert asked == (SetLimit("a", None, 0.01),)
    made.step(0.5, failures=(Failure(asked[0], "No answer."),))
    assert made.answer.actions == ()
    made.step(0.7)
    assert made.answer.actions == asked
