"""Trace sets and models: whole or not at all, named, trashed, restored, deleted, swept."""

import os
import time
from dataclasses import replace

import numpy as np
import pytest

from core.bootstrap import open_workspace
from core.errors import Cancelled, ConflictError, InputError, MismatchError, NotFoundError, RefusedError
from core.phases import predict
from core.traces.model import Feature, Role
from core.traces.validation import Report
from core.units import Unit
from core.workspace.files import StorageError
from tests.builders import small_model, small_traces


@pytest.fixture
def stored(workspace):
    traces = small_traces()
    info = workspace.traces.add(traces, Report(), name="small", source="small.csv", sample=True)
    return workspace, info, traces


@pytest.fixture
def modelled(stored):
    workspace, info, traces = stored
    return workspace, info, workspace.models.add(small_model(traces), name="model", trace_set=info)


def test_a_stored_set_is_what_it_was(stored):
    workspace, info, traces = stored
    assert workspace.traces.list() == [info]
    assert (info.name, info.source, info.sample) == ("small", "small.csv", True)
    assert (info.n_executions, info.n_samples) == (traces.n_executions, traces.n_samples)
    assert info.features == traces.features
    assert info.n_bytes > 0
    loaded = workspace.traces.load(info.id)
    for ours, theirs in zip(loaded.columns, traces.columns, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert workspace.traces.report(info.id).sentences() == ()
    assert list(workspace.traces.summary(info.id)["execution"]) == list(traces.ids)
    assert workspace.traces.fingerprint(info.id) == info.fingerprint


def test_sets_are_read_once(stored):
    workspace, info, _ = stored
    assert workspace.traces.load(info.id) is workspace.traces.load(info.id)
    assert workspace.traces.summary(info.id) is workspace.traces.summary(info.id)


@pytest.mark.parametrize("loaded", [False, True])
def test_one_execution_is_the_same_by_both_ways(stored, loaded):
    workspace, info, traces = stored
    if loaded:
        workspace.traces.load(info.id)
    one = workspace.traces.execution(info.id, traces.ids[2])
    assert one.ids == (traces.ids[2],)
    np.testing.assert_array_equal(one.time, traces.execution(traces.ids[2]).time)
    with pytest.raises(NotFoundError):
        workspace.traces.execution(info.id, "nobody")


def test_names_are_made_unique_and_checked(stored, refuses):
    workspace, info, traces = stored
    twin = workspace.traces.add(traces, None, name="small")
    assert twin.name == "small (2)"
    with refuses(ConflictError):
        workspace.traces.rename(twin.id, " small ")
    assert workspace.traces.rename(twin.id, "  other   name ").name == "other name"
    for name in ("", "   ", "x" * 121):
        with refuses(InputError):
            workspace.traces.rename(info.id, name)


def test_the_trash_gives_back_what_it_got(stored, refuses):
    workspace, info, _ = stored
    with refuses(ConflictError):
        workspace.traces.delete(info.id)
    assert workspace.traces.trash(info.id).trashed is not None
    assert workspace.traces.list() == []
    assert [each.id for each in workspace.traces.list(trashed=True)] == [info.id]
    assert workspace.traces.restore(info.id) == info


def test_deleting_is_for_good(stored, settings, refuses):
    workspace, info, _ = stored
    workspace.traces.load(info.id)
    workspace.traces.trash(info.id)
    workspace.traces.delete(info.id)
    for ask in (workspace.traces.get, workspace.traces.load, workspace.traces.summary):
        with refuses(NotFoundError):
            ask(info.id)
    assert list((settings.home / "traces").iterdir()) == []
    assert list((settings.home / "tmp").iterdir()) == []


def test_another_process_sees_the_same(stored, settings):
    workspace, info, _ = stored
    other = open_workspace(settings)
    assert other.traces.list() == [info]
    other.traces.trash(info.id)
    other.traces.delete(info.id)
    other.close()
    with pytest.raises(NotFoundError):
        workspace.traces.load(info.id)


def test_what_is_cancelled_in_mid_storing_leaves_nothing(workspace, settings):
    def stop(share, message):
        raise Cancelled

    with pytest.raises(Cancelled):
        workspace.traces.add(small_traces(), None, name="never", progress=stop)
    assert workspace.traces.list() == []
    assert list((settings.home / "traces").iterdir()) == []
    assert list((settings.home / "tmp").iterdir()) == []


def test_a_full_disk_is_said_and_leaves_nothing(workspace, settings, monkeypatch, refuses):
    def full(*_args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("core.workspace.files.os.fsync", full)
    with refuses(StorageError):
        workspace.traces.add(small_traces(), None, name="never")
    assert workspace.traces.list() == []
    assert list((settings.home / "tmp").iterdir()) == []


def test_orphans_are_swept_and_nothing_else(modelled, settings):
    workspace, info, model = modelled
    old = time.time() - 3600
    for place in ("traces/0123456789abcdef", "models/0123456789abcdef", "tmp/draft"):
        folder = settings.home / place
        folder.mkdir()
        (folder / "half").write_text("x")
        for path in (folder / "half", folder):
            os.utime(path, (old, old))
    (settings.home / "tmp" / "fresh").mkdir()
    assert workspace.sweep() == 3
    assert [path.name for path in (settings.home / "tmp").iterdir()] == ["fresh"]
    assert workspace.traces.load(info.id).n_samples == info.n_samples
    assert workspace.models.load(model.id).phases == model.phases


def test_a_stored_model_is_what_it_was(modelled):
    workspace, info, model = modelled
    assert workspace.models.list() == [model]
    assert (model.trace_set_id, model.trace_set_name) == (info.id, "small")
    assert (model.hidden, model.history, model.phases) == (4, 3, (0, 1, 2))
    assert (model.encoder, model.origin) == ("crbm", "phasedock")
    assert model.final_error > 0
    traces = workspace.traces.load(info.id)
    np.testing.assert_array_equal(
        predict(workspace.models.load(model.id), traces), predict(small_model(traces), traces)
    )
    assert workspace.models.fingerprint(model.id) == model.fingerprint


def test_a_model_outlives_its_trace_set(modelled):
    workspace, info, model = modelled
    workspace.traces.rename(info.id, "renamed")
    assert workspace.models.get(model.id).trace_set_name == "renamed"
    workspace.traces.trash(info.id)
    workspace.traces.delete(info.id)
    left = workspace.models.get(model.id)
    assert (left.trace_set_id, left.trace_set_name) == (None, "small")


def test_models_are_renamed_trashed_restored_and_deleted(modelled, refuses):
    workspace, _, model = modelled
    assert workspace.models.rename(model.id, "better").name == "better"
    workspace.models.trash(model.id)
    assert workspace.models.list() == []
    assert len(workspace.models.list(trashed=True)) == 1
    workspace.models.restore(model.id)
    workspace.models.trash(model.id)
    workspace.models.delete(model.id)
    with refuses(NotFoundError):
        workspace.models.load(model.id)


def test_only_fitting_models_are_offered(modelled):
    workspace, info, model = modelled
    traces = workspace.traces.load(info.id)
    assert workspace.models.compatible(info.id) == [model]
    strange = replace(
        traces, features=(Feature("disk", Role.OTHER, Unit.PLAIN),), columns=(traces.columns[0],)
    )
    other = workspace.traces.add(strange, None, name="strange")
    assert workspace.models.compatible(other.id) == []
    with pytest.raises(MismatchError):
        workspace.labels.get(other.id, model.id)


def test_an_exported_model_comes_back(modelled, tmp_path):
    workspace, info, model = modelled
    path = tmp_path / "model.zip"
    path.write_bytes(workspace.models.export(model.id))
    again = workspace.models.import_archive(path, "back")
    assert again.fingerprint == model.fingerprint
    assert again.trace_set_id == info.id
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(InputError):
        workspace.models.import_archive(path, "broken")
    assert len(workspace.models.list()) == 2


def test_a_model_with_code_in_it_is_refused(workspace, tmp_path, refuses):
    class Malicious:
        def __reduce__(self):
            return (os.mkdir, (str(tmp_path / "was-run"),))

    import pickle

    (tmp_path / "ai4dl_crbm1").mkdir()
    for name in ("ai4dl_crbm1/model_dict.pickle", "ai4dl_kmeans1.joblib", "ai4dl_scaler1.joblib"):
        (tmp_path / name).write_bytes(pickle.dumps(Malicious()))
    with refuses(RefusedError):
        workspace.models.import_ai4dl({"folder": tmp_path}, "bad")
    assert not (tmp_path / "was-run").exists()
    assert workspace.models.list() == []


def test_phases_have_names_that_go_with_the_model(modelled, tmp_path):
    workspace, _, model = modelled
    named = workspace.models.name_phase(model.id, 1, "  decoding  images ")
    assert named.phase_names == {1: "decoding images"}
    assert named.fingerprint == model.fingerprint
    loaded = workspace.models.load(model.id)
    assert loaded.names == named.phase_names
    path = tmp_path / "model.zip"
    path.write_bytes(workspace.models.export(model.id))
    assert workspace.models.import_archive(path, "copy").phase_names == {1: "decoding images"}
    assert workspace.models.name_phase(model.id, 1, "").phase_names == {}
    assert workspace.models.load(model.id).names == {}


@pytest.mark.parametrize(
    ("phase", "name", "error"),
    [(0, "validation", InputError), (0, "x" * 41, InputError), (9, "export", NotFoundError)],
)
def test_a_name_that_a_phase_cannot_have_is_refused(modelled, phase, name, error):
    workspace, _, model = modelled
    workspace.models.name_phase(model.id, 1, "validation")
    with pytest.raises(error):
        workspace.models.name_phase(model.id, phase, name)
    assert workspace.models.get(model.id).phase_names == {1: "validation"}
