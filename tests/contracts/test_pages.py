"""The exam that every page sits: a place of its own, an icon, and a layout for an empty workspace."""

import json
import re
from importlib import import_module
from pathlib import Path

import dash
import pytest
from plotly.utils import PlotlyJSONEncoder

from app.main import create_app
from app.pages import PAGES
from core.config import Settings

ICONS = (Path(__file__).resolve().parents[2] / "assets" / "css" / "icons.css").read_text(encoding="utf-8")
HOST = "http://127.0.0.1:8050"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """The application on an empty workspace."""
    return create_app(Settings(home=tmp_path_factory.mktemp("pages") / "home")).server


def test_no_two_pages_are_at_the_same_place():
    for part in ("path", "name", "icon"):
        values = [getattr(page, part) for _, page in PAGES.items()]
        assert len(set(values)) == len(values), part
    for page in (PAGES[name] for name in PAGES):
        keys = [key for key, _ in page.keys]
        assert len(set(keys)) == len(keys)


@pytest.mark.parametrize("name", PAGES)
def test_a_page_declares_its_place(name):
    page = PAGES[name]
    assert page.name == name
    assert re.fullmatch(r"/[a-z-]*", page.path)
    assert f".i-{page.icon}{{" in ICONS
    module = import_module(page.layout.__module__)
    assert module.__doc__
    assert import_module(module.__package__ or "").__doc__


@pytest.mark.parametrize("name", PAGES)
def test_a_page_opens_on_an_empty_workspace(server, name):
    page = PAGES[name]
    with server.test_request_context(page.path, base_url=HOST):
        shown = json.dumps(page.layout(), cls=PlotlyJSONEncoder)
        assert "Something went wrong" not in shown
        assert page.count is None or page.count() >= 0
        assert page.alert is None or not page.alert()


@pytest.mark.parametrize("name", PAGES)
def test_a_page_and_its_routes_answer(server, name):
    client = server.test_client()
    placed = [entry for entry in dash.page_registry.values() if entry["path"] == PAGES[name].path]
    assert [entry["layout"] for entry in placed] == [PAGES[name].layout]
    assert client.get(PAGES[name].path, base_url=HOST).status_code == 200
    prefixes = {blueprint.name for blueprint in PAGES[name].routes}
    rules = [rule for rule in server.url_map.iter_rules() if rule.endpoint.partition(".")[0] in prefixes]
    assert bool(rules) == bool(prefixes)
    for rule in rules:
        address = re.sub(r"<(?:[a-z]+:)?[a-z_]+>", "0", rule.rule)
        answer = client.get(address, base_url=HOST)
        assert answer.status_code in {200, 400, 404, 405, 409, 422}, address
        assert "Traceback" not in answer.text
