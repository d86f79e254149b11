"""A healthy store has no contradictions; each one there can be is found and said in a sentence."""

import os
import shutil
import time

import pytest
from sqlalchemy import update

from core.application import Finding, check_store
from core.workspace.database_schema import TaskRow
from core.workspace.records import RunState, TaskState
from tests.builders import small_model, small_traces
from tests.cli.test_cli import run, run_json


@pytest.fixture
def traces(workspace):
    return workspace.traces.add(small_traces(), None, name="jobs")


def findings(workspace):
    return [(found.about, found.id, found.sentence) for found in check_store(workspace).findings]


def test_a_store_with_something_of_everything_is_healthy(workspace, traces):
    workspace.models.add(small_model(workspace.traces.load(traces.id)), name="m", task="t")
    workspace.tasks.submit("samples", "Samples", {})
    workspace.tasks.cancel(workspace.tasks.submit("samples", "Samples", {}))
    found = check_store(workspace)
    assert found.findings == ()
    assert found.checked == {"tasks": 2, "runs": 0, "trace sets": 1, "models": 1}


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"state": "asleep"}, "It is in the unknown state “asleep”."),
        ({"state": "running"}, "It is running but has no time of its start."),
        ({"finished": 1.0}, "It is queued but has a time of its end already."),
        ({"progress": 1.5}, "Its progress is 1.5, not between 0 and 1."),
        ({"attempt": 2}, "It is attempt 2, but the attempt before it is not named."),
    ],
)
def test_an_impossible_task_is_found(workspace, values, said):
    task = workspace.tasks.submit("samples", "Samples", {})
    with workspace.database.write() as session:
        session.execute(update(TaskRow).values(**values))
    assert findings(workspace)[0] == ("task", task, said)


def test_a_task_whose_file_is_gone_is_found(workspace):
    task = workspace.tasks.submit("ingest", "Import", {"upload": "0" * 16, "name": "x"})
    ((about, found, sentence),) = findings(workspace)
    assert (about, found) == ("task", task)
    assert sentence.startswith("It waits for an upload that cannot be read")


def test_rows_without_files_and_files_without_rows_are_found(workspace, traces, settings):
    shutil.rmtree(settings.home / "traces" / traces.id)
    left, fresh = settings.home / "models" / ("a" * 16), settings.home / "models" / ("b" * 16)
    left.mkdir()
    fresh.mkdir()
    long_ago = time.time() - 3600
    os.utime(left, (long_ago, long_ago))
    assert [found[:2] for found in findings(workspace)] == [("trace set", traces.id), ("model", "a" * 16)]
    workspace.sweep()
    assert [found[0] for found in findings(workspace)] == ["trace set"]


def test_parts_of_what_is_gone_are_found(workspace, settings):
    spoiling = workspace.database._engine.raw_connection()
    spoiling.execute("PRAGMA foreign_keys = OFF")
    spoiling.execute("INSERT INTO task_log (task, time, text, internal) VALUES ('gone', 0, '', 0)")
    spoiling.execute("INSERT INTO run_series (run, data) VALUES ('lost', x'00')")
    spoiling.commit()
    spoiling.execute("PRAGMA foreign_keys = ON")
    spoiling.close()
    assert [found[:2] for found in findings(workspace)] == [("task", "gone"), ("run", "lost")]


@pytest.mark.parametrize(("state", "said"), [("done", "no result"), ("asleep", "unknown state")])
def test_an_impossible_run_is_found(workspace, state, said):
    from core.workspace.database_schema import RunRow

    row = RunRow(
        id="r", experiment="", name="", label="", policy="", settings={}, seed=1, scenario="", key="",
        state=RunState.RUNNING, created=time.time()
    )  # fmt: skip
    with workspace.database.write() as session:
        session.add(row)
    assert findings(workspace) == []
    with workspace.database.write() as session:
        session.execute(update(RunRow).values(state=state))
    ((about, _, sentence),) = findings(workspace)
    assert about == "run"
    assert said in sentence


def test_the_command_prints_what_it_found(workspace, settings, monkeypatch):
    monkeypatch.setenv("PHASEDOCK_HOME", str(settings.home))
    assert run_json("tasks", "check")["findings"] == []
    assert "No contradictions in 0 tasks" in run("tasks", "check").stdout
    task = workspace.tasks.submit("samples", "Samples", {})
    with workspace.database.write() as session:
        session.execute(update(TaskRow).values(state=TaskState.DONE))
    found = run_json("tasks", "check", code=1)["findings"]
    assert {Finding(**each).id for each in found} == {task}
    assert "It is done but has no result." in run("tasks", "check", code=1).stdout.replace("\n", " ")
