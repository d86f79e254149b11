"""Jobs submitted while a run goes on: one container each, which outlives the run and is found again."""

import time
from dataclasses import replace

import pytest

from core.engines.docker_host import Address, Host
from core.engines.run import MemoryKeeper, Node, RunEngine
from core.engines.submitted import Outcome, SubmittedJob
from core.engines.values import SUBMISSION
from core.scheduling.actions import Pause, SetLimit, Start
from core.scheduling.model import JobState, Terms, Trigger
from tests.live.engines import MARK, looked, ours, steps_program
from tests.live.limits import kernel_quota

pytestmark = pytest.mark.live

ID = "0123456789abcdef"


@pytest.fixture
def host(docker_url, docker_client):
    """A host whose submitted containers are gone afterwards."""
    with Host(Address("local", docker_url), MemoryKeeper()) as opened:
        yield opened
    for container in docker_client.containers.list(all=True, filters={"label": f"{SUBMISSION}={ID}"}):
        container.remove(force=True, v=True)


@pytest.fixture
def run(host, tmp_path):
    """Begins a run that adopts the containers of these tests."""

    def begin():
        return RunEngine([Node("node", host)], folder=tmp_path, adopt=mine)

    return begin


def mine(container):
    """Whether a container is of these tests."""
    return container.labels.get(SUBMISSION) == ID or ours(container)


def job(image, seconds=60.0, **more):
    """A job of so many core-seconds, submitted two seconds ago."""
    given = {"command": steps_program(seconds), "can_resize": True, "request": 1.0, "memory": 2**28} | more
    return SubmittedJob(ID, "trainer", "trainer-01234567", time.time() - 2, image, **given)


def containers(client):
    """All containers of the job, ended ones included."""
    return client.containers.list(all=True, filters={"label": f"{SUBMISSION}={ID}"})


def test_a_submitted_job_arrives_is_started_and_outlives_the_run(run, host, docker_client, light_image):
    terms = Terms(min=0.5, priority=3)
    with run() as engine:
        assert engine.submit(job(light_image, terms=terms)) == "trainer"
        engine.wait(10.0)
        seen = engine.observe()
        (waiting,) = seen.jobs
        assert (seen.trigger, waiting.state, waiting.request) == (Trigger.ARRIVAL, JobState.WAITING, 1.0)
        assert (waiting.terms, waiting.arrived <= -1.9) == (terms, True)
        engine.revise("trainer", replace(terms, priority=9))
        assert looked(engine).jobs[0].terms_or_default.priority == 9
        assert engine.apply([Start("trainer", "node", 0.5)]) == ()
        (running,) = looked(engine, 1.0).jobs
        assert (running.state, running.limit, running.can_resize) == (JobState.RUNNING, 0.5, True)
        (container,) = containers(docker_client)
        assert container.name == "trainer-01234567"
        assert {"phasedock", "phasedock.job"} <= set(container.labels)
        assert kernel_quota(container)[0] == 50_000
        assert engine.apply([Pause("trainer")]) == ()
    container.reload()
    assert (container.status, kernel_quota(container)[0]) == ("running", -1)
    assert container.attrs["HostConfig"]["Memory"] == 2**28
    assert host.keeper.kept_limits == {}


def test_the_next_run_finds_it_as_the_same_job(run, host, docker_client, light_image):
    given = job(light_image)
    with run() as engine:
        engine.submit(given)
        engine.wait(10.0)
        engine.observe()
        assert engine.apply([Start("trainer", "node", 0.5)]) == ()
    (container,) = containers(docker_client)
    with run() as engine:
        again = replace(given, container=container.id, started=time.time() - 1)
        assert engine.submit(again) == "trainer"
        (found,) = looked(engine).jobs
        assert (found.id, found.state, found.limit, found.request) == ("trainer", JobState.RUNNING, None, 1.0)
        assert engine.apply([SetLimit("trainer", 0.25)]) == ()
        assert kernel_quota(container)[0] == 25_000
    assert kernel_quota(container)[0] == -1
    assert containers(docker_client) == [container]
    with run() as engine:
        engine.submit(replace(given, container=container.id))
        looked(engine)
        engine.withdraw("trainer")
        (ended,) = looked(engine).ended
        assert (ended.id, engine.reasons["trainer"]) == ("trainer", "It was cancelled.")
    assert containers(docker_client) == []


def test_a_container_that_was_created_and_never_started_is_replaced(run, host, docker_client, light_image):
    docker_client.containers.create(
        light_image, ["true"], name="trainer-01234567", labels={"phasedock": "", SUBMISSION: ID}
    )
    with run() as engine:
        engine.submit(job(light_image, 0.2))
        engine.wait(10.0)
        engine.observe()
        assert engine.apply([Start("trainer", "node")]) == ()
        while not (ended := looked(engine).ended):
            assert engine.time < 60
        assert [each.state for each in ended] == [JobState.DONE]
    (left,) = containers(docker_client)
    assert left.attrs["Config"]["Cmd"] != ["true"]
    assert host.outcome(left.id) == Outcome(True, "It finished.")


def test_a_start_that_failed_only_seemingly_makes_no_second_container(run, docker_client, light_image):
    """Docker did start it, and its answer was lost: what runs is that job."""
    with run() as engine:
        engine.submit(job(light_image))
        engine.wait(10.0)
        assert engine.observe().jobs[0].state is JobState.WAITING
        docker_client.containers.run(
            light_image,
            ["sleep", "60"],
            name="trainer-01234567",
            labels={"phasedock": "", MARK: "", SUBMISSION: ID},
            detach=True,
            network_mode="none",
        )
        engine.wait(engine.time + 10.0)
        (found,) = engine.observe().jobs
        assert (found.id, found.state) == ("trainer", JobState.RUNNING)
    assert [each.status for each in containers(docker_client)] == ["running"]


def test_a_waiting_job_leaves_and_an_impossible_one_says_why(run, docker_client, light_image):
    with run() as engine:
        engine.submit(job("phasedock-jobs:nothing"))
        engine.wait(10.0)
        engine.observe()
        (failure,) = engine.apply([Start("trainer", "node")])
        assert "phasedock-jobs:nothing" in failure.why
        assert looked(engine).jobs[0].state is JobState.WAITING
        engine.withdraw("trainer")
        assert looked(engine).jobs == ()
    assert containers(docker_client) == []
