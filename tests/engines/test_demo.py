"""The demo host: one replay for all processes, limits that hold and are restored, and the exam of engines."""

from __future__ import annotations

import math
from dataclasses import replace
from threading import Thread

import pytest

from core.engines.demo.engine import DemoEngine
from core.engines.demo.host import ENGINE_ID, DemoHost
from core.engines.demo.kind import ENGINE, DemoAddress
from core.engines.demo.recordings import RECORDED, bundled_plan
from core.engines.demo.world import AWAKE, DemoWorld
from core.engines.docker_host import MemoryKeeper
from core.engines.errors import ChangeRefused, ContainerGone, HostLost, NotOurs
from core.engines.values import EngineKey, labelled
from core.scheduling.actions import Migrate, Pause, Resume, SetLimit, SetThreads, Start, Stop
from core.scheduling.model import JobState, Observation, Trigger
from core.simulation.replay.recording import Recording
from core.simulation.replay.state import Place, ReplayPlan
from tests.contracts.engine_exam import EngineExam, ExamJob

KEY = EngineKey("demo", ENGINE_ID)


class Clock:
    """Seconds that pass when somebody sleeps."""

    def __init__(self) -> None:
        self.now = 1e9

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def flat(name: str, seconds: float = 30.0, steps: int = 20, memory: float = 100e6) -> Recording:
    """A job of one core that prints a falling loss at each of its steps."""
    losses = tuple(2.0 / (1 + step) for step in range(steps))
    return Recording(name, seconds / steps, (1.0,) * steps, (memory,) * steps, losses, (1000.0,) * steps)


def plan_of(*jobs: Recording, cores: float = 2.0, **place: object) -> ReplayPlan:
    """A host on which each job has a place."""
    places = tuple(Place(**{"first": float(at) / 1000, **place}) for at in range(len(jobs)))
    return ReplayPlan(cores, 1e9, jobs, places, 5.0)


class Demo:
    """Demo hosts of one workspace, each as another process has it."""

    def __init__(self, folder, plan: ReplayPlan, clock: Clock | None = None, before: float = 0.0) -> None:
        self.folder, self.plan, self.clock, self.before = folder, plan, clock or Clock(), before
        self.keeper = MemoryKeeper()

    def world(self) -> DemoWorld:
        return DemoWorld(self.folder, lambda: self.plan, self.clock, self.before)

    def host(self, keeper=None, guard=labelled) -> DemoHost:
        return DemoHost(DemoAddress(self.folder), self.world(), keeper or self.keeper, guard)

    def engine(self, adopt=labelled, **more) -> DemoEngine:
        return DemoEngine(self.host(), adopt, sleep=self.clock.sleep, **more)


@pytest.fixture
def demo(tmp_path) -> Demo:
    made = Demo(tmp_path / "live", plan_of(flat("one"), flat("two", 60.0)))
    made.host().look()
    made.clock.sleep(1.0)
    return made


def job_of(host: DemoHost, name: str):
    return next(each for each in host.containers() if each.name.startswith(name))


# ---- what everybody sees ----


def test_processes_see_the_same_jobs_and_the_same_limits(demo):
    mine, theirs = demo.host(), demo.host()
    assert [each.id for each in mine.containers()] == [each.id for each in theirs.containers()]
    one = job_of(mine, "one")
    mine.set_limits(one.id, one.limits.with_cores(0.25))
    assert theirs.inspect(one.id).limits.cores == 0.25
    demo.clock.sleep(10.0)
    reads = [host.counters([one])[one.id] for host in (mine, theirs)]
    assert reads[0] == reads[1]
    assert reads[0].cpu_seconds == pytest.approx(1.0 + 2.5, abs=0.01)
    assert reads[0].throttled_periods / reads[0].periods == pytest.approx(1.0)


def test_no_change_is_lost_where_many_change_at_once(demo):
    def heavier(now):
        return now.replay.changed(0, weight=now.replay.jobs[0].weight + 1)

    def often():
        world = demo.world()
        for _ in range(25):
            world.change(heavier)

    threads = [Thread(target=often) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert demo.host().look().replay.jobs[0].weight == 101


def test_a_change_that_fails_changes_nothing(demo):
    before = demo.world().look()
    with pytest.raises(ZeroDivisionError):
        demo.world().change(lambda now: now.replay.changed(0, weight=1 / 0))
    assert demo.world().look() == before


def test_a_host_that_nobody_looked_at_stood_still(demo):
    host = demo.host()
    before = host.look().replay
    demo.clock.sleep(AWAKE + 5.0)
    later = host.look().replay
    assert (later.at, later.jobs) == (before.at, before.jobs)
    demo.clock.sleep(-3600.0)
    assert host.look().replay.at == before.at
    demo.clock.sleep(2.0)
    assert host.look().replay.at == pytest.approx(before.at + 2.0)


def test_a_new_replay_has_containers_of_its_own(demo):
    host = demo.host()
    one = job_of(host, "one")
    host.set_limits(one.id, one.limits.with_cores(0.5))
    (demo.folder / "world.json").write_text("{")
    with pytest.raises(ContainerGone):
        host.restore(one.id)
    assert demo.keeper.kept_limits == {}
    assert one.id not in {each.id for each in host.containers()}


def test_a_container_of_another_replay_is_never_taken_for_one_of_this(demo):
    host = demo.host()
    old = job_of(host, "one")
    readings = host.readings(old)
    demo.clock.sleep(5.0)
    (demo.folder / "world.json").unlink()
    host.look()
    demo.clock.sleep(5.0)
    assert job_of(host, "one").number == old.number
    assert (host.counters([old]), host.job(old), host.ending(old), readings.news()) == ({}, None, None, [])
    host.remove(old.id)
    assert len(host.containers()) == 2


@pytest.mark.parametrize("text", ["", "[]", '{"version": 9}', '{"version": 1, "replay": {"due": 3}}'])
def test_a_file_that_is_none_of_ours_is_begun_anew(demo, text):
    (demo.folder / "world.json").write_text(text)
    assert demo.host().look().replay.at == 0.0


def test_a_replay_of_other_recordings_is_begun_anew(demo):
    old = demo.host().containers()
    demo.clock.sleep(20.0)
    demo.plan = plan_of(flat("one", steps=3), flat("two", 60.0))
    assert demo.host().look().replay.at == 0.0
    assert not {each.id for each in old} & {each.id for each in demo.host().containers()}


def test_a_folder_that_cannot_be_written_is_a_lost_host(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(HostLost, match="cannot be written"):
        Demo(tmp_path / "file", plan_of(flat("one"))).host().containers()


def test_asking_whether_it_is_there_writes_nothing(tmp_path):
    Demo(tmp_path / "live", plan_of(flat("one"))).host().ping()
    assert not (tmp_path / "live").exists()


def test_a_new_replay_is_already_under_way(tmp_path):
    started = Demo(tmp_path, plan_of(flat("one"), flat("two", 60.0)), before=25.0).host()
    assert started.counters(started.containers())[job_of(started, "one").id].cpu_seconds > 20


# ---- what is measured ----


def test_counters_are_those_of_the_recording(demo):
    host = demo.host()
    demo.clock.sleep(9.0)
    one = job_of(host, "one")
    read = host.counters([one])[one.id]
    assert (read.cpu_seconds, read.memory) == (pytest.approx(10.0, abs=0.01), 100_000_000)
    assert read.io_written == pytest.approx(10_000, rel=0.01)
    assert (read.periods, read.throttled_periods) == (0, 0)


def test_losses_come_once_and_when_they_were_printed(demo):
    host = demo.host()
    one = job_of(host, "one")
    readings = host.readings(one)
    assert readings.news() == []
    demo.clock.sleep(5.0)
    host.look()
    news = readings.news()
    assert [value for _, value in news] == [2.0, 1.0, pytest.approx(2 / 3), 0.5]
    assert [at - 1e9 for at, _ in news] == pytest.approx([1.5, 3.0, 4.5, 6.0])
    assert readings.news() == []
    assert host.logs_since(one.id, 1e9 + 4.0) == [
        (pytest.approx(1e9 + 4.5), "loss=0.666667"),
        (pytest.approx(1e9 + 6.0), "loss=0.5"),
    ]


def test_a_limit_makes_the_loss_fall_later(demo):
    host = demo.host()
    one, two = job_of(host, "one"), job_of(host, "two")
    host.set_limits(one.id, one.limits.with_cores(0.1))
    demo.clock.sleep(20.5)
    host.look()
    slow, quick = host.readings(one).news(), host.readings(two).news()
    assert (len(slow), len(quick)) == (2, 7)


def test_an_ended_container_is_gone(demo):
    host = demo.host()
    one = job_of(host, "one")
    demo.clock.sleep(32.0)
    with pytest.raises(ContainerGone):
        host.inspect(one.id)
    assert host.counters([one]) == {}


# ---- what is changed ----


def test_limits_are_kept_before_they_are_changed_and_restored_exactly(tmp_path):
    demo = Demo(tmp_path, plan_of(flat("one"), cores=0.7, memory=5e8))
    host = demo.host()
    one = job_of(host, "one")
    before = one.limits
    host.set_limits(one.id, before.with_cores(0.3).with_memory(200_000_000).with_weight(2.0))
    kept = demo.keeper.kept(KEY, one.id)
    assert host.read_limits(kept) == before
    assert host.restore(one.id)
    assert host.inspect(one.id).limits == before
    assert demo.keeper.kept(KEY, one.id) is None
    assert not host.restore(one.id)


def test_only_what_the_guard_allows_is_changed_and_only_with_a_keeper(demo):
    for host in (
        demo.host(guard=lambda _: False),
        DemoHost(DemoAddress(demo.folder), demo.world(), None, labelled),
    ):
        one = job_of(host, "one")
        with pytest.raises(NotOurs):
            host.set_limits(one.id, one.limits.with_cores(0.3))
        assert host.inspect(one.id).limits == one.limits
    with pytest.raises(NotOurs):
        demo.host(guard=lambda _: False).stop(one.id)


def test_a_memory_limit_below_what_a_job_holds_is_refused(demo):
    host = demo.host()
    one = job_of(host, "one")
    with pytest.raises(ChangeRefused, match=r"holds 95.37 MiB"):
        host.set_limits(one.id, one.limits.with_memory(90 * 2**20))
    assert demo.keeper.kept_limits == {}


def test_a_job_that_ends_while_it_is_changed_is_gone(demo):
    host = demo.host()
    one = job_of(host, "one")

    class Late(MemoryKeeper):
        def keep(self, *args) -> None:
            super().keep(*args)
            demo.clock.sleep(40.0)

    late = demo.host(keeper=Late())
    with pytest.raises(ContainerGone):
        late.set_limits(one.id, one.limits.with_cores(0.3))
    host.remove(one.id)


# ---- what comes with it ----


def test_what_is_replayed_is_what_ran_alone():
    plan = bundled_plan()
    assert len(plan.recordings) == 10
    assert {recording.period for recording in plan.recordings} == {1.0}
    for recording in plan.recordings:
        assert 30 <= recording.steps <= 60
        assert recording.work / recording.steps > 0.9
        assert math.isfinite(recording.loss[-1])
        assert recording.printed(range(recording.steps))[0][1] > recording.loss[-1]
    assert not all(place.labelled for place in plan.places)


def test_without_samples_the_demo_is_missing_and_nothing_else_breaks(monkeypatch, tmp_path):
    monkeypatch.setattr("core.engines.demo.recordings.RECORDED", RECORDED.with_name("nothing.parquet"))
    bundled_plan.cache_clear()
    host = ENGINE.connect(DemoAddress(tmp_path), None, lambda _: False)
    with pytest.raises(HostLost) as caught:
        host.ping()
    assert caught.value.kind == "missing"
    bundled_plan.cache_clear()


def test_the_demo_has_one_address_unless_it_is_switched_off(tmp_path):
    assert [each.name for each in ENGINE.hosts(str(tmp_path))] == ["demo"]
    assert ENGINE.hosts("") == ()


# ---- the engine ----


def test_a_policys_limits_are_restored_when_it_ends(demo):
    with demo.engine() as engine:
        engine.wait(1.0)
        names = [job.id for job in engine.observe().jobs]
        assert engine.apply([SetLimit(names[0], 0.25, 2.0), Pause(names[1])]) == ()
        host = demo.host()
        assert {each.state for each in host.containers()} == {"running", "paused"}
    after = demo.host().containers()
    assert [(each.state, each.limits.cores, each.limits.weight) for each in after] == [
        ("running", None, 1.0)
    ] * 2
    assert demo.keeper.kept_limits == {}
    assert engine.close() == ()


def test_limits_of_a_container_that_ended_are_not_kept_for_ever(demo):
    engine = demo.engine()
    engine.wait(1.0)
    assert engine.apply([SetLimit("one-01", 1.5)]) == ()
    assert len(demo.keeper.kept_limits) == 1
    ended = []
    while not ended:
        engine.wait(60.0)
        ended = engine.observe().ended
    assert [(job.id, job.state) for job in ended] == [("one-01", JobState.DONE)]
    assert demo.keeper.kept_limits == {}
    assert engine.reasons["one-01"] == "It finished."


def test_a_container_that_is_deselected_leaves_with_its_limits(demo):
    picked = {"one-01", "two-02"}
    engine = demo.engine(adopt=lambda container: container.name in picked)
    engine.wait(1.0)
    assert engine.apply([SetLimit("one-01", 0.5)]) == ()
    picked.discard("one-01")
    engine.wait(30.0)
    (ended,) = engine.observe().ended
    assert (ended.id, ended.state) == ("one-01", JobState.FAILED)
    assert demo.host().inspect(job_of(demo.host(), "one").id).limits.cores is None
    picked.add("one-01")
    engine.wait(30.0)
    assert [job.id for job in engine.observe().jobs] == ["two-02", "one-01#2"]


def test_new_containers_arrive(demo):
    engine = demo.engine()
    seen = []
    while not any(job.id.endswith("03") for entry in seen for job in entry.jobs):
        engine.wait(engine.time + 10.0)
        seen.append(engine.observe())
    assert seen[-1].trigger is Trigger.ARRIVAL


class TestExam(EngineExam):
    """What applies to jobs that are found running and never started, on one worker."""

    slack = 1e-3

    test_the_first_observation = None
    test_a_migrated_job_goes_on_where_it_was = None
    test_nobody_migrates_twice_at_once = None
    test_a_job_that_writes_no_checkpoints_does_not_migrate = None

    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path):
        self.folder = tmp_path

    def engine(self, *jobs, workers=2):
        places = tuple(Place(first=job.arrival) for job in jobs)
        plan = ReplayPlan(
            float(workers), 1e9, tuple(flat(job.id, job.seconds) for job in jobs), places, math.inf
        )
        return _Named(Demo(self.folder, plan).engine(), [job.id for job in jobs])

    def started(self, engine, *names):
        seen = self.next(engine)
        return self.next(engine, seen.time + 0.4) if set(names) <= {job.id for job in seen.jobs} else seen

    def until_finished(self, engine, wake):
        seen = []
        while not engine.finished:
            seen.append(self.next(engine, seen[-1].time + wake if seen else None))
        return seen

    def test_a_limit_holds(self):
        engine = self.engine(ExamJob("a"))
        seen = self.started(engine, "a")
        assert engine.apply([SetLimit("a", 0.5)]) == ()
        before = self.next(engine, seen.time + 0.1).jobs[0]
        later = self.next(engine, seen.time + 2.1)
        assert later.jobs[0].limit == pytest.approx(0.5)
        assert later.jobs[0].cpu_seconds - before.cpu_seconds <= 0.5 * 2.0 * 1.1 + self.slack
        assert engine.apply([SetLimit("a", 0.25, 2.0)]) == ()
        changed = self.next(engine, later.time + 0.1).jobs[0]
        assert (changed.limit, changed.weight) == (pytest.approx(0.25), pytest.approx(2.0))

    def test_what_cannot_be_done_is_refused(self):
        engine = self.engine(ExamJob("a"))
        self.started(engine, "a")
        for action in WRONG:
            failures = engine.apply([action])
            assert [failure.action for failure in failures] == [action]
            assert failures[0].why.endswith(".")
            later = self.next(engine, engine.time + 0.01)
            assert later.failures == failures
            assert [(job.state, job.limit) for job in later.jobs] == [(JobState.RUNNING, None)]

    def test_one_refusal_does_not_hold_up_the_rest(self):
        engine = self.engine(ExamJob("a"), ExamJob("b"))
        self.started(engine, "a", "b")
        assert len(engine.apply([SetLimit("a", -1.0), SetLimit("a", 0.5), SetLimit("b", 0.5)])) == 1
        assert [job.limit for job in self.next(engine, engine.time + 0.2).jobs] == [0.5, 0.5]

    def test_an_ended_job_is_gone(self):
        engine = self.engine(ExamJob("a", 0.5), ExamJob("b", 60.0))
        seen = self.started(engine, "a", "b")
        while not seen.ended:
            seen = self.next(engine, seen.time + 5)
        assert [failure.action for failure in engine.apply([Stop("a")])] == [Stop("a")]
        assert engine.apply([Stop("b")]) == ()


WRONG = (
    Start("nobody", "demo"),
    Start("a", "nowhere"),
    Start("a", "demo"),
    SetLimit("nobody", 0.5),
    SetLimit("a", 0.0),
    SetLimit("a", -1.0),
    SetLimit("a", 1e6),
    SetLimit("a", 0.5, weight=-1.0),
    SetThreads("a", 2),
    Migrate("nobody", "demo"),
    Migrate("a", "nowhere"),
    Migrate("a", "demo"),
    Resume("a"),
    Stop("nobody"),
)


class _Named:
    """The demo's engine with jobs called as the exam calls them; over when all of them have ended."""

    def __init__(self, engine: DemoEngine, names: list[str]) -> None:
        self._engine = engine
        self._long = {name: f"{name}-{at + 1:02d}" for at, name in enumerate(names)}
        self._short = {long: short for short, long in self._long.items()}
        self._running = set(names)

    @property
    def finished(self) -> bool:
        return not self._running

    @property
    def time(self) -> float:
        return self._engine.time

    def wait(self, until: float | None) -> None:
        self._engine.wait(until)

    def observe(self) -> Observation:
        seen = self._engine.observe()
        named = {"jobs": self._jobs(seen.jobs), "ended": self._jobs(seen.ended)}
        self._running -= {job.id for job in named["ended"]}
        return replace(seen, failures=self._failures(seen.failures), **named)

    def apply(self, actions):
        return self._failures(
            self._engine.apply([replace(each, job=self._long.get(each.job, each.job)) for each in actions])
        )

    def _jobs(self, jobs):
        return tuple(replace(job, id=self._short[job.id]) for job in jobs)

    def _failures(self, failures):
        return tuple(
            replace(each, action=replace(each.action, job=self._short.get(each.action.job, each.action.job)))
            for each in failures
        )
