"""A policy that ended with its worker goes on when one is back: its run, its bounds, what it knew."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import update

from core.bootstrap import open_workspace
from core.config import child_environment
from core.engines.values import has_label
from core.errors import Cancelled, ConflictError, Interrupted
from core.live.attach.activity import MAX_CONTINUED
from core.live.control.saved_limits import BY_HAND
from core.live.view import ATTACH, LiveFiles, read_attached
from core.sampling.values import Mode
from core.scheduling.actions import SetLimit
from core.scheduling.model import JobState, at_most
from core.workspace.database_schema import RunRow, TaskRow
from core.workspace.records import TaskState
from tests.builders import demo_rows
from tests.runtime.kinds_for_tests import until

ROOT = Path(__file__).parents[3]


@pytest.fixture
def space(settings, tmp_path):
    """A workspace whose only engine that answers is the demo."""
    opened = open_workspace(replace(settings, docker=f"here=unix://{tmp_path}/none.sock"))
    yield opened
    opened.close()


def attach(space, mode=Mode.CONTROL, **more):
    return space.live.policies.attach("demo", "flowcon", {"itval": 1.0}, mode, **more)


def session(space):
    """The task of the attached policy, or None."""
    return space.live.view._sessions.of("demo").get(ATTACH)


def entries(space, run):
    return list(space.runs.ledgers.entries(run))


def change(space, task, **values):
    with space.database.write() as session_:
        session_.execute(update(TaskRow).where(TaskRow.id == task).values(**values))


def work(space, task, *, seconds=1.5, during=lambda: None):
    """Do a task as a worker does that ends so many seconds after the policy's first new decision."""
    params, begun, said = space.tasks.get(task).params, [], []
    run = params.get("run", task)
    before = space.runs.get(run).ticks if "run" in params else 0
    change(space, task, state=TaskState.RUNNING, worker="w", started=time.time())
    files = LiveFiles(space.settings.home, "demo")

    def say(_text):
        stored = read_attached(files.attached)
        if stored is not None and stored[0].run and space.runs.get(run).ticks > before and not begun:
            begun.append(time.monotonic())
            said.append(stored[0])
        if begun and time.monotonic() - begun[0] > seconds:
            during()
            raise Interrupted("The worker ended.", "Retry it.")

    with pytest.raises(Interrupted):
        space.live.policy_loop.run(params, task, say, lambda _: None)
    over = {"state": TaskState.INTERRUPTED, "finished": time.time(), "error_message": "The worker ended."}
    change(space, task, **over)
    return run, said[0]


def test_the_run_goes_on_with_its_clock_its_jobs_and_its_ledger(space):
    run, _ = work(space, attach(space))
    first = entries(space, run)
    evidence_before = space.runs.ledgers.series(run)
    space.clean_up()
    again = session(space)
    assert again.retry_of == run
    assert again.params | {"run": run, "worker_ends": again.params["worker_ends"]} == again.params
    same, shown = work(space, again.id)
    assert same == run
    every = entries(space, run)
    later = every[len(first) :]
    assert every[: len(first)] == first
    assert [each.observation.number for each in every] == list(range(len(every)))
    assert later[0].observation.time > first[-1].observation.time
    jobs = {job.id: job for job in first[-1].observation.jobs}
    seen = [job for job in later[0].observation.jobs if job.id in jobs]
    assert seen
    for job in seen:
        before = jobs[job.id]
        assert (job.arrived, job.started) == (before.arrived, before.started)
        assert job.owner_cores == before.owner_cores, "its owner's bound, not the policy's limit"
        given = [each for each in first[-1].actions if isinstance(each, SetLimit) and each.job == job.id]
        assert job.limit == (at_most(job.max_cores, given[-1].limit) if given else before.limit)
        assert all(when > first[-1].observation.time for when, _ in job.readings), "none is shown twice"
    assert space.runs.replay(run) == [], "the policy has the state that it had"
    series = space.runs.ledgers.series(run)
    assert series["time"][: len(evidence_before["time"])] == evidence_before["time"]
    assert shown.since == pytest.approx(space.runs.get(run).created.timestamp())
    assert shown.worker_ended_at == pytest.approx(again.params["worker_ends"][-1])
    assert shown.worker_ended_at <= shown.reattached_at <= time.time()


@pytest.mark.parametrize("prevented", ["detach", "release", "setting", "attach"])
def test_a_person_or_the_setting_prevents_it(space, prevented):
    task = attach(space, reattach=prevented != "setting")
    work(space, task, seconds=0.0)
    if prevented == "detach":
        assert space.live.policies.detach("demo") == task
        assert space.tasks.get(task).state is TaskState.CANCELLED
    elif prevented == "release":
        space.live.limits.release("demo")
    elif prevented == "attach":
        other = attach(space, Mode.WATCH)
        space.live.policies.detach("demo")
        assert space.tasks.get(other).state is TaskState.CANCELLED
    space.clean_up()
    assert session(space) is None
    if prevented == "setting":
        assert session_of(space, space.live.policies.reattach(task)).params["run"] == task


def session_of(space, task):
    return space.tasks.get(task)


def test_it_is_attached_again_once_whoever_asks(space, refuses):
    task = attach(space, Mode.WATCH)
    work(space, task, seconds=0.0)
    again = space.live.policies.reattach(task)
    with refuses(ConflictError):
        space.live.policies.reattach(task)
    assert space.live.policies.reattach_interrupted() == ()
    assert session(space).id == again


def test_a_run_too_long_to_be_read_again_is_left_and_a_new_one_begins(space):
    task = attach(space, Mode.WATCH)
    run, _ = work(space, task, seconds=0.0)
    with space.database.write() as session_:
        session_.execute(update(RunRow).where(RunRow.id == run).values(entries=MAX_CONTINUED + 1))
    again = space.live.policies.reattach(task)
    change(space, again, state=TaskState.RUNNING, worker="w", started=time.time())

    def say(_text):
        stored = read_attached(LiveFiles(space.settings.home, "demo").attached)
        if stored is not None and stored[0].entries:
            raise Cancelled

    found = space.live.policy_loop.run(space.tasks.get(again).params, again, say, lambda _: None)
    assert found["run"] != run
    assert space.runs.get(found["run"]).ticks > 0


def test_one_that_takes_its_worker_down_each_time_stays_ended(space):
    task = attach(space, Mode.WATCH)
    for _ in range(2):
        work(space, task, seconds=0.0)
        space.clean_up()
        task = session(space).id
    work(space, task, seconds=0.0)
    space.clean_up()
    assert session(space) is None
    assert space.live.view.peek("demo").failed.id == task


def test_limits_that_are_not_restored_yet_are_waited_for(space):
    task = attach(space)
    work(space, task, seconds=0.0)
    assert space.live.policies.reattach_interrupted({task}) == ()
    assert space.live.policies.reattach_interrupted() != ()


def steer(space, task, row, cores):
    """Limit a container as a policy does that is then killed."""
    with space.live.engines.host("demo", space.live.saved_limits.keeper(task), has_label) as host:
        host.set_limits(row.id, host.inspect(row.id).limits.with_cores(cores))


def test_what_the_owner_changes_while_no_worker_is_there_is_respected(space):
    free, other = [row for row in demo_rows(space).values() if row.cpu_limit is None][:2]
    for each in (free, other):
        steer(space, "dead", each, 0.5)
        steer(space, "dead", each, 0.4)
    with space.live.engines.host("demo") as host:
        number = host.inspect(free.id).number
        host.world.change(lambda now: now.replay.changed(number, limit=1.5))
    space.clean_up()
    now = demo_rows(space)
    assert (now[free.name].cpu_limit, now[other.name].cpu_limit) == (1.5, None)
    assert space.live.saved_limits.all() == ()


def test_a_kill_between_writing_a_limit_and_setting_it_changes_nothing_of_the_owners(space):
    one = next(row for row in demo_rows(space).values() if row.cpu_limit == 1.0)
    steer(space, "dead", one, 0.5)
    keeper = space.live.saved_limits.keeper("dead")
    with space.live.engines.host("demo") as host:
        now = host.inspect(one.id).limits
        keeper.keep(host.key(), one.id, now.to_dict(), now.with_cores(0.2).to_dict())
    space.clean_up()
    assert demo_rows(space)[one.name].cpu_limit == 1.0


def test_a_limit_set_by_hand_in_between_goes_back_to_the_original_one(space):
    one = next(row for row in demo_rows(space).values() if row.cpu_limit == 1.0)
    steer(space, "dead", one, 0.5)
    assert space.live.limits.set_limit("demo", one.id, 0.8).before.cores == 1.0
    space.clean_up()
    assert demo_rows(space)[one.name].cpu_limit == 0.8
    assert [saved.owner for saved in space.live.saved_limits.all()] == [BY_HAND]
    assert space.live.limits.undo("demo", one.id).after.cores == 1.0


def test_a_container_that_is_gone_has_ended_and_another_one_is_another_job(space):
    task = attach(space)
    gone = []

    def stop():
        """End a job behind the worker's back, after its last decision."""
        with space.live.engines.host("demo") as host:
            each = next(each for each in host.containers() if has_label(each))
            gone.append(each)

    run, _ = work(space, task, during=stop)
    last = entries(space, run)[-1].observation
    with space.live.engines.host("demo") as host:
        host.world.change(lambda now: now.replay.stopped(host.world.plan, gone[0].number))
    space.clean_up()
    work(space, session(space).id)
    later = entries(space, run)[-1 - len(entries(space, run)) + last.number + 1 :]
    first = entries(space, run)[last.number + 1].observation
    assert later
    ended = {job.id: job.state for job in first.ended}
    assert ended[gone[0].name] is JobState.FAILED
    assert gone[0].name not in {job.id for job in first.jobs}
    assert space.runs.replay(run) == []


_WORKER = """
from core.bootstrap import open_workspace, worker_for
from core.config import load_settings
worker_for(open_workspace(load_settings()), threads=1).run()
"""


@pytest.mark.slow
def test_a_worker_that_is_killed_and_started_again_goes_on(space):
    environment = child_environment(space.settings) | {"PHASEDOCK_DOCKER": space.settings.docker}

    def start():
        return subprocess.Popen([sys.executable, "-c", _WORKER], env=environment, cwd=ROOT)

    before = {name: row.cpu_limit for name, row in demo_rows(space).items()}
    run, worker = attach(space), start()
    try:
        until(lambda: any(saved.owner == run for saved in space.live.saved_limits.all()), 60)
        os.kill(worker.pid, signal.SIGKILL)
        worker.wait(10)
        held = {saved.container for saved in space.live.saved_limits.all()}
        assert held, "nobody restores them before a worker is back"
        assert space.tasks.get(run).state is TaskState.INTERRUPTED
        decided = space.runs.get(run).ticks
        worker = start()
        until(lambda: space.runs.get(run).ticks > decided + 1, 60)
        view = space.live.view.request_view("demo")
        assert (view.attached.run, view.attached.mode) == (run, Mode.CONTROL)
        assert view.attached.worker_ended_at <= view.attached.reattached_at
        space.live.policies.detach("demo")
        until(lambda: session(space) is None, 30)
        after = {name: row.cpu_limit for name, row in demo_rows(space).items()}
        assert {name: after[name] for name in before if name in after} == {
            name: limit for name, limit in before.items() if name in after
        }
        assert space.live.saved_limits.all() == ()
        assert space.runs.replay(run) == []
    finally:
        worker.kill()
        worker.wait(10)
