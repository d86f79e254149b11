"""Every registered scheduling policy, and every variant of FlowCon and SpeCon, sits the exam."""

from collections import Counter
from functools import cache

import pytest

from core.plugins import cluster, jobs, run_for_exam
from core.provisioning.policy_exam import settings_wrong
from core.scheduling.policies import POLICIES
from core.scheduling.policy_exam import QUESTIONS, declaration
from core.simulation.scenario import Scenario, WorkerSpec

SCENARIOS = {"one worker": Scenario((WorkerSpec("w", 1.0),), jobs(5, 20.0)), "a cluster": cluster(14)}
VARIANTS = {
    "flowcon": (
        {"growth": "means", "new_limit": "ratio", "unknown": "unknown-inf"},
        {"new_limit": "multiplicative", "threshold": "peak", "alpha": 0.3},
        {"limits": "soft", "work_conserving": True},
        {"limits": "hybrid", "placement": "requested"},
        {"work_conserving": True, "itval": 5.0},
    ),
    "specon": (
        {"rebalance": "as-printed", "alpha": 0.05},
        {"interval": 10.0, "alpha": 0.1, "placement": "random"},
        {"placement": "half", "weight_pc": 1.0, "weight_cc": 5.0},
    ),
}
PAPERS = [(name, {}) for name in POLICIES] + [(n, v) for n, each in VARIANTS.items() for v in each]


@cache
def sat(name, variant, scenario):
    """One run of a policy; every question reads the same paper."""
    return run_for_exam(POLICIES[name], SCENARIOS[scenario], **PAPERS[variant][1])


def moves_each_job_once_for_each_reason(one):
    """At most one reallocation (Algorithm 4) and one rebalance (Algorithm 5) per container."""
    for algorithm in ("Algorithm 4", "Algorithm 5"):
        moved = Counter(
            reason.job
            for entry in one.entries
            for reason in entry.reasons
            if reason.rule.startswith(algorithm)
        )
        if any(count > 1 for count in moved.values()):
            return f"{algorithm} moved a container twice."
    return None


def applies(variant, question):
    """As printed, Algorithm 5 may move a container again; everything else is asked of everyone."""
    as_printed = PAPERS[variant][1].get("rebalance") == "as-printed"
    return not (as_printed and question is moves_each_job_once_for_each_reason)


@pytest.mark.parametrize(
    ("variant", "scenario", "question"),
    [
        pytest.param(variant, scenario, question, id=f"{name}-{variant}-{scenario}-{question.__name__}")
        for variant, (name, _) in enumerate(PAPERS)
        for scenario in SCENARIOS
        for question in (*QUESTIONS, moves_each_job_once_for_each_reason)
        if applies(variant, question)
    ],
)
def test_policy(variant, scenario, question):
    assert question(sat(PAPERS[variant][0], variant, scenario)) is None


def test_the_exam_makes_specon_reallocate_and_rebalance_and_some_migrations_fail():
    papers = [sat(name, place, "a cluster") for place, (name, _) in enumerate(PAPERS) if name == "specon"]
    rules = {reason.rule for one in papers for entry in one.entries for reason in entry.reasons}
    for needed in ("Algorithm 4, lines 8–10", "Algorithm 4, lines 11–16", "Algorithm 5 as resolved"):
        assert needed in rules
    assert {"Migration done", "Migration failed"} <= rules


@pytest.mark.parametrize("name", POLICIES)
def test_policy_says_what_it_is_and_what_can_be_chosen(name):
    policy = POLICIES[name]
    assert policy.name == name
    assert declaration(policy) is None
    assert settings_wrong(policy.settings) is None
