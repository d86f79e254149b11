"""Importing AI4DL's files: the published ones where they are, and small ones of our own everywhere."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from core.errors import InputError, MismatchError, RefusedError
from core.files import import_ai4dl, load_model, read_crbm, read_kmeans, read_scaler, save_model
from core.phases import PhaseSettings, encode, expand, fit, predict
from core.phases.crbm import Layout, initial_parameters
from core.phases.encoders import CrbmEncoder
from core.reading import read_traces
from core.reading.known_tables import AI4DL_FEATURES
from core.reading.mapping import MappedColumn
from core.traces.model import Feature, Role, TraceSet
from core.units import Unit, file_unit
from tests.oracles import crbm_twin as twin
from tests.reading.foreign_files import kmeans_joblib, pickled, scaler_joblib, whole, write_folder

REFERENCE = Path(__file__).parents[3] / "shared" / "reference" / "ai4dl"


@pytest.mark.skipif(not REFERENCE.exists(), reason="the published files are not on this machine")
def test_the_published_model_gives_the_published_phases():
    expected = json.loads((REFERENCE / "expected_phases.json").read_text())
    model = import_ai4dl(REFERENCE)
    assert [feature.name for feature in model.features] == expected["features"]
    traces = read_traces(REFERENCE / "sample.csv")
    labels, codes = predict(model, traces), encode(model, traces)
    assert traces.n_samples == 204
    assert list(traces.ids) == list(expected["executions"])
    for name, execution in expected["executions"].items():
        part = traces.slice_of(name)
        assert labels[part].tolist() == execution["phases"]
        rows = np.array(execution["activations_rows_0_8"])
        np.testing.assert_allclose(codes[part][: len(rows)], rows, atol=1e-6)
    assert (model.settings.epochs, model.settings.seed, model.origin) == (1000, 1234, "ai4dl")
    assert len(model.training.errors) == 1000
    assert model.training.final_error == pytest.approx(0.10087, abs=1e-5)


# ── a model of our own in the same files ──


def ours(n=8, history=3, hidden=10, seed=0):
    rng = np.random.default_rng(seed)
    crbm = initial_parameters(Layout(n, history, hidden), rng, spread=20.0)
    crbm = replace(crbm, hidden_bias=rng.normal(size=hidden).astype(np.float32))
    return crbm, rng.uniform(size=(5, hidden)), rng.uniform(10, 20, n), rng.uniform(1, 3, n)


@pytest.fixture
def folder(tmp_path):
    return write_folder(tmp_path / "theirs", *ours())


@pytest.fixture
def traces():
    rng = np.random.default_rng(5)
    features = tuple(Feature(c.column, c.role, file_unit(c.unit_key).unit) for c in AI4DL_FEATURES)
    columns = tuple(rng.normal(15, 3, 40) for _ in features)
    time = np.concatenate([np.arange(25.0), np.arange(15.0)])
    return TraceSet(features, columns, time, ("a", "b"), np.array([0, 25, 40]), 1.0)


def theirs(traces, crbm, centres, mean, scale):
    """The authors' way, slice by slice: the window ends one sample early, other rows are zeros."""
    labels = []
    for name in traces.ids:
        values = np.column_stack(traces.columns)[traces.slice_of(name)]
        codes = twin.encode(crbm, ((values - mean) / scale).astype(np.float32))
        late = np.zeros_like(codes)
        late[crbm.history + 1 :] = codes[crbm.history : -1]
        labels += twin.nearest(late, centres).tolist()
    return labels


def test_our_files_in_their_format_give_what_their_way_gives(folder, traces):
    model = import_ai4dl(folder)
    assert predict(model, traces).tolist() == theirs(traces, *ours())
    assert model.training.errors == (0.9, 0.4)
    assert model.settings == PhaseSettings(
        phases=5, solver="online", epochs=1000, warmup="zeros", seed=1234, patience=3
    )


def test_a_history_of_theirs_is_turned_to_ours(folder):
    crbm, *_ = ours()
    for part in (folder / "crbm1", folder / "crbm1" / "model_dict.pickle"):
        found = read_crbm(part).crbm
        for name in ("W", "A", "B", "visible_bias", "hidden_bias"):
            np.testing.assert_array_equal(getattr(found, name), getattr(crbm, name))


def test_an_imported_model_expands_and_is_saved(folder, traces, tmp_path):
    model = import_ai4dl(folder)
    phase = int(np.bincount(predict(model, traces)).argmax())
    expanded = expand(model, traces, phase, 2)
    again = load_model(save_model(expanded, tmp_path / "ours.zip"))
    assert again.origin == "ai4dl"
    np.testing.assert_array_equal(predict(again, traces), predict(expanded, traces))


def test_parts_take_the_place_of_a_models_own(folder, traces, tmp_path):
    base = import_ai4dl(folder)
    crbm, centres, mean, scale = ours(seed=9)
    other = write_folder(tmp_path / "other", crbm, centres, mean, scale)
    kmeans = import_ai4dl(kmeans=other / "our_kmeans1.joblib", base=base)
    np.testing.assert_array_equal(kmeans.centres, read_kmeans(other / "our_kmeans1.joblib"))
    np.testing.assert_array_equal(kmeans.scaler.mean, base.scaler.mean)
    scaler = import_ai4dl(scaler=other / "our_scaler1.joblib", base=base)
    np.testing.assert_allclose(scaler.scaler.mean, mean)
    encoder = import_ai4dl(crbm=other / "crbm1", base=base)
    assert isinstance(encoder.encoder, CrbmEncoder)
    np.testing.assert_array_equal(encoder.encoder.crbm.W, crbm.W)
    three = import_ai4dl(
        crbm=other / "crbm1", kmeans=other / "our_kmeans1.joblib", scaler=other / "our_scaler1.joblib"
    )
    assert predict(three, traces).tolist() == theirs(traces, crbm, centres, mean, scale)


def test_expansions_stay_unless_the_clusters_are_replaced(folder, traces):
    base = import_ai4dl(folder)
    phase = int(np.bincount(predict(base, traces)).argmax())
    expanded = expand(base, traces, phase, 2)
    assert import_ai4dl(crbm=folder / "crbm1", base=expanded).expansions
    assert not import_ai4dl(kmeans=folder / "our_kmeans1.joblib", base=expanded).expansions


def test_other_features_are_named_and_brought_to_canonical_units(tmp_path, refuses):
    folder = write_folder(tmp_path / "two", *ours(n=2))
    with refuses(MismatchError):
        import_ai4dl(folder)
    columns = (MappedColumn("millis", Role.CPU, "millicores"), MappedColumn("mib", Role.MEMORY, "mib"))
    model = import_ai4dl(folder, features=columns)
    assert model.features == (
        Feature("millis", Role.CPU, Unit.CORES),
        Feature("mib", Role.MEMORY, Unit.BYTES),
    )
    plain = read_scaler(folder / "our_scaler1.joblib")
    np.testing.assert_allclose(model.scaler.mean, plain.mean * [1e-3, 2**20])
    np.testing.assert_allclose(model.scaler.scale, plain.scale * [1e-3, 2**20])


def test_parts_of_different_models_are_said(folder, tmp_path, refuses):
    crbm, centres, mean, scale = ours(hidden=6)
    other = write_folder(tmp_path / "other", crbm, centres, mean, scale)
    with refuses(MismatchError):
        import_ai4dl(folder, kmeans=other / "our_kmeans1.joblib")


def test_missing_files_are_named(folder, tmp_path, refuses):
    (folder / "our_kmeans1.joblib").unlink()
    with refuses(InputError):
        import_ai4dl(folder)
    with refuses(InputError):
        import_ai4dl(tmp_path / "nowhere")
    with refuses(InputError):
        import_ai4dl()
    with refuses(InputError):
        read_kmeans(folder / "gone.joblib")


def test_the_wrong_file_in_a_place_is_said(folder, refuses):
    with refuses(InputError):
        read_kmeans(folder / "our_scaler1.joblib")
    with refuses(InputError):
        read_crbm(folder / "our_scaler1.joblib")


def test_a_malicious_part_is_refused(folder, refuses):
    (folder / "our_scaler1.joblib").write_bytes(b"\x80\x03cos\nsystem\nX\x04\x00\x00\x00true\x85R.")
    with refuses(RefusedError):
        import_ai4dl(folder)


def test_numbers_that_cannot_be_are_said(folder, refuses):
    (folder / "our_scaler1.joblib").write_bytes(scaler_joblib(np.ones(8), np.zeros(8)))
    with refuses(InputError):
        import_ai4dl(folder)
    (folder / "our_kmeans1.joblib").write_bytes(kmeans_joblib(np.full((5, 10), np.nan)))
    with refuses(InputError):
        read_kmeans(folder / "our_kmeans1.joblib")
    (folder / "crbm1" / "model_dict.pickle").write_bytes(
        pickled(b"}" + b"X\x01\x00\x00\x00W" + whole(1) + b"s")
    )
    with refuses(InputError):
        read_crbm(folder / "crbm1")


def test_matrices_that_do_not_belong_together_are_said(tmp_path, refuses):
    crbm, centres, mean, scale = ours()
    odd = replace(crbm, W=crbm.W[:, :5])
    folder = write_folder(tmp_path / "odd", crbm, centres, mean, scale)
    data = __import__("tests.reading.foreign_files", fromlist=["x"])
    parts = {"W": odd.W, "A": crbm.A, "B": crbm.B, "v_bias": crbm.visible_bias, "h_bias": crbm.hidden_bias}
    body = b"".join(data.text(key) + data.array(values) for key, values in parts.items())
    (folder / "crbm1" / "model_dict.pickle").write_bytes(pickled(b"}(" + body + b"u"))
    with refuses(InputError):
        read_crbm(folder / "crbm1")


def test_the_initializer_may_be_missing_but_not_broken(folder, refuses):
    path = folder / "crbm1" / "model_initializer.json"
    for broken in ("not json", "[" * 30_000):
        path.write_text(broken)
        with refuses(InputError):
            import_ai4dl(folder)
    path.unlink()
    assert import_ai4dl(folder).settings.epochs == 100


def test_a_file_too_large_is_not_read(folder, monkeypatch, refuses):
    monkeypatch.setattr("core.files.phase_models.ai4dl.MAX_BYTES", 100)
    with refuses(InputError):
        import_ai4dl(folder)


def test_a_fitted_model_takes_an_imported_crbm(folder, traces):
    chosen = [feature.name for feature in traces.features]
    base = fit(traces, PhaseSettings(phases=3, epochs=2), features=chosen)
    mixed = import_ai4dl(crbm=folder / "crbm1", base=base)
    assert mixed.settings.warmup == "zeros"
    assert len(predict(mixed, traces)) == traces.n_samples
