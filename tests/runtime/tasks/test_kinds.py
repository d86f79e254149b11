"""Every kind of task, done by a worker, from its parameters to what is stored."""

from dataclasses import replace

import numpy as np
import pytest

from core.bootstrap import worker_for
from core.errors import ConflictError, InputError, NotFoundError
from core.phases import predict
from core.workspace import samples
from core.workspace.records import TaskState
from core.workspace.samples import DATA, load_samples
from tests.builders import small_model, small_traces, write_csv
from tests.runtime.kinds_for_tests import until


@pytest.fixture
def worker(workspace):
    working = worker_for(workspace, threads=1)
    working.start()
    yield working
    assert working.stop()


@pytest.fixture
def trace_set(workspace):
    return workspace.traces.add(small_traces(4, samples=80), None, name="set", sample=True)


def upload(workspace, path):
    data = path.read_bytes()
    name = workspace.uploads.begin(path.name, len(data))
    workspace.uploads.receive(name, [data])
    return name


def ended(workspace, task):
    return until(lambda: (info := workspace.tasks.get(task)).state.ended and info, 60)


def finish(workspace, task):
    info = ended(workspace, task)
    assert info.state is TaskState.DONE, info.error
    return info


def test_a_file_becomes_a_trace_set(workspace, worker, tmp_path):
    traces = small_traces()
    sent = upload(workspace, write_csv(tmp_path / "jobs.csv", traces))
    inspection = workspace.uploads.inspect(sent)
    assert workspace.uploads.inspect(sent) is inspection
    task = finish(workspace, workspace.uploads.accept(sent, inspection.mapping, "  my jobs "))
    info = workspace.traces.get(task.result["trace_set"])
    assert (info.name, info.n_samples, info.sample) == ("my jobs", traces.n_samples, False)
    assert info.source.startswith("jobs.csv · ")
    assert task.title == "Import jobs.csv"
    assert workspace.uploads.list() == []
    assert workspace.traces.report(info.id).rows_read == traces.n_samples


def test_what_cannot_be_ingested_stays_to_be_mapped_anew(workspace, worker, tmp_path):
    path = tmp_path / "bad.csv"
    path.write_text("execution,time,cpu_cores\n" + "a,0,-1\n" * 5)
    sent = upload(workspace, path)
    mapping = workspace.uploads.inspect(sent).mapping
    info = ended(workspace, workspace.uploads.accept(sent, mapping, "bad"))
    assert info.state is TaskState.FAILED
    assert info.error[0]
    assert info.error[1]
    assert [each.id for each in workspace.uploads.list()] == [sent]
    assert workspace.traces.list() == []


def test_accepting_checks_before_it_asks(workspace, tmp_path, refuses):
    sent = upload(workspace, write_csv(tmp_path / "jobs.csv", small_traces()))
    with refuses(InputError):
        workspace.uploads.accept(sent, None, " ")
    from core.reading.mapping import ColumnMapping, MappedColumn

    with refuses(InputError):
        workspace.uploads.accept(sent, ColumnMapping(features=(MappedColumn("nowhere"),)), "x")
    begun = workspace.uploads.begin("half.csv", 5)
    with pytest.raises(ConflictError):
        workspace.uploads.accept(begun, None, "x")
    assert workspace.tasks.list() == []


def test_training_gives_the_librarys_model_and_a_curve(workspace, worker, trace_set):
    settings = {"phases": 3, "hidden": 4, "epochs": 2, "seed": 7}
    params = {"trace_set": trace_set.id, "settings": settings, "features": None, "name": "trained"}
    task = finish(workspace, workspace.tasks.submit("train", "Train", params))
    info = workspace.models.get(task.result["model"])
    assert (info.name, info.trace_set_id, info.sample) == ("trained", trace_set.id, True)
    traces = workspace.traces.load(trace_set.id)
    np.testing.assert_array_equal(
        predict(workspace.models.load(info.id), traces), predict(small_model(traces), traces)
    )
    curve = [value for _, name, value in workspace.tasks.metrics(task.id) if name == "error"]
    assert curve[0] > curve[-1] > 0


def test_bad_settings_fail_with_their_name(workspace, worker, trace_set):
    params = {"trace_set": trace_set.id, "settings": {"epochs": -4}, "name": "x"}
    info = ended(workspace, workspace.tasks.submit("train", "Train", params))
    assert "pochs" in info.error[0]


def test_training_on_what_is_gone_says_so(workspace, worker, trace_set, sentence):
    workspace.traces.trash(trace_set.id)
    workspace.traces.delete(trace_set.id)
    info = ended(
        workspace, workspace.tasks.submit("train", "Train", {"trace_set": trace_set.id, "name": "x"})
    )
    sentence(info.error[0])


def test_expanding_makes_a_new_model(workspace, worker, trace_set):
    model = workspace.models.add(small_model(workspace.traces.load(trace_set.id)), name="m")
    params = {"model": model.id, "trace_set": trace_set.id, "phase": 1, "into": 2, "name": "expanded"}
    task = finish(workspace, workspace.tasks.submit("expand", "Expand", params))
    assert workspace.models.get(task.result["model"]).phases == (0, 2, 3, 4)
    assert workspace.models.get(model.id).phases == (0, 1, 2)


@pytest.mark.parametrize("by", ["model", "settings"])
def test_choosing_k_recommends_one(workspace, worker, trace_set, by):
    params = {"trace_set": trace_set.id, "settings": {"epochs": 2, "hidden": 4}}
    if by == "model":
        model = workspace.models.add(small_model(workspace.traces.load(trace_set.id)), name="m")
        params = {"trace_set": trace_set.id, "model": model.id}
    task = finish(workspace, workspace.tasks.submit("choose_k", "Choose", params))
    ks = [each["k"] for each in task.result["candidates"]]
    assert ks[0] == 2
    assert task.result["recommended"] in ks
    assert task.result["reason"].endswith(".")


def test_searching_ranks_trials_and_draws_a_curve_each(workspace, worker, trace_set):
    space = {"hidden": [2, 4], "history": [2], "learning_rate": [0.001], "epochs": [2]}
    params = {"trace_set": trace_set.id, "space": space}
    task = finish(workspace, workspace.tasks.submit("search", "Search", params))
    errors = [trial["held_out_error"] for trial in task.result["trials"]]
    assert errors == sorted(errors)
    assert {trial["settings"]["hidden"] for trial in task.result["trials"]} == {2, 4}
    curves = {name for _, name, _ in workspace.tasks.metrics(task.id)}
    assert {"error · trial 1", "error · trial 2"} <= curves


@pytest.mark.parametrize("space", [{"colour": [1]}, {"hidden": ["many"]}, {"epochs": 3}])
def test_a_search_that_cannot_be_says_why(workspace, worker, trace_set, space):
    params = {"trace_set": trace_set.id, "space": space}
    info = ended(workspace, workspace.tasks.submit("search", "Search", params))
    assert info.state is TaskState.FAILED
    assert info.error[1]


def test_the_samples_are_marked_as_such_and_come_once(workspace, worker):
    results = [finish(workspace, workspace.tasks.submit("samples", "Samples", {})).result for _ in range(2)]
    assert results[0] == results[1]
    (info,), (model,) = workspace.traces.list(), workspace.models.list()
    assert info.sample
    assert model.sample
    assert info.name == samples.RECORDED.name
    assert model.trace_set_id == info.id
    labelling = workspace.labels.get(info.id, model.id)
    assert {each.phase for each in labelling.statistics} >= set(model.phases)


def test_damaged_or_missing_samples_are_said(workspace, tmp_path, refuses):
    elsewhere = replace(samples.RECORDED, folder=tmp_path)
    with refuses(NotFoundError):
        load_samples(workspace.traces, workspace.models, sample=elsewhere)
    (tmp_path / "checksums.txt").write_text((DATA / "checksums.txt").read_text())
    for line in (DATA / "checksums.txt").read_text().splitlines():
        path = tmp_path / line.split("  ")[1]
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"changed")
    with refuses(NotFoundError):
        load_samples(workspace.traces, workspace.models, sample=elsewhere)
    assert workspace.traces.list() == []


def test_what_a_dead_worker_had_published_counts_as_done(workspace, trace_set):
    task = workspace.tasks.submit("train", "Train", {})
    model = small_model(workspace.traces.load(trace_set.id))
    info = workspace.models.add(model, name="m", task=task)
    from sqlalchemy import update

    from core.workspace.database_schema import TaskRow

    with workspace.database.write() as session:
        session.execute(update(TaskRow).values(state="running", worker="c" * 16))
    found = workspace.tasks.get(task)
    assert (found.state, found.result) == (TaskState.DONE, {"model": info.id})
