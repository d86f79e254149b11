"""On a real engine no policy gives a container more than its owner allows, at any moment.

What a container may use is read from its control group ten times a second.
"""

import threading

import docker
import pytest

from core.sampling.values import Mode
from core.units import MIB
from core.workspace.records import TaskState
from tests.live.limits import docker_limits, kernel_cores, kernel_memory
from tests.live.waiting import ended, until
from tests.live.workloads import BUSY, FALLING, LEARNING

pytestmark = pytest.mark.live


class Highest(threading.Thread):
    """The most cores and bytes that a container's control group ever gave it (None: no limit)."""

    def __init__(self, container):
        super().__init__(daemon=True)
        self.container, self.over, self.cores, self.memory = container, threading.Event(), 0.0, 0
        self.start()

    def run(self):
        while not self.over.wait(0.1):
            try:
                cores, (memory, _) = kernel_cores(self.container), kernel_memory(self.container)
            except (OSError, docker.errors.NotFound):  # it ended
                return
            self.cores = None if None in (self.cores, cores) else max(self.cores, cores)
            self.memory = None if self.memory is None or memory < 0 else max(self.memory, memory)

    def stop(self):
        """Look no more; the most cores and bytes."""
        self.over.set()
        self.join()
        return self.cores, self.memory


@pytest.mark.parametrize("policy", ["flowcon", "phasedock"])
def test_a_policy_keeps_to_the_limit_that_it_found(space, worker, light_image, start_job, policy):
    labels = {"phasedock": ""}
    owned = start_job(
        light_image, ["python3", "-c", LEARNING], labels=labels | {"phasedock.max": "0.5"},
        nano_cpus=600_000_000, mem_limit="256m",
    )  # fmt: skip
    free = start_job(light_image, ["python3", "-c", FALLING], labels=labels)
    before, watched = docker_limits(owned), Highest(owned)
    settings = {"itval": 1.0} if policy == "flowcon" else {}
    task = space.live.policies.attach("local", policy, settings, Mode.CONTROL)
    changed = until(lambda: {row.name for row in space.live.view.request_view("local").rows if row.held}, 40)
    assert changed <= {owned.name, free.name}
    threading.Event().wait(4.0)
    space.live.policies.detach("local")
    assert ended(space, task).state is TaskState.DONE
    assert watched.stop() == (0.6, 256 * MIB)
    assert docker_limits(owned) == before


def test_what_the_owner_sets_meanwhile_is_the_bound_and_stays(space, worker, light_image, start_job):
    labels = {"phasedock": ""}
    job = start_job(light_image, ["python3", "-c", LEARNING], labels=labels, cpu_quota=150_000)
    start_job(light_image, ["python3", "-c", FALLING], labels=labels)
    task = space.live.policies.attach("local", "flowcon", {"itval": 1.0}, Mode.CONTROL)
    until(lambda: space.live.view.request_view("local").attached)
    until(lambda: space.live.view.request_view("local").attached.resizes, 40)
    job.update(cpu_quota=40_000, cpu_period=100_000)
    said = until(
        lambda: [
            each.text
            for each in space.live.view.request_view("local").attached.entries
            if "Somebody else" in each.text
        ],
        20,
    )
    assert said == ["Somebody else changed its limits: 0.40 cores at most from now on."]
    watched = Highest(job)
    resizes = space.live.view.request_view("local").attached.resizes
    until(lambda: space.live.view.request_view("local").attached.next_wake, 20)
    threading.Event().wait(4.0)
    space.live.policies.detach("local")
    assert ended(space, task).state is TaskState.DONE
    assert watched.stop()[0] <= 0.4
    assert kernel_cores(job) == 0.4
    assert resizes >= 1


def test_a_submitted_job_keeps_to_its_most_cores(space, worker, docker_client):
    job = space.live.queue.submit(
        "local",
        {"program": "elman", "command": "--steps 100000", "request": 0.5, "max": 1.0, "name": "capped-job"},
    )
    task = space.live.policies.attach("local", "flowcon", {"itval": 1.0}, Mode.CONTROL)
    try:
        found = until(
            lambda: docker_client.containers.list(filters={"label": f"phasedock.submission={job.id}"}), 40
        )
        watched = Highest(found[0])
        threading.Event().wait(4.0)
        assert 0 < watched.stop()[0] <= 1.0
    finally:
        space.live.policies.detach("local")
        ended(space, task)
        for each in docker_client.containers.list(
            all=True, filters={"label": f"phasedock.submission={job.id}"}
        ):
            each.remove(force=True, v=True)


def test_with_permission_a_limit_is_raised_and_comes_back(space, worker, light_image, start_job):
    labels = {"phasedock": ""}
    job = start_job(light_image, ["python3", "-c", LEARNING], labels=labels, nano_cpus=600_000_000)
    other = start_job(light_image, ["python3", "-c", BUSY], labels=labels, nano_cpus=700_000_000)
    before = docker_limits(job), docker_limits(other)
    task = space.live.policies.attach("local", "flowcon", {"itval": 1.0}, Mode.CONTROL, may_raise=True)
    until(lambda: (kernel_cores(job) or 9) > 1.0, 40)
    space.live.policies.detach("local")
    assert ended(space, task).state is TaskState.DONE
    assert (docker_limits(job), docker_limits(other)) == before
