"""Sums of the times at which jobs reach their points and their ends, on one worker and over all."""

from itertools import accumulate, pairwise

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from core.scheduling.forecasting import best_prefix, merge_into_blocks
from core.scheduling.queueing import ServedJob, added_delay, best_move, best_worker, sum_weighted_times
from tests.oracles import slow_chains, slow_course

works = st.lists(st.floats(0.1, 100.0), max_size=7)


def total(jobs, capacity):
    """Sum of completion times, shortest first."""
    now, summed = 0.0, 0.0
    for work in sorted(jobs):
        now += work / capacity
        summed += now
    return summed


@given(st.floats(0.1, 100.0), works, st.floats(0.5, 8.0))
def test_what_a_job_adds_is_the_difference_of_two_sums(work, others, capacity):
    assert added_delay(work, others, capacity) == pytest.approx(
        total([work, *others], capacity) - total(others, capacity), rel=1e-9, abs=1e-9
    )


def test_a_place_without_jobs_is_best_unless_it_is_slow():
    assert best_worker(10.0, {"a": [5.0], "b": []}, {"a": 1.0, "b": 1.0}) == "b"
    assert best_worker(10.0, {"a": [5.0], "b": []}, {"a": 8.0, "b": 1.0}) == "a"


POINTS = st.lists(st.tuples(st.floats(0.5, 20.0), st.floats(0.01, 3.0)), min_size=1, max_size=4)


@st.composite
def served(draw, demands):
    tasks = draw(POINTS)
    works = accumulate(work for work, _ in tasks)
    return ServedJob(tuple(zip(works, (worth for _, worth in tasks), strict=True)), draw(demands))


ANY = st.floats(0.3, 4.0)


@given(st.lists(served(ANY), max_size=4), st.sampled_from([1.0, 2.0]))
def test_the_course_of_a_worker_is_that_of_small_steps(jobs, capacity):
    step = 0.005
    ratios = sorted(ratio for job in jobs for ratio, _ in merge_into_blocks(job.milestones))
    # of two blocks that are worth about as much, small steps may serve the other one first
    assume(all(before < 0.99 * after for before, after in pairwise(ratios)))
    worths = sum(worth for job in jobs for _, worth in job.milestones)
    slow = slow_course.weighted_times(jobs, capacity, step)
    assert sum_weighted_times(jobs, capacity) == pytest.approx(slow, rel=0.02, abs=10 * step * worths)


@given(st.lists(served(st.just(1.0)), min_size=1, max_size=3))
def test_who_can_use_all_of_a_worker_is_served_in_the_best_of_all_orders(jobs):
    works = [[0.0, *(work for work, _ in job.milestones)] for job in jobs]
    chains = [
        [
            (after - before, worth)
            for (before, after), (_, worth) in zip(pairwise(at), job.milestones, strict=True)
        ]
        for at, job in zip(works, jobs, strict=True)
    ]
    if sum(map(len, chains)) <= 8:
        assert sum_weighted_times(jobs, 1.0) == pytest.approx(slow_chains.lowest_cost(chains), rel=1e-6)


@given(served(ANY))
def test_the_blocks_of_a_chain_have_falling_ratios_and_the_first_is_the_best_prefix(job):
    found = merge_into_blocks(job.milestones)
    ratios = [ratio for ratio, _ in found]
    assert ratios == sorted(ratios, reverse=True)
    assert found[-1][1] == job.work
    works, worths = zip(*job.milestones, strict=True)
    assert ratios[0] == pytest.approx(best_prefix(np.array(works), np.array(worths)))


@given(st.lists(st.lists(served(ANY), max_size=3), min_size=2, max_size=3))
def test_the_best_move_saves_what_it_says_and_no_other_saves_more(there):
    jobs = {f"w{k}": {f"j{k}{i}": job for i, job in enumerate(on)} for k, on in enumerate(there)}
    sizes = {name: 1.0 + place for place, name in enumerate(jobs)}
    able = {name for on in jobs.values() for name in on if not name.endswith("0")}

    def total(places):
        return sum(sum_weighted_times(on.values(), sizes[name]) for name, on in places.items())

    def moved(job, to):
        every = {name: each for on in jobs.values() for name, each in on.items()}
        without = {name: {k: v for k, v in on.items() if k != job} for name, on in jobs.items()}
        return {name: {**on, job: every[job]} if name == to else on for name, on in without.items()}

    def fullest(places):
        return max(sum(job.work for job in on.values()) / sizes[name] for name, on in places.items())

    saved = {
        (job, to): total(jobs) - total(moved(job, to))
        for home, on in jobs.items() for job in on if job in able for to in jobs
        if to != home and fullest(moved(job, to)) <= fullest(jobs)
    }  # fmt: skip
    best = best_move(jobs, sizes, able)
    if best is None:
        assert not saved
        return
    assert best.gain == pytest.approx(saved[best.job, best.to], rel=1e-9, abs=1e-6)
    assert best.gain == pytest.approx(max(saved.values()), rel=1e-9, abs=1e-6)


def test_a_job_beside_one_that_leaves_cores_idle_is_worth_a_move_to_an_empty_worker():
    """Each could use 0.8 cores: beside each other the second has 0.2."""
    jobs = {"a": {"x": ServedJob(((80.0, 1.0),), 0.8), "y": ServedJob(((80.0, 1.0),), 0.8)}, "b": {}}
    best = best_move(jobs, {"a": 1.0, "b": 1.0}, {"x", "y"})
    # both end at 100 s instead of at 100 and 175 s: after 20 core-seconds at 0.2 cores 60 are left at 0.8
    assert best is not None
    assert best.gain == pytest.approx(75.0)
