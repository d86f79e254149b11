"""Loss curves, their calibration, and the noise of what is printed."""

import numpy as np
import pytest

from core.errors import InputError
from core.simulation.chance import sample_noise, sample_printed_values, sample_values
from core.simulation.loss import FAMILIES, Exponential, Hyperbolic, Replayed, Weibull, curve, weibull_through
from core.simulation.scenario import JobSpec
from core.simulation.speedup import SpeedUp, speed_of

EVERY = [(family, model) for family, models in FAMILIES.items() for model in models]


@pytest.mark.parametrize(("family", "model"), EVERY)
def test_curves_go_through_figure_3_1(family, model):
    """65%, 98% and 90% of the reduction in the first 20% of the work; from 1 down to 0.1 without a rise."""
    found = curve(model, family)
    share = {"VAE": 0.65, "Bi-RNN": 0.98, "GRU": 0.90}[model]
    assert float(found.reduction(np.array(0.2))) == pytest.approx(share, abs=0.0005)
    levels = found.level(np.linspace(0, 1, 101))
    assert (levels[0], levels[-1]) == (pytest.approx(1.0), pytest.approx(0.1))
    assert np.all(np.diff(levels) <= 0)


def test_a_replayed_curve_is_straight_between_its_points():
    found = Replayed(((0.0, 3.0), (0.5, 1.0), (1.0, 1.0)))
    assert found.level(np.array([0.25, 0.75])).tolist() == [2.0, 1.0]
    assert found.reduction(np.array([0.0, 0.25, 1.0])).tolist() == [0.0, 0.5, 1.0]
    assert Replayed(((0.0, 1.0),)).reduction(np.array([0.5])).tolist() == [0.0]


@pytest.mark.parametrize(
    "make",
    [
        lambda: Exponential(0.0),
        lambda: Hyperbolic(-1.0),
        lambda: Weibull(0.0),
        lambda: weibull_through(0.2),
        lambda: Replayed(()),
        lambda: Replayed(((0.5, 1.0), (0.5, 2.0))),
        lambda: curve("VAE", "linear"),
        lambda: curve("LSTM"),
        lambda: SpeedUp(-0.1),
        lambda: SpeedUp(0.0, 0.0, 0.0),
    ],
)
def test_impossible_curves_are_refused(make):
    with pytest.raises(InputError):
        make()


def test_noise_is_ar1_with_the_given_deviation_and_correlation():
    drawn = sample_noise(JobSpec("j", 1.0, values=40_000, noise_sigma=0.003, noise_phi=0.5), 7)
    assert drawn.std() == pytest.approx(0.003, rel=0.02)
    assert np.corrcoef(drawn[1:], drawn[:-1])[0, 1] == pytest.approx(0.5, abs=0.02)
    assert abs(drawn.mean()) < 1e-4


@pytest.mark.parametrize("phi", [-0.6, 0.0, 0.5, 0.999])
def test_noise_equals_its_recursion(phi):
    spec = JobSpec("j", 1.0, values=300, noise_sigma=1.0, noise_phi=phi)
    drawn = sample_noise(spec, 7)
    fresh = sample_noise(JobSpec("j", 1.0, values=300, noise_sigma=1.0, noise_phi=0.0), 7)
    value, expected = fresh[0], [fresh[0]]
    for new in fresh[1:]:
        value = phi * value + np.sqrt(1 - phi**2) * new
        expected.append(value)
    assert drawn == pytest.approx(expected, abs=1e-12)


def test_what_is_printed_without_noise_is_the_curve():
    spec = JobSpec("j", 1.0, values=4, noise_sigma=0.0, loss=Replayed(((0.0, 4.0), (1.0, 0.0))))
    assert sample_values(spec, 1) == [3.0, 2.0, 1.0, 0.0]


def test_values_that_are_drawn_ahead_are_those_of_each_job_alone():
    specs = [JobSpec(f"j{i}", 1.0, values=5 + i % 3, noise_sigma=0.01) for i in range(70)]
    assert list(sample_printed_values(specs, 3)) == [sample_values(spec, 3) for spec in specs]


def test_speed_by_cores_and_threads():
    """Below a core it is throttled; t(2) = 0.2 + 0.7/2 + 0.2; two threads on half a core lose 2.4 of 3.4."""
    assert speed_of(0.5, SpeedUp(0.2, 0.7, 0.1), None, 2.4) == 0.5
    assert speed_of(2.0, SpeedUp(0.2, 0.7, 0.1), None, 2.4) == pytest.approx(1 / 0.75)
    assert speed_of(0.5, None, 2, 2.4) == pytest.approx(0.5 / 3.4)
    assert (speed_of(0.5, None, 1, 2.4), speed_of(0.0, None, 1, 2.4)) == (0.5, 0.0)
