"""The shell in a browser: before the page has come, where no page is, and all of it by keyboard alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from playwright.sync_api import expect

from tests.browser.serving import unfit

if TYPE_CHECKING:
    from playwright.sync_api import Page, Route

    from tests.browser.conftest import Guard
    from tests.browser.serving import Server

ROOM = "selector => document.querySelector(selector).getBoundingClientRect().toJSON()"


def test_the_page_has_its_title_and_its_room_until_it_comes(
    page: Page, stocked: Server, samples: str
) -> None:
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.route("**/_dash-update-component", hold)
    page.goto(f"{stocked.base_url}/phases?{samples}")
    look = page.locator("#first-look")
    expect(look.locator(".main .skel")).to_have_count(2)
    expect(look.locator(".nav .active")).to_be_visible()
    expect(page.locator("#pick-traces")).to_be_attached()
    before = page.evaluate(ROOM, "#first-look .h1"), page.evaluate(ROOM, "#first-look .skel:first-child")
    page.unroute("**/_dash-update-component")
    for each in held:
        each.continue_()
    expect(look).to_have_count(0)
    after = page.evaluate(ROOM, "h1"), page.evaluate(ROOM, ".executions")
    assert [[place[key] for key in ("left", "top")] for place in before] == [
        [place[key] for key in ("left", "top")] for place in after
    ]
    chart = page.locator(".timeline .chart")
    height = chart.evaluate("chart => chart.getBoundingClientRect().height")
    expect(chart.locator(".xtick").first).to_be_visible()
    assert chart.evaluate("chart => chart.getBoundingClientRect().height") == height


def test_where_no_page_is_the_way_back_is(page: Page, server: Server, guard: Guard) -> None:
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
