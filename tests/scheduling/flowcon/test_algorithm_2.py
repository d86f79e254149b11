"""FlowCon, Algorithm 2 (the listener), line by line."""

import pytest

from core.scheduling.actions import SetLimit
from core.scheduling.model import Failure, Worker
from tests.scheduling.making import RUNNING, WAITING, Table

SETTINGS = {"alpha": 0.05, "itval": 10.0}


def table(*names):
    made = Table("flowcon", SETTINGS)
    made.on("w", *names)
    for name in names:
        made.prints(name, 1.0)
    made.step(0.0)
    return made


def test_algorithm_2_line_1_begins_without_containers_and_asks_for_nothing():
    made = Table("flowcon", SETTINGS)
    made.step(0.0)
    assert made.answer.actions == ()
    assert made.answer.wake is None


def test_algorithm_2_lines_2_3_4_one_in_and_one_out_is_noticed_though_the_count_is_the_same():
    made = table("a", "b")
    made.put("c", state=RUNNING, worker="w")
    made.step(4.0, ended=("b",))
    assert set(made.labels) == {"a", "c"}
    assert "Algorithm 2, lines 5–9" in made.rules("c")
    assert "Algorithm 2, lines 10–17" in made.rules("b")


def test_algorithm_2_lines_3_4_nothing_runs_between_two_runs_while_the_set_is_the_same():
    made = table("a")
    made.prints("a", 0.9, cpu=3.0)
    made.step(3.0)
    assert made.answer.reasons == ()
    assert made.answer.wake == 10.0
    assert made.labels == {"a": "NL"}


def test_algorithm_2_lines_5_6_7_who_comes_enters_nl_and_those_known_stay_in_their_lists():
    made = table("a")
    made.prints("a", 0.99, cpu=10.0)
    made.step(10.0)
    assert made.labels == {"a": "WL"}
    made.put("b")
    made.step(10.0)
    assert made.labels == {"a": "WL", "b": "NL"}
    assert made.limits == {"b": 1.0}


def test_algorithm_2_line_8_arrival_sets_the_interval_back():
    made = table("a")
    for time, level in ((10.0, 0.99), (20.0, 0.98)):
        made.prints("a", level, cpu=10.0)
        made.step(time)
    assert made.answer.wake == 40.0
    made.put("b")
    made.step(25.0)
    assert made.answer.wake == 35.0


def test_algorithm_2_line_9_arrival_runs_algorithm_1_at_once_and_classifies_those_present():
    made = table("a")
    made.prints("a", 0.99, cpu=4.0)
    made.put("b")
    made.step(4.0)
    assert made.labels == {"a": "WL", "b": "NL"}
    assert made.growths["a"] == pytest.approx(0.01 / 4.0)
    assert made.growths["b"] is None


def test_algorithm_2_line_9_two_arrivals_at_one_moment_classify_nobody_twice():
    made = table("a")
    made.prints("a", 0.99, cpu=10.0)
    made.put("b")
    made.step(10.0)
    made.put("c")
    made.step(10.0)
    assert made.labels == {"a": "WL", "b": "NL", "c": "NL"}


def test_algorithm_2_lines_10_11_12_13_14_who_leaves_is_in_no_list():
    made = table("a", "b")
    made.step(5.0, ended=("a",))
    assert set(made.labels) == {"b"}


def test_algorithm_2_line_15_departure_releases_the_share():
    made = table("a", "b")
    for time, quick in ((10.0, 0.5), (20.0, 0.1)):
        made.prints("a", 1.0 - time / 1000.0, cpu=5.0)
        made.prints("b", quick, cpu=5.0)
        made.step(time)
    assert made.limits == {"a": 0.25}
    made.step(22.0, ended=("b",))
    assert made.limits == {"a": 1.0}


def test_algorithm_2_line_16_departure_sets_the_interval_back():
    made = table("a", "b")
    for time in (10.0, 20.0):
        made.prints("a", 1.0 - time / 1000.0, cpu=5.0)
        made.prints("b", 1.0 - time / 1000.0, cpu=5.0)
        made.step(time)
    assert made.answer.wake == 40.0
    made.prints("a", 0.2, cpu=1.0)
    made.step(22.0, ended=("b",))
    assert made.answer.wake == 32.0


def test_algorithm_2_line_17_departure_runs_algorithm_1_at_once():
    made = table("a", "b")
    made.prints("a", 0.99, cpu=2.0)
    made.step(4.0, ended=("b",))
    assert made.labels == {"a": "WL"}


def test_every_worker_has_its_own_listener_and_interval():
    made = Table("flowcon", SETTINGS, workers=(Worker("u", 1.0), Worker("v", 4.0)))
    made.on("u", "a")
    made.on("v", "b")
    made.step(0.0)
    made.put("c", state=RUNNING, worker="v")
    made.step(5.0)
    assert {reason.worker for reason in made.answer.reasons} == {"v"}
    assert made.answer.wake == 10.0
    made.step(10.0)
    assert made.answer.wake == 15.0


def test_a_start_that_fails_takes_the_container_out_again(sentence):
    made = Table("flowcon", SETTINGS)
    made.put("a")
    made.step(0.0)
    failed = Failure(made.answer.actions[0], "No such image.")
    made.put("a", state=WAITING, worker=None)
    made.step(1.0, failures=(failed,))
    assert made.labels == {}
    sentence(made.rules("a"))
    assert made.answer.wake == 6.0


def test_a_limit_that_fails_is_asked_for_again_one_interval_later():
    made = table("a", "b")
    for time, quick in ((10.0, 0.5), (20.0, 0.1)):
        made.prints("a", 1.0 - time / 1000.0, cpu=5.0)
        made.prints("b", quick, cpu=5.0)
        made.step(time)
    asked = SetLimit("a", 0.25)
    assert made.answer.actions == (asked,)
    made.step(21.0, failures=(Failure(asked, "The engine did not answer."),))
    assert made.answer.actions == ()
    made.prints("b", 0.05, cpu=5.0)
    made.step(30.0)
    assert asked in made.answer.actions


def test_a_limit_that_fails_while_all_complete_does_not_wait_for_the_long_interval():
    made = table("a")
    for time in (10.0, 20.0, 40.0):
        made.prints("a", 1.0 - time / 1000.0, cpu=5.0)
        made.step(time)
    assert made.answer.wake == 80.0
    made.step(41.0, failures=(Failure(SetLimit("a", 1.0), "The engine did not answer."),))
    assert made.answer.wake == 51.0
    made.step(51.0)
    assert made.answer.actions == (SetLimit("a", 1.0),)
    assert made.answer.reasons == ()
    assert made.answer.wake == 80.0
