"""That a model was trained on other data is said on every page that applies it."""

from dataclasses import replace

import pytest

from app.pages.phases.page import layout as phases
from app.pages.provisioning.page import layout as provisioning
from app.pages.sequences.page import layout as sequences
from tests.builders import small_traces

PAGES = {"Phases": phases, "Sequences": sequences, "Provisioning": provisioning}
SAID = "was trained on other data"


@pytest.fixture
def traces(place):
    return place.traces.add(small_traces(8, samples=80), None, name="jobs")


@pytest.fixture
def other(place):
    made = small_traces(8, samples=80)
    return place.traces.add(
        replace(made, columns=tuple(50 * column for column in made.columns)), None, name="other"
    )


@pytest.mark.parametrize("name", PAGES)
def test_every_page_with_a_model_says_that_it_was_trained_on_other_data(name, traces, other, model):
    page = PAGES[name]
    said = str(page(traces=other.id, model=model.id))
    assert f"first {SAID}." in said
    assert "are above the 99th percentile of the training" in said
    assert "Train on this set" in said
    assert SAID not in str(page(traces=traces.id, model=model.id))


def test_a_model_that_is_refitted_is_not_doubted(other, model):
    assert SAID not in str(provisioning(traces=other.id, model=model.id, refit="on"))
