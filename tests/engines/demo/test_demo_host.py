"""The demo host: one replay for all processes, and limits that hold and are restored."""

import math
from threading import Thread

import pytest

from core.engines.demo.kind import ENGINE, RECORDED, DemoAddress, bundled_plan
from core.engines.demo.world import MAX_AWAKE
from core.engines.errors import ChangeRefused, ContainerGone, HostLost, NotOurs
from core.engines.run import MemoryKeeper
from tests.engines.demo.making import KEY, Demo, flat, job_of, plan_of

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
    assert demo.host().advance().replay.jobs[0].weight == 101


def test_a_change_that_fails_changes_nothing(demo):
    before = demo.world().advance()
    with pytest.raises(ZeroDivisionError):
        demo.world().change(lambda now: now.replay.changed(0, weight=1 / 0))
    assert demo.world().advance() == before


def test_a_host_that_nobody_looked_at_stood_still(demo):
    host = demo.host()
    before = host.advance().replay
    demo.clock.sleep(MAX_AWAKE + 5.0)
    later = host.advance().replay
    assert (later.at, later.jobs) == (before.at, before.jobs)
    demo.clock.sleep(-3600.0)
    assert host.advance().replay.at == before.at
    demo.clock.sleep(2.0)
    assert host.advance().replay.at == pytest.approx(before.at + 2.0)


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
    host.advance()
    demo.clock.sleep(5.0)
    assert job_of(host, "one").number == old.number
    assert (host.counters([old]), host.job(old), readings.news()) == ({}, None, [])
    with pytest.raises(ContainerGone):
        host.outcome(old.id)
    host.remove(old.id)
    assert len(host.containers()) == 2


@pytest.mark.parametrize("text", ["", "[]", '{"version": 9}', '{"version": 1, "replay": {"due": 3}}'])
def test_a_file_that_is_none_of_ours_is_begun_anew(demo, text):
    (demo.folder / "world.json").write_text(text)
    assert demo.host().advance().replay.at == 0.0


def test_a_replay_of_other_recordings_is_begun_anew(demo):
    old = demo.host().containers()
    demo.clock.sleep(20.0)
    demo.plan = plan_of(flat("one", steps=3), flat("two", 60.0))
    assert demo.host().advance().replay.at == 0.0
    assert not {each.id for each in old} & {each.id for each in demo.host().containers()}


def test_a_folder_that_cannot_be_written_is_a_lost_host(tmp_path, refuses):
    (tmp_path / "file").write_text("")
    with refuses(HostLost):
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
    host.advance()
    news = readings.news()
    assert [value for _, value in news] == [2.0, 1.0, pytest.approx(2 / 3), 0.5]
    assert [at - 1e9 for at, _ in news] == pytest.approx([1.5, 3.0, 4.5, 6.0])
    assert readings.news() == []
    assert host.logs_since(one.id, 1e9 + 4.0) == [
        (pytest.approx(1e9 + 4.5), "step 3/20 loss=0.6666666666666666"),
        (pytest.approx(1e9 + 6.0), "step 4/20 loss=0.5"),
    ]


def test_a_limit_makes_the_loss_fall_later(demo):
    host = demo.host()
    one, two = job_of(host, "one"), job_of(host, "two")
    host.set_limits(one.id, one.limits.with_cores(0.1))
    demo.clock.sleep(20.5)
    host.advance()
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
    kept = demo.keeper.saved_limits(KEY, one.id)
    assert host.read_limits(kept) == before
    assert host.restore(one.id)
    assert host.inspect(one.id).limits == before
    assert demo.keeper.saved_limits(KEY, one.id) is None
    assert not host.restore(one.id)


def test_only_what_the_guard_allows_is_changed(demo):
    host = demo.host(guard=lambda _: False)
    one = job_of(host, "one")
    for change in (lambda: host.set_limits(one.id, one.limits.with_cores(0.3)), lambda: host.stop(one.id)):
        with pytest.raises(NotOurs):
            change()
    assert host.inspect(one.id).limits == one.limits


def test_a_memory_limit_below_what_a_job_holds_is_refused(demo, refuses):
    host = demo.host()
    one = job_of(host, "one")
    with refuses(ChangeRefused):
        host.set_limits(one.id, one.limits.with_memory(90 * 2**20))
    assert demo.keeper.kept_limits == {}


def test_a_job_that_ends_while_it_is_changed_is_gone(demo):
    host = demo.host()
    one = job_of(host, "one")

    class Late(MemoryKeeper):
        def keep(self, *args):
            super().keep(*args)
            demo.clock.sleep(40.0)

    late = demo.host(keeper=Late())
    with pytest.raises(ContainerGone):
        late.set_limits(one.id, one.limits.with_cores(0.3))
    host.remove(one.id)


# ---- what comes with it ----


def test_what_is_replayed_are_the_jobs_that_finished_one_workload_after_the_other():
    plan = bundled_plan()
    assert len(plan.recordings) == 40
    assert len({recording.name for recording in plan.recordings[:5]}) == 5
    assert {recording.period for recording in plan.recordings} == {1.0}
    for recording in plan.recordings:
        assert 300 <= recording.steps <= 720
        assert 0.25 < recording.work / recording.steps < 0.6
        assert math.isfinite(recording.loss[-1])
        assert recording.values_at(range(recording.steps))[0][1] > recording.loss[-1]
    assert not all(place.labelled for place in plan.places)


def test_without_samples_the_demo_is_missing_and_nothing_else_breaks(monkeypatch, tmp_path):
    monkeypatch.setattr("core.engines.demo.kind.RECORDED", RECORDED.with_name("nothing.parquet"))
    bundled_plan.cache_clear()
    host = ENGINE.connect(DemoAddress(tmp_path), None, lambda _: False)
    with pytest.raises(HostLost) as caught:
        host.ping()
    assert caught.value.kind == "missing"
    bundled_plan.cache_clear()


def test_the_demo_has_one_address_unless_it_is_switched_off(tmp_path):
    assert [each.name for each in ENGINE.hosts(str(tmp_path))] == ["demo"]
    assert ENGINE.hosts("") == ()
