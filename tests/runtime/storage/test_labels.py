"""PhaseLabels equal what the library computes, and are kept."""

import numpy as np
import pytest

from core.bootstrap import open_workspace
from core.errors import NotFoundError
from core.phases import expand, phase_statistics, predict
from tests.builders import small_model, small_traces


@pytest.fixture
def labelled(workspace):
    traces = small_traces(5, samples=80)
    info = workspace.traces.add(traces, None, name="set")
    model = workspace.models.add(small_model(traces), name="model")
    return workspace, info, model, traces


def test_labels_and_statistics_are_the_librarys(labelled):
    workspace, info, model, traces = labelled
    found = workspace.labels.get(info.id, model.id)
    loaded = workspace.models.load(model.id)
    labels = predict(loaded, traces)
    np.testing.assert_array_equal(found.labels, labels)
    assert found.statistics == phase_statistics(traces, labels, loaded.phases)
    assert found.phases == (0, 1, 2)


def test_strips_shares_and_the_table_follow_from_the_labels(labelled):
    workspace, info, model, traces = labelled
    found = workspace.labels.get(info.id, model.id)
    table = found.table()
    for position, name in enumerate(traces.ids):
        labels = found.labels[traces.slice_of(name)]
        rebuilt = np.concatenate(
            [np.full(round(share * len(labels)), phase) for share, phase in found.strip(position)]
        )
        np.testing.assert_array_equal(rebuilt, labels)
        shares = [float((labels == each.phase).mean()) for each in found.statistics]
        np.testing.assert_allclose(found.shares[position], shares)
        mine = table[table["execution"] == name]
        np.testing.assert_array_equal(np.repeat(mine["phase"], mine["length"]), labels)
        assert mine["start"].iloc[0] == 0


def test_labels_are_kept_in_memory_and_on_disk(labelled, settings, monkeypatch, refuses):
    workspace, info, model, _ = labelled
    first = workspace.labels.get(info.id, model.id)
    assert workspace.labels.get(info.id, model.id) is first
    with refuses(ValueError):
        first.labels[0] = 9
    monkeypatch.setattr("core.workspace.phase_labels.predict", None)
    monkeypatch.setattr("core.workspace.trace_sets.TraceLibrary.load", None)
    other = open_workspace(settings)
    again = other.labels.get(info.id, model.id)
    other.close()
    np.testing.assert_array_equal(again.labels, first.labels)
    np.testing.assert_array_equal(again.offsets, first.offsets)
    assert (again.ids, again.phases, again.statistics) == (first.ids, first.phases, first.statistics)
    for name in ("start", "length", "phase", "seconds"):
        np.testing.assert_array_equal(getattr(again.runs, name), getattr(first.runs, name))


def test_statistics_of_the_training_set_are_the_models_own(labelled, monkeypatch):
    workspace, info, model, traces = labelled
    expected = phase_statistics(traces, predict(workspace.models.load(model.id), traces), (0, 1, 2))
    monkeypatch.setattr("core.workspace.phase_labels.phase_statistics", None)
    assert workspace.labels.get(info.id, model.id).statistics == expected


def test_statistics_of_a_model_that_was_expanded_elsewhere_are_those_of_the_set(labelled):
    workspace, info, _, traces = labelled
    other = small_traces(9, samples=70, seed=5)
    expanded = expand(small_model(traces), other, 0, 2, 1)
    stored = workspace.models.add(expanded, name="expanded")
    found = workspace.labels.get(info.id, stored.id)
    assert found.statistics == phase_statistics(traces, predict(expanded, traces), expanded.phases)
    assert found.statistics != expanded.statistics


@pytest.mark.parametrize("damage", [b"", b"not a zip", None])
def test_damaged_labels_are_made_anew(labelled, settings, damage):
    workspace, info, model, _ = labelled
    first = workspace.labels.get(info.id, model.id)
    (path,) = (settings.home / "labels").iterdir()
    path.write_bytes(path.read_bytes()[:-40] if damage is None else damage)
    other = open_workspace(settings)
    np.testing.assert_array_equal(other.labels.get(info.id, model.id).labels, first.labels)
    other.close()


def test_a_disk_that_keeps_nothing_does_not_hide_the_labels(labelled, monkeypatch, caplog):
    workspace, info, model, _ = labelled

    def full(*_args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("core.workspace.phase_labels.write_atomically", full)
    assert len(workspace.labels.get(info.id, model.id).labels) == info.n_samples
    assert "could not be kept" in caplog.text


def test_what_is_not_there_has_no_labels(labelled):
    workspace, info, model, _ = labelled
    for trace_set, phases in (("0" * 16, model.id), (info.id, "0" * 16)):
        with pytest.raises(NotFoundError):
            workspace.labels.get(trace_set, phases)
