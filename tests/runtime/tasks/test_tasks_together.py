"""Many look at tasks and change them at the same time: who looks never writes, who writes never loses."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import event, update

from core.application import Workspace
from core.runs.records import Origin
from core.tasks import worker as worker_module
from core.tasks.worker import Worker
from core.workspace.database_schema import TaskRow
from core.workspace.records import RunState, TaskState
from tests.experiments.making import some
from tests.runtime.kinds_for_tests import kind_for_tests, kinds_for_tests, until


@pytest.fixture
def workspace(settings):
    opened = Workspace(settings, kinds_for_tests())
    yield opened
    opened.close()


def orphaned_tasks(workspace, count=1):
    """Tasks that a worker had begun before it died."""
    tasks = [workspace.tasks.submit("count", "Count", {"steps": 1}) for _ in range(count)]
    values = {"state": TaskState.RUNNING, "worker": "d" * 16, "started": 1.0}
    with workspace.database.write() as session:
        session.execute(update(TaskRow).where(TaskRow.id.in_(tasks)).values(**values))
    return tasks


def orphaned_run(workspace, task):
    """A run that a task was making."""
    info = workspace.runs.experiment(workspace.runs._records.add_experiment(some(), task))
    origin = Origin(info, info.experiment.policies[0], 1, "s" * 8, "k" * 8, task)
    return workspace.runs._records.add_run(origin, RunState.RUNNING)


def looks(workspace, task, run):
    """Everything that screens ask about tasks and what tasks make."""
    tasks, runs = workspace.tasks, workspace.runs
    assert tasks.get(task).state is TaskState.INTERRUPTED
    assert [info.state for info in tasks.list()] == [TaskState.INTERRUPTED]
    assert [info.id for info in tasks.list(states=[TaskState.INTERRUPTED])] == [task]
    assert tasks.list(states=[TaskState.RUNNING]) == []
    assert (tasks.worker().running, tasks.worker().alive) == (0, False)
    assert runs.get(run).state is RunState.INTERRUPTED
    assert [(info.id, info.state) for info in runs.list()] == [(run, RunState.INTERRUPTED)]
    assert workspace.live.saved_limits.orphans() == ()


def test_looking_does_not_wait_for_somebody_who_writes(workspace):
    (task,) = orphaned_tasks(workspace)
    run = orphaned_run(workspace, task)
    with workspace.database.write() as session, ThreadPoolExecutor(4) as readers:
        session.execute(update(TaskRow).values(message="written, not committed yet"))
        for read in [readers.submit(looks, workspace, task, run) for _ in range(8)]:
            read.result(10)


def test_looking_writes_nothing(workspace):
    (task,) = orphaned_tasks(workspace)
    run = orphaned_run(workspace, task)
    said = []

    def listen(_connection, _cursor, statement, *_more):
        said.append(statement.split()[0])

    event.listen(workspace.database._engine, "before_cursor_execute", listen)
    looks(workspace, task, run)
    assert set(said) == {"SELECT", "BEGIN"}


def test_whoever_reaps_first_reaps_all_and_the_others_nothing(workspace):
    tasks = orphaned_tasks(workspace, 3)
    with ThreadPoolExecutor(8) as pool:
        reaped = [each.result() for each in [pool.submit(workspace.tasks.reap) for _ in range(8)]]
    assert sum(reaped) == 3
    assert {workspace.tasks.get(task).state for task in tasks} == {TaskState.INTERRUPTED}


def test_what_is_shown_of_a_lost_task_is_what_is_written_later(workspace):
    (task,) = orphaned_tasks(workspace)
    shown = workspace.tasks.get(task)
    assert workspace.tasks.reap() == 1
    written = workspace.tasks.get(task)
    assert (written.state, written.error) == (shown.state, shown.error)


def test_what_waits_is_looked_up_in_the_queue_once(workspace, monkeypatch):
    for _ in range(5):
        workspace.tasks.submit("count", "Count", {"steps": 1})
    scans, waiting = [], workspace._queue.waiting
    monkeypatch.setattr(workspace._queue, "waiting", lambda: scans.append(1) or waiting())
    assert workspace.tasks.requeue_waiting() == 0
    assert len(scans) == 1


def test_two_lasting_tasks_that_begin_at_once_are_both_done(workspace, monkeypatch):
    met = threading.Barrier(2, timeout=10)

    class Meeting(threading.Thread):
        """A thread whose makers wait for each other, so that both are at the same line."""

        def __init__(self, *args, **kwargs):
            if kwargs.get("name") == "stay":
                met.wait()
            super().__init__(*args, **kwargs)

    kinds = kinds_for_tests()
    done, seen = [], threading.Event()  # a worker forgets threads that have ended

    def stay(context, _):
        assert seen.wait(10)
        done.append(context.task)
        return {}

    kinds.add("stay", kind_for_tests("stay", stay, lasting=True))
    worker = Worker(workspace, kinds=kinds)
    tasks = [workspace.tasks.submit("count", "Count", {"steps": 1}) for _ in range(2)]
    with workspace.database.write() as session:
        session.execute(update(TaskRow).values(kind="stay"))
    monkeypatch.setattr(worker_module.threading, "Thread", Meeting)
    beginning = [Meeting(target=worker.work, args=(task,)) for task in tasks]
    for thread in beginning:
        thread.start()
    for thread in beginning:
        thread.join(10)
    assert len(worker._lasting) == 2
    seen.set()
    until(lambda: sorted(done) == sorted(tasks), 5)
