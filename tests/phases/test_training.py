"""Training: solvers reach the same error, stop early, can be cancelled, and never run away."""

from dataclasses import replace

import numpy as np
import pytest

from core.errors import Cancelled
from core.phases import PhaseSettings, crbm
from core.phases.crbm import SOLVERS, Layout, initial_parameters, reconstruction_error, train
from core.phases.fitting import training_windows
from tests.phases.making import three_phases

LAYOUT = Layout(2, 3, 10)
STEADY = PhaseSettings(patience=0, epochs=100)


@pytest.fixture(scope="module")
def windows():
    traces = three_phases(20)
    return training_windows(traces, traces.features, 3, "label")[1]


@pytest.mark.parametrize("solver", list(SOLVERS))
def test_a_seed_decides_every_bit(windows, solver):
    settings = replace(STEADY, solver=solver, epochs=5, seed=11)
    (one, errors), (two, again) = (train(windows, LAYOUT, settings) for _ in range(2))
    assert errors == again
    np.testing.assert_array_equal(one.W, two.W)
    other, _ = train(windows, LAYOUT, replace(settings, seed=12))
    assert not np.array_equal(one.W, other.W)


def test_minibatch_reaches_the_error_of_a_thousand_online_epochs_in_a_tenth_of_them(windows):
    _, slow = train(windows, LAYOUT, replace(STEADY, solver="online", epochs=1000))
    _, fast = train(windows, LAYOUT, STEADY)
    assert min(fast) <= 1.02 * slow[-1]
    reached = next(epoch for epoch, error in enumerate(fast) if error <= 1.02 * slow[-1])
    assert reached < 100


def test_momentum_and_online_take_about_the_same_way(windows):
    _, online = train(windows, LAYOUT, replace(STEADY, solver="online", epochs=200))
    _, momentum = train(windows, LAYOUT, replace(STEADY, solver="momentum", epochs=200))
    assert momentum[-1] <= 1.02 * online[-1]


class Scripted:
    """A solver whose errors are written down."""

    shuffled = False

    def __init__(self, errors, eases):
        self.errors, self.eases, self.eased = iter(errors), eases, 0

    def __call__(self, _rows, starts, _epoch):
        return next(self.errors) * len(starts)

    def ease(self):
        self.eased += 1
        return self.eased <= self.eases


@pytest.mark.parametrize(
    ("errors", "patience", "eases", "epochs"),
    [
        ([4, 3, 2, 1, 0.5], 2, 0, 5),
        ([4, 1, 2, 1.5, 0.5], 2, 0, 4),
        ([4, 1, 2, 1.0, 0.5], 2, 0, 4),
        ([4, 1, 2, 0.9, 0.5], 2, 0, 5),
        ([4, 1, 2, 2, 0.5], 0, 0, 5),
        ([4, 1, 2, 2, 2, 2, 0.5], 2, 1, 6),
        ([4, 1, 2, 2, 0.5, 2, 1], 2, 1, 7),
    ],
)
def test_training_ends_after_patience_without_a_smaller_error(
    windows, monkeypatch, errors, patience, eases, epochs
):
    solver = Scripted(errors, eases)
    monkeypatch.setattr(crbm, "SOLVERS", {"online": lambda *_: solver})
    settings = PhaseSettings(solver="online", epochs=len(errors), patience=patience)
    _, found = train(windows, LAYOUT, settings)
    assert found == pytest.approx(errors[:epochs])


@pytest.mark.parametrize("solver", ["minibatch", "momentum"])
def test_a_minibatch_training_ends_by_itself(windows, solver):
    settings = PhaseSettings(solver=solver, epochs=20_000, learning_rate=0.01)
    _, errors = train(windows, LAYOUT, settings)
    assert len(errors) < 2_000
    assert errors[-1] <= 1.1 * min(errors)


def test_progress_comes_within_an_epoch_too_and_cancels(windows, monkeypatch):
    monkeypatch.setattr(crbm, "CHUNK", 64)
    told = []

    def tell(fraction, message, **metrics):
        told.append((fraction, metrics))
        if len(told) == 40:
            raise Cancelled

    with pytest.raises(Cancelled):
        train(windows, LAYOUT, STEADY, tell)
    assert told[0][1] == {}
    assert {"epoch", "error"} == set(told[-1][1])
    fractions = [fraction for fraction, _ in told]
    assert fractions == sorted(fractions)


def test_the_chunks_of_an_epoch_change_nothing(windows, monkeypatch):
    settings = replace(STEADY, epochs=3, batch_size=5)
    whole, errors = train(windows, LAYOUT, settings)
    monkeypatch.setattr(crbm, "CHUNK", 64)
    parts, again = train(windows, LAYOUT, settings)
    np.testing.assert_array_equal(whole.W, parts.W)
    assert again == pytest.approx(errors)


def test_packing_is_lossless():
    crbm = initial_parameters(Layout(5, 2, 17), np.random.default_rng(0))
    layout = crbm.layout
    again = layout.unpack(layout.pack(crbm))
    for name in ("W", "A", "B", "visible_bias", "hidden_bias"):
        np.testing.assert_array_equal(getattr(crbm, name), getattr(again, name))
    assert layout == Layout(5, 2, 17)


def test_first_weights_are_small_and_biases_zero():
    crbm = initial_parameters(Layout(8, 3, 10), np.random.default_rng(0))
    assert crbm.B.std() == pytest.approx(0.2 / 24, rel=0.15)
    assert not crbm.visible_bias.any()
    assert not crbm.hidden_bias.any()


def test_the_error_of_nothing_is_zero(windows):
    crbm = initial_parameters(LAYOUT, np.random.default_rng(0))
    nothing = replace(windows, starts=windows.starts[:0], samples=windows.samples[:0])
    assert reconstruction_error(crbm, nothing) == 0
    assert reconstruction_error(crbm, windows) > 0
