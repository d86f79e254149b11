"""What tests of the pages share: a server to whose pages a request is being made, and its workspace."""

import pytest

from app.context import EXTENSION
from app.main import create_app
from tests.builders import small_model


@pytest.fixture
def server(settings):
    """The app's server, amid a request."""
    made = create_app(settings).server
    with made.test_request_context("/"):
        yield made
    made.extensions[EXTENSION].close()


@pytest.fixture
def place(server):
    """The workspace of that server."""
    return server.extensions[EXTENSION]


@pytest.fixture
def model(place, traces):
    """A model of the module's trace set."""
    fitted = small_model(place.traces.load(traces.id))
    return place.models.add(fitted, name="first", trace_set=traces, sample=True)
