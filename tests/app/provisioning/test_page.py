"""The Provisioning page without a browser: what it shows of a comparison, and what may be taken away."""

import re
from dataclasses import replace
from urllib.parse import parse_qsl, urlsplit

import pytest

from app.context import find_choice
from app.pages.phases.executions import View as PhasesView
from app.pages.phases.executions import execution_timeline, overlays, sentence
from app.pages.provisioning import results
from app.pages.provisioning.results import View
from app.ui import evaluations, task_card
from app.ui.evaluations import address_values
from app.ui.links import Query
from core.bootstrap import worker_for
from core.provisioning.evaluation.evaluate import EvaluationSettings
from core.provisioning.policies import POLICIES
from tests.app.provisioning.page_text import FEW, page_text


def test_without_traces_the_page_says_what_to_do(server):
    text = page_text()
    assert "No traces yet" in text
    assert "Load the samples" in text


def test_without_a_comparison_there_is_one_button_and_the_settings_are_folded(model):
    text = page_text()
    assert "Not evaluated yet" in text
    assert "'open': True" not in text
    assert text.count("btn primary") == 1
    assert "9 policies" in text
    for spec in ("Cycle", "Tolerance", "Prior weight", "Held out", "Seed"):
        assert spec in text
    for name in POLICIES:
        assert name in text


def test_a_setting_out_of_bounds_is_said_and_nothing_is_shown(evaluated):
    text = page_text(**{**evaluated, "cycle": "-1"})
    assert "Cycle (cycle) cannot be" in text
    assert "Worst containers first" not in text


def test_the_comparison_of_the_address_is_shown(evaluated):
    text = page_text(**evaluated)
    for expected in ("Saved per day", "Workloads", "How policies compare", "Beside the paper", "By phase"):
        assert expected in text
    assert "Worst containers first" not in text
    text = page_text(**evaluated, part="policies")
    for expected in (*FEW, "lower bound", "reference", "Frontier", "Worst containers", "overlay="):
        assert expected in text
    assert "Comparison with AI4DL" in page_text(**evaluated, part="paper")


def test_a_comparison_that_ends_while_the_page_is_made_is_not_left_out(monkeypatch, place, model):
    """The page that was made without its result goes on following the task, which brings it."""
    settings, choice = EvaluationSettings(cycle=60.0, draws=100), find_choice()
    task = results.submit(choice, settings, FEW)
    find = results.find

    def ends_meanwhile(*args):
        found = find(*args)  # type: ignore[arg-type]
        worker_for(place).work(task)
        return found

    monkeypatch.setattr(results, "find", ends_meanwhile)
    values = {**choice.query(), **address_values(settings, FEW), "task": task}
    text = page_text(**{name: value for name, value in values.items() if value is not None})
    assert results.is_done(task)
    assert "Worst containers" not in text
    (tick,) = re.findall(r"\{[^{}]*'type': 'task-tick'.*?'type': 'Interval'", text)
    assert "'disabled': False" in tick


def test_without_settings_the_last_comparison_of_the_pair_is_shown(evaluated):
    assert "Saved per day" in page_text()


def test_other_settings_are_another_comparison(evaluated):
    assert "Saved per day" not in page_text(**{**evaluated, "cycle": "90"})


WAYS = (
    {"resource": "memory"},
    {"scale": "published"},
    {"sort": "saving"},
    {"policy": "phase.rule"},
    {"policy": "static.peak", "memory_policy": "phase.rule"},
    {"policy": "nobody", "format": "docker", "core_hour": "2", "currency": "EUR", "hours": "1000"},
    {"resource": "nothing", "sort": "x", "scale": "y"},
)


@pytest.mark.parametrize("more", WAYS)
def test_every_way_of_looking_works(evaluated, more):
    for part, expected in (("policies", "Worst containers first"), ("phases", "Request and limit by phase")):
        text = page_text(**evaluated, **more, part=part)
        assert expected in text
        assert "Something went wrong" not in text


def test_what_is_looked_at_is_said(evaluated):
    text = page_text(**evaluated, part="policies", scale="published", resource="memory", sort="under")
    for words in ("Over-allocation of Memory", "sorted by time short"):
        assert words in text


@pytest.mark.parametrize("style", ["vpa", "patch", "helm", "docker", "json", "csv"])
def test_each_format_is_shown_as_it_is_downloaded(server, evaluated, style):
    result = evaluations.latest(find_choice())
    assert result is not None
    view = View.read(Query("/provisioning", {"policy": "prev.step.rules", "core_hour": "1.5"}))
    text = results.manifest(find_choice(), result, view, style)
    address = results.manifest_address(find_choice(), result, view, style)
    answer = server.test_client().get(address, base_url="http://127.0.0.1:8050")
    assert answer.status_code == 200
    assert answer.get_data(as_text=True) == text
    assert "Night batch" in text
    assert ("prev.step.rules" in text) == (style in ("json", "csv"))
    assert ("1.50 USD" in text) == (style == "json")


@pytest.mark.parametrize("name", ["workloads", "policies", "frontier", "totals", "worst", "paper"])
def test_each_table_is_a_file(server, evaluated, name):
    result = evaluations.latest(find_choice())
    assert result is not None
    answer = server.test_client().get(
        f"/api/provisioning/{result.id}/{name}.csv?resource=memory", base_url="http://127.0.0.1:8050"
    )
    assert answer.status_code == 200
    lines = answer.get_data(as_text=True).splitlines()
    assert len(lines) > 2
    assert all(line.count(",") >= lines[0].count(",") for line in lines)
    assert ("policy_title" in lines[0]) == (name in ("policies", "frontier", "worst", "paper"))


def test_a_comparison_that_is_gone_is_said(server):
    answer = server.test_client().get(
        f"/api/provisioning/{'0' * 32}/policies.csv", base_url="http://127.0.0.1:8050"
    )
    assert answer.status_code == 404
    assert "no longer exists" in answer.get_json()["error"]["message"]


def test_an_overlay_draws_what_a_policy_gave_to_a_held_out_container(evaluated):
    result, choice = evaluations.latest(find_choice()), find_choice()
    assert result is not None
    pair = choice.pair()
    assert pair is not None
    split = result.report["split"]
    inside = split["held_out"][0]
    view = PhasesView.of(pair[0].id, pair[1].id, {})
    figure = execution_timeline(view, inside, None, (result.id, "prev.step.max"))
    drawn = [trace for trace in figure.data if trace.name == "Reactive: last interval’s maximum allocation"]
    assert len(drawn) == 2
    assert len(drawn[0].y) == len(drawn[0].x)
    assert drawn[0].line.shape == "hv"
    assert sentence(result.id, "prev.step.max", inside) == ""
    assert "learned from this one" in sentence(result.id, "prev.step.max", "another")


def test_an_overlay_of_a_comparison_that_is_gone_falls_back_to_the_last(evaluated):
    found = overlays(find_choice(), "0" * 32)
    assert found is not None
    assert set(FEW) >= set(found.policies)
    assert "No comparison" in sentence("", "vpa", "anything")


def test_with_groups_the_worst_containers_say_theirs_and_a_single_group_is_told(place, model):
    settings = EvaluationSettings(cycle=60.0, draws=100, group_by="workload")
    task = results.submit(find_choice(), settings, FEW)
    worker_for(place).work(task)
    assert results.is_done(task)
    text = page_text()
    assert "whole groups of workload held out" in text
    report = evaluations.get(str((place.tasks.get(task).result or {})["evaluation"])).report
    alone = len(report["split"]["held_out_groups"]) == 1
    assert ("Hold out a larger share" in text) == alone
    assert "Times short" not in text


def test_the_card_of_a_comparison_leads_to_what_it_made(place, evaluated, model):
    """Also when a later comparison has other settings: the address says which one is meant."""
    first = place.tasks.list(1)[0]
    later = results.submit(find_choice(), EvaluationSettings(cycle=90.0, draws=100), FEW[:2])
    worker_for(place).work(later)
    link = task_card.result_link(place.tasks.get(first.id))
    assert link is not None
    where = urlsplit(link)
    assert where.path == "/provisioning"
    assert dict(parse_qsl(where.query)) == evaluated
    assert "cycle 1 min" in page_text(**dict(parse_qsl(where.query)))
    assert "cycle 1 min 30 s" in page_text(**find_choice().query())


def test_a_comparison_that_failed_or_that_no_address_can_say_has_no_link(place, evaluated, model):
    done = place.tasks.list(1)[0]
    assert task_card.result_link(replace(done, result=None)) is None
    own_settings = {**done.params, "own_settings": {"vpa": {"margin": 0.2}}}
    assert task_card.result_link(replace(done, params=own_settings)) is None
    assert task_card.result_link(replace(done, params={"settings": {"cycle": -1}, "trace_set": "x"})) is None
