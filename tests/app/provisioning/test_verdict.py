"""The sentences of a verdict: none promises what was not measured."""

from dataclasses import replace

import pytest

from app.pages.provisioning.results import View
from app.pages.provisioning.verdict import verdict_cards
from app.ui.links import Query
from core.provisioning.evaluation.evaluate import EvaluationSettings, evaluate
from core.provisioning.fleet import Resource
from core.provisioning.verdict.choice import Pick
from core.provisioning.verdict.standing import Standing, State
from core.provisioning.verdict.verdict import verdict
from tests.app.provisioning.page_text import text_of
from tests.synthetic import synthetic_traces

VIEW = View.read(Query("/provisioning", {}))


@pytest.fixture(scope="module")
def report():
    """Three workloads of one container each, of which one is held out."""
    made = synthetic_traces(3, 20, samples=160)[0]
    return evaluate(made, None, EvaluationSettings(cycle=120.0, draws=100), ("prev.step.max",)).report


def cards_text(found, report):
    return text_of(verdict_cards(found, report, VIEW, ""))


def test_what_was_not_tested_is_in_no_sum_and_saves_nothing_yet(report):
    text = cards_text(verdict(report), report)
    assert text.count("if all are like the one held out") == 1
    assert text.count("per day, on its training data") == 2
    assert text.count("Would have saved") + text.count("Would have needed") == 5 + 2
    assert "a fixed limit is proposed for 3 of 3 workloads, though not shown to be safe" in text
    assert "a fixed limit is recommended" not in text
    assert "would run out of memory" in text
    assert ": Would run" not in text
    assert "language model or image classifier was held out" in text


def test_a_tick_stands_only_before_what_is_safe(report):
    found = verdict(report)
    unsure = replace(found, picks={**found.picks, Resource.CPU: Pick("vpa", True, False, "It saves.")})
    assert "circle-check" not in cards_text(unsure, report)
    better = replace(unsure, risk={**found.risk, Resource.CPU: Standing(State.SAFE, "Short 1% to 4%.")})
    assert "circle-check" in cards_text(better, report)


def test_that_a_model_has_seen_the_containers_stands_beside_what_it_saves(report):
    seen = {**report, "model": {"trained_on": "held_out"}}
    sentence = "trained on these containers, so it may perform worse on others"
    assert sentence in cards_text(verdict(report), seen)
    assert sentence not in cards_text(verdict(report), report)
