"""Comparisons as tasks: kept on disk by what they depend on, cancelled, and shown again at once."""

from __future__ import annotations

import json
import time
from dataclasses import replace

import numpy as np
import pytest

from core.errors import Cancelled, InputError, NotFoundError
from core.provisioning.evaluation.evaluate import EvaluationSettings, evaluate
from core.provisioning.fleet import Resource
from core.provisioning.recommendation.recommend import RecommendSettings, recommend
from core.runtime.infos import TaskState
from core.runtime.storage.evaluations import Question
from core.runtime.tasks.worker import Worker
from core.runtime.workspace import open_workspace
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
    worker = Worker(workspace, threads=1)
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
    assert kept.allocation("cpu", "phase.rule", kept.report["split"]["training"][0]) is None
    assert kept.allocation("cpu", "vpa", kept.report["split"]["held_out"][0]) is None


def test_it_is_shown_again_at_once_by_another_process(stored, settings):
    workspace, _, question = stored
    made = workspace.evaluations.make(question)
    other = open_workspace(settings)
    begun = time.thread_time()
    found = other.evaluations.find(question)
    assert time.thread_time() - begun < 0.2
    assert found.report == made.report
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


def test_it_can_be_cancelled_and_keeps_nothing(stored):
    workspace, _, question = stored

    def stop(fraction, _message, /, **_metrics):
        if fraction > 0.3:
            raise Cancelled

    with pytest.raises(Cancelled):
        workspace.evaluations.make(question, stop)
    assert workspace.evaluations.find(question) is None


def test_what_is_not_there_is_said(stored):
    workspace, _, question = stored
    with pytest.raises(NotFoundError, match="not kept any more"):
        workspace.evaluations.get("0" * 32)
    with pytest.raises(NotFoundError, match="not kept any more"):
        workspace.evaluations.get("../models")
    with pytest.raises(NotFoundError, match="no policy called"):
        workspace.evaluations.submit(Question(question.trace_set, question.model, SETTINGS, ("best",)))
    with pytest.raises(InputError, match="no column “team”"):
        workspace.evaluations.make(Question(question.trace_set, None, EvaluationSettings(group_by="team")))


def test_recommendations_carry_names_and_date(stored):
    workspace, _, question = stored
    text = workspace.evaluations.export(question.trace_set, question.model, "docker", "2026-03-04")
    assert "# model: model\n# traces: set\n# date: 2026-03-04\n" in text
    rows = workspace.evaluations.recommend(question.trace_set, question.model)
    assert {row.resource.value for row in rows} == {"cpu", "memory"}


def test_a_recommendation_is_made_with_the_comparison_and_read_without_a_sample(
    stored, settings, monkeypatch
):
    workspace, traces, question = stored
    workspace.evaluations.make(question)
    alike = RecommendSettings(group_by="workload", tolerance=SETTINGS.tolerance)
    expected = recommend(traces, workspace.models.load(question.model), alike)
    monkeypatch.setattr("core.runtime.storage.evaluations.recommend", None)
    other = open_workspace(settings)
    assert other.evaluations.recommend(question.trace_set, question.model, alike) == expected
    assert "VerticalPodAutoscaler" in other.evaluations.export(
        question.trace_set, question.model, "vpa", "2026-01-02", alike
    )
    other.close()


def test_a_damaged_recommendation_is_made_anew(stored, settings):
    workspace, _, question = stored
    alike = RecommendSettings()
    first = workspace.evaluations.recommend(question.trace_set, question.model, alike)
    (path,) = (settings.home / "evaluations").glob("*.advice.json")
    for damage in (b"", b"{}", b'[{"group": 1}]'):
        path.write_bytes(damage)
        found = workspace.evaluations.recommend(question.trace_set, question.model, alike)
        assert found == first


def test_a_disk_that_keeps_nothing_does_not_hide_the_recommendation(stored, monkeypatch, caplog):
    workspace, _, question = stored

    def full(*_args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("core.runtime.storage.evaluations.write_atomically", full)
    assert workspace.evaluations.recommend(question.trace_set, question.model)
    assert "could not be kept" in caplog.text


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
