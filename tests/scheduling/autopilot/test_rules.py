"""How one container is steered: when it grows and shrinks, and what keeps it from harm."""

from itertools import pairwise
from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.provisioning.fleet import Resource
from core.provisioning.policies import POLICIES
from core.provisioning.policy import fit_policy
from core.scheduling.model import Use
from core.scheduling.policies.autopilot import cpu, memory
from core.scheduling.policies.autopilot.settings import AutopilotSettings, Clock, Limits, measure_growth
from core.scheduling.policies.autopilot.steering_evidence import ContainerAccount, sum_evidence
from core.units import GIB, MIB
from tests.provisioning.making import demand_of, random_demand

CYCLE = 5.0
CLOCK = Clock(1.0, CYCLE)
SETTINGS = AutopilotSettings()
TRAINING = demand_of([[1.0, 2.0, 1.5, 1.0] * 10], cycle=CYCLE)


def adviser(name="prev.step.max", training=TRAINING):
    return fit_policy(POLICIES[name], training).adviser


def steer(cores, *, throttled=None, limited=True, policy="prev.step.max", most=64.0):
    """What a container wants after each second, and why; its threads are throttled as long as its periods."""
    advises, state, found = adviser(policy), None, []
    for second, used in enumerate(cores):
        held = 0.0 if throttled is None else throttled[second]
        use = Use(float(second), used, 0.0, held, withheld=held * used)
        if state is None:
            state, why = cpu.begin_cpu(advises, CLOCK, SETTINGS, use, most), ""
        else:
            state, _, why = cpu.step_cpu(advises, CLOCK, SETTINGS, state, use, most, limited=limited)
        found.append((state.target, why))
    return found


def test_it_has_what_its_policy_says_for_the_cycle():
    found = [wanted for wanted, _ in steer([1.0] * 5 + [0.5] * 5 + [3.0] * 5 + [0.1] * 3)]
    # decided at the last sample of a cycle, for the next one
    assert found == [2.0] * 4 + [1.0] * 5 + [0.5] * 5 + [3.0] * 4


def test_no_container_falls_below_the_floor():
    assert steer([0.0] * 6)[-1][0] == SETTINGS.floor


def test_a_container_that_is_held_back_for_three_seconds_grows_at_once():
    throttled = [0.0] * 5 + [0.3] * 4 + [0.0] * 6
    found = steer([1.0] * 5 + [1.0] * 10, throttled=throttled)
    assert [wanted for wanted, _ in found[4:8]] == [1.0] * 4
    assert found[8] == (1.5, "It was held back in 30% of its periods.")
    assert [found[9][0], found[14][0]] == [1.3, 1.0], "the next cycle is the policy's"
    watched = [wanted for wanted, _ in steer([1.0] * 15, throttled=throttled, limited=False)]
    assert watched[5:9] == [1.0] * 4, "what holds it back then is its owner's limit: no haste"
    assert watched[9:] == [1.3] * 5 + [1.0], "but it needs more than it uses"


def test_it_grows_again_and_again_while_it_is_held_back():
    found = [wanted for wanted, _ in steer([1.0] * 60, throttled=[0.0] * 5 + [1.0] * 55)]
    assert max(found) > 1.5
    assert all(later <= 2.0 * earlier + 1e-9 for earlier, later in pairwise(found))


@pytest.mark.parametrize("policy", ["event", "phasedock"])
def test_a_policy_that_acts_on_events_hears_of_what_its_own_limit_holds_back(policy):
    """Under a limit a container never uses more than that; what was withheld says that it would."""
    cores, throttled = [0.5] * 12 + [0.5] * 2, [0.0] * 12 + [1.0] * 2
    found = [wanted for wanted, _ in steer(cores, throttled=throttled, policy=policy)]
    watched = [wanted for wanted, _ in steer(cores, throttled=throttled, policy=policy, limited=False)]
    assert found[13] > 1.5 * found[11]
    assert watched == found, "whoever set the limit"


@pytest.mark.parametrize(("fair", "kept"), [(0.25, 2.0), (0.5, 0.3)])
def test_little_use_on_a_host_under_pressure_is_not_small_need(fair, kept):
    """A container that has its fair part may be starved by others; one that leaves some of it is not."""
    advises, state = adviser(), None
    for second in range(12):
        is_starved = second >= 5
        use = Use(float(second), 0.3 if is_starved else 2.0, 0.0, pressure=0.6 if is_starved else 0.1)
        if state is None:
            state = cpu.begin_cpu(advises, CLOCK, SETTINGS, use, 64.0)
        else:
            state, _, _ = cpu.step_cpu(advises, CLOCK, SETTINGS, state, use, 64.0, limited=True, fair=fair)
    assert state.target == kept


@given(st.floats(0, 64), st.floats(0, 64), st.floats(0.1, 64))
def test_what_a_container_would_use_is_what_it_uses_and_what_was_withheld(cores, withheld, most):
    wanted = cpu.estimate_unlimited_use(cores, withheld, most)
    assert cores <= wanted <= cores + withheld
    assert wanted <= max(most, cores), "not more than its worker has"
    assert cpu.estimate_unlimited_use(cores, 0.0, most) == cores


def test_no_container_gets_more_than_its_worker_has():
    throttled = [0.0] * 5 + [1.0] * 55
    assert max(wanted for wanted, _ in steer([1.0] * 60, throttled=throttled, most=2.0)) == 2.0
    assert remember([3.9 * GIB] * 30, limit=4 * GIB, most=4 * GIB)[-1][0] == 4 * GIB


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


def remember(used, *, limit=None, cycle=CYCLE, policy="prev.step.max", most=inf, grows=lambda _: 1.0):
    """The memory limit of a container after each second, and why it changed."""
    training = random_demand(1, resource=Resource.MEMORY)
    advises = fit_policy(POLICIES[policy], training).adviser
    state, found = None, []
    for second, each in enumerate(used):
        use = Use(float(second), 1.0, each)
        if state is None:
            state, why = memory.begin_memory(advises, Clock(1.0, cycle), use, limit), ""
        else:
            state, why = memory.step_memory(
                advises, Clock(1.0, cycle), SETTINGS, state, use, most, growth_at=grows
            )
        found.append((state.target, why))
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


def test_a_young_container_keeps_what_recorded_ones_of_its_age_still_came_to():
    found = remember([1 * GIB] * 700, limit=16 * GIB, grows=lambda age: 3.0 if age < 60 else 1.5)
    assert found[9][0] == pytest.approx(3 * GIB * 1.15 + 32 * MIB)
    assert found[68][0] == found[9][0], "two cycles after it could have had less"
    assert found[69][0] == pytest.approx(1.5 * GIB * 1.15 + 32 * MIB)
    assert found[-1][0] == pytest.approx(1 * GIB * 1.15 + 32 * MIB), "ten minutes were seen"


def test_a_container_of_which_nothing_is_known_keeps_its_memory_for_ten_minutes():
    found = remember([1 * GIB] * 620, limit=16 * GIB, grows=lambda _: inf)
    assert {limit for limit, _ in found[:600]} == {16 * GIB}
    assert found[-1][0] == pytest.approx(1 * GIB * 1.15 + 32 * MIB)
    assert {limit for limit, _ in remember([1 * GIB] * 60, grows=lambda _: inf)} == {None}


def test_what_it_could_come_to_never_makes_a_limit_grow():
    found = remember([1 * GIB] * 60, limit=2 * GIB, grows=lambda age: 4.0 if age < 30 else 1.5)
    assert {limit for limit, _ in found[:38]} == {2 * GIB}
    assert found[-1][0] == pytest.approx(1.5 * GIB * 1.15 + 32 * MIB)


def test_what_was_used_at_most_is_remembered_when_another_rule_steers():
    advises = fit_policy(POLICIES["prev.step.max"], random_demand(1, resource=Resource.MEMORY)).adviser
    before = memory.begin_memory(advises, CLOCK, Use(0.0, 1.0, 4 * GIB), 16 * GIB)
    after = memory.begin_memory(advises, CLOCK, Use(7.0, 1.0, 1 * GIB), 16 * GIB, before)
    assert memory.safe_limit(after.peaks, SETTINGS) == pytest.approx(4 * GIB * 1.15 + 32 * MIB)
    assert (after.first_seen, after.number) == (0.0, 1)


@given(
    st.lists(st.lists(st.floats(0, 1e10), min_size=1, max_size=40), min_size=1, max_size=6),
    st.integers(0, 45),
)
def test_no_recorded_container_grew_more_after_an_age_than_is_said_of_it(fleets, age):
    found = measure_growth(demand_of(fleets))
    older = [each for each in fleets if len(each) > age]
    if not older:
        assert found.factor_at(float(age)) == inf
        return
    ahead = [max(*each, 1.0) / max(*each[: age + 1], 1.0) for each in older]
    assert found.factor_at(float(age)) == pytest.approx(max(ahead))
    assert list(found.factors) == sorted(found.factors, reverse=True)


@given(st.lists(st.floats(1e6, 1e10), min_size=2, max_size=60), st.floats(1e8, 2e10) | st.none())
def test_a_memory_limit_is_never_below_what_is_safe(used, limit):
    for second, (wanted, _) in enumerate(remember(used, limit=limit)[1:], 1):
        peak = max(used[max(0, second - 600) : second + 1])
        assert wanted is None or wanted >= min(peak * 1.15 + 32 * MIB, wanted + 1e9) - 1.0
        if wanted is not None:
            assert wanted >= peak * 1.15 + 32 * MIB - 1.0


def test_evidence_adds_up_what_is_freed_and_who_is_short():
    calm, busy = ContainerAccount(), ContainerAccount()
    for second in range(10):
        use = Use(float(second), 1.0, 1e9)
        calm = calm.after(1.0, use, Limits(1.5, 2e9), Limits(4.0, 8e9), short=0.0)
        busy = busy.after(1.0, use, Limits(0.5, None), Limits(1.0, 8e9), short=0.5)
    found = sum_evidence({"calm": calm, "busy": busy}, 10.0, {"calm", "busy"})
    assert (found.freed_cores, found.freed_bytes) == (3.0, 6e9)
    assert (found.freed_cores_now, found.freed_bytes_now) == (3.0, 6e9)
    assert (found.short_share, found.worst.name, found.worst.short_share) == (0.25, "busy", 0.5)
    assert sum_evidence({}, 0.0, set()).worst is None
