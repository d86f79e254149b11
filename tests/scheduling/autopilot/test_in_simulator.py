"""In the simulator: cores that are taken back from jobs that do not use them let those begin that wait."""

from dataclasses import asdict, replace

import pytest

from core.errors import InputError
from core.experiments.spec_reader import from_dict, read_experiment
from core.provisioning.policies import POLICIES
from core.provisioning.policy import fit_policy
from core.runs.runner import run_arm, simulated_stage
from core.scheduling.actions import SetLimit, Start
from core.scheduling.policies.autopilot import AUTOPILOT, ReadySettings
from core.scheduling.policies.autopilot.settings import FittedPolicy
from tests.provisioning.making import demand_of

CYCLE = 5.0
TWO_GROUPS = """
version: 1
name: Two groups
workers: {count: 1, cores: 4, id: box}
kinds:
  Idle: {work: 60, demand: 1, request: 2}
  Late: {work: 20, demand: 2, request: 2}
jobs:
  - {id: a, kind: Idle, at: 0 s}
  - {id: b, kind: Idle, at: 0 s}
  - {id: c, kind: Late, at: 1 s}
policies: [autopilot, kube.default]
seeds: 1
"""


def ready(**chosen):
    training = demand_of([[1.0, 2.0, 1.5, 1.0] * 10], cycle=CYCLE)
    fitted = FittedPolicy(
        "prev.step.max", CYCLE, 1.0, fit_policy(POLICIES["prev.step.max"], training).adviser, None
    )
    return ReadySettings(**asdict(AUTOPILOT.build_settings(chosen)), fitted=fitted)


def run(policy, settings=None, text=TWO_GROUPS):
    experiment, entries = read_experiment(text), []
    arm = next(each for each in experiment.policies if each.policy == policy)
    stage = replace(simulated_stage(experiment, arm, 1), ready=settings)
    return run_arm(experiment, arm, 1, lambda entry, _: entries.append(entry), stage), entries


def ends(result):
    return {job.id: job.completion for job in result.jobs}


def test_who_waits_begins_when_cores_are_taken_back_from_those_that_do_not_use_them():
    static, steered = run("kube.default")[0], run("autopilot", ready())[0]
    assert ends(static)["c"] == pytest.approx(59 + 10, abs=0.5), "it waits for the first of the others to end"
    assert ends(steered)["c"] < 20
    assert ends(steered)["a"] == pytest.approx(ends(static)["a"], rel=0.03)


def test_without_a_fitted_policy_every_job_keeps_its_request():
    unfitted, entries = run("autopilot")
    static, _ = run("kube.default")
    assert ends(unfitted) == ends(static)
    actions = [action for entry in entries for action in entry.actions]
    assert {type(action) for action in actions} == {Start}
    assert unfitted.evidence is None, "nobody looked"


def test_what_was_freed_is_kept_with_the_result():
    result, entries = run("autopilot", ready())
    found = result.evidence
    limits = [a.limit for e in entries for a in e.actions if isinstance(a, SetLimit) and a.job == "a"]
    assert limits[-1] == pytest.approx(1.0, abs=0.01)
    assert found.freed_cores > 0.8
    assert found.short_share < 0.1
    assert (result.short, result.too_low) == (found.short_share, found.violations)
    assert result.reserved < 0.8 * run("kube.default")[0].reserved
    assert type(result).from_dict(result.to_dict()) == result


def test_who_only_watches_leaves_jobs_what_they_ask_for_and_writes_down_what_it_would_give_them():
    watching = TWO_GROUPS.replace("[autopilot,", "[{policy: autopilot, watch: true},")
    static, (watched, entries) = run("kube.default")[0], run("autopilot", ready(), watching)
    assert ends(watched) == pytest.approx(ends(static), abs=0.5)
    assert any(isinstance(action, SetLimit) for entry in entries for action in entry.actions)
    assert watched.evidence.freed_cores > 1.0
    assert all(job.allocated == pytest.approx(2 * job.service) for job in watched.jobs)


def test_an_experiment_says_who_only_watches_and_who_cannot(refuses):
    read = read_experiment(TWO_GROUPS.replace("[autopilot,", "[{policy: autopilot, watch: yes},"))
    assert [arm.watch for arm in read.policies] == [True, False]
    assert from_dict(read.to_dict()) == read
    with refuses(InputError):
        read_experiment(TWO_GROUPS.replace("kube.default]", "{policy: kube.default, watch: true}]"))
