"""Whatever workers and people do to tasks, and whoever dies meanwhile, the store stays sound."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, multiple, rule
from sqlalchemy import update

from core.application import Workspace, check_store
from core.config import Settings
from core.errors import Cancelled, ConflictError, InputError, Interrupted
from core.registry import Registry
from core.tasks.worker import Worker
from core.workspace.database_schema import WorkerRow
from core.workspace.records import TaskState
from tests.examples import fewer
from tests.runtime.kinds_for_tests import kind_for_tests

ENDINGS = {
    "finish": TaskState.DONE,
    "refuse": TaskState.FAILED,
    "break": TaskState.FAILED,
    "stop": TaskState.CANCELLED,
    "worker ends": TaskState.INTERRUPTED,
    "worker dies": TaskState.INTERRUPTED,
    "worker dies after storing": TaskState.DONE,
    "worker dies after a wish to stop": TaskState.CANCELLED,
    "finish, taken for dead meanwhile": TaskState.DONE,
    "refuse, taken for dead meanwhile": TaskState.FAILED,
}


class Killed(BaseException):
    """The process is gone: nothing after this line happens."""


class TasksMachine(RuleBasedStateMachine):
    """Tasks as a person sees them, beside what the runtime says of them."""

    tasks = Bundle("tasks")

    def __init__(self):
        super().__init__()
        self.home = tempfile.TemporaryDirectory()
        self.kinds = Registry("kind of task")
        self.kinds.add("scripted", kind_for_tests("scripted", self.scripted))
        self.workspace = Workspace(Settings(home=Path(self.home.name)), self.kinds)
        self.worker = self.new_worker()
        self.expected = {}
        self.ending = ""

    def new_worker(self):
        worker = Worker(self.workspace, threads=1, kinds=self.kinds)
        worker._register()
        return worker

    def scripted(self, context, _params):
        """Do what the rule says: end in some way, or die in the middle."""
        context.progress(0.5, "half-way")
        if "after storing" in self.ending:
            self.workspace.models.repository.add("m", lambda _: {}, context.task)
        if "wish to stop" in self.ending or self.ending == "stop":
            self.workspace.tasks.cancel(context.task)
        if "dies" in self.ending:
            raise Killed
        if "taken for dead" in self.ending:
            self.change_worker(host="elsewhere", beat=0.0)
            assert self.workspace.tasks.get(context.task).state is TaskState.INTERRUPTED
            self.workspace.tasks.reap()
        errors = {"refuse": InputError("No.", "Yes."), "break": ZeroDivisionError(), "stop": Cancelled()}
        errors["worker ends"] = Interrupted("The worker ends.", "Retry it.")
        if (error := errors.get(self.ending.split(",")[0])) is not None:
            raise error
        return {"made": 1}

    def change_worker(self, **values):
        with self.workspace.database.write() as session:
            session.execute(update(WorkerRow).where(WorkerRow.id == self.worker.id).values(**values))

    @rule(target=tasks)
    def submit(self):
        task = self.workspace.tasks.submit("scripted", "Scripted", {})
        self.expected[task] = TaskState.QUEUED
        return task

    @rule(task=tasks, ending=st.sampled_from(sorted(ENDINGS)))
    def work(self, task, ending):
        """A message for the worker; it may be about a task that was begun, or cleared, long ago."""
        if self.expected.get(task) is TaskState.QUEUED:
            self.expected[task] = ENDINGS[ending]
        self.ending = ending
        try:
            self.worker.work(task)
        except Killed:
            self.change_worker(birth="another process")
            self.worker = self.new_worker()
        if "taken for dead" in ending:
            self.worker = self.new_worker()

    @rule(target=tasks, task=tasks)
    def retry(self, task):
        state = self.expected.get(task)
        if state not in (TaskState.FAILED, TaskState.CANCELLED, TaskState.INTERRUPTED):
            return multiple()
        again = self.workspace.tasks.retry(task)
        self.expected[again] = TaskState.QUEUED
        return again

    @rule(task=tasks)
    def cancel(self, task):
        match self.expected.get(task):
            case TaskState.QUEUED:
                self.workspace.tasks.cancel(task)
                self.expected[task] = TaskState.CANCELLED
            case None:
                return
            case _:
                with pytest.raises(ConflictError):
                    self.workspace.tasks.cancel(task)

    @rule()
    def reap(self):
        self.workspace.tasks.reap()
        assert self.workspace.tasks.reap() == 0

    @rule()
    def clear(self):
        left = {task: state for task, state in self.expected.items() if not state.ended}
        assert self.workspace.tasks.clear_finished() == len(self.expected) - len(left)
        self.expected = left

    @rule()
    def lose_messages(self):
        """What waits in the database only is put back, once each."""
        self.workspace._queue.ordinary.flush()
        waiting = sum(state is TaskState.QUEUED for state in self.expected.values())
        assert self.workspace.tasks.requeue_waiting() == waiting
        assert self.workspace.tasks.requeue_waiting() == 0

    @invariant()
    def the_store_is_sound(self):
        assert check_store(self.workspace).findings == ()

    @invariant()
    def every_task_is_shown_as_it_is(self):
        shown = {info.id: info.state for info in self.workspace.tasks.list()}
        assert shown == self.expected
        for state in (TaskState.RUNNING, TaskState.INTERRUPTED):
            found = {info.id for info in self.workspace.tasks.list(states=[state])}
            assert found == {task for task, known in self.expected.items() if known is state}

    def teardown(self):
        self.workspace.close()
        self.home.cleanup()


TestTasksMachine = TasksMachine.TestCase
TestTasksMachine.settings = fewer(4, stateful_step_count=12)
