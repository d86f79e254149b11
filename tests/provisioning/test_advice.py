"""A policy gives a container the same whether it is shown its samples one by one or all at once."""

import json
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import InputError
from core.provisioning.advice import fold, from_plain, to_plain
from core.provisioning.fleet import Resource
from core.provisioning.policies import POLICIES
from core.provisioning.policy import by_advice, fit_policy
from tests.provisioning.making import demands, random_demand

ADVISE = sorted(name for name, each in POLICIES.items() if not each.foresight and name != "static.request")


@cache
def fitted(name, resource=Resource.CPU, **chosen):
    """Each policy is fitted once."""
    entry = POLICIES[name]
    return fit_policy(entry, random_demand(11, 8, resource=resource), entry.chosen(chosen))


def agree(policy, demand):
    one_by_one = fold(policy.adviser, demand)
    np.testing.assert_allclose(one_by_one, policy(demand), rtol=1e-12)


@pytest.mark.parametrize("resource", Resource)
@pytest.mark.parametrize("name", ADVISE)
def test_one_by_one_is_the_same_as_all_at_once(name, resource):
    policy = fitted(name, resource)
    for seed in (3, 4):
        agree(policy, random_demand(seed, 5, 120, resource=resource))


@given(st.sampled_from(ADVISE), st.sampled_from(Resource), demands(longest=24))
def test_odd_samples_too(name, resource, demand):
    policy = fitted(name, resource)
    codes = np.random.default_rng(1).random((demand.fleet.n_samples, 3)).astype(np.float32)
    agree(policy, demand.with_(resource=resource, fleet=replace(demand.fleet, codes=codes, cycle=5.0)))


@pytest.mark.parametrize("name", ["event", "phasedock"])
def test_a_first_cycle_that_is_waited_for_is_waited_for_in_both(name):
    agree(fitted(name, first_cycle="wait"), random_demand(5, 5, 80))


@pytest.mark.parametrize("phases", ["never", "always"])
def test_the_forest_of_phasedock_is_asked_in_both(phases):
    agree(fitted("phasedock", phases=phases, fallback=False), random_demand(5, 5, 80))


def test_who_looks_into_the_future_advises_nobody():
    for name, entry in POLICIES.items():
        assert (fitted(name).adviser is None) == (name not in ADVISE), entry.kind


def test_a_policy_that_is_written_for_one_container_allocates_for_fleets():
    policy, demand = fitted("prev.step.max"), random_demand(6, 3)
    np.testing.assert_array_equal(by_advice(policy.adviser)(demand), policy(demand))


@pytest.mark.parametrize("resource", Resource)
@pytest.mark.parametrize("name", ADVISE)
def test_a_policy_that_was_kept_in_a_file_advises_as_before(name, resource, tmp_path):
    policy, demand = fitted(name, resource), random_demand(7, 2, resource=resource)
    plain, arrays = to_plain(policy.adviser)
    np.savez(tmp_path / "arrays.npz", **arrays)
    with np.load(tmp_path / "arrays.npz", allow_pickle=False) as found:
        again = from_plain(json.loads(json.dumps(plain)), found)
    np.testing.assert_array_equal(fold(again, demand), fold(policy.adviser, demand))


@pytest.mark.parametrize(
    "plain",
    [
        {"kind": "Popen", "fields": {"args": "true"}},
        {"kind": "maximum", "fields": {}},
        {"kind": "Watch", "fields": {"cycle": 1}},
        {"function": "Watch"},
        {"function": "eval"},
        {"array": "a0"},
        {"float": "far"},
        {"other": 1},
    ],
)
def test_nothing_is_made_from_a_file_but_what_was_registered(plain, refuses):
    with refuses(InputError):
        from_plain(plain, {})
