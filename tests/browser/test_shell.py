"""The shell in a browser: before the page has come, where no page is, and all of it by keyboard alone."""

import re

from playwright.sync_api import expect

from tests.browser.serving import axe_findings, unfit, visit

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


FOCUS = """element => {
  const look = getComputedStyle(element), box = element.getBoundingClientRect();
  const ringed = look.outlineStyle !== "none" && parseFloat(look.outlineWidth) >= 2;
  const seen = box.width > 0 && box.bottom > 0 && box.top < innerHeight;
  return element.matches(":focus-visible") && ringed && seen;
}"""


def reach(page, target, within=40):
    """Press Tab until something has the focus, and shows it."""
    expect(target).to_be_visible(timeout=60_000)
    for _ in range(within):
        page.keyboard.press("Tab")
        if target.evaluate("element => element === document.activeElement"):
            assert target.evaluate(FOCUS)
            return
    raise AssertionError(f"{target} cannot be reached by keyboard")


def square_waves(folder):
    """Eight executions of two phases each, busy and idle."""
    rows = ["execution,workload,timestamp,cpu_cores,memory_bytes"]
    for number in range(8):
        for t in range(40):
            busy = (t + 2 * number) // 15 % 2
            used = f"{0.2 + busy + (7 * t + number) % 5 / 50},{(1 + busy) * 10**9}"
            rows.append(f"job-{number},train,{1_700_000_000 + 5 * t},{used}")
    path = folder / "keyboard.csv"
    path.write_text("\n".join(rows) + "\n")
    return path


def test_the_keyboard_alone_goes_from_a_file_to_a_manifest(page, stocked, tmp_path):
    page.goto(stocked.base_url)
    heading, press = page.get_by_role("heading", level=1), page.keyboard.press
    reach(page, page.locator("main").get_by_role("link", name="Add traces").first)
    press("Enter")
    expect(heading).to_have_text("Traces")
    with page.expect_file_chooser() as chooser:
        reach(page, page.get_by_role("button", name="Choose files"), within=3)
        press("Enter")
    chooser.value.set_files(square_waves(tmp_path))
    expect(page.locator("#map-find")).to_be_enabled(timeout=60_000)
    reach(page, page.locator("#map-find"))
    press("Enter")
    expect(heading).to_have_text("Phases", timeout=60_000)
    title = page.locator("#execution-title")
    expect(title).to_have_text("job-0")
    expect(page.locator(".js-plotly-plot .xtick").first).to_be_visible()
    press("ArrowDown")
    expect(title).to_have_text("job-1")
    press("+")
    expect(page).to_have_url(re.compile(r"x0=50\.0&x1=150\.0"))
    press("ArrowRight")
    expect(page).to_have_url(re.compile(r"x0=75\.0&x1=175\.0"))
    press("Escape")
    expect(page).not_to_have_url(re.compile("x0="))
    press("Control+k")
    expect(page.locator("#search-text")).to_be_focused()
    page.keyboard.type("provis")
    expect(page.locator("#search-results a").first).to_contain_text("Provisioning")
    press("Enter")
    expect(heading).to_have_text("Provisioning")
    reach(page, page.get_by_role("button", name="Evaluate"))
    press("Enter")
    reach(page, page.get_by_role("rowheader").get_by_role("link", name="train"))
    press("Enter")
    download = page.locator("main").get_by_role("link", name="Download", exact=True)
    reach(page, download, within=80)
    with page.expect_download() as manifest:
        press("Enter")
    assert "train" in manifest.value.path().read_text()
