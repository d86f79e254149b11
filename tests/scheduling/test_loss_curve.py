"""Where a loss has made 90% of its way, told from its beginning."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import nnls

from core.scheduling.forecasting import MIN_VALUES, PRIOR, _curves, curve_probabilities, shares_to_goals


def exponential(x, speed):
    return (1 - math.exp(-speed * x)) / (1 - math.exp(-speed))


def expected(values, done, goal):
    found = curve_probabilities(values, done)
    assert found is not None
    assert sum(found) == pytest.approx(1.0)
    return float(np.array(found) @ shares_to_goals((goal,))[:, 0])


def truth(goal, speed):
    return -math.log1p(-goal * (1 - math.exp(-speed))) / speed


@given(st.floats(2.0, 40.0), st.floats(0.4, 1.0), st.floats(0.1, 50.0), st.sampled_from([0.9, 0.95, 0.99]))
def test_an_exponential_is_found_from_its_first_part(speed, done, scale, goal):
    values = [scale * (1 - 0.9 * exponential(each, speed)) for each in np.linspace(done / 80, done, 80)]
    assert expected(values, done, goal) == pytest.approx(truth(goal, speed), rel=0.35)


def test_noise_does_not_lead_far_away():
    chance = np.random.default_rng(3)
    x = np.linspace(0.4 / 80, 0.4, 80)
    values = [1 - 0.9 * exponential(each, 8.0) + chance.normal(0, 0.01) for each in x]
    assert expected(values, 0.4, 0.9) == pytest.approx(truth(0.9, 8.0), rel=0.3)


def least_squares_chances(values, done):
    """The same chances, one curve at a time: a level and a height of at least zero, found by iteration."""
    losses, n = np.array(values), len(values)
    missed = []
    for curve in _curves(np.linspace(done / n, done, n)):
        above, height = nnls(np.column_stack([np.ones(n), 1 - curve]), losses)[0]
        rest = losses - above - height * (1 - curve)
        missed.append(rest @ rest if height > 0 else math.inf)
    least = np.maximum(missed, 1e-9 * ((losses - losses.mean()) @ (losses - losses.mean())))
    if not math.isfinite(least.min()) or least.min() <= 0:
        return None
    weights = (least.min() / least) ** (n / 4)
    return weights / weights.sum()


@given(
    st.floats(1.0, 50.0),
    st.floats(0.001, 0.05),
    st.floats(0.0, 0.5),
    st.floats(0.001, 0.1),
    st.integers(MIN_VALUES, 20),
    st.integers(0, 2**32 - 1),
)
def test_chances_are_those_of_least_squares_with_an_end_of_at_least_zero(speed, first, end, noise, n, seed):
    chance, done = np.random.default_rng(seed), n * first
    exact = [end + (1 - end) * (1 - exponential(x, speed)) for x in np.linspace(done / n, done, n)]
    values = [abs(one + chance.normal(0, noise)) for one in exact]
    found, twin = curve_probabilities(values, done), least_squares_chances(values, done)
    assert (found is None) == (twin is None)
    if found is not None and twin is not None:
        assert np.array(found) == pytest.approx(twin, abs=1e-6)


def test_a_loss_that_ends_at_zero_at_best_shows_its_curve_soon():
    chance = np.random.default_rng(5)
    x = np.arange(1, 13) / 200
    values = [abs(1 - 0.97 * exponential(each, 20.0) + chance.normal(0, 0.01)) for each in x]
    assert expected(values, 12 / 200, 0.9) == pytest.approx(truth(0.9, 20.0), rel=0.35)


def test_what_may_be_negative_may_end_anywhere():
    x = np.linspace(0.5 / 80, 0.5, 80)
    losses = [1 - 1.5 * exponential(each, 3.0) for each in x]
    assert min(losses) < 0
    assert expected(losses, 0.5, 0.9) == pytest.approx(truth(0.9, 3.0), rel=0.1)


def test_with_too_few_values_every_curve_is_as_likely():
    assert curve_probabilities([1.0] * (MIN_VALUES - 1), 0.5) == PRIOR


@pytest.mark.parametrize("values", [[0.1 * k for k in range(20)], [0.5] * 20])
def test_a_loss_that_grows_or_stands_still_says_nothing(values):
    assert curve_probabilities(values, 0.5) is None
