"""The table of workloads: what it promises, how it is filtered, and what its rows open on."""

import re
from dataclasses import replace

import pytest

from app.context import find_choice
from app.pages.provisioning import results
from app.pages.provisioning.page import find_workloads
from app.pages.provisioning.results import View, often_resized
from app.pages.provisioning.workloads import PAGE_ROWS, tiles, workloads_card
from app.ui import evaluations
from app.ui.evaluations import Result
from app.ui.links import Query
from core.bootstrap import worker_for
from core.provisioning.evaluation.evaluate import EvaluationSettings, evaluate
from core.provisioning.fleet import Resource
from core.provisioning.verdict.table import rows_of
from core.provisioning.verdict.verdict import verdict
from tests.app.provisioning.page_text import page_text, text_of
from tests.builders import small_traces


def named(runs, workloads, samples=60):
    traces = small_traces(runs, samples=samples)
    return replace(traces, attributes={"workload": [f"job-{i % workloads:04d}" for i in range(runs)]})


def words_of(node):
    """The words that a person sees: texts between tags, without tooltips and texts for screen readers."""
    if isinstance(node, str | int | float):
        return str(node).split()
    if isinstance(node, list | tuple):
        return [word for each in node for word in words_of(each)]
    if node is None or "sr" in str(getattr(node, "className", "")).split():
        return []
    return words_of(getattr(node, "children", None))


def first_screen(runs, workloads):
    """The tiles and the table without a browser, and the verdict's rows."""
    settings = EvaluationSettings(cycle=60.0, draws=100)
    report = evaluate(named(runs, workloads), None, settings, ("prev.step.max",)).report
    found, view = verdict(report), View.read(Query("/provisioning", {}))
    rows = rows_of(found, 0.05)
    result = Result("x", report, (), {}, earlier=False)
    card = workloads_card(found, rows, result, view, find_choice(), "")
    return [tiles(found, rows, report, view), card], rows


@pytest.mark.parametrize(("runs", "workloads"), [(1, 1), (8, 1), (40, 5), (200, 50)])
def test_a_first_screen_of_any_size_has_a_row_for_each_workload_and_few_words(server, runs, workloads):
    shown, rows = first_screen(runs, workloads)
    text = text_of(shown)
    assert len(rows) == workloads
    assert text.count("'aria-expanded': 'false'") == min(workloads, PAGE_ROWS)
    words = [word for word in words_of(shown) if re.search("[a-zA-Z]{2}", word)]
    assert len(words) <= 60 + 8 * min(workloads, PAGE_ROWS)
    assert workloads > 5 or len(words) <= 150


def test_thousands_of_workloads_are_paged_filtered_and_sorted(server):
    settings = EvaluationSettings(cycle=60.0, draws=100)
    report = evaluate(named(4000, 2000), None, settings, ("prev.step.max",)).report
    found = verdict(report)
    rows = rows_of(found, 0.05)
    result = Result("x", report, (), {}, earlier=False)

    def shown(**values):
        view = View.read(Query("/provisioning", values))
        return text_of(workloads_card(found, rows, result, view, find_choice(), ""))

    assert len(rows) == 2000
    assert shown().count("'aria-expanded'") == PAGE_ROWS
    assert "1 to 50 of 2,000" in shown()
    assert "1,951 to 2,000 of 2,000" in shown(start="99999")
    assert shown(find="JOB-0007").count("'aria-expanded'") == 1
    assert "No workload has this in its name." in shown(find="nobody")
    names = re.findall(r"job-\d{4}", shown(order="workload"))
    assert names == sorted(names)


def test_the_filter_goes_into_the_address():
    assert find_workloads("gan", "?traces=t&start=50") == "?traces=t&find=gan"
    assert find_workloads("", "?traces=t&find=gan") == "?traces=t"


def test_without_evidence_nothing_is_saved_and_amounts_by_phase_come_first(place, model):
    traces = place.traces.add(named(3, 1), None, name="three")
    task = results.submit(
        find_choice(traces.id, model.id), EvaluationSettings(cycle=60.0, draws=100), ("prev.step.max",)
    )
    worker_for(place).work(task)
    text = page_text(traces=traces.id, model=model.id, open="job-0000")
    assert "none: record 5 more" in text
    assert "nothing was tested" in text
    assert text.index("Request and limit by phase") < text.index("Workloads")
    assert text.index("By phase") < text.index("'Why'")


def test_a_row_opens_on_a_typical_run_reasons_and_what_to_paste(evaluated):
    closed = page_text(**evaluated)
    for words in ("A typical run", "subresource resize"):
        assert words not in closed
    found = results.verdict_of(evaluations.latest(find_choice()), View.read(Query("/provisioning", {})))
    name = next(card.name for card in found.cards if card.line(Resource.CPU).settable)
    opened = page_text(**evaluated, open=name)
    for words in ("A typical run", "fixed request", "each held out once", "Steering with", "Phases of"):
        assert words in opened
    assert 'kind: "Pod"' in opened
    assert 'kind: "VerticalPodAutoscaler"' in page_text(**evaluated, open=name, format="vpa")


def test_what_a_row_exports_is_that_workload_alone(server, evaluated):
    result, choice = evaluations.latest(find_choice()), find_choice()
    view = View.read(Query("/provisioning", {}))
    href = results.manifest_address(choice, result, view, "docker", "recommender")
    text = server.test_client().get(href, base_url="http://127.0.0.1:8050").get_data(as_text=True)
    assert [line.split()[-1] for line in text.splitlines() if line.startswith("docker")] == ["recommender"]


def test_resizing_more_often_than_once_a_minute_is_said():
    assert often_resized(60.0) == ""
    assert often_resized(150.0) == "resizes 2.5× a minute"


def test_a_policy_that_resizes_often_is_amber_in_the_table(place, model):
    """Cycles of 10 s resize about six times a minute, those of 90 s do not."""
    for cycle, expected in ((10.0, True), (90.0, False)):
        settings = EvaluationSettings(cycle=cycle, draws=100)
        worker_for(place).work(results.submit(find_choice(), settings, ("prev.step.max",)))
        text = page_text(cycle=f"{cycle:g}", draws="100", policies="prev.step.max", part="policies")
        assert ("× a minute" in text) == expected


def test_prices_and_what_may_be_short_are_chosen_at_the_top(evaluated):
    text = page_text(**evaluated)
    assert "5% may be short" in text
    assert "tolerance=0.02" in text
    assert text.index("Price of a core-hour") < text.index("Workloads")


def test_a_workload_has_its_namespace_and_kind_below_its_name(server):
    traces = named(8, 2)
    attributes = {**traces.attributes, "namespace": ["research", "ads"] * 4, "owner_kind": ["Job", "-"] * 4}
    attributes["owner_kind"][2] = "CronJob"
    settings = EvaluationSettings(cycle=60.0, draws=100)
    for kinds, place in ((attributes["owner_kind"], "research"), (["Job", "-"] * 4, "research · Job")):
        traces = replace(traces, attributes={**attributes, "owner_kind": kinds})
        report = evaluate(traces, None, settings, ("prev.step.max",)).report
        rows = rows_of(verdict(report), 0.05)
        assert {row.name: row.place for row in rows} == {"job-0000": place, "job-0001": "ads"}
        for find, shown in (("ADS", "job-0001"), ("research", "job-0000")):
            view = View.read(Query("/provisioning", {"find": find}))
            result = Result("x", report, (), {}, earlier=False)
            words = words_of(workloads_card(verdict(report), rows, result, view, find_choice(), ""))
            assert [word for word in words if word.startswith("job-")] == [shown]
            assert set((place if shown == "job-0000" else "ads").split()) <= set(words)
