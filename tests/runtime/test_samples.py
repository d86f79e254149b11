"""The bundled samples are what their script makes, and their phases mean something."""

from __future__ import annotations

import importlib.util

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import adjusted_rand_score

from core.phases import predict
from core.runtime.samples import DATA, MODEL, TRACES, verify
from core.store import read_traces
from core.store.models import load_model
from core.traces.fingerprint import fingerprint
from core.traces.synth import synthetic_traces


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("make_synthetic", DATA / "make_synthetic.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_traces_are_what_the_script_makes(script):
    pd.testing.assert_frame_equal(pd.read_parquet(DATA / TRACES), script.table())


def test_the_model_was_trained_on_them(script):
    verify(DATA)
    model = load_model(DATA / MODEL)
    assert model.settings == script.SETTINGS
    assert model.training.fingerprint == fingerprint(read_traces(DATA / TRACES))


def test_the_phases_tell_of_the_true_stages(script):
    traces = read_traces(DATA / TRACES)
    labels = predict(load_model(DATA / MODEL), traces)
    _, stages = synthetic_traces(script.EXECUTIONS, script.SEED, samples=script.SAMPLES, period=script.PERIOD)
    chance = np.random.default_rng(0).permutation(labels)
    assert adjusted_rand_score(stages, labels) > 0.2
    assert abs(adjusted_rand_score(stages, chance)) < 0.02


def test_the_script_writes_what_can_be_loaded(script, tmp_path, monkeypatch):
    monkeypatch.setattr(script, "EXECUTIONS", 4)
    script.make(tmp_path / "made")
    verify(tmp_path / "made")
    assert read_traces(tmp_path / "made" / TRACES).n_executions == 4
