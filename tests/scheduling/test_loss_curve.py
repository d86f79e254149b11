"""Where a loss has made 90% of its way, told from its beginning."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.scheduling.loss_curve import FEWEST, reaches


def exponential(x: float, speed: float) -> float:
    return (1 - math.exp(-speed * x)) / (1 - math.exp(-speed))


@given(st.floats(2.0, 40.0), st.floats(0.4, 1.0), st.floats(0.1, 50.0))
def test_an_exponential_is_found_from_its_first_part(speed: float, done: float, scale: float) -> None:
    x = np.linspace(done / 80, done, 80)
    values = [scale * (1 - 0.9 * exponential(each, speed)) for each in x]
    truth = -math.log1p(-0.9 * (1 - math.exp(-speed))) / speed
    found = reaches(values, done, 0.9)
    assert found is not None
    assert found == pytest.approx(truth, rel=0.35)


def test_noise_does_not_lead_far_away() -> None:
    chance = np.random.default_rng(3)
    x = np.linspace(0.4 / 80, 0.4, 80)
    values = [1 - 0.9 * exponential(each, 8.0) + chance.normal(0, 0.01) for each in x]
    truth = -math.log1p(-0.9 * (1 - math.exp(-8.0))) / 8.0
    assert reaches(values, 0.4, 0.9) == pytest.approx(truth, rel=0.3)


@pytest.mark.parametrize("values", [[1.0] * (FEWEST - 1), [0.1 * k for k in range(20)]])
def test_too_few_values_or_a_loss_that_grows_say_nothing(values: list[float]) -> None:
    assert reaches(values, 0.5, 0.9) is None


def test_a_loss_that_stands_still_says_nothing() -> None:
    assert reaches([0.5] * 20, 0.5, 0.9) is None
