"""Model files of our own: what goes in comes out, and nothing else is believed."""

import contextlib
import hashlib
import io
import json
import math
import zipfile
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import InputError
from core.files import load_model, model_archive, model_fingerprint, read_model_archive, save_model
from core.files.phase_models import archive as module
from core.phases import PhaseSettings, expand, fit, predict
from core.phases.encoders import MAX_CODE
from tests.examples import fewer
from tests.phases.making import three_phases


@pytest.fixture(scope="module")
def traces():
    return three_phases(3)


@pytest.fixture(scope="module")
def model(traces):
    return fit(traces, PhaseSettings(phases=3, epochs=5))


def assert_same(one, two, traces):
    np.testing.assert_array_equal(predict(one, traces), predict(two, traces))
    for field in ("features", "settings", "training", "statistics", "origin", "phases"):
        assert getattr(one, field) == getattr(two, field)
    np.testing.assert_array_equal(one.centres, two.centres)
    np.testing.assert_array_equal(one.scaler.mean, two.scaler.mean)
    assert model_fingerprint(one) == model_fingerprint(two)


@given(
    st.sampled_from(["crbm", "window", "pca"]),
    st.sampled_from(["label", "zeros"]),
    st.integers(1, 4),
    st.integers(0, 2),
    st.integers(0, 1000),
)
@fewer(2)
def test_a_model_comes_back_as_it_was(tmp_path_factory, encoder, warmup, history, expansions, seed):
    traces = three_phases(3)
    settings = PhaseSettings(phases=3, encoder=encoder, warmup=warmup, history=history, epochs=2, seed=seed)
    model = fit(traces, settings)
    for _ in range(expansions):
        labels = predict(model, traces)
        largest = int(np.bincount(labels[labels >= 0]).argmax())
        model = expand(model, traces, largest, 2)
    folder = tmp_path_factory.mktemp("models")
    assert_same(model, load_model(save_model(model, folder / "model")), traces)
    assert_same(model, load_model(save_model(model, folder / "model.zip")), traces)


def test_the_same_model_gives_the_same_bytes(model, tmp_path):
    assert model_archive(model) == model_archive(read_model_archive(model_archive(model)))
    save_model(model, tmp_path / "m")
    save_model(model, tmp_path / "m")
    assert sorted(path.name for path in (tmp_path / "m").iterdir()) == ["arrays.npz", "model.json"]


def test_the_mark_changes_with_what_is_predicted_only(model):
    mark = model_fingerprint(model)
    assert model_fingerprint(replace(model, statistics=())) == mark
    assert model_fingerprint(replace(model, centres=model.centres + 1)) != mark
    assert model_fingerprint(replace(model, settings=replace(model.settings, warmup="zeros"))) != mark


def test_a_place_that_cannot_be_written_is_a_sentence(model, tmp_path, refuses):
    (tmp_path / "file").write_text("")
    with refuses(InputError):
        save_model(model, tmp_path / "file" / "model")
    with refuses(InputError):
        save_model(model, tmp_path / "file" / "model.zip")


# ── what is not believed ──


def parts_of(model):
    with zipfile.ZipFile(io.BytesIO(model_archive(model))) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def zipped(parts):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def refused(data):
    with pytest.raises(InputError) as caught:
        read_model_archive(data)
    assert caught.value.hint
    return caught.value.message


def changed(model, **facts):
    parts = parts_of(model)
    return zipped({**parts, "model.json": json.dumps({**json.loads(parts["model.json"]), **facts}).encode()})


def with_arrays(model, change):
    """The model with changed arrays and an honest digest of them."""
    parts = parts_of(model)
    with np.load(io.BytesIO(parts["arrays.npz"])) as stored:
        arrays = change(dict(stored))
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    facts = {
        **json.loads(parts["model.json"]),
        "arrays_sha256": hashlib.sha256(buffer.getvalue()).hexdigest(),
    }
    return zipped({"model.json": json.dumps(facts).encode(), "arrays.npz": buffer.getvalue()})


def test_other_files_are_not_models(tmp_path, model, refuses, sentence):
    sentence(refused(b""))
    sentence(refused(b"hello"))
    sentence(refused(model_archive(model)[:-30]))
    sentence(refused(zipped({"a.txt": b"x"})))
    assert "holds nothing" in refused(zipped({}))
    sentence(refused(changed(model, format="other")))
    sentence(refused(zipped({**parts_of(model), "model.json": b"{"})))
    sentence(refused(zipped({**parts_of(model), "model.json": b"[]"})))
    with refuses(InputError):
        load_model(tmp_path / "nowhere")
    with refuses(InputError):
        load_model(tmp_path)


def test_names_that_leave_the_folder_are_refused(model, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    message = refused(zipped({**parts_of(model), "../../evil": b"x"}))
    assert "“../../evil”" in message
    assert not list(tmp_path.parent.glob("evil"))


def test_a_newer_version_is_said(model, sentence):
    sentence(refused(changed(model, version=2)))


def test_changed_arrays_are_noticed(model, sentence):
    parts = parts_of(model)
    arrays = bytearray(parts["arrays.npz"])
    arrays[60] ^= 1
    sentence(refused(zipped({**parts, "arrays.npz": bytes(arrays)})))


def test_bombs_are_refused(model, monkeypatch):
    parts = parts_of(model)
    monkeypatch.setattr(module, "MAX_PART", 20_000)
    assert "larger than" in refused(zipped({**parts, "arrays.npz": b"\0" * 100_000}))
    assert "larger than" in refused(zipped({**parts, "arrays.npz": b"\0" * 21_000}))
    monkeypatch.setattr(module, "MAX_FEATURES", 1)
    assert "larger than" in refused(model_archive(model))


def huge_header(arrays):
    """An array that says it has 10¹² numbers."""
    return arrays


def test_an_array_that_promises_too_much_takes_no_memory(model):
    header = b"\x93NUMPY\x01\x00" + (118).to_bytes(2, "little")
    text = b"{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000,), }"
    data = header + text.ljust(117) + b"\n" + b"\0" * 64
    arrays = zipped({"centres.npy": data})
    facts = {**json.loads(parts_of(model)["model.json"]), "arrays_sha256": hashlib.sha256(arrays).hexdigest()}
    assert "damaged" in refused(zipped({"model.json": json.dumps(facts).encode(), "arrays.npz": arrays}))


@pytest.mark.parametrize(
    "change",
    [
        lambda a: {k: v for k, v in a.items() if k != "centres"},
        lambda a: {**a, "centres": a["centres"][0]},
        lambda a: {**a, "centres": a["centres"][:0]},
        lambda a: {**a, "centres": np.full_like(a["centres"], np.nan)},
        lambda a: {**a, "centres": a["centres"].astype(complex)},
        lambda a: {**a, "centres": np.asfortranarray(a["centres"])},
        lambda a: {**a, "centres": a["centres"][:, :3]},
        lambda a: {**a, "scaler_scale": -a["scaler_scale"]},
        lambda a: {**a, "scaler_mean": a["scaler_mean"][:1]},
        lambda a: {**a, "encoder_W": a["encoder_W"][:, :1]},
        lambda a: {k: v for k, v in a.items() if k != "encoder_A"},
    ],
)
def test_arrays_that_cannot_be_are_refused(model, change):
    assert refused(with_arrays(model, change))


@pytest.mark.parametrize(
    "facts",
    [
        {"features": []},
        {"features": [{"name": "x"}]},
        {"features": 7},
        {"encoder": "magic"},
        {"settings": {"phases": 0}},
        {"settings": {"power": 9}},
        {"settings": None},
        {"training": {}},
        {"statistics": [{"phase": 0}]},
        {"expansions": [{"phase": 0, "ids": [3, 4]}]},
        {"expansions": 4},
        {"origin": None, "encoder": None},
        {"origin": "\ud800"},
        {"phase_names": {"0": "\udfff"}},
    ],
)
def test_facts_that_cannot_be_are_refused(model, facts):
    assert refused(changed(model, **facts))


def test_expansions_that_cannot_be_are_refused(model, traces):
    expanded = expand(model, traces, 0, 2)
    good = json.loads(parts_of(expanded)["model.json"])["expansions"]
    assert good == [{"phase": 0, "ids": [3, 4]}]
    for wrong in ([{"phase": 9, "ids": [3, 4]}], [{"phase": 0, "ids": [0, 1]}], [{"phase": 0, "ids": [3]}]):
        assert "damaged" in refused(changed(expanded, expansions=wrong))


@pytest.mark.parametrize("encoder", ["window", "pca"])
def test_encoders_that_cannot_be_are_refused(traces, encoder, sentence):
    model = fit(traces, PhaseSettings(phases=3, encoder=encoder))
    key = "encoder_history" if encoder == "window" else "encoder_components"
    assert refused(with_arrays(model, lambda a: {**a, key: a[key].ravel()[:0]}))
    assert refused(with_arrays(model, lambda a: {**a, key: a[key][..., None]}))
    if encoder == "pca":

        def odd(a):
            return {**a, key: a[key][:, :3], "encoder_mean": a["encoder_mean"][:3]}

        sentence(refused(with_arrays(model, odd)))
    else:
        assert "history" in refused(with_arrays(model, lambda a: {**a, key: np.array([0])}))


@given(st.data())
def test_a_file_with_changed_bytes_is_a_model_or_a_sentence(model, data):
    archive = bytearray(model_archive(model))
    for _ in range(data.draw(st.integers(1, 4))):
        archive[data.draw(st.integers(0, len(archive) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(InputError):
        read_model_archive(bytes(archive))


def test_half_a_folder_is_not_a_model(model, tmp_path, refuses):
    save_model(model, tmp_path / "m")
    (tmp_path / "m" / "arrays.npz").write_bytes(b"")
    with refuses(InputError):
        load_model(tmp_path / "m")
    (tmp_path / "m" / "arrays.npz").unlink()
    with refuses(InputError):
        load_model(tmp_path / "m")


def without(model, part, name, value):
    """The model whose facts have another value of one name in a part of theirs."""
    facts = json.loads(parts_of(model)["model.json"])[part]
    return changed(
        model,
        **{
            part: [{**facts[0], name: value}, *facts[1:]]
            if isinstance(facts, list)
            else {**facts, name: value}
        },
    )


@pytest.mark.parametrize(
    ("part", "name", "value"),
    [
        *(("training", name, -1) for name in ("n_samples", "n_executions", "n_codes", "period")),
        *(("training", "period", value) for value in (math.nan, math.inf)),
        ("training", "errors", [math.nan]),
        *(("statistics", name, -1) for name in ("samples", "runs", "share")),
        ("statistics", "median_stay", math.inf),
        ("settings", "learning_rate", math.nan),
    ],
)
def test_numbers_that_cannot_be_are_refused(model, part, name, value):
    assert refused(without(model, part, name, value))


def test_a_number_too_large_for_any_computer_is_refused(model):
    parts = parts_of(model)
    text = json.dumps({**json.loads(parts["model.json"]), "extra": 12345.5}).replace("12345.5", "1e999")
    assert "damaged" in refused(zipped({**parts, "model.json": text.encode()}))


@pytest.mark.parametrize("encoder", ["crbm", "pca"])
def test_codes_longer_than_any_trained_here_are_refused(traces, encoder):
    def long(a):
        """The same code, repeated as zeros: small in a zip, slow to compute."""
        n = MAX_CODE + 1
        tall = {
            k: np.zeros((n, *a[k].shape[1:]), np.float32)
            for k in ("encoder_W", "encoder_B", "encoder_hidden_bias", "encoder_components")
            if k in a
        }
        return {**a, **tall, "centres": np.zeros((len(a["centres"]), n), np.float32)}

    model = fit(traces, PhaseSettings(phases=3, encoder=encoder, epochs=1))
    assert f"{MAX_CODE:,}" in refused(with_arrays(model, long))
