"""What is said, and what is withheld, with 0, 1, 5, 12 and 50 held-out containers."""

from dataclasses import replace

import numpy as np
import pytest

from core.provisioning.evaluation.evaluate import EvaluationSettings, evaluate
from core.provisioning.fleet import Resource
from core.provisioning.verdict.savings import PriceSettings, money
from core.provisioning.verdict.standing import State, more_needed, ran_out, standing, unseen
from core.provisioning.verdict.table import Evidence, evidence_of, rows_of
from core.provisioning.verdict.verdict import KEEP, verdict
from tests.builders import small_traces
from tests.synthetic import synthetic_traces

SETTINGS = {"tolerance": 0.05}
GOOD = {
    "events": 0, "containers_short": 0, "short": [],
    "saved_low": 0.1, "saved_high": 0.3, "short_low": 0.01, "short_high": 0.04
}  # fmt: skip
KILLED = {**GOOD, "events": 7, "containers_short": 4, "short": ["d", "a", "c", "b"]}


def standing_of(found, resource, held_out, containers, **more):
    return standing(found, Resource(resource), held_out, containers, SETTINGS, **more)


@pytest.mark.parametrize("resource", ["cpu", "memory"])
@pytest.mark.parametrize("held_out", range(8))
def test_nothing_is_safe_with_fewer_than_eight_held_out_containers(resource, held_out, sentence):
    found = standing_of(GOOD, resource, held_out, max(4 * held_out, 4))
    assert found.state in (State.UNTESTED, State.FEW)
    assert found.missing > 0
    sentence(found.sentence)
    assert "95%" not in found.sentence or resource == "memory"


def test_one_container_describes_itself(sentence):
    found = standing_of(GOOD, "cpu", 1, 1, tested=False)
    assert found.state is State.UNTESTED
    sentence(found.sentence)


def test_one_held_out_container_is_an_example(sentence):
    found = standing_of(GOOD, "cpu", 1, 3)
    sentence(found.sentence)
    memory = standing_of(GOOD, "memory", 1, 3)
    sentence(memory.sentence)


def test_five_held_out_containers_are_too_few(sentence):
    found = standing_of(GOOD, "cpu", 5, 17)
    sentence(found.sentence)
    sentence(standing_of(GOOD, "memory", 5, 17).sentence)


def test_fifty_held_out_containers_may_be_called_safe(sentence):
    assert standing_of(GOOD, "cpu", 50, 160).state is State.SAFE
    sentence(standing_of(GOOD, "cpu", 50, 160).sentence)
    memory = standing_of(GOOD, "memory", 50, 160)
    assert memory.state is State.SAFE
    sentence(memory.sentence)


@pytest.mark.parametrize(
    ("change", "state", "words"),
    [
        ({"short_low": 0.06, "short_high": 0.09}, State.BROKEN, "more than the tolerated 5%"),
        ({"short_high": 0.07}, State.OPEN, "5% is tolerated, so less is possible"),
        ({"saved_low": -0.01}, State.OPEN, "Whether it saves anything is uncertain"),
        ({"saved_low": -0.2, "saved_high": -0.1}, State.OPEN, "It needs more than there is now"),
    ],
)
def test_with_enough_containers_the_interval_decides(change, state, words):
    found = standing_of({**GOOD, **change}, "cpu", 50, 160)
    assert found.state is state
    assert words in found.sentence
    assert found.missing == 0


def test_twelve_containers_that_all_kept_their_memory_are_no_proof(sentence):
    found = standing_of(GOOD, "memory", 12, 40)
    assert found.state is State.OPEN
    sentence(found.sentence)


def test_who_runs_out_of_memory_is_named(sentence):
    found = standing_of(KILLED, "memory", 50, 160)
    assert found.state is State.BROKEN
    sentence(found.sentence)
    sentence(ran_out({**KILLED, "events": 1, "containers_short": 1, "short": ["d"]}, 1))


def test_a_kill_is_a_kill_with_few_containers_too(sentence):
    found = standing_of({**KILLED, "events": 1, "containers_short": 1, "short": ["d"]}, "memory", 4, 15)
    assert found.state is State.BROKEN
    assert "too few" in found.sentence
    sentence(found.sentence)


def test_memory_stays_as_it_is_where_nothing_kept_containers_alive(sentence):
    """One container of each workload needs ten times as much memory as the others."""
    traces = small_traces(40)
    workloads = traces.attributes["workload"]
    more = np.repeat(
        [workloads.index(name) == i for i, name in enumerate(workloads)], np.diff(traces.offsets)
    )
    cpu, memory, *others = traces.columns
    apart = replace(traces, columns=(cpu, np.where(more, 10 * memory, memory), *others))
    found = verdict(
        evaluate(apart, None, EvaluationSettings(cycle=60.0, draws=200), ("prev.step.max",)).report
    )
    for card, row in zip(found.cards, rows_of(found, 0.05), strict=True):
        line = card.line(Resource.MEMORY)
        assert line.fixed.evidence["events"] > 0
        assert line.recommended.method == KEEP
        assert line.recommended.saved.amount == 0
        sentence(line.recommended.standing.sentence)
        assert not line.settable
        assert row.memory.recommended == row.memory.now
        assert row.out_of_memory == "keeps limit"
        assert row.evidence is Evidence.FAIR


def test_what_none_of_n_rules_out_is_the_exact_binomial_bound():
    for n in (1, 5, 8, 50):
        assert (1 - unseen(n)) ** n == pytest.approx(0.05)
    assert unseen(0) == 1.0
    assert unseen(300) == pytest.approx(3 / 300, rel=0.01)


def test_as_many_containers_are_asked_for_as_it_takes():
    assert [more_needed(n) for n in (0, 3, 7, 8, 40)] == [8, 5, 1, 0, 0]


@pytest.mark.parametrize(("containers", "held_out"), [(1, 0), (4, 4), (17, 17)])
def test_reports_have_intervals_only_with_enough_containers(containers, held_out):
    traces = small_traces(containers)
    settings = EvaluationSettings(cycle=60.0, draws=200)
    report = evaluate(traces, None, settings, ("budget.oracle", "prev.step.max", "prev.step.rules")).report
    assert (len(report["split"]["held_out"]) if report["split"]["tested"] else 0) == held_out
    enough = held_out >= 8
    for part in report["resources"].values():
        for row in part["policies"]:
            bounds = [
                row["matched"]["low"],
                row["matched"]["against_best"]["high"],
                row["frontier"][0]["low"],
            ]
            assert [each is not None for each in bounds] == [enough] * 3
    found = verdict(report)
    lines = [line for card in (found.whole, *found.cards) for line in card.lines]
    for card in (found.whole, *found.cards):
        for line in card.lines:
            for option in (line.steered, line.fixed):
                if option is not None and card.held_out < 8:
                    assert option.interval is None
                    assert option.standing.state in (State.FEW, State.UNTESTED, State.BROKEN)
    states = {line.steered.standing.state for line in lines if line.steered is not None}
    assert enough or State.SAFE not in states
    assert not any(pick.better for pick in found.picks.values()) or enough
    assert np.isfinite([line.now for line in lines]).all()


def test_the_only_container_is_replayed_and_nothing_is_learned_from_it(sentence):
    traces = small_traces(1, samples=80)
    report = evaluate(traces, None, EvaluationSettings(cycle=60.0, draws=100), ("usual",)).report
    assert report["split"]["tested"] is False
    sentence(report["notes"][0])
    named = {row["policy"] for row in report["resources"]["cpu"]["policies"]}
    assert named == {
        *("budget.oracle", "current.step.max", "current.step.rules", "vpa"),
        *("prev.step.max", "prev.step.rules", "prev.step.p95"),
    }
    reasons = {each["policy"]: each["reason"] for each in report["unavailable"]}
    sentence(reasons["phasedock"])


def test_a_limit_made_from_the_container_that_it_is_judged_on_is_no_test():
    """Of three workloads of one container each has nothing else to learn from."""
    made = synthetic_traces(3, 20, samples=80)[0]
    report = evaluate(made, None, EvaluationSettings(cycle=120.0, draws=100), ("prev.step.max",)).report
    found = verdict(report)
    for card, row in zip(found.cards, rows_of(found, 0.05), strict=True):
        assert not card.line(Resource.MEMORY).tested
        assert (row.evidence, row.saved, row.time_short, row.missing) == (Evidence.NONE, None, None, 7)
        assert row.cpu.recommended == card.line(Resource.CPU).fixed.amount


def figures(low, high, events=0):
    return {"short_low": low, "short_high": high, "events": events}


@pytest.mark.parametrize(
    ("runs", "short", "events", "level"),
    [
        (3, (0.0, 0.0), 0, Evidence.NONE),
        (7, (0.0, 0.0), 0, Evidence.FAIR),
        (8, (0.01, 0.04), 0, Evidence.GOOD),
        (8, (0.01, 0.06), 0, Evidence.FAIR),
        (8, (0.06, 0.09), 0, Evidence.GOOD),
        (23, (0.01, 0.04), 0, Evidence.STRONG),
        (200, (0.04, 0.06), 0, Evidence.FAIR),
        (200, (0.01, 0.04), 1, Evidence.FAIR),
    ],
)
def test_evidence_goes_by_intervals_and_kills_and_not_by_count_alone(runs, short, events, level):
    assert evidence_of(figures(*short), figures(0, 0, events), runs, 0.05) is level


@pytest.mark.parametrize(
    ("value", "said"), [(0.00999, "0.01 USD"), (0.0061, "0.0061 USD"), (3.2, "3.20 USD")]
)
def test_money_has_the_digits_that_it_needs(value, said):
    assert money(value, PriceSettings()) == said
