"""The autopilot on real containers: watching touches nothing; in control limits follow use, and come back.

What limits really are is read from the control group and from Docker, not from what PhaseDock says.
"""

import numpy as np
import pytest

from core.sampling.phases import LIVE_FEATURES
from core.sampling.values import Mode
from core.traces.model import TraceSet
from core.units import GIB, MIB
from core.workspace.records import TaskState
from tests.live.limits import docker_limits, kernel_cores, kernel_quota
from tests.live.waiting import ended, until
from tests.live.workloads import BUSY

pytestmark = pytest.mark.live

HUNGRY = """
import subprocess, sys, time
while True:
    subprocess.run([sys.executable, "-c", "x = bytearray(300 * 2**20); x[::4096] = b'1' * len(x[::4096])"])
    time.sleep(5)
"""
"""A program whose children need more memory than they may have; it lives on when they are killed."""


@pytest.fixture
def settings_of_a_policy(space):
    """What the autopilot learns from: containers that use a quarter of a core and 100 MiB, once a second."""
    rng, n = np.random.default_rng(1), 4 * 120
    features = tuple(each for each in LIVE_FEATURES if each.name in ("cpu_cores", "memory_bytes"))
    columns = (0.25 + 0.05 * rng.random(n), 100 * MIB + MIB * rng.random(n))
    offsets = np.arange(0, n + 1, 120, dtype=np.int64)
    traces = TraceSet(
        features, columns, np.tile(np.arange(120.0), 4), tuple("abcd"), offsets, 1.0,
        np.empty(0, np.int64)
    )  # fmt: skip
    stored = space.traces.add(traces, None, name="a quarter")
    return {"policy": "prev.step.max", "traces": stored.id, "cycle": 5.0}


@pytest.mark.long
def test_watching_adds_up_what_it_would_free_and_changes_nothing(
    space, worker, light_image, start_job, settings_of_a_policy
):
    labels = {"phasedock": "1"}
    jobs = [start_job(light_image, ["python3", "-c", BUSY], labels=labels, nano_cpus=2 * 10**9) for _ in "ab"]
    before = [(docker_limits(job), kernel_quota(job)) for job in jobs]
    task = space.live.policies.attach("local", "autopilot", settings_of_a_policy, Mode.WATCH)

    def late_evidence():
        attached = space.live.view.request_view("local").attached
        found = None if attached is None else attached.evidence
        return found if found is not None and found.lasted > 12 else None

    found = until(late_evidence, 60)
    assert {each.name for each in found.containers} == {job.name for job in jobs}
    assert found.freed_cores_now > 2.5, "they may have four and use half a core together"
    assert [(docker_limits(job), kernel_quota(job)) for job in jobs] == before
    run = space.live.view.request_view("local").attached.run
    space.live.policies.detach("local")
    assert ended(space, task).state is TaskState.DONE
    assert [(docker_limits(job), kernel_quota(job)) for job in jobs] == before
    assert space.runs.replay(run) == []


def test_in_control_limits_follow_what_is_used_and_come_back(
    space, worker, light_image, start_job, settings_of_a_policy
):
    job = start_job(
        light_image, ["python3", "-c", BUSY], labels={"phasedock": "1"}, nano_cpus=2 * 10**9, mem_limit="1g"
    )
    before, kernel = docker_limits(job), kernel_quota(job)
    settings = settings_of_a_policy | {"memory": True}
    task = space.live.policies.attach("local", "autopilot", settings, Mode.CONTROL)
    until(lambda: (kernel_cores(job) or 9) < 0.6, 60)
    until(lambda: docker_limits(job)["Memory"] < 0.5 * GIB, 60)
    assert docker_limits(job)["Memory"] > 32 * MIB
    space.live.policies.detach("local")
    done = ended(space, task)
    assert done.state is TaskState.DONE, done.error
    assert (docker_limits(job), kernel_quota(job)) == (before, kernel)
    assert space.live.saved_limits.all() == ()


def test_a_container_that_runs_out_of_memory_has_its_limits_back_and_is_left_alone(
    space, worker, light_image, start_job, settings_of_a_policy
):
    job = start_job(
        light_image, ["python3", "-c", HUNGRY], labels={"phasedock": "1"}, nano_cpus=2 * 10**9,
        mem_limit="128m", memswap_limit="128m"
    )  # fmt: skip
    before, kernel = docker_limits(job), kernel_quota(job)
    space.live.policies.attach("local", "autopilot", settings_of_a_policy, Mode.CONTROL)

    def job_is_left_out():
        attached = space.live.view.request_view("local").attached
        found = None if attached is None else attached.evidence
        return found is not None and found.left == (job.name,)

    until(job_is_left_out, 60)
    until(lambda: (docker_limits(job), kernel_quota(job)) == (before, kernel), 20)
    said = space.live.view.request_view("local").attached.entries
    assert any("ran out of memory" in each.text for each in said)
    job.reload()
    assert job.status == "running"
    space.live.limits.release("local")
    assert (docker_limits(job), kernel_quota(job)) == (before, kernel)
