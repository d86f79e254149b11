"""The Provisioning page without a browser: what it shows of a comparison, and what may be taken away."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlsplit

import pytest

from app.context import EXTENSION, chosen, workspace
from app.main import create_app
from app.pages.phases.execution import execution_timeline
from app.pages.phases.overlay import overlays, sentence
from app.pages.provisioning import own_settings, page, results
from app.pages.provisioning.form import given_settings, policies_asked, proposed, summary
from app.pages.provisioning.query import View
from app.ui import evaluations
from app.ui.evaluations import ALL, address_values
from app.ui.links import Query
from app.ui.tasks import kinds
from core.provisioning.evaluation.evaluate import EvaluationSettings
from core.provisioning.policies import POLICIES
from core.provisioning.policy import PolicyKind
from core.runtime.tasks.worker import Worker
from core.settings_fields import describe
from core.traces.model import Feature
from tests.app.live.test_live_callbacks import Page
from tests.app.test_sequences import level_traces, window_model
from tests.builders import small_traces

if TYPE_CHECKING:
    from flask import Flask

    from core.config import Settings
    from core.runtime.infos import ModelInfo, TraceSetInfo
    from core.runtime.workspace import Workspace

FEW = ("budget.oracle", "prev.step.max", "prev.step.rules", "phase.rule", "static.peak")


@pytest.fixture
def traces(place: Workspace) -> TraceSetInfo:
    return place.traces.add(small_traces(8), None, name="Night batch", sample=True)


@pytest.fixture
def evaluated(place: Workspace, model: ModelInfo) -> dict[str, str]:
    """A comparison that was asked for and made; gives the address that shows it."""
    settings = EvaluationSettings(cycle=60.0, draws=100)
    choice = chosen()
    task = results.submit(choice, settings, FEW)
    Worker(place).work(task)
    assert results.is_done(task)
    values = {**choice.query(), **address_values(settings, FEW)}
    return {name: value for name, value in values.items() if value is not None}


def text_of(node: Any) -> str:
    plain = json.dumps(node, default=lambda each: each.to_plotly_json())
    return str(json.loads(plain)) if plain else ""


def shown(**values: str) -> str:
    return text_of(page.layout(**values))


def test_without_traces_the_page_says_what_to_do(server: Flask) -> None:
    text = shown()
    assert "No traces yet" in text
    assert "Load the samples" in text


def test_without_a_comparison_the_form_is_open(model: ModelInfo) -> None:
    text = shown()
    assert "Not evaluated yet" in text
    assert "'open': True" in text
    for spec in ("Cycle", "Tolerance", "Prior weight", "Held out", "Seed"):
        assert spec in text
    for name in POLICIES:
        assert name in text


def test_a_setting_out_of_bounds_is_said_and_nothing_is_shown(evaluated: dict[str, str]) -> None:
    text = shown(**{**evaluated, "cycle": "-1"})
    assert "Cycle (cycle) cannot be" in text
    assert "Worst containers first" not in text


def test_the_comparison_of_the_address_is_shown(evaluated: dict[str, str]) -> None:
    text = shown(**evaluated)
    for expected in (
        *FEW,
        "lower bound",
        "reference",
        "Frontier",
        "Total over time",
        "Worst containers",
    ):
        assert expected in text
    assert "overlay=" in text
    assert 'kind: "VerticalPodAutoscaler"' in text or "VerticalPodAutoscaler" in text


def test_without_settings_the_last_comparison_of_the_pair_is_shown(evaluated: dict[str, str]) -> None:
    assert "Worst containers first" in shown()


def test_other_settings_are_another_comparison(evaluated: dict[str, str]) -> None:
    assert "Worst containers first" not in shown(**{**evaluated, "cycle": "90"})


WAYS = (
    {"resource": "memory"},
    {"scale": "published"},
    {"sort": "saving"},
    {"policy": "phase.rule"},
    {"resource": "nothing", "sort": "x", "scale": "y"},
)


@pytest.mark.parametrize("more", WAYS)
def test_every_way_of_looking_works(evaluated: dict[str, str], more: dict[str, str]) -> None:
    text = shown(**evaluated, **more)
    assert "Worst containers first" in text
    assert "Something went wrong" not in text


@pytest.mark.parametrize("style", ["vpa", "patch", "docker", "json", "csv"])
def test_each_format_is_shown_as_it_is_downloaded(
    server: Flask, evaluated: dict[str, str], style: str
) -> None:
    result = evaluations.latest(chosen())
    assert result is not None
    text = results.exported(chosen(), result, style)
    answer = server.test_client().get(
        results.file_address(chosen(), result, style), base_url="http://127.0.0.1:8050"
    )
    assert answer.status_code == 200
    assert answer.get_data(as_text=True) == text
    assert "first" in text


@pytest.mark.parametrize("name", ["policies", "frontier", "totals", "worst"])
def test_each_table_is_a_file(server: Flask, evaluated: dict[str, str], name: str) -> None:
    result = evaluations.latest(chosen())
    assert result is not None
    answer = server.test_client().get(
        f"/api/provisioning/{result.id}/{name}.csv?resource=memory", base_url="http://127.0.0.1:8050"
    )
    assert answer.status_code == 200
    lines = answer.get_data(as_text=True).splitlines()
    assert len(lines) > 2
    assert all(line.count(",") >= lines[0].count(",") for line in lines)


def test_a_comparison_that_is_gone_is_said(server: Flask) -> None:
    answer = server.test_client().get(
        f"/api/provisioning/{'0' * 32}/policies.csv", base_url="http://127.0.0.1:8050"
    )
    assert answer.status_code == 404
    assert "no longer exists" in answer.get_json()["error"]["message"]


def test_settings_go_into_the_address_and_come_back() -> None:
    settings = EvaluationSettings(cycle=45.0, group_by="workload", seed=3)
    values = {key: value for key, value in address_values(settings, ("vpa",)).items() if value is not None}
    view = View.read(Query("/provisioning", values))
    assert view.settings == settings
    assert view.policies == ("vpa",)
    assert "draws" not in values


def test_all_policies_are_written_as_all() -> None:
    assert policies_asked(list(POLICIES)) == (ALL,)
    assert policies_asked(["vpa", "no.such"]) == ("vpa",)


def test_switches_come_by_their_state() -> None:
    given = given_settings({"refit": None, "cycle": "60"}, {"refit": True, "cycle": None})
    assert given == {"refit": True, "cycle": "60"}


def test_the_proposed_cycle_fits_short_executions(traces: TraceSetInfo) -> None:
    assert proposed(traces, 100_000.0).cycle == 600.0
    short = proposed(traces, 400.0)
    assert 400.0 / short.cycle >= 10.0
    assert short.cycle >= 2 * traces.period
    assert "cycle" in summary(short, 3)


def test_an_overlay_draws_what_a_policy_gave_to_a_held_out_container(evaluated: dict[str, str]) -> None:
    result, choice = evaluations.latest(chosen()), chosen()
    assert result is not None
    pair = choice.pair()
    assert pair is not None
    split = result.report["split"]
    inside, outside = split["held_out"][0], split["training"][0]
    figure = execution_timeline(pair[0].id, pair[1].id, inside, None, (result.id, "prev.step.max"))
    drawn = [trace for trace in figure.data if trace.name == "prev.step.max allocation"]
    assert len(drawn) == 2
    assert len(drawn[0].y) == len(drawn[0].x)
    assert drawn[0].line.shape == "hv"
    assert sentence(result.id, "prev.step.max", inside) == ""
    assert "learned from this one" in sentence(result.id, "prev.step.max", outside)
    plain = execution_timeline(pair[0].id, pair[1].id, outside, None, (result.id, "prev.step.max"))
    assert not [trace for trace in plain.data if "allocation" in (trace.name or "")]


def test_an_overlay_of_a_comparison_that_is_gone_falls_back_to_the_last(evaluated: dict[str, str]) -> None:
    found = overlays(chosen(), "0" * 32)
    assert found is not None
    assert set(FEW) >= set(found.policies)
    assert "No comparison" in sentence("", "vpa", "anything")


def test_with_groups_the_worst_containers_say_theirs_and_a_single_group_is_told(
    place: Workspace, model: ModelInfo
) -> None:
    settings = EvaluationSettings(cycle=60.0, draws=100, group_by="workload")
    task = results.submit(chosen(), settings, FEW)
    Worker(place).work(task)
    assert results.is_done(task)
    text = shown()
    assert "whole groups of workload held out" in text
    report = evaluations.get(str((place.tasks.get(task).result or {})["evaluation"])).report
    alone = len(report["split"]["held_out_groups"]) == 1
    assert ("Hold out a larger share" in text) == alone
    assert "Times out of memory" not in text


def test_the_card_of_a_comparison_leads_to_what_it_made(
    place: Workspace, evaluated: dict[str, str], model: ModelInfo
) -> None:
    """Also when a later comparison has other settings: the address says which one is meant."""
    first = place.tasks.list(1)[0]
    later = results.submit(chosen(), EvaluationSettings(cycle=90.0, draws=100), FEW[:2])
    Worker(place).work(later)
    link = kinds.result_link(place.tasks.get(first.id))
    assert link is not None
    where = urlsplit(link)
    assert where.path == "/provisioning"
    assert dict(parse_qsl(where.query)) == evaluated
    assert "cycle 1 min" in shown(**dict(parse_qsl(where.query)))
    assert "cycle 1 min 30 s" in shown(**chosen().query())


def test_a_comparison_that_failed_or_that_no_address_can_say_has_no_link(
    place: Workspace, evaluated: dict[str, str], model: ModelInfo
) -> None:
    done = place.tasks.list(1)[0]
    assert kinds.result_link(replace(done, result=None)) is None
    own = {**done.params, "own_settings": {"vpa": {"margin": 0.2}}}
    assert kinds.result_link(replace(done, params=own)) is None
    assert kinds.result_link(replace(done, params={"settings": {"cycle": -1}, "trace_set": "x"})) is None


def odd(place: Workspace, levels: list[list[float]], name: str = "odd") -> tuple[TraceSetInfo, ModelInfo]:
    """Executions whose CPU is as given, and a model of two phases that fits them."""
    busy = level_traces([[0.1] * 10 + [3.0] * 10])
    info = place.traces.add(level_traces(levels), None, name=name)
    return info, place.models.add(window_model(busy), name=f"model of {name}")


def compared(place: Workspace, info: TraceSetInfo, model: ModelInfo, cycle: float = 20.0) -> str:
    """What the page says after a comparison, whether it went well or not."""
    settings = EvaluationSettings(cycle=cycle, draws=100)
    task = results.submit(chosen(info.id, model.id), settings, FEW)
    Worker(place).work(task)
    values = {"traces": info.id, "model": model.id, "task": task, **address_values(settings, FEW)}
    return shown(**{name: value for name, value in values.items() if value})


@pytest.mark.parametrize(
    ("levels", "cycle", "said"),
    [
        ([[1.0], [2.0], [3.0], [4.0]], 20.0, "No execution is longer than one cycle of 20 s"),
        ([[1.0] * 20] * 6, 5000.0, "No execution is longer than one cycle of 1 h 23 min"),
        ([[1.0] * 20], 20.0, "1 container cannot be split into training and held-out ones"),
    ],
)
def test_what_is_too_short_or_too_little_gets_a_sentence(
    place: Workspace, levels: list[list[float]], cycle: float, said: str
) -> None:
    text = compared(place, *odd(place, levels), cycle)
    assert said in text
    assert "Retry" in text
    assert "Traceback" not in text


def test_executions_of_one_phase_are_compared_and_recommended_for(place: Workspace) -> None:
    text = compared(place, *odd(place, [[1.0] * 20] * 6))
    assert "2 held-out containers" in text
    assert "while in φ1" in text
    assert "while in φ2" not in text


def test_a_model_that_does_not_fit_is_said_before_anything_is_started(
    place: Workspace, model: ModelInfo
) -> None:
    plain = level_traces([[1.0] * 20] * 6)
    plain = replace(plain, features=(plain.features[0], Feature("queue")))
    info = place.traces.add(plain, None, name="odd")
    text = shown(traces=info.id, model=model.id)
    assert "does not fit odd. The model needs" in text
    assert "Continue without it" in text
    assert "does not fit" not in shown(traces=info.id)
    assert "does not fit" not in shown()


def test_a_comparison_by_earlier_code_is_shown_as_such_and_made_anew_when_asked(
    evaluated: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    note = "made by an earlier version"
    assert note not in shown(**evaluated)
    monkeypatch.setattr("core.runtime.storage.evaluations.code_digest", lambda *_: "other code")
    for address in (evaluated, {}):
        text = shown(**address)
        assert note in text
        assert "Worst containers first" in text
    assert "Worst containers first" not in shown(**{**evaluated, "cycle": "90"})
    task = results.submit(chosen(), EvaluationSettings(cycle=60.0, draws=100), FEW)
    Worker(workspace()).work(task)
    assert note not in shown(**evaluated)


def test_what_is_kept_is_shown_at_once_and_run_again_makes_it_anew(settings: Settings) -> None:
    app = create_app(settings)
    place: Workspace = app.server.extensions[EXTENSION]
    info = place.traces.add(small_traces(8, samples=150), None, name="Night batch")
    names = ["prev.step.max", "static.peak"]
    asked = {
        "evaluate_policies": names,
        "evaluate_about": {"traces": info.id, "model": None, "own": {}},
        "_pages_location": "",
    }
    press = Page(app).call
    first = press("evaluate-start.n_clicks", evaluate_start=1, **asked)
    (task,) = place.tasks.list()
    assert task.id in str(first)
    Worker(place).work(task.id)
    assert "task" not in str(press("evaluate-start.n_clicks", evaluate_start=2, **asked))
    assert len(place.tasks.list()) == 1
    press("evaluate-again.n_clicks", evaluate_start=2, evaluate_again=1, **asked)
    again = place.tasks.list()[0]
    assert again.params == {**task.params, "again": True}
    place.close()


def own_fields(policy: str) -> tuple[list[dict[str, str]], list[Any], list[bool | None]]:
    """The controls of a policy's settings, as a callback gets them."""
    (made,) = own_settings.controls([policy], {})
    found = [each for each in made._traverse() if isinstance(getattr(each, "id", None), dict)]
    values, checked = ([getattr(each, part, None) for each in found] for part in ("value", "checked"))
    return [each.id for each in found], values, checked


@pytest.mark.parametrize("name", [name for name, policy in POLICIES.items() if describe(policy.settings)])
def test_every_setting_of_every_policy_is_in_the_form_and_defaults_change_nothing(name: str) -> None:
    ids, values, checked = own_fields(name)
    assert [each["name"] for each in ids] == [spec.name for spec in describe(POLICIES[name].settings)]
    given = own_settings.entered(ids, values, checked)
    assert list(given) == [name]
    assert own_settings.read_own(given) == ({}, {})


def test_a_setting_of_a_policy_goes_from_the_form_into_the_address_and_the_question(
    evaluated: dict[str, str],
) -> None:
    ids, values, checked = own_fields("vpa")
    values[[each["name"] for each in ids].index("margin")] = "0.3"
    own, wrong = own_settings.read_own(own_settings.entered(ids, values, checked))
    assert (own, wrong) == ({"vpa": {"margin": 0.3}}, {})
    query = {"policies": "vpa", "own": own_settings.text_of(own) or ""}
    view = View.read(Query("/provisioning", query))
    assert (view.own, view.problem) == (own, None)
    assert results.question(chosen(), EvaluationSettings(), ("vpa",), own).own_settings == own


def test_what_a_policy_may_not_be_set_to_is_said_at_its_field_and_of_the_address() -> None:
    wrong = own_settings.read_own({"vpa": {"margin": "much", "growth": 0.1}})[1]
    assert list(wrong) == [("policy vpa", "margin")]
    view = View.read(Query("/provisioning", {"policies": "vpa", "own": "vpa.margin=much"}))
    assert view.problem is not None
    assert view.problem[0].startswith("vpa: Margin")


def test_own_settings_are_shown_in_the_form_of_their_result(evaluated: dict[str, str]) -> None:
    text = shown(**{**evaluated, "own": "phase.rule.kappa=3"})
    assert "own settings of phase.rule" in text
    assert "policy phase.rule" in text
    assert "Worst containers first" not in text
    assert "policy phase.rule" not in shown(**evaluated)


def test_vpa_and_what_is_adapted_were_not_published_with_phases() -> None:
    assert POLICIES["vpa"].kind is PolicyKind.AUTOSCALER
    assert {POLICIES[name].kind for name in POLICIES if name.endswith("+conformal")} == {PolicyKind.ADAPTIVE}
    with_phases = {name for name, policy in POLICIES.items() if policy.kind is PolicyKind.PUBLISHED}
    assert with_phases == {
        "phase.rule", "phase.rule.container", "phase.rule.shrunk", "phase.rule.relative", "phase.lookahead"
    }  # fmt: skip
