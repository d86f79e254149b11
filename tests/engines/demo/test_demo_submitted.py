"""Jobs submitted to the demo: they wait, begin beside the others, and stay until they are removed."""

from dataclasses import replace

import pytest

from core.engines.demo.host import choose_recording
from core.engines.run import ContainerCreation
from core.engines.submitted import Outcome, SubmittedJob
from core.scheduling.actions import Pause, Refuse, SetLimit, Start
from core.scheduling.model import JobState, Terms, Trigger


def job(name="mine", **more):
    given = {"command": ("run", "one"), "request": 1.0, "memory": 2**29} | more
    return SubmittedJob(f"id-of-{name}", name, f"{name}-container", 1e9 - 2, "image", **given)


def looked(engine, seconds=0.5):
    engine.wait(engine.time + seconds)
    return engine.observe()


def of(seen, name):
    return next(job for job in seen.jobs if job.id == name)


def started(demo, engine, **more):
    """A job that was submitted and started with half a core; its container."""
    name = engine.submit(job(**more))
    engine.wait(5.0)
    engine.observe()
    assert engine.apply([Start(name, "demo", 0.5)]) == ()
    return demo.host().inspect(engine.containers[name])


def test_it_waits_since_it_was_submitted_and_begins_where_the_policy_says(demo, sentence):
    engine = demo.engine()
    engine.submit(job(terms=Terms(priority=2)))
    engine.wait(60.0)
    seen = engine.observe()
    waiting = of(seen, "mine")
    assert (seen.trigger, waiting.state, waiting.worker) == (Trigger.ARRIVAL, JobState.WAITING, None)
    assert waiting.arrived == pytest.approx(-3.0)
    assert seen.jobs[0].id == "mine", "in order of submission"
    (failure,) = engine.apply([SetLimit("mine", 1.0)])
    sentence(failure.why)
    (failure,) = engine.apply([Start("mine", "elsewhere")])
    sentence(failure.why)
    assert engine.apply([Start("mine", "demo", 0.5)]) == ()
    running = of(looked(engine, 2.0), "mine")
    assert (running.state, running.limit, running.request, running.terms_or_default.priority) == (
        JobState.RUNNING,
        0.5,
        1.0,
        2,
    )
    assert (running.arrived, running.cpu_seconds) == (waiting.arrived, pytest.approx(1.0, abs=0.3))
    engine.revise("mine", Terms(priority=9))
    assert of(looked(engine), "mine").terms_or_default.priority == 9


def test_its_container_outlives_the_run_without_limits_and_is_found_again(demo):
    with demo.engine() as engine:
        container = started(demo, engine)
        assert (container.name, container.image, container.limits.cores) == (
            "mine-container",
            "recorded/one",
            0.5,
        )
        assert {"phasedock", "phasedock.job", "phasedock.submission"} <= set(container.labels)
        engine.apply([Pause("mine")])
    after = demo.host().inspect(container.id)
    assert (after.state, after.limits.cores, after.limits.memory_bytes) == ("running", None, 2**29)
    assert demo.keeper.kept_limits == {}
    again = demo.engine()
    assert again.submit(replace(job(), container=container.id, started=1e9)) == "mine"
    assert of(looked(again), "mine").state is JobState.RUNNING
    again.withdraw("mine")
    (ended,) = looked(again).ended
    assert (ended.id, again.reasons["mine"]) == ("mine", "It was cancelled.")
    assert not any(each.name == "mine-container" for each in demo.host().containers(False))


def test_it_stays_on_the_list_when_it_has_ended_until_it_is_removed(demo):
    engine = demo.engine()
    container = started(demo, engine, name="brief")
    while not (ended := [job for job in looked(engine, 20.0).ended if job.id == "brief"]):
        assert engine.time < 600
    assert ended[0].state is JobState.DONE
    host = demo.host()
    demo.clock.sleep(500.0)
    assert container.id not in {each.id for each in host.containers()}
    assert host.inspect(container.id).state == "exited"
    assert host.outcome(container.id) == Outcome(True, "It finished.")
    late = demo.engine()
    late.submit(replace(job("brief"), container=container.id, started=1e9))
    assert [each.state for each in looked(late).ended] == [JobState.DONE]
    host.remove("brief-container")
    host.remove("brief-container")
    assert container.id not in {each.id for each in host.containers(False)}


def test_a_job_that_waits_is_refused_or_leaves(demo):
    engine = demo.engine()
    for name in ("refused", "leaves"):
        engine.submit(job(name))
    looked(engine)
    assert engine.apply([Refuse("refused", "Too large.")]) == ()
    engine.withdraw("leaves")
    seen = looked(engine)
    assert {each.id: each.state for each in seen.ended} == {
        "refused": JobState.REFUSED,
        "leaves": JobState.FAILED,
    }
    assert engine.reasons["refused"] == "Too large."
    assert not {"refused", "leaves"} & {each.id for each in seen.jobs}
    assert engine.submit(job("leaves")) == "leaves#2", "names are not used twice in a run"


def test_an_image_of_ones_own_follows_some_recording_and_always_the_same(demo):
    engine = demo.engine()
    images = {started(demo, engine, name=f"own-{n}", command=()).image for n in range(8)}
    assert images == {"recorded/one", "recorded/two"}
    labels = {"phasedock.submission": "id-of-own-1", "phasedock.job": "own-1"}
    asked = [
        choose_recording(ContainerCreation("x", "image", labels=labels, cores=cores), demo.plan)
        for cores in (1.0, 2.0)
    ]
    assert asked[0] == asked[1]
