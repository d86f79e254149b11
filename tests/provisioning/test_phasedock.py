"""Our own policy: chosen in training only, causal without its fallback too, better where it should be."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.provisioning.evaluation.comparison import sit
from core.provisioning.evaluation.metrics import over, resizes_per_cycle, under_time_0
from core.provisioning.evaluation.splitting import held_out_once
from core.provisioning.fleet import Resource, prepare
from core.provisioning.policies import POLICIES
from core.provisioning.policies.phasedock import PHASEDOCK, PhasedockSettings
from core.provisioning.policy import cold_start, fit_policy
from tests.examples import fewer
from tests.provisioning.making import random_demand
from tests.synthetic import synthetic_traces

PLAIN = PhasedockSettings(fallback=False, phases="always")
TRAINING = random_demand(21, 20, 80)


@pytest.fixture(scope="module")
def allocate():
    return fit_policy(PHASEDOCK, TRAINING, PLAIN)


@fewer(2)
@given(seed=st.integers(0, 10**6), share=st.floats(0, 1))
def test_without_fallback_it_looks_only_backwards(allocate, seed, share):
    demand, rng = random_demand(seed, 4, 40), np.random.default_rng(seed)
    cut = int(share * (demand.fleet.n_samples - 1))
    later = np.arange(demand.fleet.n_samples) >= cut
    labels = np.where(later, rng.integers(-1, 3, len(later)), demand.fleet.labels).astype(np.int16)
    fleet = replace(demand.fleet, labels=labels)
    other = demand.with_(fleet=fleet, values=np.where(later, rng.gamma(1, 4, len(later)), demand.values))
    np.testing.assert_allclose(allocate(other)[: cut + 1], allocate(demand)[: cut + 1], rtol=1e-9)


@fewer(2)
@given(seed=st.integers(0, 10**6))
def test_a_container_begins_cold_and_is_resized_at_most_once_more_than_it_begins_cycles(allocate, seed):
    demand = random_demand(seed, 5, 60)
    given_ = allocate(demand)
    np.testing.assert_allclose(given_[demand.fleet.offsets[:-1]], cold_start(TRAINING))
    for i in range(demand.fleet.n_containers):
        mine = given_[demand.fleet.offsets[i] : demand.fleet.offsets[i + 1]]
        assert np.count_nonzero(np.diff(mine)) <= np.diff(demand.fleet.cycle_offsets)[i] + 1


def test_the_same_seed_gives_the_same_allocation(allocate):
    demand = random_demand(4, 5)
    np.testing.assert_array_equal(fit_policy(PHASEDOCK, TRAINING, PLAIN)(demand), allocate(demand))


def test_it_is_scale_free():
    """Cores or millicores: the same allocation in another unit (up to float32 statistics)."""
    demand = random_demand(9, 5)
    thousand = TRAINING.with_(values=1024 * TRAINING.values)
    given_ = fit_policy(PHASEDOCK, thousand, PLAIN)(demand.with_(values=1024 * demand.values))
    np.testing.assert_allclose(given_, 1024 * fit_policy(PHASEDOCK, TRAINING, PLAIN)(demand), rtol=1e-9)


def test_waiting_leaves_first_cycles_at_the_cold_start_value():
    given_ = fit_policy(PHASEDOCK, TRAINING, replace(PLAIN, first_cycle="wait"))(TRAINING)
    np.testing.assert_allclose(given_[TRAINING.fleet.cold], cold_start(TRAINING))


def test_one_container_alone_can_be_learned_from():
    demand = random_demand(2, 1, 60)
    assert np.isfinite(fit_policy(PHASEDOCK, demand, PLAIN)(demand)).all()


@pytest.mark.parametrize("resource", Resource)
def test_on_containers_never_seen_it_beats_every_reactive_rule(resource):
    traces, _ = synthetic_traces(40, 5)
    found = prepare(traces, 120.0)
    parts, demand = held_out_once(found.fleet, 0.3, 0)[0], found.demands[resource]
    training, held_out = demand.only(parts.training), demand.only(parts.held_out)

    def matched(name):
        policy = POLICIES[name]
        return sit(policy, training, held_out, policy.chosen(), 0.05, 0).matched.pooled()

    ours = matched("phasedock")
    rules = [over(matched(f"prev.step.{name}"))[0] for name in ("max", "rules", "p95")]
    assert over(ours)[0] < 0.9 * min(rules)
    assert under_time_0(ours)[0] < 0.08
    assert resizes_per_cycle(ours)[0] <= 1.0
