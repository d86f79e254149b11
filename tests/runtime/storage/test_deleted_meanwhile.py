"""What reads a trace set or a model that is deleted, before or meanwhile, ends in one sentence."""

import shutil
import threading

import pytest

from core.bootstrap import worker_for
from core.errors import NotFoundError
from core.workspace.records import TaskState
from core.workspace.samples import load_samples
from tests.data.make_synthetic import SYNTHETIC

SETTINGS = {"phases": 2, "hidden": 4, "history": 3, "epochs": 2}


@pytest.fixture
def stored(workspace):
    """A trace set and a model of it."""
    traces, model = load_samples(workspace.traces, workspace.models, sample=SYNTHETIC)
    return traces.id, model.id


def delete(library, thing):
    library.trash(thing)
    library.delete(thing)


def params_of(kind, traces, model):
    common = {"trace_set": traces, "settings": {} if kind == "evaluate" else SETTINGS, "name": "a"}
    return common | ({"model": model} if kind == "choose_k" else {})


@pytest.mark.parametrize("kind", ["find_phases", "choose_k", "evaluate", "train", "search"])
def test_a_task_on_a_deleted_set_fails_in_one_sentence(workspace, stored, kind):
    task = workspace.tasks.submit(kind, "On what is gone", params_of(kind, *stored))
    delete(workspace.traces, stored[0])
    worker_for(workspace).work(task)
    info = workspace.tasks.get(task)
    assert (info.state, info.error[0]) == (TaskState.FAILED, "This trace set is no longer there.")


@pytest.mark.parametrize("kind", ["find_phases", "choose_k", "evaluate", "train", "search"])
def test_a_set_that_vanishes_while_it_is_read_fails_in_one_sentence(workspace, stored, kind):
    """Its files go first seen from a process that has just looked its row up."""
    task = workspace.tasks.submit(kind, "On what vanishes", params_of(kind, *stored))
    workspace.traces.summary(stored[0])
    shutil.rmtree(workspace.traces.repository.path(stored[0]))
    worker_for(workspace).work(task)
    info = workspace.tasks.get(task)
    assert (info.state, info.error[0]) == (TaskState.FAILED, "The files of this trace set are gone.")


def test_a_model_that_vanishes_while_it_is_read_fails_in_one_sentence(workspace, stored):
    shutil.rmtree(workspace.models.repository.path(stored[1]))
    with pytest.raises(NotFoundError, match="The files of this model are gone"):
        workspace.models.load(stored[1])


def test_readers_beside_a_deletion_get_the_set_or_the_sentence(workspace, settings, stored):
    traces, odd = workspace.traces, []
    begin = threading.Barrier(5)

    def read():
        begin.wait()
        for _ in range(60):
            try:
                traces._forget(stored[0])
                traces.load(stored[0])
            except NotFoundError:
                return
            except Exception as error:  # noqa: BLE001 - any other one is what the test is about
                odd.append(error)
                return

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    begin.wait()
    delete(traces, stored[0])
    for thread in threads:
        thread.join()
    assert odd == []


def test_a_folder_that_was_swept_already_does_not_stop_its_deletion(workspace, stored):
    workspace.traces.trash(stored[0])
    shutil.rmtree(workspace.traces.repository.path(stored[0]))
    workspace.traces.delete(stored[0])
    assert stored[0] not in workspace.traces.names()
