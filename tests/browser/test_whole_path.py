"""The main job of PhaseDock by keyboard alone: a CSV in, its phases on the screen, its requests in a file."""

import csv
import re

import pytest
from playwright.sync_api import expect

from tests.browser.serving import axe_findings, start_server


@pytest.fixture(scope="module")
def fresh(tmp_path_factory):
    """A server on which nothing is yet."""
    running = start_server(tmp_path_factory.mktemp("fresh") / "home")
    yield running
    running.stop()


@pytest.fixture
def trace_file(tmp_path):
    """Eight executions of two phases each, busy and idle, as a CSV that names its columns its own way."""
    rows = ["container_name,time,cpu_cores,mem_mib,workload"]
    for number in range(8):
        for t in range(40):
            busy = (t + 2 * number) // 15 % 2
            used = f"{0.2 + busy + (7 * t + number) % 5 / 50},{(1 + busy) * 900}"
            rows.append(f"job-{number},{1_700_000_000 + 5 * t},{used},train")
    path = tmp_path / "night batch.csv"
    path.write_text("\n".join(rows) + "\n")
    return path


FOCUS = """() => {
  const element = document.activeElement, box = element.getBoundingClientRect();
  const ring = look => look.outlineStyle !== "none" && parseFloat(look.outlineWidth) >= 2;
  // a radio button's label has its ring, and the box around pills that of the field among them
  const owners = [element, element.nextElementSibling, element.closest("div.mantine-Input-input")];
  return {
    element: element.outerHTML.slice(0, 200),
    none: element === document.body,
    ringed: element.matches(":focus-visible") && owners.some(one => one && ring(getComputedStyle(one))),
    seen: box.bottom > 0 && box.top < innerHeight && box.right > 0 && box.left < innerWidth,
  };
}"""


class Keyboard:
    """Somebody without a mouse, who looks where the focus is after each Tab."""

    def __init__(self, page):
        self.page, self.press, self.type = page, page.keyboard.press, page.keyboard.type

    def reach(self, target, within=60):
        """Press Tab until something has the focus; whatever has it on the way is seen to have it."""
        expect(target).to_be_visible(timeout=60_000)
        for _ in range(within):
            self.press("Tab")
            focus = self.page.evaluate(FOCUS)
            assert focus["none"] or (focus["ringed"] and focus["seen"]), focus
            if target.evaluate("element => element === document.activeElement"):
                return
        raise AssertionError(f"{target} cannot be reached by keyboard")

    def use(self, target, within=60):
        """Go to something, and press Enter."""
        self.reach(target, within)
        self.press("Enter")

    def stop(self, heading):
        """A page has come, and axe finds nothing on it."""
        expect(self.page.get_by_role("heading", level=1)).to_have_text(heading, timeout=60_000)
        self.page.wait_for_timeout(500)
        assert axe_findings(self.page) == []


def test_the_keyboard_alone_goes_from_a_csv_to_an_exported_table(page, guard, fresh, trace_file):
    guard.servers.append(fresh)
    page.goto(fresh.base_url)
    keys = Keyboard(page)
    keys.stop("Overview")
    keys.use(page.locator("main").get_by_role("link", name="Add traces").first)
    import_file(page, keys, trace_file)
    look_at_phases(page, keys)
    keys.press("Control+k")
    expect(page.locator("#search-text")).to_be_focused()
    keys.type("provis")
    expect(page.locator("#search-results a").first).to_contain_text("Provisioning")
    keys.stop("Phases")
    keys.press("Enter")
    export_requests(page, keys)


def import_file(page, keys, path):
    keys.stop("Traces")
    with page.expect_file_chooser() as chooser:
        keys.use(page.get_by_role("button", name="Choose files"))
    chooser.value.set_files(path)
    expect(page.locator("#map-import")).to_be_enabled(timeout=60_000)
    keys.stop("Traces")
    keys.reach(page.get_by_label("Name of the set"))
    keys.press("Control+a")
    keys.type("Night")
    keys.use(page.locator("#map-find"))


def look_at_phases(page, keys):
    keys.stop("Phases")
    expect(page.locator("#pick-traces")).to_have_value("Night")
    title = page.locator("#execution-title")
    expect(title).to_have_text("job-0")
    expect(page.locator(".js-plotly-plot .xtick").first).to_be_visible()
    keys.press("ArrowDown")
    expect(title).to_have_text("job-1")
    keys.press("+")
    expect(page).to_have_url(re.compile(r"x0=50\.0&x1=150\.0"))
    keys.press("ArrowRight")
    expect(page).to_have_url(re.compile(r"x0=75\.0&x1=175\.0"))
    keys.press("Escape")
    expect(page).not_to_have_url(re.compile("x0="))
    keys.use(page.get_by_role("button", name="Name φ2"))
    expect(page.get_by_role("dialog").get_by_label("Name", exact=True)).to_be_focused()
    keys.stop("Phases")
    keys.type("busy")
    keys.press("Enter")
    expect(page.get_by_role("dialog")).to_be_hidden()
    expect(page.locator(".phasecard").nth(1).get_by_role("heading")).to_have_text("busy")


def export_requests(page, keys):
    keys.stop("Provisioning")
    keys.use(page.get_by_role("button", name="Evaluate"))
    keys.use(page.get_by_role("rowheader").get_by_role("link", name="train"))
    opened = page.locator(".openrow")
    expect(opened.locator(".manifest")).to_contain_text("resources")
    keys.stop("Provisioning")
    keys.use(opened.get_by_role("link", name="docker update"))
    expect(opened.locator(".manifest")).to_contain_text("docker update --")
    with page.expect_download() as manifest:
        keys.use(opened.get_by_role("link", name="Download"))
    assert "in place of train:" in manifest.value.path().read_text()
    keys.use(page.get_by_role("button", name="Export", exact=True))
    table = page.get_by_role("link", name="Table of workloads, CSV")
    expect(table).to_be_visible()
    keys.stop("Provisioning")
    with page.expect_download() as file:
        keys.use(table)
    (row,) = csv.DictReader(file.value.path().read_text().splitlines())
    assert (row["workload"], row["runs"]) == ("train", "8")


@pytest.mark.parametrize("path", ["/", "/phases"])
def test_nothing_is_wider_than_a_phone(page, path):
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(path)
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    page.wait_for_timeout(800)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
