"""The samples are what their scripts make, and their phases mean something."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import adjusted_rand_score

from core.files.phase_models.archive import load_model
from core.phases import predict
from core.phases.drift import compare_with_training, measure_ranges
from core.reading import read_traces
from core.traces.model import fingerprint
from core.workspace.samples import RECORDED, verify
from tests.data import make_synthetic as script
from tests.data.make_synthetic import SYNTHETIC
from tests.synthetic import synthetic_traces

TRACES, MODEL = SYNTHETIC.folder / SYNTHETIC.traces, SYNTHETIC.folder / SYNTHETIC.model


def test_the_traces_are_what_the_script_makes():
    pd.testing.assert_frame_equal(pd.read_parquet(TRACES), script.table())


def test_the_model_was_trained_on_them():
    verify(SYNTHETIC.folder)
    model = load_model(MODEL)
    assert model.settings == script.SETTINGS
    assert model.training.fingerprint == fingerprint(read_traces(TRACES))


def test_the_phases_tell_of_the_true_stages():
    traces = read_traces(TRACES)
    labels = predict(load_model(MODEL), traces)
    _, stages = synthetic_traces(script.EXECUTIONS, script.SEED, samples=script.SAMPLES, period=script.PERIOD)
    chance = np.random.default_rng(0).permutation(labels)
    assert adjusted_rand_score(stages, labels) > 0.2
    assert abs(adjusted_rand_score(stages, chance)) < 0.02


def test_the_script_writes_what_can_be_loaded(tmp_path, monkeypatch):
    monkeypatch.setattr(script, "EXECUTIONS", 4)
    script.make(tmp_path / "made")
    verify(tmp_path / "made")
    assert read_traces(tmp_path / "made" / SYNTHETIC.traces).n_executions == 4


def test_the_recorded_jobs_are_real_ones_in_many_arrangements():
    verify(RECORDED.folder)
    traces = read_traces(RECORDED.folder / RECORDED.traces)
    assert traces.n_executions >= 24
    lengths = np.diff(traces.offsets) * traces.period
    assert 175 <= lengths.min() <= lengths.max() <= 600
    assert (RECORDED.folder / RECORDED.traces).stat().st_size <= 5 * 10**6
    assert traces.period == pytest.approx(1.0, abs=0.1)
    assert len(set(traces.attributes["workload"])) >= 6
    assert set(traces.attributes["arrangement"]) == {"alone", "limited", "beside"}
    names = {feature.name for feature in traces.features}
    assert {"cpu_cores", "cpu_limit_cores", "memory_bytes", "loss", "io_bytes_per_second"} <= names
    cpu = traces.columns[[feature.name for feature in traces.features].index("cpu_cores")]
    assert 0 <= np.nanmin(cpu) <= np.nanmax(cpu) <= 2.2


def test_the_bundled_model_was_trained_on_the_recording():
    traces = read_traces(RECORDED.folder / RECORDED.traces)
    model = load_model(RECORDED.folder / RECORDED.model)
    assert model.training.fingerprint == fingerprint(traces)
    labels = predict(model, traces)
    assert set(np.unique(labels)) == {-1, *model.phases}


def test_the_bundled_model_knows_how_far_other_traces_are():
    traces, model = (
        read_traces(RECORDED.folder / RECORDED.traces),
        load_model(RECORDED.folder / RECORDED.model),
    )
    assert model.training.fingerprint == fingerprint(traces)
    columns = [traces.column(feature.name) for feature in model.features]
    assert model.training.ranges == measure_ranges(columns)
    assert not compare_with_training(model, traces).is_far
