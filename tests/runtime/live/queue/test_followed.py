"""Submitted jobs under a policy, and what is left of them when it is detached or killed; on the demo."""

import pytest

from core.bootstrap import worker_for
from core.engines.errors import HostLost
from core.live.queue.values import QueueState
from core.scheduling.actions import Pause, Reason, Refuse, Resume, SetLimit, Start
from core.scheduling.loop import Entry
from core.scheduling.model import JobState, Trigger
from core.workspace.records import NO_EXPERIMENT
from tests.runtime.live.queue.conftest import until

MLP = {"program": "mlp", "name": "mine", "min": 0.25, "memory": 0.5}


def one(queue):
    """The only job."""
    (job,) = queue.list("demo")
    return job


def containers(space):
    """The demo's containers that run a submitted job."""
    with space.live.engines.host("demo") as host:
        return [each for each in host.containers(False) if "phasedock.submission" in each.labels]


def test_a_job_that_is_submitted_arrives_with_what_its_owner_said(queue, follow):
    demo = follow()
    demo.observe_after()
    queue.submit("demo", {**MLP, "priority": 2})
    seen = demo.observe_after(5.0)
    job = next(job for job in seen.jobs if job.id == "mine")
    assert (seen.trigger, job.state, job.request) == (Trigger.ARRIVAL, JobState.WAITING, 1.0)
    assert (job.terms_or_default.min, job.terms_or_default.memory, job.terms_or_default.priority) == (
        0.25,
        2**29,
        2,
    )
    queue.set_priority("demo", "mine", 7)
    assert demo.job("mine").terms_or_default.priority == 7


def test_a_job_is_started_paused_and_cancelled(queue, follow, space):
    demo = follow()
    queue.submit("demo", MLP)
    demo.observe_after()
    assert demo.fed.apply([Start("mine", "demo", 0.5)]) == ()
    job = one(queue)
    assert (job.state, job.cores, bool(job.container)) == (QueueState.RUNNING, 0.5, True)
    demo.observe_after()
    assert one(queue).cores == 0.5
    demo.fed.apply([SetLimit("mine", 0.75), Pause("mine")])
    demo.observe_after()
    assert (one(queue).state, one(queue).cores) == (QueueState.PAUSED, 0.75)
    demo.fed.apply([Resume("mine")])
    demo.observe_after()
    assert one(queue).state is QueueState.RUNNING
    assert [each.image for each in containers(space)] == ["recorded/mlp"]
    assert queue.store.ask_cancel(job.id)
    assert demo.job("mine") is None
    assert (one(queue).state, one(queue).cancelling) == (QueueState.CANCELLED, False)
    assert containers(space) == []
    assert space.live.saved_limits.all() == ()


def test_where_the_host_does_not_answer_a_cancelled_job_is_ended_later(queue, follow, monkeypatch):
    demo = follow()
    queue.submit("demo", MLP)
    demo.observe_after()
    demo.fed.apply([Start("mine", "demo", 0.5)])
    assert queue.store.ask_cancel(one(queue).id)

    def lost(_name):
        raise HostLost("It does not answer.")

    with monkeypatch.context() as silent:
        silent.setattr(demo.real, "withdraw", lost)
        assert demo.job("mine").state is JobState.RUNNING
        assert (one(queue).state, one(queue).cancelling) == (QueueState.RUNNING, True)
    assert demo.job("mine") is None
    assert one(queue).state is QueueState.CANCELLED


def test_a_job_that_was_cancelled_meanwhile_is_not_started(queue, follow, space):
    demo = follow()
    queue.submit("demo", MLP)
    demo.observe_after()
    queue.cancel("demo", "mine")
    (failure,) = demo.fed.apply([Start("mine", "demo", 0.5)])
    assert failure.why == "It was cancelled."
    assert containers(space) == []
    assert demo.job("mine") is None
    assert one(queue).state is QueueState.CANCELLED


def test_a_refused_job_and_one_that_cannot_be_started_say_why(queue, follow):
    demo = follow()
    queue.submit("demo", MLP)
    queue.submit("demo", {**MLP, "name": "other"})
    demo.observe_after()
    demo.fed.apply([Refuse("mine", "It would be accepted with 2 cores."), Start("other", "nowhere")])
    demo.observe_after()
    found = {job.name: (job.state, job.why) for job in queue.store.list(demo.host.key())}
    assert found == {
        "mine": (QueueState.REFUSED, "It would be accepted with 2 cores."),
        "other": (QueueState.WAITING, "It could not be started: There is no worker nowhere."),
    }


def test_the_policys_reason_is_why_a_job_waits(queue, follow, sentence):
    demo = follow()
    queue.submit("demo", MLP)
    seen = demo.observe_after()
    reasons = (Reason("rule", "mine waits for 2 cores.", "mine"), Reason("rule", "Not submitted.", "mlp-21"))
    for _ in range(2):
        demo.fed.explain(Entry(seen, (), reasons, (), None))
    sentence(queue.store.find(demo.host.key(), "mine").why)
    demo.fed.explain(Entry(seen, (Start("mine", "demo"),), (Reason("rule", "It starts.", "mine"),), (), None))
    sentence(queue.store.find(demo.host.key(), "mine").why)


def test_a_kill_loses_nothing_and_the_next_run_goes_on_with_the_same_job(queue, follow, space):
    """Nothing is closed here: that is how a kill leaves things."""
    killed = follow(owner="dead")
    queue.submit("demo", MLP)
    queue.submit("demo", {**MLP, "name": "waits"})
    killed.observe_after()
    killed.fed.apply([Start("mine", "demo", 0.5)])
    killed.observe_after()
    before = queue.store.find(killed.host.key(), "mine")
    space.live.limits.put_back_orphans()
    queue.settle()
    after = queue.store.find(killed.host.key(), "mine")
    assert (after.state, after.container, after.cores) == (QueueState.RUNNING, before.container, None)
    assert [each.limits.cores for each in containers(space)] == [None]
    demo = follow(owner="next")
    found = demo.job("mine")
    assert (found.state, found.request, found.limit) == (JobState.RUNNING, 1.0, None)
    assert demo.job("waits").state is JobState.WAITING
    assert [each.id for each in containers(space)] == [before.container]


def test_a_paused_job_goes_on_after_a_kill(queue, follow, space):
    from core.live.attach.policy_loop import PauseRecorder

    killed = follow(owner="dead")
    keeper = space.live.saved_limits.keeper("dead")
    killed.fed._engine = PauseRecorder(killed.real, killed.host, keeper)
    queue.submit("demo", MLP)
    killed.observe_after()
    killed.fed.apply([Start("mine", "demo", 0.5)])
    killed.observe_after()
    killed.fed.apply([Pause("mine")])
    killed.observe_after()
    assert one(queue).state is QueueState.PAUSED
    space.live.limits.put_back_orphans()
    queue.settle()
    assert one(queue).state is QueueState.RUNNING
    assert [(each.state, each.limits.cores) for each in containers(space)] == [("running", None)]


def test_a_kill_between_the_claim_and_the_start_lets_the_job_wait_again(queue, follow, space):
    job = queue.submit("demo", MLP)
    assert queue.store.claim(job.id)
    queue.settle()
    waits = queue.store.find(space.live.engines.key("demo"), "mine")
    assert (waits.state, waits.why, waits.started) == (QueueState.WAITING, "Its start was interrupted.", None)
    demo = follow()
    assert demo.job("mine").state is JobState.WAITING


def test_a_container_that_was_removed_or_has_ended_meanwhile_is_found_out(queue, follow, space):
    for name, end in (("gone", "remove"), ("over", "stop")):
        demo = follow()
        queue.submit("demo", {**MLP, "name": name})
        demo.observe_after()
        demo.fed.apply([Start(name, "demo")])
        container = queue.store.find(demo.host.key(), name).container
        getattr(demo.host, end)(container)
        queue.settle()
    found = {job.name: (job.state, job.why) for job in queue.list("demo")}
    assert found == {
        "gone": (QueueState.FAILED, "Its container was removed."),
        "over": (QueueState.FAILED, "It was stopped."),
    }
    assert len(containers(space)) == 1, "what has ended stays until somebody removes it"
    queue.remove("demo", "over")
    assert containers(space) == []


def test_a_job_that_ends_says_so_and_another_image_has_a_recording_as_well(queue, follow, space):
    demo = follow()
    job = queue.submit("demo", {"image": "mine:1"})
    plan = demo.host.world.plan
    demo.observe_after()
    demo.fed.apply([Start("mine", "demo")])
    number = demo.host.inspect(one(queue).container).number
    replayed = demo.host.present.replay.jobs[-1].submitted
    assert (replayed.id, 0 <= replayed.recording < len(plan.recordings)) == (job.id, True)
    demo.host.world.change(lambda now: now.replay.stopped(plan, number, "done"))
    demo.observe_after()
    assert (one(queue).state, one(queue).why) == (QueueState.ENDED, "It finished.")


@pytest.mark.parametrize("policy", ["free", "elastic"])
def test_from_submission_to_detachment_and_back(space, queue, policy):
    """The whole way with a worker: watched it waits, steered it runs, detached it goes on without limits."""
    worker = worker_for(space)
    worker.start()
    try:
        queue.submit("demo", {**MLP, "request": 0.5})
        space.live.policies.attach("demo", policy, {"grain": 0.25} if policy == "elastic" else {}, "watch")
        until(lambda: (attached := space.live.view.peek("demo").attached) and attached.run)
        assert "only watches" in one(queue).why
        assert one(queue).state is QueueState.WAITING
        space.live.policies.detach("demo")
        until(lambda: space.live.view.peek("demo").attached is None)
        space.live.policies.attach("demo", policy, {"grain": 0.25} if policy == "elastic" else {}, "control")
        running = until(lambda: job if (job := one(queue)).state is QueueState.RUNNING else None)
        until(lambda: one(queue).container)
        space.live.policies.detach("demo")
        until(lambda: space.live.view.peek("demo").attached is None)
        after = one(queue)
        assert (after.state, after.id, after.cores) == (QueueState.RUNNING, running.id, None)
        assert [(each.id, each.limits.cores) for each in containers(space)] == [(after.container, None)]
        assert space.live.saved_limits.all() == ()
        assert queue.cancel("demo", "mine").state is QueueState.CANCELLED
        assert containers(space) == []
        runs = space.runs.list(5, experiment=NO_EXPERIMENT)
        assert [space.runs.replay(run.id) for run in runs] == [[], []]
    finally:
        worker.stop(20)
