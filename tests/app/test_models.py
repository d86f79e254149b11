"""The Models page without a browser: views, what its buttons do, and what forms ask for."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score

from app.pages.models import choose, detail, dialogs, expand, importing, page, search, train
from app.pages.models import compare as model_compare
from app.pages.models.listing import ModelsAddress
from app.ui import task_card
from app.ui.links import Query
from app.ui.phases import balanced
from core.bootstrap import worker_for
from core.errors import ConflictError, InputError
from core.phases import PhaseSettings
from core.workspace.records import TaskState
from tests.builders import small_traces


@pytest.fixture
def traces(place):
    return place.traces.add(small_traces(), None, name="Night batch", sample=True)


def work(place, task):
    worker_for(place).work(task)
    return place.tasks.get(task)


def text_of(node):
    """All that a person can read in a page."""
    plain = json.dumps(node, default=lambda each: each.to_plotly_json())
    return str(json.loads(plain)) if plain else ""


def page_text(**values):
    return text_of(page.layout(**values))


def test_an_empty_page_says_what_to_do(server):
    text = page_text()
    assert "No models yet" in text
    assert "view=train" in text
    assert "view=import" in text


@pytest.mark.parametrize("view", ["train", "choose", "search", "compare"])
def test_without_traces_every_view_says_so(server, view):
    text = page_text(view=view)
    assert "No traces yet" in text or "Nothing to compare yet" in text


def test_a_model_is_listed_and_shown(model):
    text = page_text()
    for expected in (
        "first",
        "CRBM, 4 hidden, history 3",
        "sample",
        "Night batch",
        "φ3",
        "Features and scaler",
    ):
        assert expected in text
    assert f"/api/models/{model.id}/export" in text


@pytest.mark.parametrize("view", [view for view in page.VIEWS if view])
def test_every_view_opens(model, view):
    assert "Something went wrong" not in page_text(view=view)


def test_a_model_that_is_gone_is_said(model):
    assert "does not exist, or is in the trash" in page_text(model="0" * 16)


def test_an_unknown_view_leads_back(model):
    assert "No such view" in page_text(view="dance")


def test_training_asks_for_what_the_form_says(place, traces):
    settings = PhaseSettings(phases=3, hidden=4, epochs=2)
    task = train.submit(traces.id, settings, ["memory_bytes"], "  mine ")
    params = place.tasks.get(task).params
    assert params["features"] == ["memory_bytes"]
    assert params["name"] == "mine"
    done = work(place, task)
    assert done.state is TaskState.DONE
    assert place.models.get(done.result["model"]).features == ("memory_bytes",)


def test_default_features_are_left_to_the_library(place, traces):
    chosen = train.default_features(traces.features)
    task = train.submit(traces.id, PhaseSettings(), chosen, "")
    assert place.tasks.get(task).params["features"] is None
    assert place.tasks.get(task).params["name"] == f"5 phases · {traces.name}"
    again = train.submit(traces.id, PhaseSettings(), chosen, "")
    assert place.tasks.get(again).params["name"] == f"5 phases · {traces.name} (2)"


def test_no_feature_is_refused(traces, refuses):
    with refuses(InputError):
        train.submit(traces.id, PhaseSettings(), [], "")


def test_settings_out_of_range_are_said_at_their_fields_and_counted(place, traces, sentence):
    fields = {"hidden": "0", "learning_rate": "fast", "phases": "3"}
    ids = [{"type": "setting", "name": name} for name in fields]
    errors, notice, _ = train.start(1, ids, list(fields.values()), ["cpu_cores"], "", traces.id)
    assert [bool(error) for error in errors] == [True, True, False]
    sentence(errors[0], errors[1])
    assert "2 settings are out of range." in text_of(notice)
    assert [task.kind for task in place.tasks.list() if task.kind == "train"] == []


def test_the_address_fills_the_form():
    query = Query.parse("/models", "?view=train&phases=6&hidden=20&traces=x")
    assert ModelsAddress.read(query).settings == {"phases": "6", "hidden": "20"}


def test_a_running_training_is_found_again(place, traces):
    about = {"trace_set": traces.id}
    old = train.submit(traces.id, PhaseSettings(), ["cpu_cores"], "old")
    place.tasks.cancel(old)
    assert [task.id for task in task_card.tasks_of("train", about)] == [old]
    new = train.submit(traces.id, PhaseSettings(), ["cpu_cores"], "new")
    assert [task.id for task in task_card.tasks_of("train", about)] == [new]
    assert [task.id for task in task_card.tasks_of("train", about, old)] == [old]
    assert task_card.tasks_of("search", about) == []


def test_choosing_k_ends_in_a_way_to_train(place, traces):
    task = choose.submit(traces.id, choose.NEW, PhaseSettings(hidden=4, epochs=2))
    done = work(place, task)
    assert done.state is TaskState.DONE
    text = text_of(choose.outcome(done))
    best = done.result["recommended"]
    assert f"Train with k = {best}" in text
    assert f"phases={best}" in text
    assert done.result["reason"] in text


def test_choosing_k_for_a_model_uses_its_codes(place, model, traces):
    task = choose.submit(traces.id, model.id, None)
    assert place.tasks.get(task).params == {"trace_set": traces.id, "model": model.id}
    done = work(place, task)
    assert done.state is TaskState.DONE
    assert "hidden=4" in text_of(choose.outcome(done))


def test_a_search_gives_trials_to_use(place, traces):
    texts = {"hidden": "2, 4", "history": "2", "learning_rate": "0.001", "epochs": "2"}
    done = work(place, search.submit(traces.id, texts, None, 50, 0))
    assert done.state is TaskState.DONE
    assert len(done.result["trials"]) == 2
    text = text_of(search.outcome(done))
    assert text.count("Use these settings") == 2
    assert "hidden=2&history=2" in text


@pytest.mark.parametrize("changes", [{"hidden": "0"}, {"history": "x"}, {"epochs": ""}])
def test_a_search_out_of_bounds_is_refused_by_name(traces, changes, refuses):
    texts = {name: values for name, (values, _) in search.SEARCHED.items()} | changes
    with refuses(InputError):
        search.submit(traces.id, texts, None, 25, 0)


@pytest.mark.parametrize(("most", "held"), [(0, 25), (None, 99), ("many", 25)])
def test_a_search_needs_sensible_numbers(traces, most, held, refuses):
    texts = {name: values for name, (values, _) in search.SEARCHED.items()}
    with refuses(InputError):
        search.submit(traces.id, texts, most, held, 0)


def test_expanding_nests_and_is_shown(place, model, traces):
    first = work(place, expand.submit(model.id, "1", 2, traces.id, "finer"))
    assert first.state is TaskState.DONE
    second = work(place, expand.submit(first.result["model"], "3", 2, traces.id, ""))
    info = place.models.get(second.result["model"])
    assert info.phases == (0, 2, 4, 5, 6)
    assert info.name == "finer expanded"
    tree = detail.expansions(place.models.load(info.id))
    assert text_of(tree).count("divided") == 2


@pytest.mark.parametrize("into", [1, None, 17])
def test_expanding_into_too_few_or_many_is_refused(model, traces, into, refuses):
    with refuses(InputError):
        expand.submit(model.id, "1", into, traces.id, "")


def test_trash_undo_and_delete(place, model, monkeypatch):
    monkeypatch.setattr(dialogs, "set_props", lambda *_: None)
    monkeypatch.setattr(dialogs, "notify", lambda *_: None)
    target = dialogs.perform("trash", model.id, Query("", {"traces": "t"}))
    assert target == f"?traces=t&trashed={model.id}"
    assert "to the trash" in page_text(trashed=model.id)
    assert "Delete for good" in page_text(view="trash")
    assert dialogs.perform("restore", model.id, Query("", {})) == f"?model={model.id}"
    assert [info.id for info in place.models.list()] == [model.id]
    with pytest.raises(ConflictError):
        place.models.delete(model.id)


def test_an_empty_name_is_refused(model, refuses):
    with refuses(InputError):
        dialogs.rename(model.id, "  ")


def uploaded(place, name, content):
    upload = place.uploads.begin(name, len(content))
    place.uploads.receive(upload, [content])
    return {"id": upload, "name": name, "size": len(content)}


def test_an_export_can_be_imported(place, model):
    given_file = uploaded(place, "copy.zip", place.models.export(model.id))
    made = place.models.get(importing.import_model({"archive": given_file}, None, ""))
    assert made.name == "copy"
    assert made.phases == model.phases
    assert made.fingerprint == model.fingerprint


def test_a_file_with_code_in_it_is_refused_by_name(place, model):
    content = b"cos\nsystem\n(S'true'\ntR."
    given_file = uploaded(place, "model_dict.pickle", content)
    with pytest.raises(InputError) as caught:
        importing.import_model({"crbm": given_file}, model.id, "")
    text = text_of(importing._explain(caught.value))
    assert "Refused" in text
    assert "system" in text
    assert "Nothing was run" in text


def test_nothing_given_is_said(server, refuses):
    with refuses(InputError):
        importing.import_model({}, None, "")


labels = st.lists(st.tuples(st.integers(-1, 4), st.integers(-1, 4)), min_size=2, max_size=60)


@given(labels)
def test_agreement_is_that_of_scikit_learn(pairs):
    first, second = (np.array(column, dtype=np.int16) for column in zip(*pairs, strict=True))
    rows, columns = sorted(set(first.tolist())), sorted(set(second.tolist()))
    counts = model_compare.crossed(first, second, rows, columns)
    assert counts.sum() == len(pairs)
    assert counts[0, 0] == sum(1 for pair in pairs if pair == (rows[0], columns[0]))
    assert model_compare.adjusted_rand(counts) == pytest.approx(adjusted_rand_score(first, second), abs=1e-9)


def test_a_model_agrees_with_itself(place, model, traces):
    text = text_of(model_compare.comparison(traces, model, model))
    assert "1.00" in text
    assert "nearly the same phases" in text


def test_a_failed_task_shows_its_sentence(place, traces):
    settings = PhaseSettings(history=128)
    failed = work(place, train.submit(traces.id, settings, ["cpu_cores"], "long"))
    assert failed.state is TaskState.FAILED
    text = text_of(task_card.live(failed))
    assert "No execution is long enough" in text
    assert "Retry" in text


@pytest.mark.parametrize(("count", "columns"), [(1, 1), (4, 4), (5, 3), (6, 3), (7, 4), (9, 3)])
def test_cards_stand_in_rows_of_about_the_same_length(count, columns):
    assert balanced(count, 4) == columns
