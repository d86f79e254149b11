"""Work that lasts until somebody ends it does not keep other work waiting."""

import time

import pytest

from core.application import Workspace
from core.errors import Cancelled
from core.tasks.worker import Worker
from core.workspace.records import TaskState
from tests.runtime.kinds_for_tests import kind_for_tests, kinds_for_tests, until


def _stay(context, params):
    try:
        while True:
            context.progress(0.0, "staying")
            time.sleep(0.05)
    except Cancelled:
        return {"ended": "by hand"}


@pytest.fixture
def kinds():
    known = kinds_for_tests()
    known.add("stay", kind_for_tests("stay", _stay, lasting=True))
    return known


@pytest.fixture
def workspace(settings, kinds):
    opened = Workspace(settings, kinds)
    yield opened
    opened.close()


def test_one_thread_does_other_work_while_two_tasks_last(workspace, kinds):
    worker = Worker(workspace, threads=1, kinds=kinds)
    worker.start()
    lasting = [workspace.tasks.submit("stay", "Stay", {}) for _ in range(2)]
    until(lambda: all(workspace.tasks.get(task).state is TaskState.RUNNING for task in lasting))
    short = workspace.tasks.submit("count", "Count", {"steps": 2})
    until(lambda: workspace.tasks.get(short).state is TaskState.DONE)
    workspace.tasks.cancel(lasting[0])
    until(lambda: workspace.tasks.get(lasting[0]).state.ended)
    assert workspace.tasks.get(lasting[0]).result == {"ended": "by hand"}
    assert worker.stop(10)
    assert workspace.tasks.get(lasting[1]).state is TaskState.INTERRUPTED
