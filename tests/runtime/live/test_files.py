"""The files by which worker and web process exchange what is known of an engine."""

import math
import os
import time

import pytest

from core.live.attach.activity import ActivityLog
from core.live.history.pins import Pin, write_pin
from core.live.view import LiveFiles, read_attached, read_view, readable_line, write, write_attached
from core.live.watcher import hold_lock
from core.sampling.values import (
    ActivityEntry,
    AttachedPolicy,
    ContainerRow,
    EngineInfo,
    EngineState,
    LiveView,
    Mode,
    Totals,
)
from core.scheduling.actions import Mark, Pause, Reason, SetLimit
from core.scheduling.loop import Entry
from core.scheduling.model import Failure, Job, JobState, Observation, Trigger

ENGINE = EngineInfo("local", "unix:///x", EngineState.READY, cores=2.0, memory=1e9, version="20.10")


@pytest.fixture
def files(tmp_path):
    return LiveFiles(tmp_path, "local")


def test_a_view_comes_back_as_it_was_written(files):
    rows = (ContainerRow("a", "job", cpu=0.5, loss=None, loss_why="not yet"), ContainerRow("b", "other"))
    view = LiveView(ENGINE, 12.5, rows, 1, (ContainerRow("c", "foreign"),), Totals(0.5, labels=(("NL", 2),)))
    write(files.snapshot, view)
    assert read_view(files.snapshot) == view


def test_what_is_not_a_number_becomes_not_known(files):
    write(files.snapshot, LiveView(ENGINE, 1.0, (ContainerRow("a", "job", cpu=math.nan),)))
    assert read_view(files.snapshot).rows[0].cpu is None


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"engine": 1}', '{"rows": [{"x": 1}]}'])
def test_a_file_that_is_none_of_ours_is_nothing(files, text):
    for path in (files.snapshot, files.attached):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    assert read_view(files.snapshot) is None
    assert read_attached(files.attached) is None
    assert read_view(files.snapshot.with_name("nothing")) is None


def test_an_attached_policy_comes_back(files):
    attached = AttachedPolicy(
        "t", "flowcon", Mode.WATCH, {"itval": 2.0}, 5.0, 7.0, 1, (ActivityEntry(6.0, "job", "Cut."),), "r"
    )
    files.snapshot.parent.mkdir()
    write_attached(files.attached, attached, {"a": ("NL", 0.5), "b": ("CL", None)})
    assert read_attached(files.attached) == (attached, {"a": ("NL", 0.5), "b": ("CL", None)})


def test_an_engine_is_wanted_for_half_a_minute_after_somebody_looked(files):
    assert not files.is_wanted()
    files.want("model")
    files.want("model")
    assert files.is_wanted()
    assert files.model() == "model"
    files.want(None)
    assert files.model() is None
    old = time.time() - 31
    os.utime(files.wanted, (old, old))
    assert not files.is_wanted()
    write_pin(files.home, Pin("0123456789abcdef", "local", "night", start=time.time()))
    assert files.is_wanted()
    write_pin(files.home, Pin("0123456789abcdef", "local", "night", start=1.0, end=time.time()))
    assert not files.is_wanted()


def test_a_lock_has_one_holder(files):
    files.lock.parent.mkdir()
    with hold_lock(files.lock) as mine, hold_lock(files.lock) as other:
        assert (mine, other) == (True, False)
    with hold_lock(files.lock) as again:
        assert again


IDS = {"job": "a" * 64}


def entry(number, limit, actions, reasons=(), failures=(), wake=None):
    job = Job("job", JobState.RUNNING, "local", limit=limit)
    seen = Observation(number, 10.0 * number, Trigger.TICK, (), (job,))
    return Entry(seen, tuple(actions), tuple(reasons), (Mark("job", "NL", 0.25),), wake, tuple(failures))


def test_minutes_say_what_was_done_why_and_what_failed(files):
    files.lock.parent.mkdir()
    minutes = ActivityLog(files, AttachedPolicy("t", "flowcon", Mode.CONTROL), 1000.0)
    cut = SetLimit("job", 0.5)
    minutes.take(entry(1, 2.0, [cut], [Reason("r", "It converged.", job="job")], wake=30.0), IDS)
    minutes.take(entry(2, 0.5, [cut]), IDS)
    refused = SetLimit("job", 0.25)
    minutes.take(entry(3, 0.5, [refused], failures=[Failure(refused, "Docker said no.")]), IDS)
    attached, marks = read_attached(files.attached)
    assert [(said.at, said.text, said.before, said.after) for said in attached.entries] == [
        (1030.0, "Could not: Docker said no.", None, None),
        (1010.0, "It converged.", 2.0, 0.5),
    ]
    assert (attached.resizes, attached.entries[0].label, minutes.decisions) == (1, "NL", 3)
    assert marks == {IDS["job"]: ("NL", 0.25)}
    minutes.close()
    assert read_attached(files.attached) is None


def test_minutes_of_watching_say_a_limit_once_though_it_never_comes_true(files):
    files.lock.parent.mkdir()
    minutes = ActivityLog(files, AttachedPolicy("t", "flowcon", Mode.WATCH), 0.0)
    for number, limit in enumerate((0.5, 0.5, 0.25, 0.5)):
        minutes.take(entry(number, 2.0, [SetLimit("job", limit)]), IDS)
    minutes.take(entry(9, 2.0, [Pause("job")]), IDS)
    attached, _ = read_attached(files.attached)
    assert [said.after for said in attached.entries] == [None, 0.5, 0.25, 0.5]
    assert [said.before for said in attached.entries] == [None, 0.25, 0.5, 2.0]
    assert attached.entries[0].text == "Would pause."
    assert attached.resizes == 3


def test_activity_says_where_an_owner_bounds_a_limit_and_when_the_bound_changes(files):
    files.lock.parent.mkdir()
    activity = ActivityLog(files, AttachedPolicy("t", "flowcon", Mode.CONTROL), 0.0)

    def seen(number, bound, *actions):
        limit = 0.5 if number < 2 else bound
        job = Job("job", JobState.RUNNING, "local", limit=limit, owner_cores=bound)
        observed = Observation(number, 10.0 * number, Trigger.TICK, (), (job,))
        return Entry(observed, actions, (), (), None, ())

    activity.take(seen(0, 0.6, SetLimit("job", 2.0)), IDS)
    activity.take(seen(1, 0.6, SetLimit("job", 1.0)), IDS)
    activity.take(seen(2, 0.4), IDS)
    activity.take(seen(3, 0.4, SetLimit("job", 0.25)), IDS)
    attached, _ = read_attached(files.attached)
    assert [(each.text, each.before, each.after) for each in attached.entries] == [
        ("From 0.40 cores to 0.25 cores.", 0.4, 0.25),
        ("Somebody else changed its limits: 0.40 cores at most from now on.", None, None),
        ("From 0.50 cores to 0.60 cores. It stays at the 0.60 cores that its owner allows.", 0.5, 0.6),
    ]


def test_a_line_of_a_log_is_shown_as_a_terminal_leaves_it():
    assert readable_line("10%\r\x1b[32m100%\x1b[0m\r") == "100%"
    assert len(readable_line("x" * 10_000)) < 2100
