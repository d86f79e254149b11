"""The default scheduler's rules, their chance, and starts that fail."""

from collections import Counter

import pytest

from core.scheduling.actions import Start
from core.scheduling.model import Failure, Worker
from core.scheduling.policies import POLICIES
from tests.scheduling.making import MIGRATING, WAITING, Table, workers


def starts(made):
    return {action.job: action.worker for action in made.answer.actions if isinstance(action, Start)}


def many(rule, jobs, seed=1, count=4):
    made = Table(rule, workers=workers(*[0.0] * count), seed=seed)
    for place in range(jobs):
        made.put(f"j{place}")
    made.step(0.0)
    return made


def test_free_starts_everything_at_once_without_limits():
    made = many("free", 3, count=1)
    assert made.answer.actions == tuple(Start(f"j{place}", "w1") for place in range(3))
    assert made.answer.wake is None


def test_default_schedulers_are_registered_under_their_rules():
    for rule in ("fewest", "random", "half", "requested"):
        assert POLICIES[rule].build_settings().placement == rule
    assert POLICIES["specon"].build_settings().placement == "fewest"


def test_fewest_counts_those_that_it_starts_and_those_on_their_way():
    made = Table("fewest", workers=workers(0.0, 0.0, 0.0))
    made.on("w1", "a", "b")
    made.put("c", state=MIGRATING, worker="w2")
    for name in ("x", "y", "z"):
        made.put(name)
    made.step(0.0)
    assert Counter(starts(made).values()) == {"w3": 2, "w2": 1}


def test_fewest_breaks_ties_by_chance():
    first = [starts(many("fewest", 1, seed))["j0"] for seed in range(40)]
    assert set(first) == {"w1", "w2", "w3", "w4"}


@pytest.mark.parametrize("rule", ["fewest", "random", "half", "requested"])
def test_the_same_seed_places_alike_and_another_does_not(rule):
    assert starts(many(rule, 40)) == starts(many(rule, 40))
    assert any(starts(many(rule, 40)) != starts(many(rule, 40, seed)) for seed in range(2, 6))


def test_random_is_even_in_the_long_run_and_not_in_the_short():
    counts = Counter(starts(many("random", 4000)).values())
    assert all(abs(count - 1000) < 100 for count in counts.values())
    assert len(set(counts.values())) > 1


def test_half_is_less_even_than_fewest_and_more_than_random():
    def spread(rule):
        runs = [Counter(starts(many(rule, 40, seed)).values()) for seed in range(30)]
        return sum(max(run.values()) - min(run.get(f"w{i}", 0) for i in range(1, 5)) for run in runs) / 30

    assert spread("fewest") < spread("half") < spread("random")


def test_requested_takes_the_least_allocated_worker_by_share():
    made = Table("requested", workers=(Worker("small", 1.0), Worker("large", 8.0)))
    made.put("a", request=0.5)
    made.put("b", request=0.5)
    made.put("c")  # counts as 0.1 of the small worker, and would be the large one's 1.1 of 8
    made.step(0.0)
    assert starts(made) == {"a": "large", "b": "large", "c": "small"}


def test_a_start_that_nobody_confirmed_is_not_asked_for_twice_within_a_minute():
    made = many("fewest", 1)
    made.put("j0", state=WAITING, worker=None)
    made.step(1.0)
    assert starts(made) == {}
    made.step(61.0)
    assert set(starts(made)) == {"j0"}


def test_a_start_that_fails_is_tried_on_the_other_workers_then_later_and_later():
    made, tried, now = many("fewest", 1, count=2), [], 0.0
    tried.append(starts(made)["j0"])
    waits = []
    for _ in range(5):
        failed = Failure(Start("j0", tried[-1]), "No such image.")
        made.put("j0", state=WAITING, worker=None)
        made.step(now, failures=(failed,))
        if not starts(made):
            waits.append(made.answer.wake - now)
            now = made.answer.wake
            made.step(now)
        tried.append(starts(made)["j0"])
    assert set(tried[:2]) == set(tried[2:4]) == {"w1", "w2"}
    assert waits == [5.0, 10.0]


def test_without_workers_jobs_wait():
    made = Table("fewest", workers=())
    made.put("a")
    made.step(0.0)
    assert made.answer.actions == ()
