"""Sums of completion times when the shortest goes first."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.scheduling.queueing import added, best_move, best_place

works = st.lists(st.floats(0.1, 100.0), max_size=7)


def total(jobs: list[float], capacity: float) -> float:
    """Sum of completion times, shortest first."""
    now, summed = 0.0, 0.0
    for work in sorted(jobs):
        now += work / capacity
        summed += now
    return summed


@given(st.floats(0.1, 100.0), works, st.floats(0.5, 8.0))
def test_what_a_job_adds_is_the_difference_of_two_sums(
    work: float, others: list[float], capacity: float
) -> None:
    assert added(work, others, capacity) == pytest.approx(
        total([work, *others], capacity) - total(others, capacity), rel=1e-9, abs=1e-9
    )


def test_a_place_without_jobs_is_best_unless_it_is_slow() -> None:
    assert best_place(10.0, {"a": [5.0], "b": []}, {"a": 1.0, "b": 1.0}) == "b"
    assert best_place(10.0, {"a": [5.0], "b": []}, {"a": 8.0, "b": 1.0}) == "a"


@given(works, works)
def test_the_move_that_is_found_saves_what_it_says(here: list[float], there: list[float]) -> None:
    lefts = {
        "a": {f"a{k}": each for k, each in enumerate(here)},
        "b": {f"b{k}": each for k, each in enumerate(there)},
    }
    every = {*lefts["a"], *lefts["b"]}
    move = best_move(lefts, {"a": 1.0, "b": 1.0}, every)
    if move is None:
        assert not every or not (lefts["a"] if sum(here) > sum(there) else lefts["b"])
        return
    before = total(here, 1.0) + total(there, 1.0)
    donor = "a" if move.job in lefts["a"] else "b"
    work = lefts[donor].pop(move.job)
    lefts["b" if donor == "a" else "a"][move.job] = work
    after = total(list(lefts["a"].values()), 1.0) + total(list(lefts["b"].values()), 1.0)
    assert before - after == pytest.approx(move.gain, rel=1e-9, abs=1e-6)
