"""An engine that dies, or a worker that is asked to end, under a policy: words, and every limit back."""

import pytest

from core.bootstrap import open_workspace, worker_for
from core.config import Settings
from core.live.attach import policy_loop
from core.sampling.values import Mode
from core.workspace.records import TaskState
from tests.live import host
from tests.live.limits import docker_limits, kernel_quota
from tests.live.waiting import ended, until
from tests.live.workloads import BUSY

pytestmark = pytest.mark.live


@pytest.fixture
def daemon():
    with host.killable("killed-live") as made:
        yield made


@pytest.mark.long
def test_an_engine_that_is_lost_under_a_policy_ends_it_and_gets_its_limits_back_later(
    daemon, tmp_path, monkeypatch
):
    monkeypatch.setattr(policy_loop, "RECONNECT_WITHIN", 2.0)
    space = open_workspace(Settings(home=tmp_path / "home", docker=f"local={daemon.url}", control=True))
    volumes = [f"/{name}:/{name}" for name in host.PROGRAMS]
    command = ["/bin/sh", "-c", "trap 'exit 1' TERM; while true; do echo loss=0.5; /bin/sleep 0.2; done"]
    worker = worker_for(space)
    try:
        with host.connect(daemon.url) as client:
            labels = {"phasedock": "1"}
            job = host.run_job(
                client, "empty", command, labels=labels, volumes=volumes, nano_cpus=1_500_000_000
            )
            before = docker_limits(job)
            worker.start()
            task = space.live.policies.attach(
                "local", "flowcon", {"itval": 1.0}, Mode.CONTROL, may_raise=True
            )
            until(lambda: docker_limits(job) != before)
        daemon.kill()
        failed = ended(space, task)
        assert failed.state is TaskState.FAILED
        assert "was lost" in failed.error[0]
        assert any("restored as soon as" in text for _, text in space.tasks.log(task))
        assert [hold.container for hold in space.live.saved_limits.all()] == [job.id]
        daemon.start()
        until(lambda: not space.live.saved_limits.all(), 40)
        with host.connect(daemon.url) as client:
            assert docker_limits(client.containers.get(job.id)) == before
    finally:
        worker.stop(20)
        space.close()


@pytest.mark.long
def test_a_name_that_means_another_engine_now_gives_nothing_back_there(
    daemon, tmp_path, docker_url, light_image, start_job
):
    job = start_job(light_image, ["sleep", "300"], labels={"phasedock": "1"}, cpu_quota=150_000)
    before, home = docker_limits(job), tmp_path / "home"
    for names, changed in (
        (f"local={docker_url}", True),
        (f"local={daemon.url}", True),
        (f"old={docker_url}", False),
    ):
        space = open_workspace(Settings(home=home, docker=names, control=True))
        try:
            if docker_limits(job) == before:
                space.live.limits.set_limit("local", job.id, 0.5)
                continue
            done = space.live.limits.release()
            assert (done.restored, len(done.failed)) == (((), 1) if changed else ((job.name,), 0))
            assert (docker_limits(job) != before, len(space.live.saved_limits.all())) == (
                changed,
                int(changed),
            )
        finally:
            space.close()


def test_a_worker_that_is_asked_to_end_puts_limits_back_before_it_does(
    tmp_path, docker_url, light_image, start_job
):
    space = open_workspace(Settings(home=tmp_path / "home", docker=f"local={docker_url}", control=True))
    job = start_job(light_image, ["python3", "-c", BUSY], labels={"phasedock": "1"}, nano_cpus=1_500_000_000)
    before, kernel = docker_limits(job), kernel_quota(job)
    worker = worker_for(space)
    worker.start()
    try:
        task = space.live.policies.attach("local", "flowcon", {"itval": 1.0}, Mode.CONTROL, may_raise=True)
        until(lambda: kernel_quota(job) != kernel)
        assert worker.stop(20)
        assert (docker_limits(job), kernel_quota(job)) == (before, kernel)
        assert space.tasks.get(task).state is TaskState.INTERRUPTED
        assert space.live.saved_limits.all() == ()
    finally:
        space.close()
