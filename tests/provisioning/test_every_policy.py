"""The exam that every registered policy sits: it looks only backwards, and gives sane amounts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.provisioning.fleet import Resource
from core.provisioning.policies import POLICIES
from core.provisioning.policy import PolicyKind, cold_start, fit_policy
from tests.provisioning.making import demand_of, random_demand

TRAINING = {resource: random_demand(11, 8, resource=resource) for resource in Resource}
FITTED = {}


def fitted(name, resource=Resource.CPU):
    """Fitted once: the training containers are always the same."""
    key = (name, resource)
    if key not in FITTED:
        FITTED[key] = fit_policy(POLICIES[name], TRAINING[resource])
    return FITTED[key]


def with_other_future(demand, cut, rng):
    """Everything observed from sample `cut` on is different."""
    fleet, n = demand.fleet, demand.fleet.n_samples
    later = np.arange(n) >= cut
    shuffled = np.where(later, rng.gamma(1.0, 4.0, n), demand.values)
    labels = np.where(later, rng.integers(-1, 3, n), fleet.labels).astype(np.int16)
    codes = np.where(later[:, None], rng.random(fleet.codes.shape), fleet.codes).astype(np.float32)
    columns = {
        name: np.where(later, rng.gamma(1.0, 2.0, n), values) for name, values in fleet.columns.items()
    }
    changed = type(fleet)(
        **{
            **{name: getattr(fleet, name) for name in fleet.__dataclass_fields__},
            "labels": labels,
            "codes": codes,
            "columns": columns,
        }
    )
    return demand.with_(fleet=changed, values=shuffled)


@pytest.mark.parametrize("resource", Resource)
@pytest.mark.parametrize("name", [name for name, policy in POLICIES.items() if not policy.foresight])
@settings(max_examples=12, deadline=None)
@given(seed=st.integers(0, 10**6), share=st.floats(0, 1))
def test_the_future_changes_no_earlier_allocation(name, resource, seed, share):
    demand = random_demand(seed, 4, 40, resource=resource)
    cut = int(share * (demand.fleet.n_samples - 1))
    before = fitted(name, resource)(demand)
    after = fitted(name, resource)(with_other_future(demand, cut, np.random.default_rng(seed)))
    np.testing.assert_allclose(after[: cut + 1], before[: cut + 1], rtol=1e-9)


@pytest.mark.parametrize("name", [name for name, policy in POLICIES.items() if not policy.foresight])
@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_other_containers_change_nothing(name, seed):
    demand = random_demand(seed, 4, 40)
    whole = fitted(name)(demand)
    chosen = [2, 0]
    alone = fitted(name)(demand.only(chosen))
    np.testing.assert_allclose(alone, whole[demand.fleet.samples_of(chosen)], rtol=1e-9)


@pytest.mark.parametrize("name", [name for name, policy in POLICIES.items() if not policy.foresight])
def test_a_cut_off_container_was_allocated_the_same(name):
    """What is not there yet cannot be counted on either: the end of the trace is the future too."""
    demand = random_demand(5, 1, 60)
    while demand.fleet.n_samples < 30:
        demand = random_demand(demand.fleet.n_samples + 100, 1, 60)
    fleet = demand.fleet
    short = demand_of(
        [demand.values[:20]], fleet.cycle, fleet.period, [fleet.labels[:20]], demand.given[:20],
        [fleet.time[:20]], list(fleet.groups), fleet.codes[:20],
    )  # fmt: skip
    np.testing.assert_allclose(fitted(name)(short), fitted(name)(demand)[:20], rtol=1e-9)


@pytest.mark.parametrize("name", POLICIES)
@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_allocations_are_finite_and_never_negative(name, seed):
    demand = random_demand(seed, 5, 30)
    allocation = fitted(name)(demand)
    assert allocation.shape == (demand.fleet.n_samples,)
    assert np.isfinite(allocation).all()
    assert (allocation >= 0).all()


@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.parametrize("values", [[[2.0]], [[0.0] * 20], [[0.1] * 20, [3.0]], [[1e9, 2e9] * 9]])
def test_odd_containers_are_no_trouble(name, values):
    demand = demand_of(
        values, labels=[[0] * len(each) for each in values], given=np.ones(sum(map(len, values))),
        codes=np.zeros((sum(map(len, values)), 3), np.float32),
    )  # fmt: skip
    assert np.isfinite(fitted(name)(demand)).all()
    assert np.isfinite(fit_policy(POLICIES[name], demand)(demand)).all()


@pytest.mark.parametrize(
    "name",
    [name for name, policy in POLICIES.items() if policy.kind in {PolicyKind.REACTIVE, PolicyKind.PUBLISHED}],
)
def test_a_first_cycle_gets_the_cold_start_value(name):
    demand = random_demand(3, 5)
    expected = cold_start(TRAINING[Resource.CPU])
    np.testing.assert_allclose(fitted(name)(demand)[demand.fleet.cold], expected)


@pytest.mark.parametrize("name", POLICIES)
def test_every_policy_says_what_it_is(name):
    policy = POLICIES[name]
    assert policy.name == name
    assert policy.about.endswith(".")
    assert policy.chosen() == policy.chosen({})
