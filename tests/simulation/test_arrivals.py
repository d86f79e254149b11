"""When jobs are submitted."""

import numpy as np
import pytest

from core.errors import InputError
from core.simulation.arrivals import FixedTimes, NormalGaps, Poisson, Spaced, UniformIn


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
    for arrivals in (UniformIn(9.0), Poisson(2.0), NormalGaps(40.0, 5.0)):
        assert arrivals.times(5, 1) == arrivals.times(5, 1) != arrivals.times(5, 2)


def test_normal_gaps_have_their_mean_and_spread_and_never_go_back():
    times = NormalGaps(40.0, 5.0, 7.0).times(4000, 3)
    gaps = np.diff(times)
    assert times[0] == 7.0
    assert (gaps.mean(), gaps.std()) == (pytest.approx(40.0, abs=0.3), pytest.approx(5.0, rel=0.05))
    middle = np.mean(np.abs(gaps - gaps.mean()) <= gaps.std())
    assert middle == pytest.approx(0.683, abs=0.03)
    wide = np.diff(NormalGaps(3.0, 1.0).times(20_000, 1))
    assert wide.min() == 0.0
    assert np.mean(wide == 0.0) < 1 / 400
    assert NormalGaps(40.0, 0.0).times(3, 1) == (0.0, 40.0, 80.0)
    assert NormalGaps(40.0, 5.0).times(0, 1) == ()


@pytest.mark.parametrize(
    "make",
    [
        lambda: FixedTimes((1.0, -1.0)),
        lambda: FixedTimes((1.0,)).times(2, 0),
        lambda: Spaced(-1.0),
        lambda: UniformIn(1.0, 2.0),
        lambda: Poisson(0.0),
        lambda: NormalGaps(10.0, 4.0),
        lambda: NormalGaps(-10.0, 0.0),
        lambda: NormalGaps(10.0, -1.0),
    ],
)
def test_impossible_schedules_are_refused(make):
    with pytest.raises(InputError):
        make()
