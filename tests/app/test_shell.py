"""The shell: what stands there before the page, what stands where no page is, and what a search finds."""

import json

import pytest
from plotly.utils import PlotlyJSONEncoder

from app.context import Choice, address
from app.pages import PAGES
from app.shell import help_window
from app.shell.first_look import layout as not_found
from app.shell.search import find_hits, results
from core.config import SETTINGS, Settings, shown_value
from tests.builders import small_traces

HOST = "http://127.0.0.1:8050"
EVERY = [page for _, page in PAGES.items()]


@pytest.mark.parametrize("page", EVERY, ids=lambda page: page.name)
def test_a_page_has_its_title_its_place_and_its_room_before_any_script(server, page):
    answer = server.test_client().get(f"{page.path}?traces=any", base_url=HOST)
    assert answer.status_code == 200
    assert f"<title>{page.name} · PhaseDock</title>" in answer.text
    look = answer.text.partition('<div id="first-look"')[2].partition('<div id="react-entry-point"')[0]
    assert f'<span class="h1" data-text="{page.name}">' in look
    active = look.partition('<a class="active">')[2].partition("</a>")[0]
    assert f"i-{page.icon}" in active
    assert look.count("card skel") == sum(len(row.heights) for row in page.outline) > 0


@pytest.mark.parametrize("path", ["/nowhere", "/phases/1", "/not-found", "/favicon.ico"])
def test_where_no_page_is_the_answer_says_so_and_leads_back(server, path):
    answer = server.test_client().get(path, base_url=HOST)
    assert answer.status_code == 404
    assert "<title>Page not found · PhaseDock</title>" in answer.text
    shown = json.dumps(not_found(traces="gone"), cls=PlotlyJSONEncoder)
    assert '"href": "/"' in shown
    assert "There is no page at this address" in shown


def test_a_missing_file_of_the_page_is_no_page(server):
    answer = server.test_client().get("/assets/none.js", base_url=HOST)
    assert answer.status_code == 404
    assert "first-look" not in answer.text


def test_a_search_finds_executions_of_every_set_the_chosen_one_first(place):
    first = place.traces.add(small_traces(12), None, name="Night")
    second = place.traces.add(small_traces(3, seed=2), None, name="Morning")
    name = small_traces(3).ids[1]
    for chosen, other in ((first, second), (second, first)):
        matching = [
            each for each in find_hits(name.upper(), EVERY, Choice(chosen, None)) if each.name == name
        ]
        assert [each.kind for each in matching] == ["execution", f"in {other.name}"]
        assert [each.href for each in matching] == [
            address("/phases", traces=info.id, execution=name) for info in (chosen, other)
        ]
    few = [each.kind for each in find_hits("-", EVERY, Choice(first, None))]
    assert few.count("in Morning") == 3
    assert find_hits("no such thing", EVERY, Choice(first, None)) == []


def test_what_is_not_shown_of_a_search_is_counted(place, sentence):
    for number in range(18):
        place.traces.add(small_traces(1), None, name=f"shift {number}")
    every = find_hits("shift", EVERY, Choice(None, None))
    links = results(every)
    assert len(every) == 18
    assert [link.href for link in links[:-1]] == [each.href for each in every[:14]]
    sentence(links[-1].children)


@pytest.mark.parametrize(
    ("text", "kind", "address_part"),
    [
        ("train a", "action", "/models?view=train"),
        ("flowcon · flow", "scheduling policy", "look=build&from="),
        ("of SpeCon", "setting", "look=build"),
        ("deadlines, ample", "bundled experiment", "from=deadlines-ample"),
        ("trash", "action", "/traces?show=trash"),
        ("interval’s max", "provisioning policy", "/provisioning?part=settings"),
        ("prev.step.max", "provisioning policy", "/provisioning?part=settings"),
        ("of kubernetes vertical", "setting", "/provisioning?part=settings"),
        ("phasedock_control: off", "server setting", "#help"),
        ("keys, server", "help", "#help"),
        ("the live page", "document", "/docs/docker/screen.md"),
    ],
)
def test_a_search_finds_actions_policies_and_settings(place, text, kind, address_part):
    hits = find_hits(text, EVERY, Choice(None, None))
    assert {each.kind for each in hits} >= {kind}
    assert any(each.kind == kind and address_part in each.href for each in hits)


def test_a_search_without_text_lists_no_policies(place):
    assert {each.kind for each in find_hits("", EVERY, Choice(None, None))} == {"page"}


def test_every_document_that_a_search_finds_is_served(server, place):
    found = [each for each in help_window.hits() if each.kind == "document"]
    assert len(found) > 20
    client = server.test_client()
    for each in found:
        answer = client.get(each.href, base_url="http://127.0.0.1")
        assert answer.status_code == 200
        assert each.name in answer.text
    assert client.get("/docs/../README.md", base_url="http://127.0.0.1").status_code == 404


def test_a_secret_is_not_shown_in_help(tmp_path):
    settings = Settings(
        home=tmp_path, password="not to be seen", database_url="postgresql://me:word@box/name"
    )
    shown = {row.name: shown_value(row, settings) for row in SETTINGS}
    assert (shown["PHASEDOCK_PASSWORD"], shown["DATABASE_URL"]) == ("set", "set")
    assert shown["PHASEDOCK_CONTROL"] == "off"
    assert shown["PHASEDOCK_MAX_UPLOAD"] == "4GiB"
