"""The Phases page and the shell on the synthetic sample, in a real browser."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.browser.serving import cut_figures, unfit, visit

if TYPE_CHECKING:
    from playwright.sync_api import Page


pytestmark = pytest.mark.usefixtures("stocked")


def open_samples(page: Page, samples: str) -> None:
    visit(page, f"/phases?{samples}")


def test_arrow_keys_go_through_the_executions_and_the_zoom_is_in_the_address(
    page: Page, samples: str
) -> None:
    open_samples(page, samples)
    title = page.locator("#execution-title")
    expect(page.locator("#executions .ag-row.chosen")).to_have_count(1)
    first = title.inner_text()
    page.keyboard.press("ArrowDown")
    expect(title).not_to_have_text(first)
    second = title.inner_text()
    assert re.search(r"execution=", page.url)
    page.reload()
    expect(title).to_have_text(second, timeout=20_000)
    page.keyboard.press("ArrowUp")
    expect(title).to_have_text(first)

    plot = page.locator(".js-plotly-plot").first
    expect(plot.locator(".xtick").first).to_be_visible()
    box = plot.locator(".nsewdrag").first.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 200, box["y"] + 40)
    page.mouse.down()
    page.mouse.move(box["x"] + 400, box["y"] + 40, steps=8)
    page.mouse.up()
    expect(page).to_have_url(re.compile(r"x0=[\d.]+&x1=[\d.]+"))
    zoomed = plot.evaluate("plot => plot.layout.xaxis.range")
    page.reload()
    expect(page.locator(".js-plotly-plot .xtick").first).to_be_visible(timeout=20_000)
    page.wait_for_timeout(500)
    again = page.locator(".js-plotly-plot").first.evaluate("plot => plot.layout.xaxis.range")
    assert again == pytest.approx(zoomed, abs=0.1)
    page.keyboard.press("Escape")
    page.wait_for_function("() => !location.search.includes('x0=')")


def test_keys_may_come_fast(page: Page, samples: str) -> None:
    open_samples(page, samples)
    expect(page.locator("#executions .ag-row.chosen")).to_have_count(1)
    for _ in range(10):
        page.keyboard.press("ArrowDown")
    expect(page.locator("#execution-title")).to_contain_text("0011")
    page.locator("#executions .ag-row").nth(1).click()
    expect(page.locator("#executions .ag-row.chosen")).to_have_count(1)
    expect(page.locator("#execution-title")).not_to_contain_text("0011")


def test_hover_says_time_and_units(page: Page, samples: str) -> None:
    open_samples(page, samples)
    plot = page.locator(".js-plotly-plot").first
    expect(plot.locator(".xtick").first).to_be_visible(timeout=20_000)
    page.wait_for_timeout(600)
    box = plot.locator(".nsewdrag").first.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 30)
    page.mouse.move(box["x"] + box["width"] / 2 + 2, box["y"] + 32)
    label = page.locator(".hoverlayer .legend")
    expect(label).to_contain_text(re.compile(r"\d+ (h|min|s)"))
    expect(label).to_contain_text("cores")


def test_search_finds_pages_and_executions(page: Page, samples: str) -> None:
    visit(page, f"/?{samples}")
    expect(page.get_by_role("heading", level=1)).to_have_text("Overview")
    page.keyboard.press("Control+k")
    page.locator("#search-text").fill("0003")
    expect(page.locator("#search-results a")).to_have_count(1)
    page.keyboard.press("Enter")
    expect(page.locator("#execution-title")).to_contain_text("0003", timeout=20_000)


def test_windows_of_the_shell_are_accessible(page: Page, samples: str) -> None:
    visit(page, f"/?{samples}")
    expect(page.get_by_text("What your jobs do")).to_be_visible()
    expect(page.locator(".js-plotly-plot .barlayer path").first).to_be_visible()
    assert unfit(page, 1280) == []
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_contain_text("Search, or jump")
    page.wait_for_timeout(400)
    assert unfit(page, 1280) == []
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()
    page.set_viewport_size({"width": 390, "height": 844})
    page.get_by_role("button", name="Menu").click()
    expect(page.get_by_role("dialog").get_by_role("link", name="Models")).to_be_visible()
    page.wait_for_timeout(400)
    assert unfit(page, 390) == []


def test_pictures_and_tables_can_be_taken_away(page: Page, samples: str) -> None:
    open_samples(page, samples)
    expect(page.locator(".js-plotly-plot .xtick").first).to_be_visible()
    page.get_by_role("button", name="Export timeline").click()
    with page.expect_download() as picture:
        page.get_by_role("button", name="Picture, SVG").click()
    assert "<svg" in picture.value.path().read_text()
    with page.expect_download() as table:
        page.get_by_role("link", name="CSV", exact=True).click()
    head = table.value.path().read_text().splitlines()[0]
    assert head.startswith("phase,description,samples")


def test_the_scheme_is_switched_kept_and_followed_by_figures(page: Page, samples: str) -> None:
    page.emulate_media(color_scheme="light")
    open_samples(page, samples)
    expect(page.locator(".js-plotly-plot .xtick").first).to_be_visible(timeout=20_000)
    colour = "plot => plot._fullData.find(t => t.name === 'CPU').line.color"
    plot = page.locator(".js-plotly-plot").first
    assert plot.evaluate(colour).lower() == "#171a21"
    page.get_by_role("button", name="Switch between light and dark").click()
    page.wait_for_function(
        "() => document.querySelector('.js-plotly-plot')._fullData.find(t => t.name === 'CPU')"
        ".line.color.toLowerCase() === '#eceef2'"
    )
    page.reload()
    expect(page.locator("html")).to_have_attribute("data-mantine-color-scheme", "dark")


def test_an_address_that_names_nothing_says_so(page: Page) -> None:
    visit(page, "/phases?traces=gone")
    alert = page.get_by_role("alert")
    expect(alert).to_be_visible(timeout=20_000)
    expect(alert).not_to_contain_text("Traceback")
    expect(page.get_by_role("link", name="Back to the overview")).to_be_visible()


def test_figures_stay_whole_in_their_cards(page: Page, samples: str) -> None:
    visit(page, f"/?{samples}")
    expect(page.get_by_text("What your jobs do")).to_be_visible()
    assert cut_figures(page, 1440, 1280, 390) == []
    open_samples(page, samples)
    longest = "<b>1,020</b> 1,000–1,023 MiB"
    page.locator(".phasecard .num").first.wait_for()
    page.evaluate(
        "text => document.querySelectorAll('.phasecard .num').forEach(e => e.innerHTML = text)", longest
    )
    expect(page.locator(".phasecard .num").first).to_have_text("1,020 1,000–1,023 MiB")
    assert cut_figures(page, 1440, 1280, 390) == []
