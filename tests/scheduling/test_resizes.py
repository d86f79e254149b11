"""``resizes``: one job after another through the same numbers of cores."""

import pytest

from core.errors import InputError
from core.scheduling.actions import SetLimit, Start
from core.scheduling.model import JobState, Worker
from core.scheduling.policies import POLICIES
from tests.scheduling.making import RUNNING, Table


def table():
    made = Table("resizes", {"cores": "2 0.5 8", "every": 10.0}, (Worker("w", 4.0),))
    made.put("a")
    made.put("b")
    return made


def test_cores_change_in_time_and_the_next_job_begins_when_one_has_ended():
    made = table()
    first = made.step(0.0)
    assert (first.actions, first.wake) == ((Start("a", "w", 2.0),), 2.5)
    made.put("a", state=RUNNING, worker="w", limit=2.0)
    early = made.step(9.0)
    assert (early.actions, early.wake) == ((), 10.0)
    assert made.step(10.0).actions == (SetLimit("a", 0.5),)
    last = made.step(20.0)
    assert (last.actions, last.wake) == ((SetLimit("a", 4.0),), None)
    assert made.step(35.0).actions == ()
    assert made.step(40.0, ended=("a",)).actions == (Start("b", "w", 2.0),)


def test_a_start_that_failed_is_asked_for_again_and_a_paused_job_is_left_alone():
    made = table()
    made.step(0.0)
    made.put("a", state=JobState.WAITING, worker=None)
    assert made.step(10.0).actions == (Start("a", "w", 2.0),)
    made.put("a", state=JobState.PAUSED, worker="w", limit=2.0)
    assert made.step(20.0).actions == ()
    made.put("a", state=RUNNING)
    assert made.step(21.0).actions == (SetLimit("a", 0.5),)


@pytest.mark.parametrize("cores", ["", "two", "1 0", "1 -2", "1 inf", "nan"])
def test_what_are_no_cores_is_refused_by_name(cores, refuses):
    with refuses(InputError):
        POLICIES["resizes"].build_settings({"cores": cores})
