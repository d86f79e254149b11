"""Comparisons as tasks: kept on disk by what they depend on, cancelled, and shown again at once."""

import json
import time
from dataclasses import replace

import numpy as np
import pytest
from sqlalchemy import update

from core.bootstrap import open_workspace, worker_for
from core.errors import Cancelled, InputError, NotFoundError
from core.provisioning.evaluation.evaluate import EvaluationSettings, evaluate
from core.provisioning.fleet import Resource
from core.provisioning.policies import POLICIES as REGISTER
from core.workspace import code_version
from core.workspace.database_schema import TaskRow
from core.workspace.evaluations import Question
from core.workspace.phase_labels import PhaseLabels
from core.workspace.records import TaskState
from tests.builders import small_model, small_traces
from tests.runtime.kinds_for_tests import until

SETTINGS = EvaluationSettings(cycle=100.0, group_by="workload", holdout=0.5, draws=100)
POLICIES = ("budget.oracle", "prev.step.max", "prev.step.rules", "phase.rule")


@pytest.fixture
def stored(workspace):
    traces = small_traces(8, samples=60)
    info = workspace.traces.add(traces, None, name="set")
    model = workspace.models.add(small_model(traces), name="model")
    return workspace, traces, Question(info.id, model.id, SETTINGS, POLICIES)


def test_a_task_compares_and_keeps_what_it_found(stored):
    workspace, traces, question = stored
    assert workspace.evaluations.find(question) is None
    worker = worker_for(workspace, threads=1)
    worker.start()
    task = workspace.evaluations.submit(question)
    info = until(lambda: (found := workspace.tasks.get(task)).state.ended and found, 60)
    assert worker.stop()
    assert info.state is TaskState.DONE, info.error
    kept = workspace.evaluations.get(info.result["evaluation"])
    assert workspace.evaluations.find(question) is kept
    expected = evaluate(traces, workspace.models.load(question.model), SETTINGS, POLICIES)
    assert kept.report == expected.report
    for at, name in enumerate(kept.report["split"]["held_out"]):
        fleet = expected.held_out[Resource.CPU].fleet
        part = slice(int(fleet.offsets[at]), int(fleet.offsets[at + 1]))
        found = kept.allocation("cpu", "phase.rule", name)
        np.testing.assert_allclose(found, expected.allocations[Resource.CPU]["phase.rule"][part], rtol=1e-6)
    assert kept.allocation("cpu", "phase.rule", "nobody") is None
    assert kept.allocation("cpu", "vpa", kept.report["split"]["held_out"][0]) is None


def test_it_is_shown_again_at_once_by_another_process(stored, settings):
    workspace, _, question = stored
    made = workspace.evaluations.make(question)
    other = open_workspace(settings)
    took = []
    for _ in range(3):  # garbage of the tests before may be collected in one of them
        begun = time.thread_time()
        found = other.evaluations.find(question)
        took.append(time.thread_time() - begun)
        assert found.report == made.report
    assert min(took) < 0.5
    other.close()


def test_what_it_depends_on_is_in_its_key(stored):
    workspace, _, question = stored
    first = workspace.evaluations.key(question)
    changed = [
        Question(question.trace_set, None, SETTINGS, POLICIES),
        Question(question.trace_set, question.model, EvaluationSettings(cycle=50.0), POLICIES),
        Question(question.trace_set, question.model, SETTINGS, ("prev.step.max",)),
        Question(question.trace_set, question.model, SETTINGS, POLICIES, {"phase.rule": {"kappa": 3}}),
    ]
    assert len({first, *(workspace.evaluations.key(each) for each in changed)}) == 5
    assert workspace.evaluations.key(Question.from_dict(question.to_dict())) == first


def changed(monkeypatch, tmp_path, package, line="# another way"):
    """As if a package's code had been another when the program started."""
    (tmp_path / "other.py").write_text(line)
    before = code_version._places
    monkeypatch.setattr(
        code_version,
        "_places",
        lambda name: [*before(name), *([tmp_path / "other.py"] if name == package else [])],
    )
    code_version._shared.cache_clear()


@pytest.fixture(autouse=True)
def _clear_source_cache():
    yield
    code_version._shared.cache_clear()


@pytest.mark.parametrize("package", ["core.provisioning", "core.phases", "core.traces"])
def test_other_code_is_another_comparison_and_the_earlier_one_stays(stored, monkeypatch, tmp_path, package):
    workspace, _, question = stored
    earlier = workspace.evaluations.make(question)
    task = workspace.evaluations.submit(question)
    finish(workspace, task, earlier.key)
    assert workspace.evaluations.find_earlier(question) is None
    changed(monkeypatch, tmp_path, package)
    assert workspace.evaluations.find(question) is None
    assert workspace.evaluations.find_earlier(question) is earlier
    assert workspace.evaluations.get(earlier.key) is earlier
    other = replace(question, policies=("phase.rule",))
    assert workspace.evaluations.find_earlier(other) is None
    made = workspace.evaluations.make(question)
    assert made.key != earlier.key
    assert workspace.evaluations.find(question) is made


def finish(workspace, task, key):
    with workspace.database.write() as session:
        values = {"state": TaskState.DONE, "result": {"evaluation": key}}
        session.execute(update(TaskRow).where(TaskRow.id == task).values(**values))


def test_another_default_of_a_policy_is_another_comparison(stored, monkeypatch):
    workspace, _, question = stored
    with_it, without = replace(question, policies=("quantile.phase",)), question
    keys = [workspace.evaluations.key(each) for each in (with_it, without)]
    policy = replace(REGISTER["quantile.phase"], defaults={"features": "none"})
    monkeypatch.setitem(REGISTER._entries, "quantile.phase", policy)
    now = [workspace.evaluations.key(each) for each in (with_it, without)]
    assert [one == other for one, other in zip(now, keys, strict=True)] == [False, True]


def test_what_is_said_twice_or_of_nobody_is_the_same_comparison(stored):
    workspace, _, question = stored
    first = workspace.evaluations.key(question)
    said = replace(question, own_settings={"phase.rule": {"kappa": SETTINGS.kappa}, "vpa": {}})
    assert workspace.evaluations.key(said) == first


def test_a_comparison_is_made_anew_when_it_is_asked_for_again(stored):
    workspace, _, question = stored
    first = workspace.evaluations.make(question)
    assert workspace.evaluations.make(question) is first
    allocation = first.allocation("cpu", "phase.rule", first.report["split"]["held_out"][0])
    task = workspace.evaluations.submit(question, again=True)
    worker = worker_for(workspace, threads=1)
    worker.start()
    info = until(lambda: (found := workspace.tasks.get(task)).state.ended and found, 60)
    assert worker.stop()
    assert info.state is TaskState.DONE, info.error
    again = workspace.evaluations.find(question)
    assert again is not first
    assert (again.key, again.report) == (first.key, first.report)
    np.testing.assert_array_equal(
        again.allocation("cpu", "phase.rule", first.report["split"]["held_out"][0]), allocation
    )
    assert list((workspace.settings.home / "tmp").iterdir()) == []


def test_labels_belong_to_the_code_that_made_them(stored, monkeypatch, tmp_path):
    workspace, _, question = stored
    home = workspace.settings.home
    PhaseLabels(workspace.traces, workspace.models, home / "labels").get(question.trace_set, question.model)
    assert len(list(home.glob("labels/*.npz"))) == 1
    changed(monkeypatch, tmp_path, "core.phases")
    PhaseLabels(workspace.traces, workspace.models, home / "labels").get(question.trace_set, question.model)
    assert len(list(home.glob("labels/*.npz"))) == 2


def test_it_can_be_cancelled_and_keeps_nothing(stored):
    workspace, _, question = stored

    def stop(fraction, _message, /, **_metrics):
        if fraction > 0.3:
            raise Cancelled

    with pytest.raises(Cancelled):
        workspace.evaluations.make(question, stop)
    assert workspace.evaluations.find(question) is None


def test_what_is_not_there_is_said(stored, refuses):
    workspace, _, question = stored
    with refuses(NotFoundError):
        workspace.evaluations.get("0" * 32)
    with refuses(NotFoundError):
        workspace.evaluations.get("../models")
    with refuses(NotFoundError):
        workspace.evaluations.submit(Question(question.trace_set, question.model, SETTINGS, ("best",)))
    with refuses(InputError):
        workspace.evaluations.make(Question(question.trace_set, None, EvaluationSettings(group_by="team")))


def test_settings_of_policies_go_through_json_and_older_tasks_have_none():
    asked = Question("t", "m", SETTINGS, ("vpa",), {"vpa": {"margin": 0.3}})
    assert Question.from_dict(json.loads(json.dumps(asked.to_dict()))) == asked
    older = {name: value for name, value in asked.to_dict().items() if name != "own_settings"}
    assert Question.from_dict(older).own_settings == {}


def test_a_report_says_what_each_policy_was_compared_with(stored):
    workspace, _, question = stored
    own = replace(question, own_settings={"phase.rule": {"kappa": 3.0}})
    settings = workspace.evaluations.make(own).report["policy_settings"]
    assert set(settings) == set(POLICIES)
    assert settings["phase.rule"] == {"statistics": "global", "kappa": 3.0}
    assert settings["budget.oracle"] == {"under_time": SETTINGS.tolerance}
