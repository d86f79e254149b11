"""Experiments as tasks: runs kept by what they depend on, ledgers read by tick, and nothing lost."""

import subprocess
import sys

import pytest
from sqlalchemy import select, update

from core.bootstrap import open_workspace, worker_for
from core.config import child_environment
from core.errors import Cancelled, ConflictError, Interrupted, NotFoundError
from core.experiments.spec_reader import read_experiment
from core.runs.runner import run_arm
from core.runs.values import Keep
from core.scheduling.policies import POLICIES
from core.workspace import ledgers
from core.workspace.database_schema import LedgerRow, RunRow, SeriesRow
from core.workspace.records import RunState, TaskState
from tests.experiments.making import RANDOM, some, three
from tests.runtime.kinds_for_tests import until
from tests.synthetic import synthetic_traces


def rows(workspace, table):
    with workspace.database.read() as session:
        return session.scalars(select(table)).all()


def test_a_task_runs_every_policy_on_every_seed(workspace):
    worker = worker_for(workspace, threads=1)
    worker.start()
    task = workspace.runs.submit(some())
    info = until(lambda: (found := workspace.tasks.get(task)).state.ended and found, 60)
    assert worker.stop()
    assert info.state is TaskState.DONE, info.error
    made = workspace.runs.experiment(info.result["experiment"])
    assert made.id == info.params["experiment"]
    assert (made.task, made.experiment) == (task, some())
    assert {label: list(runs) for label, runs in made.runs.items()} == {
        "fewest": [5, 6, 7],
        "specon": [5, 6, 7],
    }
    assert [row["label"] for row in made.report["comparison"]] == ["fewest", "specon"]
    run = workspace.runs.get(made.runs["specon"][5])
    assert (run.state, run.task, run.policy, run.seed) == (RunState.DONE, task, "specon", 5)
    assert workspace.runs.result(run.id) == run_arm(some(), some().arm("specon"), 5)
    assert workspace.runs.experiments()[0].id == made.id


def in_state(workspace, state):
    """The runs that are shown in a state, whatever their rows still say."""
    return [run for run in workspace.runs.list() if run.state is state]


def test_only_the_first_seed_of_each_policy_keeps_its_ledger_unless_asked(workspace):
    made = workspace.runs.make(some())
    kept = [(run.seed, run.ticks > 0) for run in workspace.runs.list()]
    assert sorted(kept) == [(5, True)] * 2 + [(6, False)] * 2 + [(7, False)] * 2
    other = made.runs["fewest"][6]
    for ask in (
        workspace.runs.ledgers.series,
        workspace.runs.replay,
        lambda run: workspace.runs.ledgers.entry(run, 0),
    ):
        with pytest.raises(NotFoundError):
            ask(other)
    again = workspace.runs.make(some(), keep=Keep.ALL)
    assert again.runs["fewest"][5] == made.runs["fewest"][5]
    assert again.runs["fewest"][6] != other
    assert workspace.runs.get(again.runs["fewest"][6]).ticks > 0
    assert (
        workspace.runs.make(some(RANDOM + "baseline: specon\n"), keep=Keep.NONE).runs["fewest"][5]
        == (made.runs["fewest"][5])
    )


def test_a_ledger_is_read_by_tick_from_several_parts(workspace, monkeypatch, refuses):
    monkeypatch.setattr(ledgers, "_BATCH", 4)
    made = workspace.runs.make(three())
    run = made.runs["FlowCon"][1]
    entries = list(workspace.runs.ledgers.entries(run))
    assert len([row for row in rows(workspace, LedgerRow) if row.run == run]) == 3
    assert len(entries) == workspace.runs.get(run).ticks == 11
    ticks = workspace.runs.ledgers.ticks(run)
    for entry, tick in zip(entries, ticks, strict=True):
        assert workspace.runs.ledgers.entry(run, tick.number) == entry
        assert (tick.time, tick.trigger) == (entry.observation.time, entry.observation.trigger)
        assert tick.actions == len(entry.actions)
    for beyond in (-1, 11, 999):
        with refuses(NotFoundError):
            workspace.runs.ledgers.entry(run, beyond)
    assert workspace.runs.replay(run) == []
    lines = workspace.runs.ledgers.series(run)
    assert lines["time"] == pytest.approx([tick.time for tick in ticks], abs=1e-6)
    assert set(lines["jobs"]) == {"VAE", "MNIST-P", "MNIST-T"}


def test_a_stored_run_of_every_policy_is_replayed_the_same(workspace):
    workspace.traces.add(synthetic_traces(4, samples=60)[0], None, name="past")
    arms = dict.fromkeys(POLICIES, "{}") | {"autopilot": "{policy: prev.step.max, traces: past}"}
    listed = ", ".join(f"{{policy: {name}, settings: {chosen}}}" for name, chosen in arms.items())
    text = RANDOM.replace("[fewest, specon]", f"[{listed}]").replace("count: 3", "count: 1")
    workspace.runs.make(read_experiment(text))
    found = workspace.runs.list()
    assert len(found) == len(POLICIES)
    assert [workspace.runs.replay(run.id) for run in found] == [[]] * len(found)


def test_what_was_made_is_not_made_again(workspace):
    first = workspace.runs.make(some())
    ids = {run.id for run in workspace.runs.list()}
    again = workspace.runs.make(some(RANDOM.replace("count: 3, first: 5", "count: 5, first: 5")))
    assert {run.id for run in workspace.runs.list()} > ids
    assert again.runs["fewest"][6] == first.runs["fewest"][6]
    assert len(workspace.runs.list()) == 10
    other = workspace.runs.make(some(RANDOM.replace("gamma: 0.02", "gamma: 0.03")))
    assert not ids & {run for runs in other.runs.values() for run in runs.values()}
    slower = workspace.runs.make(
        some(RANDOM.replace("[fewest, specon]", "[fewest, {policy: specon, settings: {alpha: 0.2}}]"))
    )
    assert slower.runs["fewest"] == first.runs["fewest"]
    assert slower.runs["specon"] != first.runs["specon"]


def test_a_stopped_run_keeps_the_ledger_it_has_and_a_retry_goes_on(workspace, monkeypatch, refuses):
    monkeypatch.setattr(ledgers, "_BATCH", 2)

    def stop(fraction, _message, /, **_metrics):
        if fraction > 0.9:
            raise Cancelled

    identity = workspace.runs.submit(some())
    known = workspace.tasks.get(identity).params["experiment"]
    with pytest.raises(Cancelled):
        workspace.runs.make(known, stop, Keep.ALL)
    stopped = in_state(workspace, RunState.CANCELLED)
    assert len(stopped) == 1
    assert stopped[0].summary is None
    assert stopped[0].ticks > 2
    assert workspace.runs.replay(stopped[0].id) == []
    with refuses(ConflictError):
        workspace.runs.result(stopped[0].id)
    done = {run.id for run in in_state(workspace, RunState.DONE)}
    finished = workspace.runs.make(known, keep=Keep.ALL)
    assert finished.id == known
    assert done < {run for runs in finished.runs.values() for run in runs.values()}


def test_a_run_whose_worker_died_is_interrupted_and_its_ledger_is_there(workspace, settings, monkeypatch):
    monkeypatch.setattr(ledgers, "_BATCH", 2)
    made = workspace.runs.make(three())
    run = made.runs["NA"][1]
    with workspace.database.write() as session:
        session.execute(
            update(RunRow).where(RunRow.id == run).values(state="running", task="f" * 16, summary=None)
        )
    other = open_workspace(settings)
    assert other.runs.get(run).state is RunState.INTERRUPTED
    assert other.sweep() >= 1
    assert in_state(other, RunState.INTERRUPTED)[0].id == run
    assert len(list(other.runs.ledgers.entries(run))) == 6
    assert other.runs.make(three()).runs["NA"][1] != run
    other.close()


def test_runs_are_listed_and_removed(workspace, refuses):
    first, second = workspace.runs.make(three()), workspace.runs.make(some())
    assert len(workspace.runs.list(experiment=second.id)) == 6
    assert len(workspace.runs.list(3)) == 3

    run = first.runs["NA"][1]
    assert workspace.runs.delete([run]) == 1
    with refuses(NotFoundError):
        workspace.runs.get(run)
    assert {row.run for row in rows(workspace, LedgerRow)} == {row.run for row in rows(workspace, SeriesRow)}
    assert run not in {row.run for row in rows(workspace, LedgerRow)}
    assert workspace.runs.delete_experiment(second.id) == 6
    with refuses(NotFoundError):
        workspace.runs.experiment(second.id)
    with pytest.raises(NotFoundError):
        workspace.runs.get("../runs")


def test_a_run_that_goes_on_is_not_removed(workspace, refuses):
    made = workspace.runs.make(three())
    run = made.runs["NA"][1]
    with workspace.database.write() as session:
        session.execute(update(RunRow).where(RunRow.id == run).values(state="running", task=None))
    with refuses(ConflictError):
        workspace.runs.delete([run])


def test_a_worker_killed_in_mid_run_leaves_a_ledger_that_can_be_replayed(workspace, settings, tmp_path):
    long = RANDOM.replace("{count: 6}", "{count: 400}").replace("within: 100", "within: 40000")
    task = workspace.runs.submit(read_experiment(long))
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "core.cli", "worker"],
            env=child_environment(settings),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
        try:
            run = until(lambda: next((run for run in workspace.runs.list() if run.ticks), None), 60)
        finally:
            process.kill()
            process.wait(20)
    left = workspace.runs.get(run.id)
    assert workspace.tasks.get(task).state is TaskState.INTERRUPTED
    assert left.state is RunState.INTERRUPTED
    assert (
        len(list(workspace.runs.ledgers.entries(run.id)))
        == left.ticks
        == len(workspace.runs.ledgers.ticks(run.id))
    )
    assert workspace.runs.replay(run.id) == []
    again = workspace.tasks.retry(task)
    assert workspace.tasks.get(again).params == workspace.tasks.get(task).params


@pytest.mark.parametrize(
    ("error", "state"),
    [(Interrupted("Stopped.", ""), RunState.INTERRUPTED), (ZeroDivisionError(), RunState.FAILED)],
)
def test_a_run_that_cannot_go_on_says_so(workspace, error, state):
    def break_off(fraction, _message, /, **_metrics):
        if fraction > 0:
            raise error

    with pytest.raises(type(error)):
        workspace.runs.make(three(), break_off)
    assert [run.state for run in workspace.runs.list()] == [state]
