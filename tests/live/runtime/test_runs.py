"""Experiments in real containers: jobs move without losing a step, and nothing of a run is left behind."""

import signal
import subprocess
import sys

import docker
import pytest

from core.bootstrap import worker_for
from core.config import child_environment
from core.experiments.spec_reader import read_experiment
from core.scheduling.actions import Migrate
from core.scheduling.model import JobState
from core.workspace.records import RunState, TaskState
from tests.live.waiting import until
from tests.live.workloads import ALONE, ELASTIC, FLOWCON, SPECON

pytestmark = [pytest.mark.live, pytest.mark.timeout(300)]


def run_experiment(space, text):
    """Run an experiment as a task here; gives its id."""
    task = space.runs.submit(read_experiment(text))
    worker_for(space).work(task)
    info = space.tasks.get(task)
    assert (info.state, info.error) == (TaskState.DONE, None)
    return str(info.params["experiment"])


@pytest.mark.long
@pytest.mark.usefixtures("torch_image")
def test_specon_moves_a_pytorch_job_without_losing_or_repeating_a_step(space):
    info = space.runs.experiment(run_experiment(space, SPECON))
    entries = list(space.runs.ledgers.entries(info.runs["SpeCon"][2]))
    moved = {action.job for entry in entries for action in entry.actions if isinstance(action, Migrate)}
    assert moved
    for job in moved:
        seen = [each for entry in entries for each in (*entry.observation.jobs, *entry.observation.ended)
                if each.id == job]  # fmt: skip
        assert len({each.worker for each in seen if each.worker}) == 2
        assert len([value for each in seen for value in each.readings]) == seen[-1].total_steps
        steps = [each.steps for each in seen if each.steps is not None]
        assert steps == sorted(steps)
        assert (seen[-1].state, seen[-1].steps) == (JobState.DONE, seen[-1].total_steps)
    assert not [failure for entry in entries for failure in entry.failures]


@pytest.mark.long
@pytest.mark.usefixtures("light_image")
def test_cores_and_threads_bend_together_while_jobs_queue(space):
    """Two processors: the second job takes one back from the first, the third waits until one has ended."""
    run = space.runs.experiment(run_experiment(space, ELASTIC)).runs["Elastic"][2]
    entries = list(space.runs.ledgers.entries(run))
    lives = {"first": [], "second": [], "third": []}
    for entry in entries:
        seen = entry.observation
        assert sum(job.limit or 0.0 for job in seen.jobs if job.state.placed) <= 2.0
        for job in (*seen.jobs, *seen.ended):
            lives[job.id].append(job)
    for life in lives.values():
        last = life[-1]
        assert (last.state, last.steps) == (JobState.DONE, last.total_steps)
        assert len([value for job in life for value in job.readings]) == last.total_steps
    # where starting takes long, the second one takes its processor before the first one has counted a step
    assert next(job.limit for job in lives["first"] if job.state.placed) == 2.0
    shrunk = [job for job in lives["first"] if job.limit == 1.0]
    assert {job.threads for job in shrunk} == {1}
    assert JobState.WAITING in [job.state for job in lives["third"]][1:]
    assert (lives["third"][-1].limit, lives["third"][-1].threads) == (2.0, 2)
    assert not [failure for entry in entries for failure in entry.failures]
    assert space.runs.replay(run) == []


@pytest.mark.usefixtures("light_image")
def test_a_run_removes_what_a_killed_one_left_and_nothing_of_others(space, settings, light_image, start_job):
    left, others = (
        start_job(light_image, ["sleep", "600"], labels={"phasedock": "", "phasedock.run": run})
        for run in ("left", "others")
    )
    (settings.home / "jobs" / "left").mkdir(parents=True)
    run_experiment(space, ALONE)
    with pytest.raises(docker.errors.NotFound):
        left.reload()
    others.reload()
    assert others.status == "running"
    assert [each.name for each in (settings.home / "jobs").iterdir()] == ["lock"]


@pytest.mark.long
@pytest.mark.usefixtures("light_image")
def test_a_killed_worker_leaves_no_container_behind(settings, space, docker_client):
    def run_containers():
        return docker_client.containers.list(filters={"label": "phasedock.run"}, ignore_removed=True)

    command = [sys.executable, "-m", "core.cli", "worker"]
    environment = child_environment(settings) | {
        "PHASEDOCK_DOCKER": settings.docker,
        "PHASEDOCK_CONTROL": "on",
    }
    with subprocess.Popen(command, env=environment) as process:
        task = space.runs.submit(read_experiment(FLOWCON))
        until(lambda: len(run_containers()) == 2, 60)
        process.send_signal(signal.SIGKILL)
    run = space.runs.list(1)[0].id
    assert len(run_containers()) == 2
    worker = worker_for(space)
    worker.start()
    try:
        until(lambda: not run_containers(), 30)
        assert space.tasks.get(task).state is TaskState.INTERRUPTED
        assert space.runs.get(run).state is RunState.INTERRUPTED
    finally:
        worker.stop()
