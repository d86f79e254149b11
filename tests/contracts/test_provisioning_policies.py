"""The exam that every registered policy sits: it looks only backwards, and gives sane amounts."""

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.provisioning.fleet import Resource
from core.provisioning.policies import POLICIES
from core.provisioning.policy import PolicyKind, cold_start, fit_policy
from core.provisioning.policy_exam import QUESTIONS, declaration, paper_of, with_other_future
from tests.examples import fewer
from tests.provisioning.making import demand_of, random_demand

TRAINING = {resource: random_demand(11, 8, resource=resource) for resource in Resource}
FITTED = {}
PAPERS = {}
COLD = {PolicyKind.REACTIVE, PolicyKind.PUBLISHED, PolicyKind.AUTOSCALER, PolicyKind.ADAPTIVE}


def fitted(name, resource=Resource.CPU):
    """Fitted once: the training containers are always the same."""
    key = (name, resource)
    if key not in FITTED:
        FITTED[key] = fit_policy(POLICIES[name], TRAINING[resource])
    return FITTED[key]


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.__name__)
@pytest.mark.parametrize("name", POLICIES)
def test_policy(name, question):
    if name not in PAPERS:
        PAPERS[name] = paper_of(POLICIES[name])
    assert question(PAPERS[name]) is None


@pytest.mark.parametrize("resource", Resource)
@pytest.mark.parametrize("name", [name for name, policy in POLICIES.items() if not policy.foresight])
@fewer(2)
@given(seed=st.integers(0, 10**6), share=st.floats(0, 1))
def test_the_future_changes_no_earlier_allocation(name, resource, seed, share):
    demand = random_demand(seed, 4, 40, resource=resource)
    cut = int(share * (demand.fleet.n_samples - 1))
    before = fitted(name, resource)(demand)
    after = fitted(name, resource)(with_other_future(demand, cut, np.random.default_rng(seed)))
    np.testing.assert_allclose(after[: cut + 1], before[: cut + 1], rtol=1e-9)


@pytest.mark.parametrize("name", [name for name, policy in POLICIES.items() if not policy.foresight])
@fewer(4)
@given(seed=st.integers(0, 10**6))
def test_other_containers_change_nothing(name, seed):
    demand = random_demand(seed, 4, 40)
    whole = fitted(name)(demand)
    chosen = [2, 0]
    alone = fitted(name)(demand.only(chosen))
    np.testing.assert_allclose(alone, whole[demand.fleet.samples_of(chosen)], rtol=1e-9)


@pytest.mark.parametrize("name", POLICIES)
@fewer(4)
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
        codes=np.zeros((sum(map(len, values)), 3), np.float32)
    )  # fmt: skip
    assert np.isfinite(fitted(name)(demand)).all()
    assert np.isfinite(fit_policy(POLICIES[name], demand)(demand)).all()


@pytest.mark.parametrize("name", [name for name, policy in POLICIES.items() if policy.kind in COLD])
def test_a_first_cycle_gets_the_cold_start_value(name):
    demand = random_demand(3, 5)
    expected = cold_start(TRAINING[Resource.CPU])
    np.testing.assert_allclose(fitted(name)(demand)[demand.fleet.cold], expected)


@pytest.mark.parametrize("name", POLICIES)
def test_every_policy_says_what_it_is(name):
    assert POLICIES[name].name == name
    assert declaration(POLICIES[name]) is None


def test_what_the_documentation_lists_is_as_it_is_declared():
    text = (Path(__file__).parents[2] / "docs" / "provisioning" / "README.md").read_text(encoding="utf-8")
    rows = [row.split("|")[2:4] for row in text.splitlines() if row.startswith("| [")]
    listed = {}
    for names, kind in rows:
        first, *others = re.findall(r"`([\w.]+)`", names) or [""]
        listed |= {name if name[0] != "." else first + name: kind for name in (first, *others) if name}
    assert len(listed) > 20
    for name, kind in listed.items():
        assert POLICIES[name].kind.value in kind, name
