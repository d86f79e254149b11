"""What is submitted waits, whatever dies; priorities, cancelling, removing, and what is refused."""

import time
from dataclasses import replace

import pytest

from core.bootstrap import open_workspace
from core.engines.demo.host import DemoHost
from core.errors import ConflictError, InputError, NotFoundError
from core.live.attach.activity import ActivityLog
from core.live.queue.spec import JobNotAccepted
from core.live.queue.values import ACTIVE, COMES_FROM, QueueState
from core.live.view import LiveFiles, write
from core.sampling.values import AttachedPolicy, ContainerRow, EngineInfo, EngineState, LiveView, Mode
from core.scheduling.actions import SetLimit
from core.scheduling.loop import Entry

MLP = {"program": "mlp"}


def states(queue):
    return {job.name: job.state for job in queue.list("demo")}


def test_every_state_says_where_it_comes_from_and_what_is_over_stays_so():
    assert set(COMES_FROM) == set(QueueState)
    assert {state for sources in COMES_FROM.values() for state in sources} == set(ACTIVE)
    assert [state for state in QueueState if not state.over] == list(ACTIVE)


def test_a_submitted_job_waits_and_says_what_to_do(queue, space):
    job = queue.submit("demo", {**MLP, "priority": "3", "memory": 0.5})
    assert (job.name, job.state, job.priority, job.container) == ("mlp", QueueState.WAITING, 3, "")
    (shown,) = queue.list("demo")
    assert shown.why.startswith("No policy is attached to demo. Attach one in control: Deadline promises ")
    again = open_workspace(space.settings)
    assert again.live.queue.list("demo")[0].id == job.id
    again.close()
    space.live.policies.attach("demo", "free", {}, "watch")
    assert queue.list("demo")[0].why.startswith("No policy only watches. Detach it.")


def test_with_a_policy_in_control_a_job_waits_for_its_decision(queue, space, sentence):
    queue.submit("demo", MLP)
    space.live.policies.attach("demo", "elastic", {}, "control")
    sentence(queue.list("demo")[0].why)


@pytest.mark.parametrize(
    ("policy", "chosen", "counts"),
    [("elastic", {}, False), ("elastic", {"order": "priority"}, True), ("flowcon", {}, False)],
)
def test_a_priority_that_the_policy_does_not_go_by_is_said(
    queue, space, monkeypatch, policy, chosen, counts, sentence
):
    for priority in (0, 3):
        queue.submit("demo", {**MLP, "priority": priority})
    space.live.policies.attach("demo", policy, chosen, "control")
    monkeypatch.setattr(queue, "waits_for", lambda _: "")  # as soon as a worker has begun
    plain, first = (job.why for job in queue.list("demo"))
    sentence(plain)
    more = " Its priority does not count here: Elastic goes by it where its queue is “By priority”."
    assert first == plain + ("" if counts else more)


def test_names_are_given_once(queue):
    names = [queue.submit("demo", {**MLP, **more}).name for more in ({}, {}, {"name": "mine"}, {})]
    assert names == ["mlp", "mlp-2", "mine", "mlp-3"]
    queue.cancel("demo", "mlp-2")
    assert queue.submit("demo", MLP).name == "mlp-4"


def test_a_job_does_not_get_the_name_of_a_container(queue, space):
    with space.live.engines.host("demo") as host:
        name = host.containers()[0].name
    assert [queue.submit("demo", {**MLP, "name": name}).name for _ in range(2)] == [f"{name}-2", f"{name}-3"]


def test_a_container_that_is_called_like_a_job_has_one_name_for_the_policy_and_on_the_page(space, follow):
    ready = EngineInfo("demo", "", EngineState.READY, cores=2.0)
    files, follower = LiveFiles(space.settings.home, "demo"), follow()
    seen = follower.observe_after()
    name, container = next(iter(follower.real.containers.items()))
    rows = tuple(ContainerRow(each, each[:9]) for each in follower.real.containers.values())
    write(files.snapshot, LiveView(ready, time.time(), rows))
    task = space.tasks.submit("attach", "x", {"engine": "demo", "policy": "flowcon", "mode": "watch"})
    log = ActivityLog(files, AttachedPolicy(task, "flowcon", Mode.WATCH), time.time())
    (job,) = (each for each in seen.jobs if each.id == name)
    again = replace(seen, jobs=(replace(job, id="mlp#2"),))
    log.take(Entry(again, (SetLimit("mlp#2", 0.4),), (), (), None, ()), {"mlp#2": container})
    view = space.live.view.peek("demo")
    assert [row.name for row in view.rows if row.id == container] == ["mlp"], "it was only started again"
    assert [entry.container for entry in view.attached.entries] == ["mlp"]
    twice = replace(seen, jobs=(replace(job, id="mlp"), replace(job, id="mlp#2")))
    log.take(Entry(twice, (SetLimit("mlp#2", 0.5),), (), (), None, ()), {"mlp#2": container})
    view = space.live.view.peek("demo")
    assert [row.name for row in view.rows if row.id == container] == ["mlp#2"]
    assert [entry.container for entry in view.attached.entries] == ["mlp#2", "mlp"]


def test_a_waiting_job_can_be_put_first_or_cancelled(queue, refuses):
    first, second = queue.submit("demo", MLP), queue.submit("demo", MLP)
    assert queue.set_priority("demo", "mlp-2", 9).priority == 9
    with refuses(InputError):
        queue.set_priority("demo", "mlp-2", 10)
    assert queue.cancel("demo", first.id).state is QueueState.CANCELLED
    assert states(queue) == {"mlp-2": QueueState.WAITING, "mlp": QueueState.CANCELLED}
    for act in (queue.cancel, lambda *of: queue.set_priority(*of, 1)):
        with refuses(ConflictError):
            act("demo", "mlp")
    with refuses(ConflictError):
        queue.remove("demo", second.id)
    queue.remove("demo", "mlp")
    assert list(states(queue)) == ["mlp-2"]
    with refuses(NotFoundError):
        queue.cancel("demo", "mlp")


def test_what_cannot_be_taken_says_why(queue, space, settings, tmp_path, refuses):
    with refuses(ConflictError):
        queue.submit("here", MLP)
    with refuses(NotFoundError):
        queue.submit("other", MLP)
    with refuses(InputError):
        queue.submit("demo", {"steps": 3})
    with refuses(InputError):
        queue.submit("demo", {**MLP, "priority": 12})
    controlled = open_workspace(replace(space.settings, control=True))
    with refuses(ConflictError):
        controlled.live.queue.submit("here", MLP)
    controlled.close()
    assert queue.list("demo") == ()


def test_an_image_that_is_not_there_is_refused_where_it_was_named(queue, monkeypatch):
    monkeypatch.setattr(DemoHost, "has_image", lambda *_: False)
    for values, field, how in (
        (MLP, "program", "jobs-image"),
        ({"image": "mine:1"}, "image", "pull or build"),
    ):
        with pytest.raises(JobNotAccepted) as caught:
            queue.submit("demo", values)
        assert list(caught.value.fields) == [field]
        assert how in caught.value.fields[field]


def test_an_engine_that_takes_no_jobs_says_so_and_its_policies_are_not_fed(
    queue, space, monkeypatch, refuses
):
    engines = space.live.engines
    kind = replace(engines.kind("demo"), takes_jobs=False)
    monkeypatch.setattr(engines, "kind", lambda _: kind)
    with refuses(ConflictError):
        queue.submit("demo", MLP)
    engine = object()
    assert queue.fed("demo", engine, engine, starts=True) is engine
    queue.let_go("demo")


def test_of_two_who_want_the_same_job_one_gets_it(queue):
    job = queue.submit("demo", MLP)
    assert queue.store.claim(job.id)
    assert not queue.store.claim(job.id)
    assert not queue.store.set_priority(job.id, 5)
    assert queue.store.ask_cancel(job.id)
    assert queue.store.move(job.id, QueueState.ENDED)
    for state in QueueState:
        assert not queue.store.move(job.id, state)
    assert not queue.store.ask_cancel(job.id)
    assert not queue.list("demo")[0].cancelling
