"""Runs on real containers: moves, threads with cores, adopted containers, and what goes wrong."""

from __future__ import annotations

import json
import time
from itertools import pairwise
from pathlib import Path

import pytest

from core.engines.docker_host import (
    Address,
    DockerEngine,
    DockerWorker,
    Host,
    PlannedJob,
    WatchOnly,
    labelled,
)
from core.errors import Cancelled
from core.scheduling.actions import Migrate, Pause, SetLimit, SetThreads, Start, Stop
from core.scheduling.loop import drive
from core.scheduling.model import JobState, Trigger
from core.scheduling.policies import POLICIES
from tests.live.engines import opened, planned, steps_program

pytestmark = pytest.mark.live


MARK = "phasedock.test.engine"


def ours(container):
    """Whether a container is of these tests: other tests may use the same engine at the same time."""
    return labelled(container) and MARK in container.labels


def begun(engine, *starts):
    """Let the jobs arrive and start them."""
    engine.wait(None)
    engine.observe()
    assert engine.apply(starts) == ()


def looked_until(engine, true, seconds=10.0, all_seen=None):
    """Look until something is seen of the first job; that observation."""
    end = time.monotonic() + seconds
    while True:
        seen = looked(engine, 0.1)
        if all_seen is not None:
            all_seen.append(seen)
        if true(seen.jobs[0]):
            return seen
        assert time.monotonic() < end


def looked(engine, seconds=0.3):
    """Wait a little and look."""
    engine.wait(engine.time + seconds)
    return engine.observe()


def to_the_end(engine, seconds=60.0):
    """Look until all jobs have ended; all observations."""
    seen, end = [], time.monotonic() + seconds
    while not engine.finished:
        assert time.monotonic() < end
        seen.append(looked(engine))
    return seen


def steps_read(folder):
    """The steps that a job's readings are of, in the order of its file."""
    (file,) = folder.glob("*/*/readings.csv")
    return [int(line.split(",")[1]) for line in file.read_text().splitlines()]


# ---- moves ----


def test_a_move_between_two_sets_of_processors_loses_no_step_and_repeats_none(
    docker_url, light_image, tmp_path, docker_client
):
    with opened(docker_url, tmp_path, planned(light_image, "a", 3.0, 60)) as engine:
        begun(engine, Start("a", "worker-0", 0.9))
        seen = []
        looked_until(engine, lambda job: (job.steps or 0) >= 5, all_seen=seen)
        left = engine.containers["a"]
        assert engine.apply([Migrate("a", "worker-1")]) == ()
        moving = engine.observe()
        assert (moving.jobs[0].state, moving.jobs[0].worker) == (JobState.MIGRATING, "worker-1")
        engine.wait(None)
        moved = engine.observe()
        assert (moved.trigger, moved.failures) == (Trigger.OUTCOME, ())
        there = docker_client.api.inspect_container(engine.containers["a"])["HostConfig"]
        assert engine.containers["a"] != left
        assert (there["CpusetCpus"], there["CpuQuota"]) == ("1", 90_000)
        seen += [moving, moved, *to_the_end(engine)]
    steps = [job.steps or 0 for entry in seen for job in (*entry.jobs, *entry.ended)]
    used = [job.cpu_seconds for entry in seen for job in (*entry.jobs, *entry.ended)]
    readings = [reading for entry in seen for job in (*entry.jobs, *entry.ended) for reading in job.readings]
    assert steps == sorted(steps)
    assert used == sorted(used)
    assert used[-1] >= 2.5
    assert steps_read(tmp_path) == list(range(1, 61))
    assert [value for _, value in readings] == pytest.approx([1 / step for step in range(1, 61)], rel=1e-4)
    assert seen[-1].ended[0].state is JobState.DONE


def test_a_move_that_the_other_worker_refuses_leaves_the_job_where_it_was(docker_url, light_image, tmp_path):
    """The third worker is made of a processor that this machine does not have."""
    cpus = ((0,), (1,), (999,))
    with opened(docker_url, tmp_path, planned(light_image, "a", 2.0, 40), cpus=cpus) as engine:
        begun(engine, Start("a", "worker-1"))
        looked_until(engine, lambda job: (job.steps or 0) >= 3)
        container = engine.containers["a"]
        assert engine.apply([Migrate("a", "worker-2")]) == ()
        engine.wait(None)
        after = engine.observe()
        assert after.trigger is Trigger.OUTCOME
        assert [failure.action for failure in after.failures] == [Migrate("a", "worker-2")]
        assert "999" in after.failures[0].why
        assert (after.jobs[0].state, after.jobs[0].worker) == (JobState.RUNNING, "worker-1")
        assert engine.containers["a"] == container
        ended = to_the_end(engine)[-1].ended
    assert [(job.state, job.steps) for job in ended] == [(JobState.DONE, 40)]
    assert steps_read(tmp_path) == list(range(1, 41))


def test_a_move_that_is_not_confirmed_goes_back_from_the_checkpoint(
    docker_url, light_image, tmp_path, monkeypatch, docker_client
):
    """Until it is confirmed the job does no step in its new container, so none is done twice."""
    monkeypatch.setattr("core.engines.docker_host.migrating.CONFIRM_IN", 0.0)
    with opened(docker_url, tmp_path, planned(light_image, "a", 2.0, 40)) as engine:
        begun(engine, Start("a", "worker-0"))
        looked_until(engine, lambda job: (job.steps or 0) >= 3)
        container = engine.containers["a"]
        assert engine.apply([Migrate("a", "worker-1")]) == ()
        engine.wait(None)
        after = engine.observe()
        assert "did not go on on worker-1" in after.failures[0].why
        assert (after.jobs[0].state, after.jobs[0].worker) == (JobState.RUNNING, "worker-0")
        assert engine.containers["a"] == container
        (folder,) = tmp_path.glob("*/*")
        label = {"label": f"phasedock.agent={folder.resolve()}"}
        mine = docker_client.containers.list(all=True, filters=label, ignore_removed=True)
        assert [found.id for found in mine] == [container]
        ended = to_the_end(engine)[-1].ended
    assert [(job.state, job.steps) for job in ended] == [(JobState.DONE, 40)]
    assert steps_read(tmp_path) == list(range(1, 41))


def test_a_job_that_writes_no_checkpoint_in_time_stays(docker_url, light_image, tmp_path, monkeypatch):
    monkeypatch.setattr("core.engines.docker_host.migrating.CHECKPOINT_IN", 0.5)
    deaf = PlannedJob("a", light_image, ("sleep", "30"), labels={"phasedock.test": "1"}, can_migrate=True)
    with opened(docker_url, tmp_path, deaf) as engine:
        begun(engine, Start("a", "worker-0"))
        assert engine.apply([Migrate("a", "worker-1")]) == ()
        engine.wait(None)
        seen = engine.observe()
        assert "wrote no checkpoint within 0.5 s" in seen.failures[0].why
        assert (seen.jobs[0].state, seen.jobs[0].worker) == (JobState.RUNNING, "worker-0")


def test_a_job_that_computes_has_longer_to_go_on(docker_url, light_image, tmp_path, monkeypatch):
    """Started anew it prepares its data for longer than it would have, had it been waited for in vain."""
    monkeypatch.setattr("core.engines.docker_host.migrating.CONFIRM_IN", 1.5)
    program = (
        "python3",
        "-m",
        "phasedock_jobs",
        "mlp",
        "--steps",
        "60",
        "--size",
        "6",
        "--threads",
        "follow",
    )
    job = PlannedJob("a", light_image, program, can_migrate=True, labels={"phasedock.test": "1"})
    with opened(docker_url, tmp_path, job) as engine:
        begun(engine, Start("a", "worker-0", 0.3))
        looked_until(engine, lambda job: job.steps, 60.0)
        assert engine.apply([Migrate("a", "worker-1")]) == ()
        engine.wait(engine.time + 60)
        seen = engine.observe()
        assert (seen.failures, seen.jobs[0].worker) == ((), "worker-1")


def test_a_job_that_is_removed_while_it_moves_has_failed(
    docker_url, light_image, tmp_path, docker_client, monkeypatch
):
    monkeypatch.setattr("core.engines.docker_host.migrating.CHECKPOINT_IN", 5.0)
    deaf = PlannedJob("a", light_image, ("sleep", "30"), labels={"phasedock.test": "1"}, can_migrate=True)
    with opened(docker_url, tmp_path, deaf) as engine:
        begun(engine, Start("a", "worker-0"))
        engine.apply([Migrate("a", "worker-1")])
        docker_client.containers.get(engine.containers["a"]).remove(force=True)
        seen = to_the_end(engine)
    assert [job.state for entry in seen for job in entry.ended] == [JobState.FAILED]
    assert engine.reasons["a"]


# ---- cores and threads ----


def test_threads_shrink_before_the_quota_and_grow_after_it(docker_url, light_image, tmp_path, docker_client):
    job = planned(light_image, "a", 60.0, 3000, can_resize=True)
    with opened(docker_url, tmp_path, job, cpus=(None,)) as engine:
        begun(engine, Start("a", "worker-0"))
        before = looked_until(engine, lambda job: job.steps).jobs[0]
        assert (before.threads, before.can_resize) == (2, True)
        assert engine.apply([SetLimit("a", 0.5)]) == ()
        shrunk = engine.observe().jobs[0]
        assert (shrunk.threads, shrunk.limit, shrunk.can_resize) == (1, 0.5, True)
        engine.apply([SetLimit("a", 1.5)])
        grown = looked_until(engine, lambda job: job.threads == 2).jobs[0]
        assert (grown.threads, grown.limit) == (2, 1.5)
        quota = docker_client.api.inspect_container(engine.containers["a"])["HostConfig"]["CpuQuota"]
        assert quota == 150_000


def test_threads_are_those_of_a_share_as_neighbours_come_and_go(docker_url, light_image, tmp_path):
    """Two processors: alone a job has both, beside another one, and a policy's own word stands."""
    jobs = [planned(light_image, name, 60.0, 3000, can_resize=True) for name in "ab"]

    def become(*threads):
        end = time.monotonic() + 10.0
        while [job.threads for job in looked(engine, 0.1).jobs if job.threads] != list(threads):
            assert time.monotonic() < end

    with opened(docker_url, tmp_path, *jobs, cpus=(None,)) as engine:
        begun(engine, Start("a", "worker-0"))
        become(2)
        assert engine.apply([Start("b", "worker-0")]) == ()
        become(1, 1)
        assert engine.apply([SetLimit("b", 0.4)]) == ()
        become(2, 1)
        assert engine.apply([SetThreads("a", 1)]) == ()
        become(1, 1)
        assert engine.apply([Stop("b")]) == ()
        looked(engine, 1.0)
        become(1)


def test_a_job_that_does_not_answer_gets_its_quota_and_is_shown_as_one(
    docker_url, light_image, tmp_path, monkeypatch
):
    monkeypatch.setattr("core.engines.docker_host.resizing_jobs.ACKNOWLEDGED_IN", 0.3)
    deaf = "import json,os,time\nf=os.environ['PHASEDOCK_AGENT']+'/says.json'\n"
    deaf += "open(f,'w').write(json.dumps({'version':1,'threads':2,'state':'running'}))\ntime.sleep(60)"
    job = PlannedJob("a", light_image, ("python3", "-c", deaf), can_resize=True)
    with opened(docker_url, tmp_path, job, cpus=(None,)) as engine:
        begun(engine, Start("a", "worker-0"))
        assert looked_until(engine, lambda job: job.threads == 2).jobs[0].can_resize
        assert engine.apply([SetLimit("a", 0.5)]) == ()
        seen = engine.observe()
        assert (seen.jobs[0].limit, seen.jobs[0].can_resize, seen.failures) == (0.5, False, ())


# ---- containers that are there already ----

OURS = ("phasedock", MARK)


@pytest.fixture
def trainers(start_job, light_image, tmp_path):
    """Starts containers as other people do: programs that print losses, with our label or without."""

    def start(*labels, losses="1/n", **settings):
        program = f"import time\nfor n in range(1, 9999):\n print('loss=%.5f' % ({losses}), flush=True)\n"
        program += " end=time.process_time()+.02\n while time.process_time()<end: pass"
        command = ["python3", "-c", program]
        return [
            start_job(light_image, command, labels=dict.fromkeys(each, ""), **settings).name
            for each in labels
        ]

    return start


def quota_in_force(docker_client, name):
    """Microseconds of processor in 100 ms that the kernel gives a container, from its control group."""
    pid = docker_client.api.inspect_container(name)["State"]["Pid"]
    for line in Path(f"/proc/{pid}/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if "cpu" in controllers.split(","):
            return int(Path(f"/sys/fs/cgroup/cpu{path}/cpu.cfs_quota_us").read_text())
    quota = Path(f"/sys/fs/cgroup{path}/cpu.max").read_text().split()[0]
    return -1 if quota == "max" else int(quota)


def test_flowcon_steers_what_carries_the_label_and_touches_nothing_else(
    docker_url, tmp_path, docker_client, trainers
):
    """A whole FlowCon run beside a foreign container, whose description stays the same to the last bit.

    One job's loss falls by a hundredth of its peak every second, so it stays new; the other's stands still,
    so it comes to the completing list, with a quarter of the node: half a core of two.
    """
    (learning,) = trainers(OURS, losses="1e5 - 20 * n")
    converged, foreign = trainers(OURS, (), losses="1")
    steered = [learning, converged]
    before = docker_client.api.inspect_container(foreign)
    created = {name: docker_client.api.inspect_container(name)["HostConfig"] for name in steered}
    policy = POLICIES["flowcon"]
    settings = policy.chosen({"itval": 1.0, "alpha": 0.001})
    with Host(Address("local", docker_url)) as host:
        engine = DockerEngine([DockerWorker("node", host)], folder=tmp_path, adopt=ours)
        try:
            entries = []
            for entry in drive(engine, policy, settings, 1):
                entries.append(entry)
                limits = {job.id: job.limit for job in entry.observation.jobs}
                if limits.get(converged) == 0.25 * host.info().cores or entry.observation.time > 20:
                    break
            quotas = [quota_in_force(docker_client, name) for name in steered]
            cores = host.info().cores
        finally:
            assert engine.close() == ()
        restored = [host.inspect(name).limits for name in steered]
    seen = {job.id for entry in entries for job in entry.observation.jobs}
    assert seen == set(steered)
    assert quotas == [round(cores * 100_000), round(0.25 * cores * 100_000)]
    assert all(limits.cores is None for limits in restored)
    assert {name: host["CpuQuota"] for name, host in created.items()} == dict.fromkeys(steered, 0)
    assert any(job.readings for entry in entries for job in entry.observation.jobs)
    assert docker_client.api.inspect_container(foreign) == before


def test_a_container_that_is_removed_in_mid_tick_disturbs_nothing_else(
    docker_url, tmp_path, docker_client, trainers
):
    first, second = trainers(OURS, OURS)
    with Host(Address("local", docker_url)) as host:
        engine = DockerEngine([DockerWorker("node", host)], folder=tmp_path, adopt=ours)
        try:
            engine.wait(None)
            assert {job.id for job in engine.observe().jobs} == {first, second}
            docker_client.containers.get(first).remove(force=True)
            failures = engine.apply([SetLimit(first, 0.5), SetLimit(second, 0.5)])
            assert [failure.action.job for failure in failures] == [first]
            seen = looked(engine)
            assert [(job.id, job.state) for job in seen.ended] == [(first, JobState.FAILED)]
            assert [(job.id, job.limit) for job in seen.jobs] == [(second, 0.5)]
            assert engine.reasons[first] == "Its container was removed."
        finally:
            assert engine.close() == ()
        assert host.inspect(second).limits.cores is None


def test_a_container_that_comes_and_goes_and_comes_back(docker_url, tmp_path, docker_client, trainers):
    with Host(Address("local", docker_url)) as host:
        engine = DockerEngine([DockerWorker("node", host)], folder=tmp_path, adopt=ours)
        try:
            assert looked(engine).jobs == ()
            (one,) = trainers(OURS)
            engine.wait(engine.time + 10)
            came = engine.observe()
            assert (came.trigger, [job.id for job in came.jobs]) == (Trigger.ARRIVAL, [one])
            assert not engine.finished
            docker_client.containers.get(one).kill()
            engine.wait(engine.time + 10)
            went = engine.observe()
            assert (went.trigger, [job.id for job in went.ended]) == (Trigger.DEPARTURE, [one])
            docker_client.containers.get(one).start()
            engine.wait(engine.time + 10)
            assert [job.id for job in engine.observe().jobs] == [f"{one}#2"]
        finally:
            assert engine.close() == ()


def test_watching_changes_nothing(docker_url, tmp_path, docker_client, trainers):
    (one,) = trainers(OURS)
    before = docker_client.api.inspect_container(one)
    with Host(Address("local", docker_url)) as host:
        engine = DockerEngine([DockerWorker("node", host)], folder=tmp_path, adopt=ours)
        watched = WatchOnly(engine)
        watched.wait(None)
        watched.observe()
        assert watched.apply([SetLimit(one, 0.5), Pause(one)]) == ()
        assert [action for _, action in watched.would] == [SetLimit(one, 0.5), Pause(one)]
        assert watched.observe().jobs[0].limit is None
        assert engine.close() == ()
    assert docker_client.api.inspect_container(one) == before


# ---- what is seen ----


def test_a_program_that_fails_says_why(docker_url, light_image, tmp_path):
    job = PlannedJob("a", light_image, ("python3", "-c", "raise SystemExit('no data')"))
    with opened(docker_url, tmp_path, job) as engine:
        begun(engine, Start("a", "worker-0"))
        ended = to_the_end(engine)[-1].ended
    assert [job.state for job in ended] == [JobState.FAILED]
    assert engine.reasons["a"] == "Its program ended with code 1: no data."


def test_an_image_that_is_not_there_is_a_failure_and_the_job_waits_on(docker_url, tmp_path):
    with opened(docker_url, tmp_path, PlannedJob("a", "no-such-image")) as engine:
        engine.wait(None)
        (failure,) = engine.apply([Start("a", "worker-0")])
        assert "no such image" in failure.why.lower()
        assert looked(engine).jobs[0].state is JobState.WAITING


def test_the_cores_in_use_are_everybodys(docker_url, tmp_path, trainers):
    trainers((), cpuset_cpus="1", nano_cpus=500_000_000)
    with opened(docker_url, tmp_path, adopt=ours) as engine:
        used = [looked(engine, 1.0).workers for _ in range(3)][-1]
    assert 0.25 <= used[1].used <= 1.0
    assert 0.0 <= used[0].used <= 1.0


def test_idle_is_called_often_and_may_end_the_run(docker_url, light_image, tmp_path, docker_client):
    calls = []

    def idle():
        calls.append(time.monotonic())
        if len(calls) > 6:
            raise Cancelled

    job = PlannedJob("a", light_image, ("sleep", "60"), labels={"phasedock.test": "1"})
    with opened(docker_url, tmp_path, job, idle=idle) as engine:
        begun(engine, Start("a", "worker-0"))
        with pytest.raises(Cancelled):
            engine.wait(None)
        container = engine.containers["a"]
    assert max(after - before for before, after in pairwise(calls[2:])) < 0.6
    assert container not in [
        found.id for found in docker_client.containers.list(all=True, ignore_removed=True)
    ]


def test_what_a_job_is_asked_for_is_in_its_folder(docker_url, light_image, tmp_path):
    job = PlannedJob("a b/c", light_image, steps_program(0.2), can_migrate=True, environment={"X": "1"})
    with opened(docker_url, tmp_path, job) as engine:
        begun(engine, Start("a b/c", "worker-0"))
        to_the_end(engine)
    (folder,) = tmp_path.glob("*/*")
    assert folder.name == "a-b-c"
    assert json.loads((folder / "says.json").read_text())["state"] == "done"
    assert Path(folder / "wants.json").exists()


def test_a_program_without_an_agent_is_read_to_its_last_line(docker_url, light_image, tmp_path):
    program = "for step in range(1, 8): print(f'step {step}/7 loss={1 / step:.4f}', flush=True)"
    with opened(docker_url, tmp_path, PlannedJob("a", light_image, ("python3", "-c", program))) as engine:
        begun(engine, Start("a", "worker-0"))
        seen = to_the_end(engine)
    (last,) = seen[-1].ended
    readings = [reading for entry in seen for job in (*entry.jobs, *entry.ended) for reading in job.readings]
    assert [value for _, value in readings] == pytest.approx([1 / step for step in range(1, 8)], abs=1e-4)
    assert (last.state, last.steps, last.total_steps) == (JobState.DONE, 7, 7)


def test_a_limit_that_a_person_set_by_hand_survives_a_run_that_did_not_change_it(
    docker_url, tmp_path, docker_client, trainers
):
    names = trainers(OURS, OURS)
    by_hand, steered = (docker_client.containers.get(name).id for name in names)
    with Host(Address("local", docker_url)) as host:
        host.set_limits(by_hand, host.inspect(by_hand).limits.with_cores(0.7))
        engine = DockerEngine([DockerWorker("node", host)], folder=tmp_path, adopt=ours)
        engine.wait(None)
        engine.observe()
        assert engine.apply([SetLimit(names[1], 0.4)]) == ()
        assert engine.close() == ()
        assert host.inspect(by_hand).limits.cores == 0.7
        assert host.inspect(steered).limits.cores is None
        assert host.restore(by_hand)
        assert host.inspect(by_hand).limits.cores is None
