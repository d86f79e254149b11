"""The samples are what their scripts make, and their phases mean something."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import adjusted_rand_score

from core.files.phase_models.archive import load_model
from core.phases import (
    PhaseSettings,
    phase_runs,
    phase_statistics,
    predict,
    suggested_minimum_dwell,
    with_minimum_dwell,
)
from core.phases.drift import compare_with_training, measure_ranges
from core.phases.model import WARM_UP
from core.reading import read_traces
from core.sequences import pack_sequences, paths_of, phase_sequences, prefix_tree
from core.traces.model import Role, fingerprint
from core.workspace.samples import RECORDED, make_preview, read_preview, verify
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


@pytest.fixture(scope="module")
def recorded():
    """The recorded jobs, their model, and the smoothed phase of every sample."""
    traces = read_traces(RECORDED.folder / RECORDED.traces)
    model = load_model(RECORDED.folder / RECORDED.model)
    raw = predict(model, traces)
    minimum = suggested_minimum_dwell(phase_runs(traces, raw), traces.period)
    return traces, model, with_minimum_dwell(traces, raw, minimum)


def test_the_recorded_jobs_are_five_workloads_of_eight_runs_and_one_that_is_killed(recorded):
    verify(RECORDED.folder)
    traces, _, _ = recorded
    ended = Counter(zip(traces.attributes["workload"], traces.attributes["ended"], strict=True))
    assert sorted(ended.items()) == [
        (("autoencoder", "finished"), 8), (("birnn", "finished"), 8), (("classifier", "finished"), 8),
        (("mlp", "finished"), 8), (("tf-classifier", "killed"), 2), (("tf-vae", "finished"), 8),
    ]  # fmt: skip
    lengths = np.diff(traces.offsets) * traces.period
    assert 300 <= lengths.min() <= lengths.max() <= 720
    assert (RECORDED.folder / RECORDED.traces).stat().st_size <= 400_000
    assert traces.period == pytest.approx(1.0, abs=0.01)
    roles = {feature.role for feature in traces.features}
    assert roles >= {
        Role.CPU,
        Role.MEMORY,
        Role.CPU_REQUEST,
        Role.MEMORY_REQUEST,
        Role.MEMORY_LIMIT,
        Role.LOSS,
    }
    cpu = traces.column("cpu_cores")
    assert 0 <= np.nanmin(cpu) <= np.nanmax(cpu) <= 2.2


def test_the_default_settings_find_phases_of_ten_seconds_to_a_minute_and_a_half(recorded):
    traces, model, labels = recorded
    assert model.settings == PhaseSettings()
    assert sorted(model.names.values()) == ["Decode", "Import", "Training", "Upload", "Validation"]
    for each in phase_statistics(traces, labels, model.phases):
        if each.phase in model.names:
            assert 10 <= each.median_stay <= 90, model.names[each.phase]


def test_the_names_of_the_phases_are_true(recorded):
    """Validation needs most memory, decoding most cores; jobs import first and decode then."""
    traces, model, labels = recorded
    by_name = {name: phase for phase, name in model.names.items()}
    use = {each.phase: each.features for each in phase_statistics(traces, labels, model.phases)}
    cores = {name: use[phase][0].mean for name, phase in by_name.items()}
    memory = {name: use[phase][1].mean for name, phase in by_name.items()}
    assert max(cores["Upload"], cores["Import"]) < cores["Validation"] < cores["Training"] < cores["Decode"]
    assert min(memory, key=memory.__getitem__) == "Import"
    assert max(memory, key=memory.__getitem__) == "Validation"
    runs = phase_runs(traces, labels)
    owner = np.searchsorted(traces.offsets, runs.start, side="right") - 1
    orders = [
        [model.names[each] for each in runs.phase[owner == at].tolist() if each != WARM_UP][:2]
        for at in range(traces.n_executions)
    ]
    assert orders.count(["Import", "Decode"]) >= 0.8 * traces.n_executions


def test_few_paths_cover_most_of_the_recorded_jobs(recorded):
    traces, _, labels = recorded
    runs = phase_runs(traces, labels)
    begins = np.searchsorted(runs.start, traces.offsets)
    sequences = phase_sequences(runs, begins, traces.ids, sorted(set(labels.tolist()) - {WARM_UP}))
    assert paths_of(prefix_tree(pack_sequences(sequences)))[:6][-1].covered >= 0.8


def test_the_preview_is_that_of_the_recorded_jobs(recorded):
    traces, model, _ = recorded
    assert read_preview() == make_preview(traces, model)
    assert read_preview(replace(RECORDED, folder=Path("nowhere"))) is None


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
