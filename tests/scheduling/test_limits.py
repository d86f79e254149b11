"""Quotas, weights, and the factor that leaves no processor idle."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.scheduling.growth import extend_track
from core.scheduling.placement import draw_below, draw_uniform, seed_state
from core.scheduling.policies.flowcon.node import common_factor, quota_cores, share_weight

shares = st.floats(0.01, 1.0)


@given(share=shares, capacity=st.floats(0.01, 256.0))
def test_a_quota_fits_the_node_and_is_near_its_share(share, capacity):
    given_ = quota_cores(share, capacity)
    assert 0.01 <= given_ <= max(0.01, capacity)
    assert round(given_, 2) == pytest.approx(given_, abs=1e-9)
    assert given_ == pytest.approx(share * capacity, abs=0.0101)


def test_a_weight_is_never_zero():
    assert share_weight(0.0) == 0.01
    assert share_weight(1 / 3) == 0.333


@given(st.lists(st.tuples(shares, shares), min_size=1, max_size=12))
def test_the_common_factor_fills_the_node_or_meets_every_demand(jobs):
    limits, demands = [each[0] for each in jobs], [each[1] for each in jobs]
    factor = common_factor(limits, demands)
    used = sum(min(factor * limit, demand) for limit, demand in jobs)
    wanted = min(1.0, sum(demands))
    assert factor >= 1.0
    if factor > 1.0:
        assert used == pytest.approx(wanted, abs=1e-9)
        less = sum(min(0.999 * factor * limit, demand) for limit, demand in jobs)
        assert less < wanted
    else:
        assert used >= wanted - 1e-12


def test_chance_is_even_and_depends_on_its_seed():
    chance, numbers = seed_state(1), []
    for _ in range(4000):
        number, chance = draw_uniform(chance)
        numbers.append(number)
    assert sum(numbers) / 4000 == pytest.approx(0.5, abs=0.02)
    assert all(0.0 <= number < 1.0 for number in numbers)
    assert draw_uniform(seed_state(1)) != draw_uniform(seed_state(2))
    assert {draw_below(seed_state(seed), 3)[0] for seed in range(50)} == {0, 1, 2}


def test_a_track_keeps_first_last_largest_and_sums():
    track = extend_track(extend_track(None, (2.0, 3.0)), (float("inf"), -4.0))
    assert track is not None
    assert track == (2.0, -4.0, 4.0, 1.0, 3)
    assert track.change(3.0, -1.0) == 1.0
    assert track.mean_since(5.0, 2) == -4.0
    assert extend_track(None, (float("nan"),)) is None
    assert extend_track(track, (float("nan"),)) == track
    assert extend_track(None, (float("nan"), 2.0)) == (2.0, 2.0, 2.0, 2.0, 1)
    assert extend_track(None, (1e308, 1.5e308)) == (1e308, 1.5e308, 1.5e308, float("inf"), 2)


def test_a_loss_of_zero_throughout_has_no_growth():
    track = extend_track(None, (0.0, 0.0))
    assert track is not None
    assert track.change(0.0, 0.0) == 0.0
