"""Moves of real jobs: no step is lost or done twice, and what cannot move stays where it was."""

import pytest

from core.engines.run import PlannedJob
from core.scheduling.actions import Migrate, SetLimit, Start
from core.scheduling.model import JobState, Trigger
from tests.live.engines import looked_until, opened, planned, start_jobs, to_the_end

pytestmark = pytest.mark.live


def steps_read(folder):
    """The steps that a job's readings are of, in the order of its file."""
    (file,) = folder.glob("*/*/readings.csv")
    return [int(line.split(",")[1]) for line in file.read_text().splitlines()]


def test_a_move_between_two_sets_of_processors_loses_no_step_and_repeats_none(
    docker_url, light_image, tmp_path, docker_client
):
    with opened(docker_url, tmp_path, planned(light_image, "a", 3.0, 60)) as engine:
        start_jobs(engine, Start("a", "worker-0", 0.9))
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
        start_jobs(engine, Start("a", "worker-1"))
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


@pytest.mark.long
def test_a_move_that_is_not_confirmed_goes_back_from_the_checkpoint(
    docker_url, light_image, tmp_path, monkeypatch, docker_client
):
    """Until it is confirmed the job does no step in its new container, so none is done twice."""
    migration = "core.engines.run.migration"
    monkeypatch.setattr(f"{migration}.CONFIRM_TIMEOUT", 0.0)
    # a container that is there before Docker says that it is started could still confirm
    monkeypatch.setattr(f"{migration}._has_resumed", lambda *_: False)
    with opened(docker_url, tmp_path, planned(light_image, "a", 2.0, 40)) as engine:
        start_jobs(engine, Start("a", "worker-0"))
        looked_until(engine, lambda job: (job.steps or 0) >= 3)
        container = engine.containers["a"]
        assert engine.apply([Migrate("a", "worker-1")]) == ()
        engine.wait(None)
        after = engine.observe()
        assert "did not resume on worker-1" in after.failures[0].why
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
    monkeypatch.setattr("core.engines.run.migration.CHECKPOINT_TIMEOUT", 0.5)
    deaf = PlannedJob("a", light_image, ("sleep", "30"), labels={"phasedock.test": "1"}, can_migrate=True)
    with opened(docker_url, tmp_path, deaf) as engine:
        start_jobs(engine, Start("a", "worker-0"))
        assert engine.apply([Migrate("a", "worker-1")]) == ()
        engine.wait(None)
        seen = engine.observe()
        assert "wrote no checkpoint within 0.5 s" in seen.failures[0].why
        assert (seen.jobs[0].state, seen.jobs[0].worker) == (JobState.RUNNING, "worker-0")


@pytest.mark.long
def test_a_job_that_computes_has_longer_to_go_on(docker_url, light_image, tmp_path, monkeypatch):
    """Started anew it prepares its data for longer than it would have, had it been waited for in vain.

    That holds on a busy machine too, on which every look takes its time.
    """
    monkeypatch.setattr("core.engines.run.migration.CONFIRM_TIMEOUT", 1.5)
    monkeypatch.setattr("core.engines.run.migration._POLL_INTERVAL", 0.05)
    program = ("python3", "-m", "phasedock_jobs", "mlp", "--steps", "60", "--size", "2")
    job = PlannedJob("a", light_image, program, can_migrate=True, labels={"phasedock.test": "1"})
    with opened(docker_url, tmp_path, job) as engine:
        start_jobs(engine, Start("a", "worker-0"))
        looked_until(engine, lambda job: job.steps, 60.0)
        assert engine.apply([SetLimit("a", 0.3), Migrate("a", "worker-1")]) == ()
        engine.wait(engine.time + 60)
        seen = engine.observe()
        assert (seen.failures, seen.jobs[0].worker) == ((), "worker-1")


def test_a_job_that_is_removed_while_it_moves_has_failed(
    docker_url, light_image, tmp_path, docker_client, monkeypatch
):
    monkeypatch.setattr("core.engines.run.migration.CHECKPOINT_TIMEOUT", 5.0)
    deaf = PlannedJob("a", light_image, ("sleep", "30"), labels={"phasedock.test": "1"}, can_migrate=True)
    with opened(docker_url, tmp_path, deaf) as engine:
        start_jobs(engine, Start("a", "worker-0"))
        engine.apply([Migrate("a", "worker-1")])
        docker_client.containers.get(engine.containers["a"]).remove(force=True)
        seen = to_the_end(engine)
    assert [job.state for entry in seen for job in entry.ended] == [JobState.FAILED]
    assert engine.reasons["a"]
