"""The shell in a browser: before the page has come, where no page is, and lists of options by keyboard."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.serving import axe_findings, axe_in_both_schemes, unfit, visit

CALLBACKS = re.compile(r"/_dash-update-component\b")
ROOM = "selector => document.querySelector(selector).getBoundingClientRect().toJSON()"


def test_the_page_has_its_title_and_its_room_until_it_comes(page, stocked, samples):
    held = []
    page.route(CALLBACKS, lambda route: held.append(route))  # noqa: PLW0108
    page.goto(f"{stocked.base_url}/phases?{samples}")
    look = page.locator("#first-look")
    expect(look.locator(".main .skel")).to_have_count(2)
    expect(look.locator(".nav .active")).to_be_visible()
    expect(page.locator("#pick-traces")).to_be_attached()
    before = page.evaluate(ROOM, "#first-look .h1"), page.evaluate(ROOM, "#first-look .skel:first-child")
    assert held, "nothing was held back: the page came while it was looked at"
    page.route(CALLBACKS, lambda route: route.continue_())
    while held:
        held.pop().continue_()
    expect(look).to_have_count(0)
    after = page.evaluate(ROOM, "h1"), page.evaluate(ROOM, ".executions")
    assert [[place[key] for key in ("left", "top")] for place in before] == [
        [place[key] for key in ("left", "top")] for place in after
    ]
    chart = page.locator(".timeline .chart")
    height = chart.evaluate("chart => chart.getBoundingClientRect().height")
    expect(chart.locator(".xtick").first).to_be_visible()
    assert chart.evaluate("chart => chart.getBoundingClientRect().height") == height


def test_where_no_page_is_the_way_back_is(page, server, guard):
    guard.allow(r"404 \(NOT FOUND\) \(http://127.0.0.1:\d+/nowhere")
    page.goto(f"{server.base_url}/nowhere")
    expect(page.get_by_role("heading", level=1)).to_have_text("Page not found (404)")
    expect(page).to_have_title("Page not found · PhaseDock")
    assert unfit(page, 1280, 390) == []
    page.locator("main").get_by_role("button", name="Search").click()
    expect(page.get_by_role("dialog", name="Search")).to_be_visible()
    page.keyboard.press("Escape")
    page.get_by_role("link", name="Back to the overview").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Overview")


def test_a_list_of_options_that_scrolls_is_reached_by_keyboard(page, server):
    visit(page, f"{server.base_url}/runs?look=build")
    field = page.locator("input[id*='policies/0/policy']")
    field.click()
    options = page.get_by_role("option")
    expect(options.first).to_be_visible()
    expect(field).to_have_attribute("aria-expanded", "true")
    assert page.get_by_role("listbox").evaluate("list => list.scrollHeight > list.clientHeight")
    assert axe_findings(page) == []
    active = page.locator("[data-combobox-selected]")
    seen = set()
    for _ in range(options.count()):
        page.keyboard.press("ArrowDown")
        expect(active).to_be_in_viewport()
        seen.add(active.inner_text())
    assert len(seen) > 8
    page.keyboard.press("Escape")
    expect(field).to_have_attribute("aria-expanded", "false")


OPENED = {
    "/phases": ("", "Lanes", "Name φ2", "Search"),
    "/phases?traces=gone": ("",),
    "/models": ("Rename",),
    "/sequences": ("Change the phases to start from",),
    "/traces": ("Actions on Synthetic training jobs",),
    "/live": ("Inspect or change", "Release everything"),
}
"""What buttons open on pages and no other test looks at; an empty name is the page itself."""


@pytest.mark.parametrize("address", OPENED)
def test_what_a_button_opens_is_fine_for_axe_in_both_schemes(page, samples, address):
    visit(page, address if "?" in address else f"{address}?{samples}")
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    for name in OPENED[address]:
        if name == "Search":
            page.keyboard.press("Control+k")
            page.keyboard.type("nothing of that name")
        elif name:
            page.locator("main").get_by_role("button", name=name).first.click()
        page.wait_for_timeout(400)
        assert axe_in_both_schemes(page) == [], name
        page.keyboard.press("Escape")
