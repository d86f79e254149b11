"""The Phases page and the shell on the synthetic sample, in a real browser."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.serving import axe_findings, cut_figures, unfit, visit

pytestmark = pytest.mark.usefixtures("stocked")


def open_samples(page, samples):
    visit(page, f"/phases?{samples}")


def test_arrow_keys_go_through_the_executions_and_the_zoom_is_in_the_address(page, samples):
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


def test_keys_may_come_fast(page, samples):
    open_samples(page, samples)
    expect(page.locator("#executions .ag-row.chosen")).to_have_count(1)
    for _ in range(10):
        page.keyboard.press("ArrowDown")
    expect(page.locator("#execution-title")).to_contain_text("0011")
    page.locator("#executions .ag-row").nth(1).click()
    expect(page.locator("#executions .ag-row.chosen")).to_have_count(1)
    expect(page.locator("#execution-title")).not_to_contain_text("0011")


def drag(page, start, end):
    """Zoom into a part of the timeline, in pixels from its left."""
    box = page.locator(".js-plotly-plot .nsewdrag").first.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + start, box["y"] + 40)
    page.mouse.down()
    page.mouse.move(box["x"] + end, box["y"] + 40, steps=8)
    page.mouse.up()
    expect(page).to_have_url(re.compile(r"x0=[\d.]+&x1=[\d.]+"))


TICKS = """() => Array.from(document.querySelectorAll(".js-plotly-plot")).find((plot) => plot.layout.meta)
  .querySelectorAll(".xtick").length"""
NAMED = """() => Array.from(document.querySelectorAll(".js-plotly-plot")).find((plot) => plot.layout.meta)
  .querySelectorAll(".textpoint").length"""


def test_a_zoom_keeps_its_time_axis_and_the_names_of_phases(page, samples):
    open_samples(page, samples)
    expect(page.locator(".js-plotly-plot .xtick").first).to_be_visible(timeout=20_000)
    drag(page, 200, 230)
    page.wait_for_function(f"({TICKS})() >= 3 && ({NAMED})() >= 1")
    page.wait_for_timeout(600)  # the component draws itself again after a zoom
    assert page.evaluate(TICKS) >= 3
    assert page.evaluate(NAMED) >= 1
    page.get_by_role("button", name="Switch between light and dark").click()
    page.wait_for_timeout(400)
    assert page.evaluate(TICKS) >= 3
    page.get_by_role("button", name="Switch between light and dark").click()
    page.keyboard.press("Escape")
    page.wait_for_function("() => !location.search.includes('x0=')")


def test_hover_says_the_time_the_phase_and_every_value_with_its_unit(page, samples):
    open_samples(page, samples)
    plot = page.locator(".js-plotly-plot").first
    expect(plot.locator(".xtick").first).to_be_visible(timeout=20_000)
    box = plot.locator(".nsewdrag").first.bounding_box()
    assert box is not None
    for share in (0.5, 0.75, 0.9):
        page.mouse.move(box["x"] + box["width"] * share, box["y"] + 30)
        card = page.locator(".hovercard")
        expect(card.locator(".hoverhead")).to_have_text(
            re.compile(r"^\d+ min \d\d s\s*[\d:]{8} UTC\s*φ\d\s*\w+")
        )
        expect(card).to_contain_text(re.compile(r"CPU\s*[\d.]+ cores"))
        expect(card).to_contain_text(re.compile(r"Memory\s*[\d.]+ GiB"))
    page.mouse.move(5, 5)
    expect(page.locator(".hovercard")).to_have_count(0)


@pytest.mark.long
def test_tab_leaves_the_search_of_executions(page, samples):
    open_samples(page, samples)
    expect(page.locator("#executions .ag-row.chosen")).to_have_count(1)
    page.locator("#find-execution").focus()
    for _ in range(4):
        page.keyboard.press("Tab")
    assert page.evaluate("document.querySelector('.timeline').contains(document.activeElement)")


@pytest.mark.long
def test_lanes_and_dwell_time_are_chosen_and_kept_in_the_address(page, samples):
    open_samples(page, samples)
    page.get_by_role("button", name="Lanes").click()
    page.get_by_role("checkbox", name="Memory").uncheck()
    expect(page).to_have_url(re.compile("lanes=cpu"))
    expect(page.locator(".phasecard").first).not_to_contain_text("Memory")
    page.keyboard.press("Escape")
    segments = page.locator("#executions .execution").first.locator(".ink3").first.inner_text()
    page.locator("#dwell").click()
    page.get_by_role("option", name="Segments ≥ 1 min 40 s").click()
    expect(page).to_have_url(re.compile("dwell=100"))
    expect(page.locator("#executions .execution .ink3").first).not_to_have_text(segments)
    page.get_by_role("button", name="Raw", exact=True).click()
    expect(page).to_have_url(re.compile("dwell=0"))
    expect(page.locator("#dwell")).to_have_value("Segments as labelled")
    page.locator("#dwell").click()
    page.get_by_role("option", name="Segments ≥ 1 min 40 s").click()
    expect(page).to_have_url(re.compile("dwell=100"))
    page.reload()
    expect(page.locator("#dwell")).to_have_value("Segments ≥ 1 min 40 s", timeout=20_000)
    expect(page.locator(".phasecard").first).not_to_contain_text("Memory")
    with page.expect_download() as table:
        page.get_by_role("button", name="Export timeline").click()
        page.get_by_role("link", name="This timeline, CSV").click()
    head = table.value.path().read_text().splitlines()[0]
    assert head.startswith("execution,time_s,CPU (cores)")
    assert "Memory" not in head


def test_search_finds_pages_and_executions(page, samples):
    visit(page, f"/?{samples}")
    expect(page.get_by_role("heading", level=1)).to_have_text("Overview")
    page.keyboard.press("Control+k")
    page.locator("#search-text").fill("0003")
    expect(page.locator("#search-results a")).to_have_count(1)
    page.keyboard.press("Enter")
    expect(page.locator("#execution-title")).to_contain_text("0003", timeout=20_000)


def test_windows_of_the_shell_are_accessible(page, samples):
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


def test_pictures_and_tables_can_be_taken_away(page, samples):
    open_samples(page, samples)
    expect(page.locator(".js-plotly-plot .xtick").first).to_be_visible()
    page.get_by_role("button", name="Export timeline").click()
    with page.expect_download() as picture:
        page.get_by_role("button", name="Picture, SVG").click()
    drawn = picture.value.path().read_text()
    assert "<svg" in drawn
    assert "image-classifier-0001 · " in drawn  # its title
    assert all(f">{name}" in drawn for name in ("Used", "Limit", "φ1 "))  # its legend
    assert "@font-face{font-family:Inter" in drawn
    with page.expect_download() as pixels:
        page.get_by_role("button", name="Picture, PNG").click()
    assert pixels.value.path().read_bytes()[:4] == b"\x89PNG"
    with page.expect_download() as table:
        page.get_by_role("link", name="Export statistics, CSV").click()
    head = table.value.path().read_text().splitlines()[0]
    assert head.startswith("phase_number,description,samples")


def test_the_scheme_is_switched_kept_and_followed_by_figures(page, samples):
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


@pytest.mark.long
def test_an_address_that_names_nothing_says_so(page):
    visit(page, "/phases?traces=gone")
    alert = page.get_by_role("alert")
    expect(alert).to_be_visible(timeout=20_000)
    expect(alert).not_to_contain_text("Traceback")
    expect(page.get_by_role("link", name="Back to the overview")).to_be_visible()


def test_figures_stay_whole_in_their_cards(page, samples):
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


def test_a_phase_named_by_keyboard_alone_has_its_name_on_other_pages(page, samples):
    open_samples(page, samples)
    expect(page.locator(".js-plotly-plot .xtick").first).to_be_visible()
    page.get_by_role("button", name="Name φ2").focus()
    page.keyboard.press("Enter")
    field = page.get_by_role("dialog").get_by_label("Name", exact=True)
    expect(field).to_be_focused()
    page.keyboard.type("validation")
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_be_hidden()
    expect(page.locator(".phasecard").nth(1)).to_contain_text("validation")
    page.get_by_role("link", name="Sequences").first.focus()
    page.keyboard.press("Enter")
    expect(page.locator("#sequence-paths .namedphase").first).to_contain_text("φ2validation")
    expect(page.locator(".comesnext")).to_contain_text("validation")
    expect(page.locator(".js-plotly-plot .ytick", has_text="φ2 validation")).to_be_visible()
    assert axe_findings(page) == []
    open_samples(page, samples)  # without its name again, for the tests that share the server
    page.get_by_role("button", name="Name φ2").click()
    page.get_by_role("dialog").get_by_label("Name", exact=True).fill("")
    page.keyboard.press("Enter")
    expect(page.locator(".phasecard").nth(1)).not_to_contain_text("validation")
