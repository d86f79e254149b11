"""Every registered scheduling policy, and every variant of FlowCon and SpeCon, sits the exam."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import pytest

from core.scheduling.policies import POLICIES
from core.settings_fields import describe
from tests.contracts.policy_exam import EXAM, SCENARIOS, Paper, moves_each_job_once_for_each_reason, paper

if TYPE_CHECKING:
    from collections.abc import Callable

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
def sat(name: str, variant: int, scenario: str) -> Paper:
    """One run of a policy; every question reads the same paper."""
    return paper(POLICIES[name], SCENARIOS[scenario], **PAPERS[variant][1])


def asked(variant: int, question: object) -> bool:
    """As printed, Algorithm 5 may move a container again; everything else is asked of everyone."""
    as_printed = PAPERS[variant][1].get("rebalance") == "as-printed"
    return not (as_printed and question is moves_each_job_once_for_each_reason)


@pytest.mark.parametrize(
    ("variant", "scenario", "question"),
    [
        pytest.param(variant, scenario, question, id=f"{name}-{variant}-{scenario}-{question.__name__}")
        for variant, (name, _) in enumerate(PAPERS)
        for scenario in SCENARIOS
        for question in EXAM
        if asked(variant, question)
    ],
)
def test_policy(variant: int, scenario: str, question: Callable[[Paper], None]) -> None:
    question(sat(PAPERS[variant][0], variant, scenario))


def test_the_exam_makes_specon_reallocate_and_rebalance_and_some_migrations_fail() -> None:
    papers = [sat(name, place, "a cluster") for place, (name, _) in enumerate(PAPERS) if name == "specon"]
    rules = {reason.rule for one in papers for entry in one.entries for reason in entry.reasons}
    for needed in ("Algorithm 4, lines 8–10", "Algorithm 4, lines 11–16", "Algorithm 5 as resolved"):
        assert needed in rules
    assert {"Migration done", "Migration failed"} <= rules


@pytest.mark.parametrize("name", POLICIES)
def test_policy_says_what_it_is_and_what_can_be_chosen(name: str) -> None:
    policy = POLICIES[name]
    assert policy.name == name
    assert policy.about.endswith(".")
    for spec in describe(policy.settings):
        assert spec.label
        assert spec.help.endswith(".")
        assert getattr(policy.chosen({spec.name: spec.default}), spec.name) == spec.default
