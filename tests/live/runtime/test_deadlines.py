"""Deadlines on a real engine: a run teaches the next one, whose promise is kept, also past a kill."""

import signal
import time

import pytest

from core.live.queue.deadline_previews import sentences
from core.live.queue.values import QueueState
from tests.live.limits import kernel_quota
from tests.live.runtime.test_submitted import containers, only, worker_process
from tests.live.waiting import ended, until

pytestmark = [pytest.mark.live, pytest.mark.timeout(420)]

STEPS = 60
LATER = 3 * STEPS


@pytest.fixture
def submit(space, docker_client):
    """Submits jobs of one kind whose containers are gone afterwards."""
    made = []

    def submitting(name, steps=STEPS, deadline=""):
        command = f"--steps {steps}"
        values = {"program": "mlp", "command": command, "memory": 0.5, "name": name, "deadline": deadline}
        made.append(space.live.queue.submit("local", values))
        return made[-1]

    yield submitting
    for job in made:
        for container in containers(docker_client, job):
            container.remove(force=True, v=True)


def attach(space):
    return space.live.policies.attach("local", "deadline", {"interval": 2.0}, "control", reattach=False)


def over(space, name):
    """Wait until a job is over."""

    def finished_job():
        job = space.live.queue.find("local", name)
        return job if job.state.over else None

    return until(finished_job, 240)


@pytest.mark.long
def test_a_run_teaches_the_next_one_whose_promise_outlives_a_kill(
    space, settings, submit, docker_client, light_image
):
    assert light_image
    queue = space.live.queue
    asked = {"program": "mlp", "command": f"--steps {LATER}", "deadline": "6 min"}
    assert not queue.ask("local", asked).outlook.known
    with worker_process(settings) as worker:
        attach(space)
        first = submit("first")
        assert over(space, "first").state is QueueState.ENDED
        known = queue.earlier.of(first.spec.kind)
        assert (known.runs, known.steps) == (1, STEPS)
        assert known.startup is not None
        found = queue.ask("local", asked)
        assert (found.attached, found.outlook.promised) == (True, True), sentences(found)
        job = submit("second", LATER, "6 min")
        until(lambda: queue.find("local", "second").promised, 60)
        stands = until(lambda: next(each for each in queue.list("local") if each.id == job.id).stands)
        assert time.time() < stands.ends < job.spec.deadline
        container = only(docker_client, job)
        until(lambda: kernel_quota(container)[0] > 0)
        worker.send_signal(signal.SIGKILL)
        worker.wait(10)
    with worker_process(settings):
        until(lambda: kernel_quota(container)[0] == -1, 30)
        again = attach(space)
        until(lambda: kernel_quota(container)[0] > 0)
        assert [each.id for each in containers(docker_client, job)] == [container.id]
        done = over(space, "second")
        assert (done.state, done.promised) == (QueueState.ENDED, True)
        assert done.finished < job.spec.deadline
        assert queue.earlier.of(first.spec.kind).runs == 2
        space.live.policies.detach("local")
        ended(space, again)
    assert space.live.saved_limits.all() == ()
