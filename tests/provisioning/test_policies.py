"""Each policy against its slow twin, and the bound against every choice there is."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import InputError, NotFoundError
from core.provisioning.evaluation.metrics import tally, under_time_0
from core.provisioning.fleet import Resource
from core.provisioning.phase_rules import STATISTICS
from core.provisioning.policies import POLICIES, chosen, policy
from core.provisioning.policies.budget_oracle import allocation_at, steps_of
from core.provisioning.policies.phase_lookahead import transitions
from core.provisioning.policies.vpa import buckets_for, half_life_of
from core.provisioning.policy import PolicyKind, cold_start, fit_policy
from tests.oracles import slow_provisioning as slow
from tests.provisioning.making import demand_of, demands, random_demand

TRAINING = random_demand(11, 8)


def with_cold(raw, training):
    return np.where(np.isnan(raw), cold_start(training), raw)


@pytest.mark.parametrize(
    ("name", "statistic", "previous"),
    [
        ("current.step.max", max, False),
        ("current.step.rules", slow.rule, False),
        ("prev.step.max", max, True),
        ("prev.step.rules", slow.rule, True),
        ("prev.step.p95", lambda values: np.quantile(values, 0.95), True),
    ],
)
@given(demands())
def test_statistics_of_cycles(name, statistic, previous, demand):
    expected = slow.by_cycle(demand, statistic, previous=previous)
    found = fit_policy(POLICIES[name], TRAINING)(demand)
    np.testing.assert_allclose(found, with_cold(expected, TRAINING), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("statistics", STATISTICS)
@pytest.mark.parametrize("base", ["phase.rule", "no.phase"])
@given(demands())
def test_phase_rules(base, statistics, demand):
    name = base if statistics == "global" else f"{base}.{statistics}"
    expected = slow.phase_rule(TRAINING, demand, statistics, 20.0, one_phase=base == "no.phase")
    found = fit_policy(POLICIES[name], TRAINING)(demand)
    np.testing.assert_allclose(found, with_cold(expected, TRAINING), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("resource", Resource)
@given(demands())
def test_lookahead(resource, demand):
    training = TRAINING.with_(resource=resource)
    expected = slow.lookahead(training, demand, 0.95, 0.05, memory=resource is Resource.MEMORY)
    found = fit_policy(POLICIES["phase.lookahead"], training)(demand.with_(resource=resource))
    np.testing.assert_allclose(found, with_cold(expected, training), rtol=1e-9)


@pytest.mark.parametrize("resource", Resource)
@given(demands(), st.sampled_from([0.0, 2.0, 7.5]))
def test_vpa(resource, demand, half_life):
    training = TRAINING.with_(resource=resource)
    buckets = buckets_for(training.unit, float(training.values.max()), 0.05)
    life = half_life or half_life_of(training)
    expected = slow.vpa(
        demand, buckets.first, 0.05, buckets.count, life, 0.9, 0.15, memory=resource is Resource.MEMORY
    )
    entry = POLICIES["vpa"]
    allocate = fit_policy(entry, training, entry.chosen({"half_life": half_life}))
    found = allocate(demand.with_(resource=resource))
    np.testing.assert_allclose(found, with_cold(expected, training), rtol=1e-9)


@given(demands())
def test_conformal(demand):
    base = fit_policy(POLICIES["prev.step.p95"], TRAINING)
    floor, warm = 0.01 * TRAINING.values.mean(), ~TRAINING.fleet.cold
    scores = (TRAINING.values[warm] + floor) / (base(TRAINING)[warm] + floor)
    expected = slow.conformal(demand, base(demand), scores, floor, 0.05, 0.05)
    found = fit_policy(POLICIES["prev.step.p95+conformal"], TRAINING)(demand)
    np.testing.assert_allclose(found, with_cold(expected, TRAINING), rtol=1e-9, atol=1e-12)


def test_conformal_brings_the_violation_to_its_target():
    """A base that is far too low is raised until it is short for about 5% of the time."""
    rng = np.random.default_rng(0)
    demand = demand_of([rng.gamma(4, 1, 4000) for _ in range(5)], cycle=10.0)
    adapted = fit_policy(policy("prev.step.p95+conformal"), random_demand(4, 8))(demand)
    assert under_time_0(tally(demand, adapted).pooled())[0] == pytest.approx(0.05, abs=0.01)


def relaxed_surplus(demand, steps, under_time):
    """The surplus of the relaxation, in unit·seconds: no choice of one allocation per cycle has less."""
    budget = under_time * float(demand.fleet.seconds.sum())
    spent = np.append(0.0, np.cumsum(steps.seconds))
    saved = np.append(0.0, np.cumsum(steps.saved))
    return max(steps.surplus - np.interp(budget, spent, saved), 0.0)


@given(demands(most=3, longest=7), st.sampled_from([0.0, 0.05, 0.15, 0.3, 0.6]))
def test_the_bound_is_the_least_of_all_choices(demand, target):
    demand = demand.with_(fleet=replace(demand.fleet, cycle=2.5))
    best = slow.lowest_surplus(demand, target)
    steps = steps_of(demand)
    sums = tally(demand, allocation_at(demand, steps, target)).pooled()
    assert under_time_0(sums)[0] <= target + 1e-9
    relaxed, surplus = relaxed_surplus(demand, steps, target), float(sums.surplus[0])
    scale = 1e-9 * (1 + best)
    assert relaxed <= best + scale
    assert best <= surplus + scale
    assert surplus <= relaxed + steps.saved.max(initial=0.0) + scale


def test_the_bound_is_exact_where_the_budget_falls_between_steps():
    rng = np.random.default_rng(2)
    demand = demand_of([rng.gamma(2, 1, 8) for _ in range(4)], cycle=4.0)
    steps = steps_of(demand)
    for taken in range(len(steps.seconds) + 1):
        target = float(steps.seconds[:taken].sum() / demand.fleet.seconds.sum())
        found = float(tally(demand, allocation_at(demand, steps, target)).surplus.sum())
        assert found == pytest.approx(slow.lowest_surplus(demand, target))


def test_nothing_with_one_allocation_per_cycle_beats_the_bound():
    demand = random_demand(8, 30, 200)
    steps = steps_of(demand)
    for name, entry in POLICIES.items():
        if entry.kind is PolicyKind.BOUND:
            continue
        allocation = fit_policy(entry, random_demand(9, 10))(demand)
        per_cycle = np.array([np.ptp(each) for each in np.split(allocation, demand.fleet.starts[1:])])
        if (per_cycle > 1e-9).any():
            continue
        sums = tally(demand, allocation).pooled()
        bound = tally(demand, allocation_at(demand, steps, float(under_time_0(sums)[0]))).pooled()
        assert bound.surplus[0] <= sums.surplus[0] * (1 + 1e-9), name


def test_transition_rows_sum_to_one_and_skip_gaps():
    demand = demand_of([[1.0] * 6, [1.0] * 3], labels=[[0, 0, 1, 1, 0, 0], [1, 1, 1]])
    fleet = replace(demand.fleet, breaks=np.array([4]))
    matrix = transitions(fleet, fleet.labels.astype(np.int64), 3)
    np.testing.assert_allclose(matrix.sum(axis=1), 1.0)
    np.testing.assert_allclose(matrix, [[2 / 3, 1 / 3, 0], [0, 1, 0], [0, 0, 1]])


def test_a_constant_demand_is_never_short():
    """Rounding must not look like a violation."""
    demand = demand_of(
        [[0.1] * 37, [1 / 3] * 50, [1e9 / 7] * 20], cycle=7.0, labels=[[0] * 37, [1] * 50, [2] * 20]
    )
    for name in (
        "prev.step.rules",
        "prev.step.p95",
        "phase.rule.container",
        "no.phase.container",
        "no.phase.relative",
    ):
        found = fit_policy(POLICIES[name], demand)(demand)
        warm = ~demand.fleet.cold
        assert (demand.values[warm] <= found[warm]).all(), name


def test_names(refuses):
    assert [each.name for each in chosen(["all"])] == list(POLICIES)
    assert [each.name for each in chosen(["vpa", "prev.step.max", "vpa"])] == ["vpa", "prev.step.max"]
    assert policy("vpa+conformal").name == "vpa+conformal"
    rules = [name for name, entry in POLICIES.items() if entry.kind is PolicyKind.REACTIVE]
    assert rules == ["prev.step.max", "prev.step.rules", "prev.step.p95"]
    with refuses(NotFoundError):
        chosen(["best"])


def test_what_a_policy_needs_is_said(refuses):
    bare = demand_of([[1.0, 2.0, 3.0]])
    with refuses(InputError):
        fit_policy(POLICIES["phase.rule"], bare)
    with refuses(InputError):
        fit_policy(POLICIES["static.request"], bare)
