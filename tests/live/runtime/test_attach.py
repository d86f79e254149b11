"""A policy on real containers: watching changes nothing; control does, and everything comes back exactly.

What limits really are is read from the control group and from Docker, not from what PhaseDock says.
"""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from core.bootstrap import open_workspace
from core.config import Settings, child_environment
from core.sampling.values import Mode
from core.scheduling.model import at_most
from core.workspace.records import TaskState
from tests.live.limits import docker_limits, kernel_quota
from tests.live.waiting import ended, until
from tests.live.workloads import BUSY, FALLING, LEARNING

pytestmark = pytest.mark.live

FAST = {"itval": 2.0}


def test_watching_says_what_it_would_do_and_changes_nothing(space, worker, light_image, start_job):
    jobs = [start_job(light_image, ["python3", "-c", FALLING], labels={"phasedock": "1"}) for _ in range(2)]
    before = [(docker_limits(job), kernel_quota(job)) for job in jobs]
    task = space.live.policies.attach("local", "flowcon", FAST, Mode.WATCH)
    view = until(
        lambda: v if (v := space.live.view.request_view("local")).attached and v.attached.resizes else None
    )
    assert view.attached.task == task
    assert view.attached.mode is Mode.WATCH
    assert {row.label for row in view.rows} <= {"NL", "WL", "CL", None}
    assert view.attached.entries[0].container in {job.name for job in jobs}
    assert [(docker_limits(job), kernel_quota(job)) for job in jobs] == before
    assert space.live.policies.detach("local") == task
    assert ended(space, task).state is TaskState.DONE
    assert [(docker_limits(job), kernel_quota(job)) for job in jobs] == before
    assert space.live.view.request_view("local").attached is None


def test_releasing_says_whose_limits_the_policy_put_back(space, worker, light_image, start_job):
    labels = {"phasedock": ""}
    jobs = [start_job(light_image, ["python3", "-c", each], labels=labels) for each in (FALLING, LEARNING)]
    space.live.policies.attach("local", "flowcon", FAST, Mode.CONTROL)
    held = until(lambda: {row.name for row in space.live.view.request_view("local").rows if row.held})
    assert held <= set(space.live.limits.release().restored)
    assert {kernel_quota(job)[0] for job in jobs} == {-1}
    assert space.live.limits.release().restored == ()


def test_control_changes_the_control_group_and_detaching_puts_it_back(space, worker, light_image, start_job):
    labels = {"phasedock": ""}
    jobs = [
        start_job(light_image, ["python3", "-c", FALLING], labels=labels, nano_cpus=1_500_000_000),
        start_job(
            light_image, ["python3", "-c", FALLING], labels=labels, cpu_quota=70_000, cpu_period=50_000
        ),
        start_job(light_image, ["python3", "-c", LEARNING], labels=labels, mem_limit="512m"),
    ]
    foreign = start_job(light_image, ["python3", "-c", FALLING], cpu_quota=80_000, cpu_period=100_000)
    of_a_run = start_job(light_image, ["python3", "-c", BUSY], labels=labels | {"phasedock.run": "another"})
    before, kernel = [docker_limits(job) for job in jobs], [kernel_quota(job) for job in jobs]
    outside = [(docker_limits(each), kernel_quota(each)) for each in (foreign, of_a_run)]
    task = space.live.policies.attach("local", "flowcon", FAST, Mode.CONTROL)
    until(lambda: any(0 < kernel_quota(job)[0] < 0.9 * kernel_quota(job)[1] for job in jobs))
    until(lambda: any(row.held for row in space.live.view.request_view("local").rows))
    view = space.live.view.request_view("local")
    assert view.others >= 1
    assert foreign.id not in {row.id for row in view.rows}
    assert [(docker_limits(each), kernel_quota(each)) for each in (foreign, of_a_run)] == outside
    run = view.attached.run
    space.live.policies.detach("local")
    done = ended(space, task)
    assert done.state is TaskState.DONE, done.error
    assert [kernel_quota(job) for job in jobs] == kernel
    assert [replace_unset(docker_limits(job)) for job in jobs] == [replace_unset(each) for each in before]
    assert space.live.saved_limits.all() == ()
    assert [(docker_limits(each), kernel_quota(each)) for each in (foreign, of_a_run)] == outside
    assert space.runs.get(run).ticks == done.result["decisions"] > 0
    assert space.runs.replay(run) == []


def replace_unset(values):
    """Docker writes “no limit” as 0 or −1, usual shares as 0 or 1024, the usual period as 0 or 100,000."""
    same = {"CpuQuota": {-1: 0}, "CpuShares": {1024: 0}, "CpuPeriod": {100_000: 0}, "MemorySwap": {-1: 0}}
    return {name: same.get(name, {}).get(value, value) for name, value in values.items()}


def test_a_worker_that_is_killed_while_it_controls_leaves_nothing_behind(
    space, settings, light_image, start_job
):
    """The worker is a process of its own, killed with SIGKILL; the next one puts every limit back."""
    job = start_job(
        light_image, ["python3", "-c", FALLING], labels={"phasedock": "1"}, nano_cpus=1_900_000_000
    )
    before, kernel = docker_limits(job), kernel_quota(job)
    environment = child_environment(settings) | {
        "PHASEDOCK_DOCKER": settings.docker,
        "PHASEDOCK_CONTROL": "on",
    }
    task = space.live.policies.attach("local", "flowcon", FAST, Mode.CONTROL, may_raise=True, reattach=False)
    command = [sys.executable, "-m", "core.cli", "worker"]
    first = subprocess.Popen(command, env=environment, cwd=Path(__file__).parents[3])
    try:
        until(lambda: kernel_quota(job) != kernel, 60)
        first.send_signal(signal.SIGKILL)
        first.wait(10)
        assert kernel_quota(job) != kernel
        assert space.tasks.get(task).state is TaskState.INTERRUPTED
    finally:
        if first.poll() is None:
            first.kill()
    second = subprocess.Popen(command, env=environment, cwd=Path(__file__).parents[3])
    try:
        until(lambda: kernel_quota(job) == kernel, 30)
        until(lambda: not space.live.saved_limits.all(), 10)
        assert docker_limits(job) == before
    finally:
        second.terminate()
        assert second.wait(20) == 0


def test_a_policy_goes_on_with_the_next_worker_within_the_limits_of_owners(
    space, settings, light_image, start_job
):
    """In between one container is given another limit by its owner, and one is removed."""
    labels = {"phasedock": "1"}

    def start(command):
        return start_job(light_image, ["python3", "-c", command], labels=labels, cpu_quota=150_000)

    same, changed, removed = start(FALLING), start(FALLING), start(LEARNING)
    kernel = kernel_quota(same)
    environment = child_environment(settings) | {
        "PHASEDOCK_DOCKER": settings.docker,
        "PHASEDOCK_CONTROL": "on",
    }
    command = [sys.executable, "-m", "core.cli", "worker"]
    worker = subprocess.Popen(command, env=environment, cwd=Path(__file__).parents[3])
    try:
        run = space.live.policies.attach("local", "flowcon", FAST, Mode.CONTROL)
        until(lambda: kernel_quota(same) != kernel and kernel_quota(changed) != kernel, 60)
        worker.send_signal(signal.SIGKILL)
        worker.wait(10)
        decided = space.runs.get(run).ticks
        assert kernel_quota(same) != kernel
        changed.update(cpu_quota=120_000)
        removed.remove(force=True)
        worker = subprocess.Popen(command, env=environment, cwd=Path(__file__).parents[3])
        until(lambda: space.runs.get(run).ticks > decided + 1, 60)
        entries = list(space.runs.ledgers.entries(run))
        before, first, then = [each.observation for each in entries[decided - 1 :][:3]]
        decisions = [each for entry in entries[:decided] for each in entry.actions]
        last = next(each.limit for each in reversed(decisions) if each.job == same.name)
        assert removed.name in {job.id for job in first.ended}
        jobs = {job.id: job for job in first.jobs}
        assert (jobs[same.name].owner_cores, jobs[changed.name].owner_cores) == (1.5, 1.2)
        assert jobs[same.name].limit == pytest.approx(at_most(1.5, last), rel=0.02), (
            "as the policy had left it"
        )
        assert all(job.limit <= job.owner_cores for job in (*first.jobs, *then.jobs))
        assert before.number + 1 == first.number
        attached = space.live.view.request_view("local").attached
        assert (attached.run, attached.worker_ended_at <= attached.reattached_at) == (run, True)
        space.live.policies.detach("local")
        until(lambda: not space.live.saved_limits.all(), 30)
        assert (kernel_quota(same), kernel_quota(changed)[0]) == (kernel, 120_000)
        assert space.runs.replay(run) == []
    finally:
        worker.terminate()
        assert worker.wait(20) == 0


def test_a_paused_container_goes_on_after_its_worker_was_killed(space, light_image, start_job):
    job = start_job(light_image, ["python3", "-c", BUSY], labels={"phasedock": "1"}, nano_cpus=1_500_000_000)
    kernel = kernel_quota(job)
    keeper = space.live.saved_limits.keeper("0123456789abcdef")
    with space.live.engines.host("local", keeper, lambda _: True) as host:
        now = host.inspect(job.id)
        host.set_limits(job.id, now.limits.with_cores(0.5))
        keeper.keep_paused(host.key(), job.id, now.limits.to_dict(), True)
        host.pause(job.id)
    assert space.live.limits.put_back_orphans().restored == (job.name,)
    job.reload()
    assert job.status == "running"
    assert kernel_quota(job) == kernel


def test_an_engine_that_is_lost_ends_the_policy_with_a_sentence(tmp_path, light_image):
    settings = Settings(home=tmp_path / "home", docker=f"gone=unix://{tmp_path}/none.sock", control=True)
    space = open_workspace(settings)
    try:
        info = space.live.engines.all()[0]
        assert info.state == "missing"
        assert info.hint
        with pytest.raises(Exception, match="Nothing answers"):
            space.live.policies.attach("gone", "flowcon", {}, Mode.CONTROL)
    finally:
        space.close()
