"""The exam that every encoder sits: codes of one size, the same each time, and the same when stored."""

import numpy as np
import pytest

from core.files import load_model, save_model
from core.phases import PhaseSettings, encode, fit, predict
from core.phases.encoders import ENCODERS
from core.settings_fields import describe
from tests.builders import small_traces

MADE = {}


def model_of(name):
    if name not in MADE:
        traces = small_traces(4, samples=80)
        settings = PhaseSettings(encoder=name, phases=3, hidden=4, epochs=2, seed=1)
        MADE[name] = (traces, settings, fit(traces, settings))
    return MADE[name]


def test_every_encoder_can_be_chosen():
    spec = next(spec for spec in describe(PhaseSettings) if spec.name == "encoder")
    assert [value for value, _ in spec.choices] == list(ENCODERS)


@pytest.mark.parametrize("name", ENCODERS)
def test_codes_have_one_size_and_are_finite(name):
    traces, settings, model = model_of(name)
    codes = encode(model, traces)
    assert codes.shape[0] == traces.n_samples
    known = codes[np.isfinite(codes).all(axis=1)]
    assert len(known) >= traces.n_samples - traces.n_executions * settings.history
    assert np.ptp(known) > 0


@pytest.mark.parametrize("name", ENCODERS)
def test_the_same_seed_gives_the_same_model(name):
    traces, settings, model = model_of(name)
    again = fit(traces, settings)
    np.testing.assert_array_equal(encode(again, traces), encode(model, traces))
    np.testing.assert_array_equal(predict(again, traces), predict(model, traces))


@pytest.mark.parametrize("name", ENCODERS)
def test_a_stored_model_encodes_the_same(name, tmp_path):
    traces, _, model = model_of(name)
    save_model(model, tmp_path / "model")
    np.testing.assert_array_equal(encode(load_model(tmp_path / "model"), traces), encode(model, traces))
