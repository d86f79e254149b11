"""Verdicts that somebody who is asked to sign them would look at twice: on made fleets with known answers."""

import json
from collections import Counter

import numpy as np
import pytest

from core.provisioning.evaluation.evaluate import EvaluationSettings, evaluate
from core.provisioning.fleet import Resource
from core.provisioning.manifests import write
from core.provisioning.manifests.manifest_comments import About
from core.provisioning.verdict.choice import pick, surely, units
from core.provisioning.verdict.standing import State, standing
from core.provisioning.verdict.verdict import verdict
from core.traces.censoring import is_limit
from core.traces.model import Feature, Role, TraceSet, sample_seconds
from core.units import GIB, Unit, format_set_share

RULES = ("prev.step.max", "prev.step.p95", "prev.step.rules", "static.p95", "budget.oracle")


def fleet(runs, limit=None, period=30.0):
    """A trace set of (workload, cpu, memory), with a CPU limit of all if there is one."""
    lengths = [len(cpu) for _, cpu, _ in runs]
    features = [Feature("cpu", Role.CPU, Unit.CORES), Feature("memory", Role.MEMORY, Unit.BYTES)]
    columns = [np.concatenate([run[i] for run in runs]) for i in (1, 2)]
    if limit is not None:
        features.append(Feature("limit", Role.CPU_LIMIT, Unit.CORES))
        columns.append(np.full(len(columns[0]), limit))
    names = [workload for workload, _, _ in runs]
    return TraceSet(
        tuple(features),
        tuple(columns),
        np.concatenate([np.arange(length) * period for length in lengths]),
        tuple(f"{name}-{i}" for i, name in enumerate(names)),
        np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        period,
        attributes={"workload": names},
    )


def steady(workload, level, samples, n, seed=0, spread=0.1):
    rng = np.random.default_rng(seed)
    return [
        (workload, level * (1 + spread * rng.random(samples)), GIB * level * (1 + 0.1 * rng.random(samples)))
        for _ in range(n)
    ]


def judged(traces, policies=RULES, **settings):
    report = evaluate(traces, None, EvaluationSettings(draws=200, **settings), policies).report
    return report, verdict(report)


def test_two_groups_that_were_held_out_whole_prove_nothing_of_others(sentence):
    rng = np.random.default_rng(0)
    wave = (np.arange(120) % 40 > 30) * 1.0
    runs = [
        (name, level + 0.3 * rng.random(120) + wave, GIB * (1 + 0.1 * rng.random(120)))
        for name, level in (("a", 1.0), ("b", 2.0))
        for _ in range(10)
    ]
    report, found = judged(fleet(runs, limit=4.0), (*RULES, "event"), group_by="workload")
    assert units(report) == 2
    assert not any(choice.better for choice in found.picks.values())
    for line in found.whole.lines:
        assert line.steered.standing.state is not State.SAFE
        sentence(line.steered.standing.sentence)
    said = found.cards[0].line(Resource.CPU).recommended.standing.sentence
    sentence(said)
    assert "more container" not in said


def test_a_policy_that_is_better_by_falling_short_more_often_is_not_taken(sentence):
    def row(name, kind, exact_low):
        against = {"saving": 0.5, "low": 0.46, "high": 0.51, "exact_low": exact_low, "exact_high": 0.5}
        return {"policy": name, "kind": kind, "matched": {"against_best": against}}

    part = {"best_reactive": "prev.step.max", "policies": [row("vpa", "autoscaler", -0.2)]}
    assert not pick(part, 20).better
    part["policies"].append(row("event", "adaptive", 0.3))
    choice = pick(part, 20)
    assert (choice.policy, choice.better) == ("event", True)
    sentence(choice.sentence)
    assert surely(row("budget.oracle", "bound", 0.4)) < 0


def test_intervals_hold_where_both_are_short_for_the_same_time():
    traces = fleet(steady("a", 1.0, 120, 30, spread=0.8), limit=4.0)
    report, _ = judged(traces)
    for row in report["resources"]["cpu"]["policies"]:
        against = row["matched"]["against_best"]
        assert against["exact_low"] <= against["saving_if_exact"] + 1e-9
        assert against["saving_if_exact"] <= against["exact_high"] + 1e-9


def cpu_standing(found, held_out):
    settings = {"tolerance": 0.025}
    return standing(found, Resource.CPU, held_out, 4 * held_out, settings)


def test_never_short_on_a_few_containers_is_not_called_safe(sentence):
    never = {"short_low": 0.0, "short_high": 0.0, "saved_low": 0.2, "saved_high": 0.3, "events": 0}
    few = cpu_standing(never, 8)
    assert few.state is State.OPEN
    sentence(few.sentence)
    assert cpu_standing(never, 30).state is State.SAFE
    sentence(cpu_standing(never, 30).sentence)


def test_what_costs_more_than_nothing_is_said_to(sentence):
    """Containers that have nothing now cannot save anything; their interval has no bounds."""
    found = {"short_low": 0.01, "short_high": 0.02, "saved_low": None, "saved_high": None, "events": 3}
    sentence(cpu_standing(found, 20).sentence)


def test_the_tolerance_is_written_with_its_digits(sentence):
    found = {"short_low": 0.03, "short_high": 0.04, "saved_low": 0.1, "saved_high": 0.2, "events": 3}
    sentence(cpu_standing(found, 20).sentence)
    assert [format_set_share(each) for each in (0.05, 0.005, 1 - 0.025)] == ["5%", "0.5%", "97.5%"]


def test_tables_call_exported_what_a_manifest_sets():
    runs = steady("train", 1.0, 60, 12) + steady("*", 1.0, 60, 8, seed=2)
    report, found = judged(fleet(runs, limit=4.0))
    about = About("t", None, "2026-03-04", report)
    rows = json.loads(write(found, about, "json"))["workloads"]
    exported = Counter(row["workload"] for row in rows if row["exported"])
    assert set(exported) == {"train"}


def test_what_stands_for_no_limit_is_none():
    values = np.array([0.0, -1.0, np.nan, np.inf, 2.0**63, 2.0 * GIB])
    assert is_limit(values, Unit.BYTES).tolist() == [False] * 5 + [True]
    assert is_limit(np.array([0.0, 2.0, 1e6]), Unit.CORES).tolist() == [False, True, False]


@pytest.mark.parametrize("gap", [100.0, 21_600.0])
def test_a_sample_before_a_gap_stands_for_one_period_in_rows_as_they_come_too(gap):
    time = np.array([0.0, 30, 60, 60 + gap, 90 + gap])
    assert sample_seconds(time, np.array([0, 5]), 30.0).tolist() == [30] * 5
    near = np.array([0.0, 30, 60, 140, 170])
    assert sample_seconds(near, np.array([0, 5]), 30.0).tolist() == [30, 30, 80, 30, 30]
