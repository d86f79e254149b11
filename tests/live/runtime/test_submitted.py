"""Submitted jobs on a real engine, and what they survive: workers are processes, killed with SIGKILL."""

import signal
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from core.bootstrap import open_workspace, worker_for
from core.config import child_environment
from core.live.queue.spec import JobNotAccepted
from core.live.queue.values import QueueState
from core.workspace.records import TaskState
from tests.live.limits import kernel_quota
from tests.live.waiting import ended, until

pytestmark = pytest.mark.live

LONG = {"program": "mlp", "command": "--steps 100000", "memory": 0.5}


@pytest.fixture
def submit(space, docker_client):
    """Submits jobs whose containers are gone afterwards; other people's containers are left alone."""
    made = []

    def submitting(**values):
        made.append(space.live.queue.submit("local", {**LONG, **values}))
        return made[-1]

    yield submitting
    for job in made:
        for container in containers(docker_client, job):
            container.remove(force=True, v=True)


def containers(client, job):
    """All containers of a job, ended ones included."""
    return client.containers.list(all=True, filters={"label": f"phasedock.submission={job.id}"})


def only(client, job):
    """The one container of a job."""
    (container,) = containers(client, job)
    return container


def states(space):
    return {job.name: job.state for job in space.live.queue.list("local")}


@contextmanager
def worker_process(settings):
    """A worker that may be killed."""
    environment = child_environment(settings) | {
        "PHASEDOCK_DOCKER": settings.docker,
        "PHASEDOCK_CONTROL": "on",
    }
    command = [sys.executable, "-m", "core.cli", "worker"]
    process = subprocess.Popen(command, env=environment, cwd=Path(__file__).parents[3])
    try:
        yield process
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait(30)


def attach(space, policy="elastic", **values):
    """Attach a policy in control, with one core for one job at a time."""
    chosen = {"admission": "strict", "reassign": "none", **values} if policy == "elastic" else values
    return space.live.policies.attach("local", policy, chosen, "control", reattach=False)


def running(space, *names):
    """Wait until these jobs run, each with its container."""

    def running_jobs():
        jobs = {job.name: job for job in space.live.queue.list("local")}
        ready = all(jobs[name].state is QueueState.RUNNING and jobs[name].container for name in names)
        return jobs if ready else {}

    return until(running_jobs, 60)


@pytest.mark.long
def test_a_worker_that_is_killed_loses_no_submitted_job(space, settings, submit, docker_client, light_image):
    """One runs, one waits because the whole machine is taken; then nobody is left who knows of them."""
    assert light_image
    cores = float(space.live.engines.get("local").cores)
    first, second = submit(name="first", request=cores), submit(name="second", request=cores)
    with worker_process(settings) as worker:
        task = attach(space)
        running(space, "first")
        container = only(docker_client, first)
        until(lambda: kernel_quota(container)[0] > 0)
        until(lambda: "asks for" in space.live.queue.find("local", "second").why)
        assert containers(docker_client, second) == []
        worker.send_signal(signal.SIGKILL)
        worker.wait(10)
    assert space.tasks.get(task).state is TaskState.INTERRUPTED
    assert states(space) == {"first": QueueState.RUNNING, "second": QueueState.WAITING}
    with worker_process(settings):
        until(lambda: kernel_quota(container)[0] == -1, 30)
        until(lambda: space.live.queue.find("local", "first").cores is None, 30)
        again = attach(space)
        until(lambda: kernel_quota(container)[0] > 0)
        assert [each.id for each in containers(docker_client, first)] == [container.id]
        assert running(space, "first")["first"].id == first.id
        assert space.live.queue.cancel("local", "first").cancelling
        until(lambda: states(space)["first"] is QueueState.CANCELLED)
        assert containers(docker_client, first) == []
        running(space, "second")
        space.live.policies.detach("local")
        assert ended(space, again).state is TaskState.DONE
        left = only(docker_client, second)
        assert (left.status, kernel_quota(left)[0]) == ("running", -1)
        assert space.live.saved_limits.all() == ()
    assert states(space)["second"] is QueueState.RUNNING
    assert space.live.queue.cancel("local", "second").state is QueueState.CANCELLED
    assert containers(docker_client, second) == []


@pytest.mark.long
def test_a_paused_job_is_resumed_after_a_kill(space, settings, submit, docker_client, light_image):
    """In turns, the one that has run for a quantum is paused for the other."""
    assert light_image
    cores = float(space.live.engines.get("local").cores)
    jobs = {name: submit(name=name, request=cores) for name in ("first", "second")}
    with worker_process(settings) as worker:
        attach(space, order="round-robin", quantum=12.0)
        until(lambda: QueueState.PAUSED in states(space).values(), 60)
        worker.send_signal(signal.SIGKILL)
        worker.wait(10)
    before = [only(docker_client, job) for job in jobs.values()]
    assert "paused" in {each.status for each in before}, "while turns change, both may be"
    with worker_process(settings):
        until(lambda: {only(docker_client, job).status for job in jobs.values()} == {"running"}, 30)
        until(lambda: {kernel_quota(each)[0] for each in before} == {-1}, 30)
        until(lambda: set(states(space).values()) == {QueueState.RUNNING}, 30)
    assert [only(docker_client, job).id for job in jobs.values()] == [each.id for each in before]


def test_a_job_ends_with_its_container_until_it_is_removed(space, worker, submit, docker_client, light_image):
    assert worker
    assert light_image
    done = submit(name="done", command="--steps 3")
    bad = submit(name="bad", command="--steps none")
    attach(space, "free")
    until(lambda: states(space)["done"].over and states(space)["bad"].over, 60)
    found = {job.name: (job.state, job.why) for job in space.live.queue.list("local")}
    assert found["done"] == (QueueState.ENDED, "It finished.")
    assert found["bad"][0] is QueueState.FAILED
    assert "code 2" in found["bad"][1]
    assert only(docker_client, done).status == "exited"
    folder = space.settings.home / "live" / "jobs" / done.container_name
    assert folder.is_dir()
    space.live.queue.remove("local", "done")
    assert containers(docker_client, done) == []
    assert not folder.exists()
    space.live.policies.detach("local")
    assert only(docker_client, bad).status == "exited"


def test_an_image_that_the_engine_does_not_have_is_refused(submit, space):
    with pytest.raises(JobNotAccepted) as caught:
        submit(program="own", image="phasedock-jobs:nothing")
    assert caught.value.fields == {
        "image": "local does not have phasedock-jobs:nothing; pull or build it there first."
    }
    assert space.live.queue.list("local") == ()


def test_a_policy_that_watches_starts_nothing(space, worker, submit, docker_client, light_image):
    assert worker
    assert light_image
    job = submit()
    task = space.live.policies.attach("local", "free", {}, "watch")
    view = until(
        lambda: v if (v := space.live.view.request_view("local")).attached and v.attached.entries else None
    )
    assert any("Would start" in said.text for said in view.attached.entries)
    assert space.live.queue.list("local")[0].state is QueueState.WAITING
    space.live.policies.detach("local")
    ended(space, task)
    assert containers(docker_client, job) == []


def test_a_volume_that_the_settings_list_is_mounted(settings, docker_client, light_image, tmp_path):
    data = tmp_path / "data"
    data.mkdir()
    (data / "greeting").write_text("hello")
    opened = open_workspace(replace(settings, allowed_volumes=(str(data),)))
    worker = worker_for(opened)
    worker.start()
    try:
        said = {"image": light_image, "command": "cat /data/greeting", "volumes": f"{data}:/data:ro"}
        job = opened.live.queue.submit("local", said)
        opened.live.policies.attach("local", "free", {}, "control")
        until(lambda: opened.live.queue.find("local", job.id).state is QueueState.ENDED, 60)
        assert only(docker_client, job).logs() == b"hello"
        opened.live.queue.remove("local", job.id)
        assert containers(docker_client, job) == []
    finally:
        worker.stop(20)
        opened.close()
