"""When jobs are submitted."""

from __future__ import annotations

import numpy as np
import pytest

from core.errors import InputError
from core.simulation.arrivals import FixedTimes, Poisson, Spaced, UniformIn


def test_fixed_times_and_fixed_spacing():
    assert FixedTimes((80, 0, 40.0)).times(3, 0) == (0.0, 40.0, 80.0)
    assert Spaced(50.0, 10.0).times(3, 0) == (10.0, 60.0, 110.0)


def test_uniform_and_poisson_follow_their_law_and_their_seed():
    drawn = UniformIn(300.0, 100.0).times(2000, 3)
    assert list(drawn) == sorted(drawn)
    assert 100 <= drawn[0] < drawn[-1] <= 300
    assert np.mean(drawn) == pytest.approx(200, abs=5)
    gaps = np.diff(Poisson(0.5).times(4000, 3))
    assert (gaps.mean(), gaps.std()) == (pytest.approx(2.0, rel=0.06), pytest.approx(2.0, rel=0.08))
    for arrivals in (UniformIn(9.0), Poisson(2.0)):
        assert arrivals.times(5, 1) == arrivals.times(5, 1) != arrivals.times(5, 2)


@pytest.mark.parametrize(
    "make",
    [
        lambda: FixedTimes((1.0, -1.0)),
        lambda: FixedTimes((1.0,)).times(2, 0),
        lambda: Spaced(-1.0),
        lambda: UniformIn(1.0, 2.0),
        lambda: Poisson(0.0),
    ],
)
def test_impossible_schedules_are_refused(make):
    with pytest.raises(InputError):
        make()
