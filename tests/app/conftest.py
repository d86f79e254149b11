"""What tests of the pages share: a server to whose pages a request is being made, and its workspace."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from app.context import EXTENSION
from app.main import create_app
from tests.builders import small_model

if TYPE_CHECKING:
    from collections.abc import Iterator

    from flask import Flask

    from core.application import Workspace
    from core.config import Settings
    from core.workspace.records import ModelInfo, TraceSetInfo


@pytest.fixture
def server(settings: Settings) -> Iterator[Flask]:
    """The app's server, amid a request."""
    made: Flask = create_app(settings).server
    with made.test_request_context("/"):
        yield made
    made.extensions[EXTENSION].close()


@pytest.fixture
def place(server: Flask) -> Workspace:
    """The workspace of that server."""
    opened: Workspace = server.extensions[EXTENSION]
    return opened


@pytest.fixture
def model(place: Workspace, traces: TraceSetInfo) -> ModelInfo:
    """A model of the module's trace set."""
    fitted = small_model(place.traces.load(traces.id))
    return place.models.add(fitted, name="first", trace_set=traces, sample=True)
