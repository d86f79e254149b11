"""Where a loss has made 90% of its way, told from its beginning."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.scheduling.forecasting.loss_curve import FEWEST, PRIOR, chances, reached


def exponential(x: float, speed: float) -> float:
    return (1 - math.exp(-speed * x)) / (1 - math.exp(-speed))


def expected(values: list[float], done: float, goal: float) -> float:
    found = chances(values, done)
    assert found is not None
    assert sum(found) == pytest.approx(1.0)
    return float(np.array(found) @ reached((goal,))[:, 0])


def truth(goal: float, speed: float) -> float:
    return -math.log1p(-goal * (1 - math.exp(-speed))) / speed


@given(st.floats(2.0, 40.0), st.floats(0.4, 1.0), st.floats(0.1, 50.0), st.sampled_from([0.9, 0.95, 0.99]))
def test_an_exponential_is_found_from_its_first_part(
    speed: float, done: float, scale: float, goal: float
) -> None:
    values = [scale * (1 - 0.9 * exponential(each, speed)) for each in np.linspace(done / 80, done, 80)]
    assert expected(values, done, goal) == pytest.approx(truth(goal, speed), rel=0.35)


def test_noise_does_not_lead_far_away() -> None:
    chance = np.random.default_rng(3)
    x = np.linspace(0.4 / 80, 0.4, 80)
    values = [1 - 0.9 * exponential(each, 8.0) + chance.normal(0, 0.01) for each in x]
    assert expected(values, 0.4, 0.9) == pytest.approx(truth(0.9, 8.0), rel=0.3)


def test_with_too_few_values_every_curve_is_as_likely() -> None:
    assert chances([1.0] * (FEWEST - 1), 0.5) == PRIOR


@pytest.mark.parametrize("values", [[0.1 * k for k in range(20)], [0.5] * 20])
def test_a_loss_that_grows_or_stands_still_says_nothing(values: list[float]) -> None:
    assert chances(values, 0.5) is None
