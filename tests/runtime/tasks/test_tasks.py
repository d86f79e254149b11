"""Tasks: recorded, done once, cancelled, retried, and truthful about what became of them."""

import threading
import time

import pytest
from sqlalchemy import update

from core.application import Workspace
from core.errors import ConflictError, NotFoundError
from core.tasks.store import WorkQueue
from core.tasks.worker import Worker
from core.workspace.database_schema import TaskRow, WorkerRow
from core.workspace.records import TaskState
from tests.runtime.kinds_for_tests import kinds_for_tests, until


@pytest.fixture
def workspace(settings):
    opened = Workspace(settings, kinds_for_tests(), ["brief"])
    yield opened
    opened.close()


@pytest.fixture
def worker(workspace):
    working = Worker(workspace, threads=2, kinds=kinds_for_tests())
    working.start()
    yield working
    assert working.stop()


def ended(workspace, task):
    return until(lambda: (info := workspace.tasks.get(task)).state.ended and info)


def test_work_is_done_and_recorded(workspace, worker):
    task = workspace.tasks.submit("count", "Count to five", {"steps": 5})
    info = ended(workspace, task)
    assert (info.state, info.result, info.progress) == (TaskState.DONE, {"counted": 5}, 1.0)
    assert (info.kind, info.title, info.message) == ("count", "Count to five", "step 5 of 5")
    assert info.created <= info.started <= info.finished
    assert info.created.tzinfo is not None
    assert (info.attempt, info.retry_of, info.error, info.seconds_left) == (1, None, None, None)


def test_all_values_of_the_live_curve_arrive(workspace, worker):
    task = workspace.tasks.submit("count", "Count", {"steps": 300})
    ended(workspace, task)
    curve = workspace.tasks.metrics(task)
    assert [(step, name) for step, name, _ in curve] == [(step, "error") for step in range(1, 301)]
    assert curve[3] == (4, "error", 0.25)
    assert workspace.tasks.metrics(task, since=298) == curve[298:]


def test_time_left_is_told_while_running(workspace, worker):
    task = workspace.tasks.submit("count", "Count", {"steps": 40, "pause": 0.05})
    info = until(lambda: (info := workspace.tasks.get(task)).seconds_left and info)
    lasted, rest = time.time() - info.started.timestamp(), 1 - info.progress
    assert 40 * 0.05 * rest - lasted <= info.seconds_left <= lasted * rest / info.progress


def test_unknown_kinds_and_tasks_are_named(workspace, refuses):
    with refuses(NotFoundError):
        workspace.tasks.submit("dance", "Dance", {})
    for task in ("0" * 16, "../x"):
        with pytest.raises(NotFoundError):
            workspace.tasks.get(task)


def test_errors_on_purpose_are_shown_as_they_are(workspace, worker, sentence):
    info = ended(workspace, workspace.tasks.submit("refuse", "Refuse", {}))
    assert info.state is TaskState.FAILED
    assert info.error == ("Row 7 has no time.", "Add a time to row 7.")
    sentence(*[text for _, text in workspace.tasks.log(info.id)])


def test_other_errors_give_a_sentence_and_a_reference_not_a_traceback(workspace, worker, caplog, sentence):
    info = ended(workspace, workspace.tasks.submit("break", "Divide", {"by": 0}))
    assert len(workspace.tasks.log(info.id, internal=True)) == 3
    assert info.state is TaskState.FAILED
    message, hint = info.error
    reference = message.split("reference ")[1].rstrip(").")
    sentence(message.replace(reference, "REFERENCE"))
    assert "Retry" in hint
    shown = "\n".join(text for _, text in workspace.tasks.log(info.id))
    assert "Traceback" not in shown
    assert "ZeroDivisionError" not in shown
    assert "ZeroDivisionError" in workspace.tasks.log(info.id, internal=True)[-1][1]
    assert any(reference in record.getMessage() for record in caplog.records)


@pytest.mark.parametrize(("kind", "said"), [("memory", "not enough memory"), ("disk", "disk is full")])
def test_exhausted_machines_are_explained(workspace, worker, kind, said):
    info = ended(workspace, workspace.tasks.submit(kind, "Fill", {}))
    assert said in info.error[0]
    assert info.error[1]


def test_two_tasks_run_at_the_same_time(workspace, worker):
    tasks = [workspace.tasks.submit("count", "Count", {"steps": 30, "pause": 0.05}) for _ in range(2)]
    until(lambda: all(workspace.tasks.get(task).state is TaskState.RUNNING for task in tasks))
    assert workspace.tasks.worker().running == 2
    assert all(ended(workspace, task).state is TaskState.DONE for task in tasks)


def test_what_is_brief_waits_for_nothing_long(workspace, worker):
    long = [workspace.tasks.submit("count", "Count", {"steps": 200, "pause": 0.05}) for _ in range(3)]
    until(lambda: workspace.tasks.worker().running == 2)
    brief = workspace.tasks.submit("brief", "Brief", {"steps": 1})
    assert ended(workspace, brief).state is TaskState.DONE
    assert [workspace.tasks.get(task).state for task in long] == [
        TaskState.RUNNING, TaskState.RUNNING, TaskState.QUEUED
    ]  # fmt: skip
    for task in long:
        workspace.tasks.cancel(task)


def test_what_is_brief_and_lost_its_message_is_found_again(workspace, worker, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr(workspace._queue, "put", lambda *_, **__: None)
        brief = workspace.tasks.submit("brief", "Brief", {"steps": 1})
    assert workspace.tasks.requeue_waiting() == 1
    assert ended(workspace, brief).state is TaskState.DONE


def test_many_submit_at_once_and_everything_is_done_once(workspace, worker):
    submitted = []

    def submit():
        submitted.extend(workspace.tasks.submit("count", "Count", {"steps": 1}) for _ in range(5))

    threads = [threading.Thread(target=submit) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    until(lambda: workspace.tasks.worker().queued == 0)
    assert len(set(submitted)) == 30
    assert all(ended(workspace, task).state is TaskState.DONE for task in submitted)
    assert all(len(workspace.tasks.metrics(task)) == 1 for task in submitted)


def test_a_message_that_comes_twice_starts_work_once(workspace, worker, settings):
    task = workspace.tasks.submit("count", "Count", {"steps": 3})
    queue = WorkQueue(settings)
    for _ in range(5):
        queue.put(task)
    ended(workspace, task)
    until(lambda: not queue.waiting())
    queue.close()
    assert len(workspace.tasks.metrics(task)) == 3


def test_cancelling_while_queued_is_at_once(workspace):
    task = workspace.tasks.submit("count", "Count", {"steps": 3})
    info = workspace.tasks.cancel(task)
    assert info.state is TaskState.CANCELLED
    worker = Worker(workspace, threads=1, kinds=kinds_for_tests())
    worker.start()
    other = workspace.tasks.submit("count", "Count", {"steps": 1})
    assert ended(workspace, other).state is TaskState.DONE
    assert worker.stop()
    assert workspace.tasks.get(task).state is TaskState.CANCELLED
    assert workspace.tasks.metrics(task) == []


def test_cancelling_while_running_takes_less_than_half_a_second(workspace, worker, refuses):
    def seconds_to_cancel():
        task = workspace.tasks.submit("count", "Count", {"steps": 1000, "pause": 0.01})
        until(lambda: workspace.tasks.get(task).state is TaskState.RUNNING)
        begun = time.monotonic()
        workspace.tasks.cancel(task)
        info = ended(workspace, task)
        taken = time.monotonic() - begun
        assert (info.state, info.error) == (TaskState.CANCELLED, None)
        with refuses(ConflictError):
            workspace.tasks.cancel(task)
        return taken

    # other tests may have the processors at any one moment
    assert any(seconds_to_cancel() < 0.5 for _ in range(5))


def test_a_retry_is_a_new_attempt_with_the_same_parameters(workspace, worker):
    first = ended(workspace, workspace.tasks.submit("refuse", "Refuse", {"a": [1, 2]}))
    second = ended(workspace, workspace.tasks.retry(first.id))
    third = ended(workspace, workspace.tasks.retry(second.id))
    assert (second.attempt, third.attempt) == (2, 3)
    assert (second.retry_of, third.retry_of) == (first.id, second.id)
    assert third.params == {"a": [1, 2]}
    assert [info.id for info in workspace.tasks.list()] == [third.id, second.id, first.id]
    assert [info.id for info in workspace.tasks.list(1, ["failed"])] == [third.id]


def test_what_succeeded_is_not_retried(workspace, worker, refuses):
    info = ended(workspace, workspace.tasks.submit("count", "Count", {"steps": 1}))
    with refuses(ConflictError):
        workspace.tasks.retry(info.id)


def test_clearing_leaves_what_is_still_to_be_done(workspace):
    waiting = workspace.tasks.submit("count", "Count", {"steps": 1})
    for _ in range(2):
        workspace.tasks.cancel(workspace.tasks.submit("count", "Count", {"steps": 1}))
    assert workspace.tasks.clear_finished() == 2
    assert [info.id for info in workspace.tasks.list()] == [waiting]


def test_what_waits_in_the_database_only_is_put_back(workspace, settings):
    task = workspace.tasks.submit("count", "Count", {"steps": 1})
    queue = WorkQueue(settings)
    queue.ordinary.flush()
    assert queue.waiting() == set()
    worker = Worker(workspace, threads=1, kinds=kinds_for_tests())
    worker.start()
    assert ended(workspace, task).state is TaskState.DONE
    assert worker.stop()
    assert workspace.tasks.requeue_waiting() == 0
    queue.close()


def test_a_queue_that_cannot_be_reached_loses_nothing(workspace, monkeypatch, caplog):
    def unreachable(task):
        raise ConnectionError

    monkeypatch.setattr(workspace._queue, "put", unreachable)
    task = workspace.tasks.submit("count", "Count", {"steps": 1})
    monkeypatch.undo()
    assert workspace.tasks.get(task).state is TaskState.QUEUED
    assert workspace.tasks.requeue_waiting() == 1


def test_a_worker_that_ends_marks_its_tasks(workspace):
    worker = Worker(workspace, threads=1, kinds=kinds_for_tests())
    worker.start()
    task = workspace.tasks.submit("count", "Count", {"steps": 1000, "pause": 0.01})
    until(lambda: workspace.tasks.get(task).state is TaskState.RUNNING)
    assert workspace.tasks.worker().alive
    assert worker.stop()
    info = workspace.tasks.get(task)
    assert info.state is TaskState.INTERRUPTED
    assert "Retry" in info.error[1]
    assert not workspace.tasks.worker().alive


def adopt(workspace, task, **worker):
    """Pretend that a task runs on some worker."""
    with workspace.database.write() as session:
        session.add(WorkerRow(id="a" * 16, pid=1, started=0.0, **worker))
        session.execute(update(TaskRow).where(TaskRow.id == task).values(state="running", worker="a" * 16))


@pytest.mark.parametrize(("age", "state"), [(3.0, TaskState.RUNNING), (60.0, TaskState.INTERRUPTED)])
def test_a_worker_elsewhere_is_known_by_its_beat(workspace, age, state):
    task = workspace.tasks.submit("count", "Count", {"steps": 1})
    adopt(workspace, task, host="elsewhere", birth="", beat=time.time() - age)
    assert workspace.tasks.get(task).state is state
    assert workspace.tasks.worker().alive is (state is TaskState.RUNNING)


def test_a_cancelled_task_of_a_dead_worker_is_cancelled(workspace):
    task = workspace.tasks.submit("count", "Count", {"steps": 1})
    with workspace.database.write() as session:
        session.execute(update(TaskRow).values(state="running", worker="b" * 16, cancel_asked=True))
    assert workspace.tasks.get(task).state is TaskState.CANCELLED


def test_without_a_worker_that_is_said(workspace):
    info = workspace.tasks.worker()
    assert (info.alive, info.count, info.seconds_since_beat, info.queued) == (False, 0, None, 0)
