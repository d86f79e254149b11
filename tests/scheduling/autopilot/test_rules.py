"""How one container is steered: when it grows and shrinks, and what keeps it from harm."""

from __future__ import annotations

from itertools import pairwise
from math import inf

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.provisioning.fleet import Resource
from core.provisioning.policies import POLICIES
from core.provisioning.policy import fit_policy
from core.scheduling.model import Use
from core.scheduling.policies.autopilot import cpu, memory
from core.scheduling.policies.autopilot.evidence import Account, evidence_of
from core.scheduling.policies.autopilot.fitted import Clock
from core.scheduling.policies.autopilot.held import Held
from core.scheduling.policies.autopilot.settings import AutopilotSettings
from core.units import GIB, MIB
from tests.provisioning.making import demand_of, random_demand

CYCLE = 5.0
CLOCK = Clock(1.0, CYCLE)
SETTINGS = AutopilotSettings()
TRAINING = demand_of([[1.0, 2.0, 1.5, 1.0] * 10], cycle=CYCLE)


def adviser(name="prev.step.max", training=TRAINING):
    return fit_policy(POLICIES[name], training).adviser


def steer(cores, *, throttled=None, limited=True, policy="prev.step.max", most=64.0):
    """What a container wants after each second, and why."""
    advises, state, found = adviser(policy), None, []
    for second, used in enumerate(cores):
        use = Use(float(second), used, 0.0, 0.0 if throttled is None else throttled[second])
        if state is None:
            state, why = cpu.begin(advises, CLOCK, SETTINGS, use, most), ""
        else:
            state, _, why = cpu.step(advises, CLOCK, SETTINGS, state, use, most, limited=limited)
        found.append((state.wanted, why))
    return found


def test_it_has_what_its_policy_says_for_the_cycle():
    found = [wanted for wanted, _ in steer([1.0] * 5 + [0.5] * 5 + [3.0] * 5 + [0.1] * 3)]
    # decided at the last sample of a cycle, for the next one
    assert found == [2.0] * 4 + [1.0] * 5 + [0.5] * 5 + [3.0] * 4


def test_no_container_falls_below_the_floor():
    assert steer([0.0] * 6)[-1][0] == SETTINGS.floor


def test_a_container_that_is_held_back_for_three_seconds_grows_at_once():
    throttled = [0.0] * 6 + [0.6] * 4 + [0.0] * 5
    found = steer([1.0] * 5 + [1.0] * 10, throttled=throttled)
    assert [wanted for wanted, _ in found[5:9]] == [1.0] * 4
    assert found[9] == (1.5, "It was held back in 60% of its periods.")
    assert [found[10][0], found[14][0]] == [1.5, 1.0], "the next cycle is the policy's"
    watched = steer([1.0] * 15, throttled=throttled, limited=False)
    assert {wanted for wanted, _ in watched[5:]} == {1.0}, "what holds it back then is not this policy"


def test_it_grows_again_and_again_while_it_is_held_back():
    found = [wanted for wanted, _ in steer([1.0] * 60, throttled=[0.0] * 5 + [1.0] * 55)]
    assert max(found) > 1.5
    assert all(later <= 1.5 * earlier + 1e-9 for earlier, later in pairwise(found))


def test_no_container_gets_more_than_its_worker_has():
    throttled = [0.0] * 5 + [1.0] * 55
    assert max(wanted for wanted, _ in steer([1.0] * 60, throttled=throttled, most=2.0)) == 2.0
    assert remember([3.9 * GIB] * 30, limit=4 * GIB, most=4 * GIB)[-1][0] == 4 * GIB


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from(["prev.step.rules", "vpa", "event", "phasedock", "no.phase.container"]),
    st.lists(st.floats(0, 8), min_size=2, max_size=40),
)
def test_what_is_watched_is_what_an_evaluation_says(policy, cores):
    """In watch a container has what the same policy allocates to the same recording, but for the floor."""
    found = [wanted for wanted, _ in steer(cores, limited=False, policy=policy)]
    demand = demand_of([cores], cycle=CYCLE)
    expected = np.maximum(fit_policy(POLICIES[policy], TRAINING)(demand), SETTINGS.floor)
    np.testing.assert_allclose(found[:-1], expected[1:], rtol=1e-9)


def remember(used, *, limit=None, cycle=CYCLE, policy="prev.step.max", most=inf):
    """The memory limit of a container after each second, and why it changed."""
    training = random_demand(1, resource=Resource.MEMORY)
    advises = fit_policy(POLICIES[policy], training).adviser
    state, found = None, []
    for second, each in enumerate(used):
        use = Use(float(second), 1.0, each)
        if state is None:
            state, why = memory.begin(advises, Clock(1.0, cycle), use, limit), ""
        else:
            state, why = memory.step(advises, Clock(1.0, cycle), SETTINGS, state, use, most)
        found.append((state.wanted, why))
    return found


def test_memory_shrinks_after_two_cycles_and_never_below_the_peak_of_ten_minutes():
    found = remember([4 * GIB] + [1 * GIB] * 700, limit=16 * GIB)
    assert {limit for limit, _ in found[:9]} == {16 * GIB}
    assert found[9] == (pytest.approx(4 * GIB * 1.15 + 32 * MIB), "Less has been enough for two cycles.")
    assert found[599][0] == found[9][0]
    assert found[-1][0] == pytest.approx(1 * GIB * 1.15 + 32 * MIB)


def test_memory_that_is_nearly_full_grows_at_once():
    found = remember([1 * GIB] * 20 + [1.95 * GIB], limit=2 * GIB)
    assert found[-1] == (
        pytest.approx(max(found[19][0] * 1.5, 1.95 * GIB * 1.15 + 32 * MIB)),
        "It was nearly full.",
    )


def test_a_container_without_a_limit_gets_none_before_two_cycles():
    found = remember([1 * GIB] * 12)
    assert [limit for limit, _ in found[:9]] == [None] * 9
    assert found[9][0] == pytest.approx(1 * GIB * 1.15 + 32 * MIB)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(1e6, 1e10), min_size=2, max_size=60), st.floats(1e8, 2e10) | st.none())
def test_a_memory_limit_is_never_below_what_is_safe(used, limit):
    for second, (wanted, _) in enumerate(remember(used, limit=limit)[1:], 1):
        peak = max(used[max(0, second - 600) : second + 1])
        assert wanted is None or wanted >= min(peak * 1.15 + 32 * MIB, wanted + 1e9) - 1.0
        if wanted is not None:
            assert wanted >= peak * 1.15 + 32 * MIB - 1.0


def test_evidence_adds_up_what_is_freed_and_who_is_short():
    calm, busy = Account(), Account()
    for second in range(10):
        use = Use(float(second), 1.0, 1e9)
        calm = calm.after(1.0, use, Held(1.5, 2e9), Held(4.0, 8e9), short=0.0)
        busy = busy.after(1.0, use, Held(0.5, None), Held(1.0, 8e9), short=0.5)
    found = evidence_of({"calm": calm, "busy": busy}, 10.0, {"calm", "busy"})
    assert (found.freed_cores, found.freed_bytes) == (3.0, 6e9)
    assert (found.freed_cores_now, found.freed_bytes_now) == (3.0, 6e9)
    assert (found.short_share, found.worst.name, found.worst.short_share) == (0.25, "busy", 0.5)
    assert evidence_of({}, 0.0, set()).worst is None
