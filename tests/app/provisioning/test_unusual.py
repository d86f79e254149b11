"""The Provisioning page with sets that are short, odd, or of another time."""

from dataclasses import replace

import pytest

from app.context import EXTENSION, find_choice, workspace
from app.main import create_app
from app.pages.provisioning import results
from app.ui import evaluations
from app.ui.evaluations import address_values
from core.bootstrap import worker_for
from core.provisioning.evaluation.evaluate import EvaluationSettings
from core.traces.model import Feature, Role
from tests.app.live.test_live_callbacks import Page
from tests.app.provisioning.page_text import FEW, page_text
from tests.app.test_sequences import level_traces, window_model
from tests.builders import small_traces


def odd(place, levels, name="odd"):
    """Executions whose CPU is as given, and a model of two phases that fits them."""
    busy = level_traces([[0.1] * 10 + [3.0] * 10])
    info = place.traces.add(level_traces(levels), None, name=name)
    return info, place.models.add(window_model(busy), name=f"model of {name}")


def compared(place, info, model, cycle=20.0):
    """What the page says after a comparison, whether it went well or not."""
    settings = EvaluationSettings(cycle=cycle, draws=100)
    task = results.submit(find_choice(info.id, model.id if model else None), settings, FEW)
    worker_for(place).work(task)
    done = results.is_done(task)
    values = {"traces": info.id, "task": None if done else task, **address_values(settings, FEW)}
    values |= {"model": model.id} if model else {}
    return page_text(**{name: value for name, value in values.items() if value})


@pytest.mark.parametrize(
    ("levels", "cycle", "said"),
    [
        ([[1.0], [2.0], [3.0], [4.0]], 20.0, "No execution is longer than one cycle of 20 s"),
        ([[1.0] * 20] * 6, 5000.0, "No execution is longer than one cycle of 1 h 23 min"),
    ],
)
def test_what_is_too_short_or_too_little_gets_a_sentence(place, levels, cycle, said):
    text = compared(place, *odd(place, levels), cycle)
    assert said in text
    assert "Retry" in text
    assert "Traceback" not in text


def test_executions_of_one_phase_are_compared_and_recommended_for(place):
    text = compared(place, *odd(place, [[1.0] * 20] * 6))
    assert "6 runs, each held out once" in text
    assert "All containers" in text


def test_a_container_that_is_alone_is_replayed_and_promised_nothing(place):
    text = compared(place, *odd(place, [[1.0] * 20 + [2.0] * 20]))
    assert "1 run, none held out" in text
    assert "nothing was tested" in text
    assert "none: record 7 more" in text
    assert "Request and limit by phase" in text


def test_few_containers_have_no_whisker_and_nothing_is_safe(place):
    text = compared(place, *odd(place, [[1.0] * 20 + [2.0] * 20] * 6))
    assert "fewer than 8 held-out runs: no interval" in text
    assert "fair" in text
    assert "circle-check" not in text


def test_without_memory_that_is_said_and_prices_are_those_of_the_address(place):
    info, _ = odd(place, [[1.0] * 20 + [2.0] * 20] * 6)
    plain = place.traces.load(info.id)
    places = [i for i, feature in enumerate(plain.features) if feature.role is not Role.MEMORY]
    bare = replace(
        plain,
        features=tuple(plain.features[i] for i in places),
        columns=tuple(plain.columns[i] for i in places),
        attributes={"service": ["front", "back"] * 3},
    )
    text = compared(place, place.traces.add(bare, None, name="bare"), None)
    assert "Memory was not recorded." in text
    assert "2 workloads, 6 runs" in text
    assert "observed peak, no request is recorded" in text
    assert "0.04 USD" in text
    assert "7.00 EUR" in page_text(core_hour="7", currency="EUR")
    assert "Price of a core-hour (core_hour) cannot be" in page_text(core_hour="-7")


def test_a_result_of_an_earlier_version_has_no_verdict_and_no_fault(evaluated, monkeypatch):
    found = evaluations.latest(find_choice())
    assert found is not None
    report = {key: value for key, value in found.report.items() if key != "recorded"}
    monkeypatch.setattr(results, "find", lambda *_: replace(found, report=report, earlier=True))
    text = page_text(**evaluated)
    assert "made by an earlier version" in text
    assert "Saved per day" not in text
    assert "Worst containers first" in text


def test_a_model_that_does_not_fit_is_said_before_anything_is_started(place, model):
    plain = level_traces([[1.0] * 20] * 6)
    plain = replace(plain, features=(plain.features[0], Feature("queue")))
    info = place.traces.add(plain, None, name="odd")
    text = page_text(traces=info.id, model=model.id)
    assert "does not fit odd. The model needs" in text
    assert "Continue without it" in text
    assert "does not fit" not in page_text(traces=info.id)
    assert "does not fit" not in page_text()


def test_a_comparison_by_earlier_code_is_shown_as_such_and_made_anew_when_asked(evaluated, monkeypatch):
    note = "made by an earlier version"
    assert note not in page_text(**evaluated)
    monkeypatch.setattr("core.workspace.evaluations.code_digest", lambda *_: "other code")
    for address in (evaluated, {}):
        text = page_text(**address)
        assert note in text
        assert "Saved per day" in text
    assert "Saved per day" not in page_text(**{**evaluated, "cycle": "90"})
    task = results.submit(find_choice(), EvaluationSettings(cycle=60.0, draws=100), FEW)
    worker_for(workspace()).work(task)
    assert note not in page_text(**evaluated)


def test_what_is_kept_is_shown_at_once_and_run_again_makes_it_anew(settings):
    app = create_app(settings)
    place = app.server.extensions[EXTENSION]
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
    worker_for(place).work(task.id)
    assert "task" not in str(press("evaluate-start.n_clicks", evaluate_start=2, **asked))
    assert len(place.tasks.list()) == 1
    press("evaluate-again.n_clicks", evaluate_start=2, evaluate_again=1, **asked)
    again = place.tasks.list()[0]
    assert again.params == {**task.params, "again": True}
    place.close()
