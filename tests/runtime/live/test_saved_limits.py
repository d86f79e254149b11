"""What was there before a change is written down first, counts once, and belongs to who changed it."""

from __future__ import annotations

import os
import time
from types import SimpleNamespace

import pytest
from sqlalchemy import update

from core.engines.errors import ContainerGone
from core.engines.values import EngineKey
from core.live.control.restore import LimitRestorer
from core.live.control.saved_limits import BY_HAND, SavedLimitsStore, UndoStep
from core.sampling.values import ContainerAllowance, EngineInfo, EngineState
from core.tasks.crashed_workers import birth_of, this_host
from core.workspace.database import Database
from core.workspace.database_schema import SavedLimitsRow, TaskRow, WorkerRow
from core.workspace.records import TaskState

A, B = "a" * 64, "b" * 64
LOCAL, BOX = EngineKey("local", "ID:LOCAL"), EngineKey("box", "ID:BOX")
BEFORE = {"cpu_quota": 150_000, "memory": 2**40, "memory_swap": -1}
LATER = {"nano_cpus": 500_000_000}


@pytest.fixture
def saved_limits(workspace):
    return SavedLimitsStore(workspace.database)


def task(workspace, name, state):
    row = TaskRow(
        id=name, kind="attach", title="", state=state, params={}, result=None, created=0.0, queued_at=0.0
    )
    if state is TaskState.RUNNING:
        row.worker = "w" * 16
    with workspace.database.write() as session:
        session.add(row)
    return name


def living_worker(workspace):
    pid, now = os.getpid(), time.time()
    row = WorkerRow(id="w" * 16, host=this_host(), pid=pid, birth=birth_of(pid), started=now, beat=now)
    with workspace.database.write() as session:
        session.add(row)


def test_the_first_one_counts(saved_limits):
    keeper = saved_limits.keeper("t1")
    keeper.keep(LOCAL, A, BEFORE)
    keeper.keep(LOCAL, A, LATER)
    assert keeper.saved_limits(LOCAL, A) == BEFORE
    keeper.forget(LOCAL, A)
    assert keeper.saved_limits(LOCAL, A) is None


def test_it_is_there_for_another_process_once_keep_returns(workspace, saved_limits):
    saved_limits.keeper("t1").keep(LOCAL, A, BEFORE)
    other = Database(workspace.settings.database_url)
    try:
        assert SavedLimitsStore(other).all()[0].limits == BEFORE
    finally:
        other.close()


def test_owners_and_engines_have_saved_limits_of_their_own(saved_limits):
    saved_limits.keeper(BY_HAND).keep(LOCAL, A, BEFORE)
    saved_limits.keeper("t1").keep(LOCAL, A, LATER)
    saved_limits.keeper("t1").keep(BOX, A, LATER)
    assert saved_limits.keeper(BY_HAND).saved_limits(LOCAL, A) == BEFORE
    assert saved_limits.keeper("t1").saved_limits(LOCAL, A) == LATER
    saved_limits.keeper("t1").forget(LOCAL, A)
    assert saved_limits.saved_containers(LOCAL) == {A}
    assert [saved.engine for saved in saved_limits.all(BOX)] == [BOX]


def test_the_newest_is_put_back_first(saved_limits):
    saved_limits.keeper(BY_HAND).keep(LOCAL, A, BEFORE)
    saved_limits.keeper("t1").keep(LOCAL, A, LATER)
    assert [saved.owner for saved in saved_limits.all(LOCAL)] == ["t1", BY_HAND]


def test_orphans_are_saved_limits_of_tasks_that_are_over_or_unknown_and_never_those_of_people(
    workspace, saved_limits
):
    living_worker(workspace)
    task(workspace, "running", TaskState.RUNNING)
    task(workspace, "queued", TaskState.QUEUED)
    task(workspace, "dead", TaskState.INTERRUPTED)
    for owner in ("running", "queued", "dead", "unknown", BY_HAND):
        saved_limits.keeper(owner).keep(LOCAL, A, BEFORE)
    assert {saved.owner for saved in saved_limits.orphans()} == {"dead", "unknown"}


def test_each_change_by_hand_is_a_step_that_can_be_taken_back(saved_limits):
    first, second = UndoStep(BEFORE, ContainerAllowance(None, 2.0)), UndoStep(LATER)
    saved_limits.push_undo(LOCAL, A, "web", first)
    assert saved_limits.all() == (), "there is no change by hand without saved limits"
    saved_limits.keeper(BY_HAND).keep(LOCAL, A, BEFORE)
    saved_limits.push_undo(LOCAL, A, "web", first)
    saved_limits.push_undo(LOCAL, A, "web", second)
    (saved,) = saved_limits.all()
    assert (saved.name, saved.undo, saved.limits) == ("web", (first, second), BEFORE)
    saved_limits.pop_undo(LOCAL, A)
    assert saved_limits.all()[0].undo == (first,)


def test_the_one_step_that_an_earlier_version_stored_is_read(saved_limits, workspace):
    saved_limits.keeper(BY_HAND).keep(LOCAL, A, BEFORE)
    with workspace.database.write() as session:
        session.execute(update(SavedLimitsRow).values(undo=LATER))
    assert saved_limits.all()[0].undo == (UndoStep(LATER),)


def test_picks_are_by_engine(saved_limits):
    saved_limits.pick("local", A, "web")
    saved_limits.pick("local", A, "web")
    saved_limits.pick("box", B, "db")
    assert saved_limits.picked("local") == {A}
    saved_limits.unpick("local", [A, B])
    assert saved_limits.picked("local") == frozenset()
    assert saved_limits.picked("box") == {B}


def test_a_record_belongs_to_the_engine_and_not_to_its_name(saved_limits):
    saved_limits.keeper("t1").keep(LOCAL, A, BEFORE)
    renamed, taken = EngineKey("other", LOCAL.id), EngineKey("local", "ID:ANOTHER")
    saved_limits.keeper("t1").keep(renamed, A, LATER)
    assert saved_limits.keeper("t1").saved_limits(renamed, A) == BEFORE
    assert (
        saved_limits.saved_containers(renamed),
        [saved.engine for saved in saved_limits.all(renamed)],
    ) == (
        {A},
        [LOCAL],
    )
    assert saved_limits.keeper("t1").saved_limits(taken, A) is None
    assert (saved_limits.saved_containers(taken), saved_limits.all(taken)) == (frozenset(), ())
    saved_limits.keeper("t1").forget(taken, A)
    saved_limits.keeper("t1").keep(
        taken, A, LATER
    )  # a copy of the whole engine has containers of the same ids
    saved_limits.keeper("t1").forget(renamed, A)
    assert [(saved.engine, saved.limits) for saved in saved_limits.all()] == [(taken, LATER)]


def test_an_engine_that_was_not_reached_is_known_by_its_name(saved_limits):
    saved_limits.keeper("t1").keep(LOCAL, A, BEFORE)
    assert [saved.container for saved in saved_limits.all(EngineKey("local"))] == [A]
    assert saved_limits.all(EngineKey("box")) == ()


def written_before(workspace, engine, container, owner=BY_HAND):
    """Write one as earlier versions did, which knew an engine's name only."""
    row = SavedLimitsRow(
        engine=engine, container=container, owner=owner, name="job", since=1.0, limits=BEFORE, undo=None
    )
    with workspace.database.write() as session:
        session.add(row)


def test_a_record_of_an_earlier_version_counts_wherever_its_container_is(workspace, saved_limits):
    written_before(workspace, "old", A)
    (old,) = saved_limits.all(EngineKey("old", "ID:LOCAL"))
    assert (old.engine, saved_limits.all(LOCAL)) == (EngineKey("old"), ())
    keeper = saved_limits.keeper(BY_HAND)
    keeper.keep(LOCAL, A, LATER)
    assert (keeper.saved_limits(LOCAL, A), saved_limits.saved_containers(LOCAL), len(saved_limits.all())) == (
        BEFORE,
        {A},
        1,
    )
    tied = saved_limits.tie(old, LOCAL)
    assert saved_limits.all(LOCAL) == (tied,)
    assert (saved_limits.saved_containers(BOX), keeper.saved_limits(BOX, A)) == (frozenset(), None)
    keeper.forget(LOCAL, A)
    assert saved_limits.all() == ()


class FakeEngines:
    """Engines by name: what is on each, by its id; None does not answer."""

    def __init__(self, **engines):
        self.engines = engines
        self.names = tuple(engines)
        self.touched: list[tuple[str, str]] = []

    def all(self):
        return tuple(
            EngineInfo(name, "", EngineState.LOST, f"No answer from {name}.")
            if found is None
            else EngineInfo(name, "", EngineState.READY, id=next(iter(found)))
            for name, found in self.engines.items()
        )

    def host(self, name, keeper=None, _=None):
        return FakeHost(self, name, keeper)


class FakeHost:
    """As much of a host as putting back needs."""

    def __init__(self, engines, name, keeper):
        self.engines, self.name, self.keeper = engines, name, keeper
        (self.id,) = engines.engines[name]
        self.there = engines.engines[name][self.id]

    def key(self):
        return EngineKey(self.name, self.id)

    def inspect(self, container):
        if container not in self.there:
            raise ContainerGone("It is gone.")
        return SimpleNamespace(id=container, name=f"job {container[0]}", state="running")

    def free_threads(self, container):
        pass

    def restore(self, container):
        self.there[container] = self.keeper.saved_limits(self.key(), container)
        self.keeper.forget(self.key(), container)
        self.engines.touched.append((self.id, container))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass


def put_back(saved_limits, engines):
    return LimitRestorer(engines, saved_limits).put_back(saved_limits.all())


def test_any_name_that_reaches_the_engine_puts_limits_back(saved_limits):
    saved_limits.keeper("t1").keep(LOCAL, A, BEFORE)
    engines = FakeEngines(gone=None, new={LOCAL.id: {A: LATER}}, same={LOCAL.id: {A: LATER}})
    assert put_back(saved_limits, engines).restored == ("job a",)
    assert (engines.touched, engines.engines["new"]) == ([(LOCAL.id, A)], {LOCAL.id: {A: BEFORE}})
    assert saved_limits.all() == ()


def test_an_engine_that_took_the_name_of_another_is_never_touched(saved_limits, sentence):
    saved_limits.keeper("t1").keep(LOCAL, A, BEFORE)
    engines = FakeEngines(local={"ID:ANOTHER": {A: LATER}})
    ((name, why),) = put_back(saved_limits, engines).failed
    assert (name, engines.touched, len(saved_limits.all())) == (A[:12], [], 1)
    sentence(why)
    assert "PHASEDOCK_DOCKER" in why


def test_an_engine_that_took_the_name_within_seconds_is_not_touched_either(saved_limits, monkeypatch):
    """What is known of engines holds for some seconds; who answers is asked again before anything is sent."""
    saved_limits.keeper("t1").keep(LOCAL, A, BEFORE)
    engines = FakeEngines(local={"ID:ANOTHER": {A: LATER}})
    stale = EngineInfo("local", "", EngineState.READY, id=LOCAL.id)
    monkeypatch.setattr(engines, "all", lambda: (stale,))
    assert len(put_back(saved_limits, engines).failed) == 1
    assert (engines.touched, len(saved_limits.all())) == ([], 1)


def test_an_engine_that_does_not_answer_is_said_and_its_saved_limits_stay(saved_limits):
    saved_limits.keeper("t1").keep(LOCAL, A, BEFORE)
    saved_limits.keeper("t1").keep(BOX, B, BEFORE)
    done = put_back(saved_limits, FakeEngines(local=None, box={BOX.id: {B: LATER}}))
    assert done.restored == ("job b",)
    assert done.failed == ((A[:12], "No answer from local."),)
    assert [saved.engine for saved in saved_limits.all()] == [LOCAL]


def test_saved_limits_of_an_earlier_version_are_found_by_their_containers(workspace, saved_limits):
    written_before(workspace, "renamed", A)
    written_before(workspace, "local", B)
    engines = FakeEngines(local={LOCAL.id: {}}, box={BOX.id: {A: LATER, B: LATER}})
    assert set(put_back(saved_limits, engines).restored) == {"job a", "job b"}
    assert engines.engines["box"][BOX.id] == {A: BEFORE, B: BEFORE}
    assert saved_limits.all() == ()


def test_saved_limits_of_an_earlier_version_are_tied_to_the_engine_of_their_name_first(
    workspace, saved_limits
):
    written_before(workspace, "box", A)
    engines = FakeEngines(local={LOCAL.id: {A: LATER}}, box={BOX.id: {A: LATER}})
    LimitRestorer(engines, saved_limits).tie_old()
    assert [saved.engine for saved in saved_limits.all()] == [BOX]


@pytest.mark.parametrize(
    ("named", "others", "gone"),
    [("local", {}, True), ("local", {"far": None}, False), ("renamed", {}, False)],
)
def test_a_container_of_an_earlier_version_is_gone_only_if_it_can_be_nowhere(
    workspace, saved_limits, named, others, gone
):
    written_before(workspace, named, A)
    done = put_back(saved_limits, FakeEngines(local={LOCAL.id: {}}, **others))
    assert (done.gone, len(done.failed), len(saved_limits.all())) == (
        (("job",), 0, 0) if gone else ((), 1, 1)
    )
