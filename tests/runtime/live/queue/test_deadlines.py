"""Deadlines of submitted jobs: earlier runs are known by kind, promises survive, asking changes nothing."""

import re
import time
from dataclasses import replace

import pytest

from core.live.queue.deadline_previews import sentences
from core.live.queue.spec import JobNotAccepted, JobSpec
from core.live.queue.values import QueueState
from core.sampling.values import Mode
from core.scheduling.actions import Start
from core.scheduling.deadline_planning.run_history import Pace, RunMeasurement
from core.scheduling.loop import Entry
from core.scheduling.policies import POLICIES

MLP = {"program": "mlp", "command": "--steps 600", "request": 1.0}


def bundled(*options, **more):
    words = ("python3", "-m", "phasedock_jobs", "mlp", *options)
    return JobSpec("phasedock-jobs:light", words, program="mlp", **more)


def teach(queue, steps=1200, **paces):
    """As if a run had shown these times per step, by cores."""
    known = paces or {"1": 0.1, "2": 0.06}
    course = RunMeasurement(
        paces={float(at): Pace(each, 3.0) for at, each in known.items()}, startup=2.0, steps=steps
    )
    queue.earlier_on("demo").add(bundled().kind, course)


class Steered:
    """The demo under a policy that decides when it is told to."""

    def __init__(self, follow, policy="deadline"):
        self.demo, self.policy = follow(), POLICIES[policy]
        self.state = self.policy.begin(self.policy.build_settings({}), 1)

    def decide(self, seconds=0.0):
        seen = self.demo.observe_after(seconds)
        decision = self.policy.decide(self.state, seen)
        self.state = decision.state
        failures = self.demo.fed.apply(decision.actions)
        entry = Entry(
            seen,
            decision.actions,
            failures=failures,
            reasons=decision.reasons,
            marks=decision.marks,
            wake=decision.wake,
        )
        self.demo.fed.explain(entry)
        return entry


def one(queue, name="mlp"):
    return next(job for job in queue.list("demo") if job.name == name)


def test_jobs_that_differ_in_steps_or_seed_alone_are_of_one_kind():
    same = [(), ("--steps", "600"), ("--seed=3", "--steps=9"), ("--seed", "7", "--threads", "follow")]
    assert len({bundled(*options).kind.key for options in same}) == 1
    others = [bundled("--size", "2"), bundled("--threads", "1"), bundled(data="faces")]
    others += [JobSpec("mine"), JobSpec("mine", ("--steps", "9"))]
    assert len({spec.kind.key for spec in [bundled(), *others]}) == 6
    assert [bundled(*options).kind.steps for options in same] == [200, 600, 9, 200]
    assert bundled("--steps", "many").kind.steps is None
    assert JobSpec("mine", ("--steps", "9")).kind.steps is None


def test_a_deadline_is_understood_and_one_that_is_not_is_refused_at_its_field(queue):
    asked = time.time()
    job = queue.submit("demo", {**MLP, "deadline": "in 2 h"})
    assert job.spec.deadline == pytest.approx(asked + 7200, abs=5)
    assert job.terms().deadline == pytest.approx(7200, abs=5)
    with pytest.raises(JobNotAccepted) as refused:
        queue.submit("demo", {**MLP, "deadline": "6"})
    assert set(refused.value.fields) == {"deadline"}


def at_any_hour(text):
    """A text with its times of day blanked, and the day that they are on."""
    return re.sub(r"\b(tomorrow )?\d\d:\d\d\b", "HH:MM", text)


def test_what_earlier_runs_showed_is_told_and_asking_changes_nothing(queue, sentence):
    before = queue.ask("demo", {**MLP, "deadline": "2 h"})
    assert (before.outlook.known, before.runs, before.attached) == (False, 0, False)
    sentence(at_any_hour(sentences(before, "UTC")[0]))
    teach(queue)
    found = queue.ask("demo", {**MLP, "command": "--steps 9 --seed 5", "deadline": "2 min"})
    assert (found.runs, found.outlook.promised, found.policy) == (1, True, "deadline")
    assert found.outlook.cores == 2.0, "1200 steps: 120 s with one core, 72 with two, and 2 s to begin"
    said = " ".join(sentences(found, "UTC"))
    assert said.startswith("It can be done by ")
    sentence(at_any_hour(said))
    assert "is a guess" not in said
    soon = queue.ask("demo", {**MLP, "deadline": "9 s"})
    assert not soon.outlook.promised
    first, why, *_ = sentences(soon, "UTC")
    assert first.startswith("It cannot be promised by ")
    assert first.endswith(") could be.")
    assert why.startswith("mlp cannot end within 9 s with any number of cores")
    assert queue.ask("demo", {**MLP, "deadline": f"{soon.outlook.soonest + 1:.0f} s"}).outlook.promised
    assert queue.list("demo") == ()
    assert found.to_dict()["gives_way"] == []


def test_a_speed_that_is_a_guess_is_called_so(queue, sentence):
    teach(queue, **{"1": 0.1})
    found = queue.ask("demo", {**MLP, "deadline": "2 h"})
    assert (found.outlook.promised, found.profiled) == (True, False)
    sentence(at_any_hour(" ".join(sentences(found))))


def test_what_is_attached_is_asked_as_it_is_set(queue, space):
    teach(queue)
    space.live.policies.attach("demo", "elasticflow", {}, "control")
    asked = {**MLP, "command": "--steps 1200", "deadline": "4 min"}
    found = queue.ask("demo", asked)
    assert (found.policy, found.attached, found.outlook.cores) == ("elasticflow", True, 1.0), "0.50 suffice"
    assert "not attached" not in " ".join(sentences(found))


def test_other_policies_promise_nothing_so_deadline_is_asked(queue, space):
    space.live.policies.attach("demo", "elastic", {}, Mode.CONTROL)
    assert (queue.ask("demo", {**MLP, "deadline": "2 h"}).policy, queue.ask("demo", MLP).attached) == (
        "deadline",
        False,
    )


def test_a_promise_is_kept_in_mind_when_the_policy_is_attached_again(queue, follow, space):
    teach(queue)
    queue.submit("demo", {**MLP, "deadline": "10 min"})
    steered = Steered(follow)
    entry = steered.decide()
    assert [(mark.job, mark.promised) for mark in entry.marks if mark.job == "mlp"] == [("mlp", True)]
    job = one(queue)
    assert (job.state, job.promised) == (QueueState.RUNNING, True)
    again = Steered(follow)
    seen = again.demo.observe_after()
    told = next(each for each in seen.jobs if each.id == "mlp")
    assert (told.terms_or_default.promised, told.terms_or_default.profile.steps) == (True, 1200)


def test_how_jobs_stand_is_seen_while_their_policy_runs_and_forgotten_with_it(
    queue, follow, space, monkeypatch
):
    teach(queue)
    queue.submit("demo", {**MLP, "deadline": "10 min"})
    steered = Steered(follow)
    steered.decide()
    monkeypatch.setattr(queue, "_is_followed", lambda _: True)
    steered.decide(0.5)
    stands = one(queue).stands
    assert stands.promised
    assert time.time() < stands.ends < one(queue).spec.deadline
    assert one(queue).to_dict()["stands"]["label"] == "promised"
    steered.demo.fed.close()
    assert one(queue).stands is None


def test_watching_promises_nothing(queue, follow, space):
    teach(queue)
    queue.submit("demo", {**MLP, "deadline": "10 min"})
    steered = Steered(follow)
    steered.demo.fed._starts_jobs = False
    steered.decide()
    assert one(queue).promised is None


def test_a_run_that_was_followed_is_remembered(queue, follow, space):
    queue.submit("demo", MLP)
    steered = Steered(follow)
    steered.decide()
    courses = steered.demo.fed._measurements._measurements
    courses["mlp"] = replace(courses["mlp"], paces={1.0: Pace(0.2, 2.0)}, steps=600)
    steered.demo.fed.close()
    known = queue.earlier_on("demo").of(bundled("--steps", "3").kind)
    assert (known.points, known.steps, known.runs) == (((1.0, 0.2),), 600, 1)


def test_a_start_that_came_too_late_gives_nothing(queue, follow, space):
    job = queue.submit("demo", MLP)
    demo = follow()
    demo.observe_after()
    assert queue.cancel("demo", job.id).state is QueueState.CANCELLED
    (failure,) = demo.fed.apply([Start("mlp", "demo", 2.0)])
    assert failure.why == "It was cancelled."
    assert demo.fed._measurements._measurements["mlp"].cores == 0.0
    assert queue.find("demo", job.id).cores is None
