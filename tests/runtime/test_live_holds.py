"""What was there before a change is written down first, counts once, and belongs to who changed it."""

from __future__ import annotations

import os
import time

import pytest

from core.engines.docker_host.host.limits import Limits
from core.runtime.database.engine import Database
from core.runtime.database.tables import TaskRow, WorkerRow
from core.runtime.infos import TaskState
from core.runtime.live.control.saved_limits import BY_HAND, SavedLimitsStore
from core.runtime.tasks.liveness import birth_of, this_host

A, B = "a" * 64, "b" * 64
BEFORE = Limits(cpu_quota=150_000, cpu_period=100_000, memory=2**40, memory_swap=-1, cpu_shares=512)
LATER = Limits(nano_cpus=500_000_000)


@pytest.fixture
def holds(workspace) -> SavedLimitsStore:
    return SavedLimitsStore(workspace.database)


def task(workspace, name: str, state: TaskState) -> str:
    row = TaskRow(
        id=name, kind="attach", title="", state=state, params={}, result=None, created=0.0, queued_at=0.0
    )
    if state is TaskState.RUNNING:
        row.worker = "w" * 16
    with workspace.database.write() as session:
        session.add(row)
    return name


def living_worker(workspace) -> None:
    pid, now = os.getpid(), time.time()
    row = WorkerRow(id="w" * 16, host=this_host(), pid=pid, birth=birth_of(pid), started=now, beat=now)
    with workspace.database.write() as session:
        session.add(row)


def test_the_first_one_counts(holds):
    keeper = holds.keeper("t1")
    keeper.keep("local", A, BEFORE)
    keeper.keep("local", A, LATER)
    assert keeper.kept("local", A) == BEFORE
    keeper.forget("local", A)
    assert keeper.kept("local", A) is None


def test_it_is_there_for_another_process_once_keep_returns(workspace, holds):
    holds.keeper("t1").keep("local", A, BEFORE)
    other = Database(workspace.settings.database_url)
    try:
        assert SavedLimitsStore(other).all()[0].limits == BEFORE
    finally:
        other.close()


def test_owners_and_engines_have_holds_of_their_own(holds):
    holds.keeper(BY_HAND).keep("local", A, BEFORE)
    holds.keeper("t1").keep("local", A, LATER)
    holds.keeper("t1").keep("box", A, LATER)
    assert holds.keeper(BY_HAND).kept("local", A) == BEFORE
    assert holds.keeper("t1").kept("local", A) == LATER
    holds.keeper("t1").forget("local", A)
    assert holds.held("local") == {A}
    assert [hold.engine for hold in holds.all("box")] == ["box"]


def test_the_newest_is_put_back_first(holds):
    holds.keeper(BY_HAND).keep("local", A, BEFORE)
    holds.keeper("t1").keep("local", A, LATER)
    assert [hold.owner for hold in holds.all("local")] == ["t1", BY_HAND]


def test_orphans_are_holds_of_tasks_that_are_over_or_unknown_and_never_those_of_people(workspace, holds):
    living_worker(workspace)
    task(workspace, "running", TaskState.RUNNING)
    task(workspace, "queued", TaskState.QUEUED)
    task(workspace, "dead", TaskState.INTERRUPTED)
    for owner in ("running", "queued", "dead", "unknown", BY_HAND):
        holds.keeper(owner).keep("local", A, BEFORE)
    assert {hold.owner for hold in holds.orphans()} == {"dead", "unknown"}


def test_what_a_hand_did_last_can_be_noted_and_taken_back(holds):
    holds.note("local", A, "web", LATER)
    assert holds.all() == ()
    holds.keeper(BY_HAND).keep("local", A, BEFORE)
    holds.note("local", A, "web", LATER)
    (hold,) = holds.all()
    assert (hold.name, hold.undo, hold.limits) == ("web", LATER, BEFORE)


def test_picks_are_by_engine(holds):
    holds.pick("local", A, "web")
    holds.pick("local", A, "web")
    holds.pick("box", B, "db")
    assert holds.picked("local") == {A}
    holds.unpick("local", [A, B])
    assert holds.picked("local") == frozenset()
    assert holds.picked("box") == {B}
