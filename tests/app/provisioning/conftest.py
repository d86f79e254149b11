"""A set of traces and a comparison on it, for the tests of the Provisioning page."""

import pytest

from app.context import find_choice
from app.pages.provisioning import results
from app.ui.evaluations import address_values
from core.bootstrap import worker_for
from core.provisioning.evaluation.evaluate import EvaluationSettings
from tests.app.provisioning.page_text import FEW
from tests.builders import small_traces


@pytest.fixture
def traces(place):
    return place.traces.add(small_traces(8), None, name="Night batch", sample=True)


@pytest.fixture
def evaluated(place, model):
    """A comparison that was asked for and made; gives the address that shows it."""
    settings = EvaluationSettings(cycle=60.0, draws=100)
    choice = find_choice()
    task = results.submit(choice, settings, FEW)
    worker_for(place).work(task)
    assert results.is_done(task)
    values = {**choice.query(), **address_values(settings, FEW)}
    return {name: value for name, value in values.items() if value is not None}
