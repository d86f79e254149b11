"""Runs on real containers: threads with cores, what is seen of jobs, and what goes wrong."""

import json
import time
from itertools import pairwise
from pathlib import Path

import pytest

from core.engines.docker_host import Host, HostLost
from core.engines.run import PlannedJob
from core.errors import Cancelled
from core.scheduling.actions import SetLimit, SetThreads, Start, Stop
from core.scheduling.model import JobState
from tests.live.engines import looked, looked_until, opened, planned, start_jobs, steps_program, to_the_end

pytestmark = pytest.mark.live


def test_threads_shrink_before_the_quota_and_grow_after_it(docker_url, light_image, tmp_path, docker_client):
    job = planned(light_image, "a", 60.0, 3000, can_resize=True)
    with opened(docker_url, tmp_path, job, cpus=(None,)) as engine:
        start_jobs(engine, Start("a", "worker-0"))
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
        start_jobs(engine, Start("a", "worker-0"))
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


def test_threads_that_a_policy_sets_shrink_before_its_quota(docker_url, light_image, tmp_path):
    """The policy's own order, threads and then cores, is kept to: the quota waits for the answer."""
    jobs = [planned(light_image, name, 60.0, 3000, can_resize=True) for name in "ab"]
    with opened(docker_url, tmp_path, *jobs, cpus=(None,)) as engine:
        start_jobs(engine, Start("b", "worker-0", threads=2), Start("a", "worker-0", threads=2))
        end = time.monotonic() + 20.0
        while not all(job.steps for job in looked(engine, 0.1).jobs):
            assert time.monotonic() < end
        less = [SetThreads("a", 1), SetLimit("a", 0.5), SetThreads("b", 1), SetLimit("b", 0.5)]
        assert engine.apply(less) == ()
        shrunk = engine.observe().jobs
        assert [(job.threads, job.limit, job.can_resize) for job in shrunk] == [(1, 0.5, True)] * 2
        assert engine.apply([SetLimit("a", 1.5), SetThreads("a", 2)]) == ()
        assert looked_until(engine, lambda job: job.threads == 2).jobs[0].limit == 1.5


@pytest.mark.parametrize("told", [False, True], ids=["by its share", "by its policy"])
def test_a_job_that_does_not_answer_gets_its_quota_and_is_shown_as_one(
    docker_url, light_image, tmp_path, monkeypatch, told
):
    monkeypatch.setattr("core.engines.run.actions.ACKNOWLEDGE_TIMEOUT", 0.3)
    deaf = "import json,os,time\nf=os.environ['PHASEDOCK_AGENT']+'/says.json'\n"
    deaf += "open(f,'w').write(json.dumps({'version':1,'threads':2,'state':'running'}))\ntime.sleep(60)"
    job = PlannedJob("a", light_image, ("python3", "-c", deaf), can_resize=True)
    with opened(docker_url, tmp_path, job, cpus=(None,)) as engine:
        start_jobs(engine, Start("a", "worker-0"))
        assert looked_until(engine, lambda job: job.threads == 2).jobs[0].can_resize
        less = [SetThreads("a", 1), SetLimit("a", 0.5)] if told else [SetLimit("a", 0.5)]
        assert engine.apply(less) == ()
        seen = engine.observe()
        assert (seen.jobs[0].limit, seen.jobs[0].can_resize, seen.failures) == (0.5, False, ())


def test_a_program_that_fails_says_why(docker_url, light_image, tmp_path):
    job = PlannedJob("a", light_image, ("python3", "-c", "raise SystemExit('no data')"))
    with opened(docker_url, tmp_path, job) as engine:
        start_jobs(engine, Start("a", "worker-0"))
        ended = to_the_end(engine)[-1].ended
    assert [job.state for job in ended] == [JobState.FAILED]
    assert engine.reasons["a"] == "Its program exited with code 1: no data."


def test_an_image_that_is_not_there_is_a_failure_and_the_job_waits_on(docker_url, tmp_path):
    with opened(docker_url, tmp_path, PlannedJob("a", "no-such-image")) as engine:
        engine.wait(None)
        (failure,) = engine.apply([Start("a", "worker-0")])
        assert "no such image" in failure.why.lower()
        assert looked(engine).jobs[0].state is JobState.WAITING


def test_idle_is_called_often_and_may_end_the_run(docker_url, light_image, tmp_path, docker_client):
    calls = []

    def idle():
        calls.append(time.monotonic())
        if len(calls) > 6:
            raise Cancelled

    job = PlannedJob("a", light_image, ("sleep", "60"), labels={"phasedock.test": "1"})
    with opened(docker_url, tmp_path, job, idle=idle) as engine:
        start_jobs(engine, Start("a", "worker-0"))
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
        start_jobs(engine, Start("a b/c", "worker-0"))
        to_the_end(engine)
    (folder,) = tmp_path.glob("*/*")
    assert folder.name == "a-b-c"
    assert json.loads((folder / "says.json").read_text())["state"] == "done"
    assert Path(folder / "wants.json").exists()


def test_a_program_without_an_agent_is_read_to_its_last_line(docker_url, light_image, tmp_path):
    program = "for step in range(1, 8): print(f'step {step}/7 loss={1 / step:.4f}', flush=True)"
    with opened(docker_url, tmp_path, PlannedJob("a", light_image, ("python3", "-c", program))) as engine:
        start_jobs(engine, Start("a", "worker-0"))
        seen = to_the_end(engine)
    (last,) = seen[-1].ended
    readings = [reading for entry in seen for job in (*entry.jobs, *entry.ended) for reading in job.readings]
    assert [value for _, value in readings] == pytest.approx([1 / step for step in range(1, 8)], abs=1e-4)
    assert (last.state, last.steps, last.total_steps) == (JobState.DONE, 7, 7)


@pytest.mark.parametrize("lost", ["create", "start"])
def test_a_container_whose_start_was_not_answered_does_not_compute_beside_the_next_one(
    docker_url, light_image, tmp_path, docker_client, monkeypatch, lost
):
    """The host did what it was asked, but its answer was lost: the job waits, so nothing of it may run."""

    def names():
        with_label = docker_client.containers.list(all=True, filters={"label": "phasedock.lost"})
        return [(each.name, each.status) for each in with_label]

    does = getattr(Host, lost)

    def unanswered(host, asked):
        does(host, asked)
        raise HostLost("There was no answer from the Docker host local.")

    job = planned(light_image, "a", 1.0, 40, labels={"phasedock.test": "1", "phasedock.lost": lost})
    with opened(docker_url, tmp_path, job) as engine:
        engine.wait(None)
        engine.observe()
        with monkeypatch.context() as patch:
            patch.setattr(Host, lost, unanswered)
            (failure,) = engine.apply([Start("a", "worker-0")])
        assert "no answer" in failure.why
        assert len(names()) == 1
        assert looked(engine, 0.1).jobs[0].state is JobState.WAITING
        assert names() == []
        assert engine.apply([Start("a", "worker-0")]) == ()
        assert [status for _, status in names()] == ["running"]
        seen = to_the_end(engine)
    ended = seen[-1].ended[0]
    assert (ended.state, ended.steps) == (JobState.DONE, 40)
