"""Containers that were killed for memory, crash again and again, or cannot start: seen and restarted."""

import contextlib

import docker
import pytest

from core.bootstrap import open_workspace
from core.engines.docker_host import Address, Host, has_label
from core.errors import ConflictError, RefusedError
from tests.live import host
from tests.live.limits import docker_limits, kernel_memory, kernel_quota
from tests.live.waiting import until

pytestmark = pytest.mark.live

LABELLED = {"phasedock": "x"}
GREEDY = ["python3", "-c", "print('begins', flush=True); held = [bytearray(2**24) for _ in range(64)]"]


@pytest.fixture
def rows(space, worker):
    """Wait until the page shows a container as a test wants it; its row."""

    def shown(container, wanted):
        def row():
            view = space.live.view.request_view("local")
            found = (each for each in (*view.rows, *view.stopped) if each.id == container.id)
            return next((each for each in found if wanted(each)), None)

        return until(row, 60.0)

    return shown


@pytest.fixture
def start_in_vain(docker_client, light_image):
    """A container whose program does not exist; removed after the test."""
    created = docker_client.containers.create(
        light_image, ["/no/such/program"], labels={host.OURS: "1", **LABELLED}, network_mode="none"
    )
    with contextlib.suppress(docker.errors.APIError):
        created.start()
    yield created
    created.remove(force=True)


def lines(space, container):
    return [text for _, text in space.live.view.logs("local", container.id)]


def test_a_container_that_was_killed_for_memory_stays_with_its_exit_code_and_its_log(
    space, start_job, light_image, rows
):
    job = start_job(light_image, GREEDY, labels=LABELLED, mem_limit="64m", memswap_limit="64m")
    row = rows(job, lambda each: each.ended is not None)
    assert (row.state, row.exit_code, row.is_running) == ("exited", 137, False)
    assert row.kills >= 1
    assert (row.cpu, row.memory, row.restarts) == (None, None, 0)
    assert lines(space, job) == ["begins"]
    view = space.live.view.request_view("local")
    assert all(each.id != job.id for each in view.rows), "what has ended is not counted, attached or recorded"


def test_a_container_that_crashes_again_and_again_is_shown_with_its_restarts(
    space, start_job, light_image, rows
):
    crash = ["sh", "-c", "echo boom; sleep 0.3; exit 3"]
    job = start_job(light_image, crash, labels=LABELLED, restart_policy={"Name": "always"})
    row = rows(job, lambda each: each.restarts >= 2 and each.state == "restarting")
    assert (row.exit_code, row.kills) == (3, 0)
    assert set(lines(space, job)) == {"boom"}


def test_a_container_that_cannot_start_says_why(space, start_in_vain, rows):
    row = rows(start_in_vain, lambda each: each.error)
    assert "/no/such/program" in row.error
    assert not row.is_running
    assert lines(space, start_in_vain) == []
    with pytest.raises(ConflictError, match="/no/such/program"):
        space.live.limits.restart("local", start_in_vain.id)


def test_a_restart_keeps_limits_and_what_restores_them(space, start_job, light_image, rows):
    waits = ["sh", "-c", "echo up; exec sleep 300"]
    job = start_job(light_image, waits, labels=LABELLED, nano_cpus=1_250_000_000, stop_signal="SIGKILL")
    before = docker_limits(job)
    space.live.limits.set_limit("local", job.id, 0.5)
    started = docker_started(job)
    assert space.live.limits.restart("local", job.id) == job.name
    assert docker_started(job) != started
    assert kernel_quota(job)[0] / kernel_quota(job)[1] == 0.5
    row = rows(job, lambda each: each.held and each.cpu is not None)
    assert (row.cpu_limit, row.state) == (0.5, "running")
    assert lines(space, job) == ["up", "up"]
    space.live.limits.undo("local", job.id)
    assert docker_limits(job) == before
    job.kill()
    rows(job, lambda each: not each.is_running)
    space.live.limits.restart("local", job.id)
    assert rows(job, lambda each: each.is_running).ended is not None


def docker_started(job):
    return job.client.api.inspect_container(job.id)["State"]["StartedAt"]


def test_what_is_not_ours_is_not_restarted(space, settings, start_job, light_image):
    other = start_job(light_image, ["sleep", "300"], stop_signal="SIGKILL")
    of_a_run = start_job(light_image, ["sleep", "300"], labels={**LABELLED, "phasedock.run": "r"})
    submitted = start_job(light_image, ["sleep", "300"], labels={**LABELLED, "phasedock.submission": "s"})
    began = {each: docker_started(each) for each in (other, of_a_run, submitted)}
    with pytest.raises(RefusedError, match="may not change"):
        space.live.limits.restart("local", other.id)
    for each, why in ((of_a_run, "stop that run"), (submitted, "submit the job again")):
        with pytest.raises(ConflictError, match=why):
            space.live.limits.restart("local", each.id)
    looking = open_workspace(settings.__class__(home=settings.home, docker=settings.docker))
    with pytest.raises(ConflictError, match="PHASEDOCK_CONTROL is off"):
        looking.live.limits.restart("local", of_a_run.id)
    looking.close()
    assert {each: docker_started(each) for each in began} == began
    space.live.limits.pick("local", other.id)
    space.live.limits.restart("local", other.id)
    assert docker_started(other) != began[other]


def test_a_container_killed_for_memory_gets_more_and_is_started_again(space, start_job, light_image):
    program = ["python3", "-c", "held = bytearray(60 * 2**20); import time; time.sleep(300)"]
    job = start_job(light_image, program, labels=LABELLED, mem_limit="40m", memswap_limit="40m")
    job.wait()
    space.live.limits.set_limit("local", job.id, None, 200 * 2**20)
    space.live.limits.restart("local", job.id)
    job.reload()
    assert (job.status, kernel_memory(job)[0]) == ("running", 200 * 2**20)


def test_a_paused_container_is_restarted_too(space, start_job, light_image):
    job = start_job(light_image, ["sleep", "300"], labels=LABELLED, stop_signal="SIGKILL")
    job.pause()
    space.live.limits.restart("local", job.id)
    job.reload()
    assert job.status == "running"


def test_only_stopped_containers_that_may_be_shown_are_requested(docker_url, start_job, light_image):
    ours, other = (start_job(light_image, ["true"], labels=labels) for labels in (LABELLED, {}))
    for each in (ours, other):
        each.wait()
    with Host(Address("local", docker_url)) as watched:
        assert [each.id for each in watched.stopped(has_label, 1)] == [ours.id]
        assert watched.last_state(other.id) is None
