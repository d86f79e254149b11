"""The Provisioning page on the synthetic sample: from a comparison to a container's timeline, and exports."""

import json
import re

import pytest
from playwright.sync_api import expect

from tests.browser.serving import axe_in_both_schemes, cut_figures, unfit, visit
from tests.browser.test_sequences import emit
from tests.browser.test_sequences import open_samples as open_sequences

pytestmark = pytest.mark.usefixtures("stocked")
SETTINGS = (
    "cycle=120&draws=200&policies=budget.oracle,static.peak,prev.step.max,prev.step.rules,vpa,phase.rule"
)


def open_samples(page, samples, more=SETTINGS):
    visit(page, f"/provisioning?{samples}&{more}&part=policies")
    expect(page.get_by_role("heading", level=1)).to_have_text("Provisioning")


def evaluate(page, samples):
    """Make the comparison of the address, unless another test made it already."""
    open_samples(page, samples)
    page.locator("#evaluate-start").wait_for(state="attached")
    if not page.locator("table.policies").count():
        page.get_by_role("button", name="Evaluate").click()
    expect(page.locator("table.policies")).to_be_visible(timeout=60_000)
    expect(page.locator(".js-plotly-plot .xtick").first).to_be_visible()


def test_evaluate_then_the_worst_container_then_its_timeline_with_the_allocation(page, samples):
    evaluate(page, samples)
    rows = page.locator("table.policies tbody tr")
    expect(rows).to_have_count(6)
    expect(rows.first).to_contain_text("budget.oracle")
    expect(page.locator("table.policies")).to_contain_text("best reactive")
    page.locator("table.policies a", has_text=re.compile(r"phase\.rule$")).click()
    expect(page).to_have_url(re.compile(r"policy=phase\.rule"))
    worst = page.locator("section", has_text="Worst containers first").locator("tbody a").first
    expect(page.locator("section", has_text="Worst containers first").locator(".note")).to_contain_text(
        "under Phases: mean + 2·sd, as published phase.rule as published"
    )
    name = worst.inner_text()
    worst.click()
    expect(page).to_have_url(re.compile(r"/phases\?.*overlay=phase\.rule"))
    expect(page.locator("#execution-title")).to_contain_text(name.rpartition("/")[2])
    expect(page.locator(".js-plotly-plot .xtick").first).to_be_visible()
    traces = "plot => (plot._fullData || []).filter(t => /allocation/.test(t.name)).map(t => t.name)"
    plot = page.locator(".js-plotly-plot").first
    assert plot.evaluate(traces) == ["Phases: mean + 2·sd, as published allocation"] * 2

    page.locator("#overlay").click()
    page.get_by_role("option", name="Kubernetes Vertical Pod Autoscaler", exact=True).click()
    page.wait_for_function(
        """() => document.querySelector('.js-plotly-plot')._fullData
          .some(t => t.name === 'Kubernetes Vertical Pod Autoscaler allocation')"""
    )
    assert "overlay=vpa" in page.url
    page.reload()
    expect(page.locator(".js-plotly-plot .xtick").first).to_be_visible(timeout=20_000)
    page.wait_for_timeout(300)
    assert (
        page.locator(".js-plotly-plot").first.evaluate(traces)
        == ["Kubernetes Vertical Pod Autoscaler allocation"] * 2
    )
    assert cut_figures(page, 390) == [], "with Overlay beside Compare the buttons wrap"


def test_a_node_of_the_graph_leads_to_a_timeline_with_an_allocation_over_it(page, samples):
    evaluate(page, samples)
    page.get_by_role("button", name="Export", exact=True).click()
    file = page.get_by_role("link", name="Everything, JSON").get_attribute("href")
    assert file
    held_out = set(page.request.get(file).json()["split"]["held_out"])

    page.set_viewport_size({"width": 1440, "height": 1050})
    open_sequences(page, samples)
    emit(page, "node.p4")
    expect(page.locator("#behind-name")).to_have_text("φ4")
    rows = page.locator("#seq-behind-grid .ag-center-cols-container .ag-row")
    expect(rows.first).to_be_visible()
    names = [name for name in rows.evaluate_all("all => all.map(row => row.getAttribute('row-id'))") if name]
    name = next(name for name in names if name in held_out)
    page.locator(f"#seq-behind-grid .ag-row[row-id='{name}']").click()
    expect(page).to_have_url(re.compile(r"/phases\?"))
    expect(page.locator("#execution-title")).to_contain_text(name.rpartition("/")[2], timeout=20_000)
    expect(page.locator(".js-plotly-plot .xtick").first).to_be_visible(timeout=20_000)

    page.locator("#overlay").click()
    page.get_by_role("option", name="Phases: mean + 2·sd, as published", exact=True).click()
    page.wait_for_function(
        """() => document.querySelector('.js-plotly-plot')._fullData
          .filter(trace => /as published allocation$/.test(trace.name) && trace.y.length > 9).length === 2"""
    )
    expect(page).to_have_url(re.compile(r"overlay=phase\.rule"))
    expect(page.locator("#execution-title")).to_contain_text(name.rpartition("/")[2])
    expect(page.locator("#overlay-note")).to_be_empty()


@pytest.mark.long
def test_the_answer_comes_first_and_other_prices_compare_nothing_again(page, samples):
    evaluate(page, samples)
    expect(page.locator(".lead")).to_contain_text("4 workloads, 60 runs, each held out once")
    answer = page.locator(".tiles")
    expect(answer).to_contain_text("USD")
    expect(page.locator("table.workloads .opens")).to_have_count(4)
    assert page.locator("h2").first.inner_text() == "Workloads"
    page.get_by_role("button", name="Prices").click()
    page.get_by_label("Price of a core-hour").fill("-1")
    page.get_by_role("button", name="Apply prices").click()
    expect(page.get_by_text("A price is out of range.")).to_be_visible()
    page.get_by_label("Price of a core-hour").fill("1.5")
    page.get_by_label("Currency").fill("EUR")
    page.get_by_role("button", name="Apply prices").click()
    expect(page).to_have_url(re.compile(r"core_hour=1\.5"))
    expect(answer).to_contain_text("EUR")


def test_a_row_is_opened_and_the_table_filtered_by_keyboard(page, samples):
    evaluate(page, samples)
    row = page.locator("table.workloads .opens").first
    name = row.inner_text().strip()
    row.focus()
    page.keyboard.press("Enter")
    expect(page.locator(".openrow")).to_contain_text("A typical run")
    expect(page.locator(".openrow .manifest")).to_contain_text("resources")
    page.get_by_label("Filter workloads by name").fill(name[:6])
    expect(page).to_have_url(re.compile(r"find="))
    expect(page.locator("table.workloads .opens").first).to_contain_text(name)


@pytest.mark.long
def test_the_verdict_is_taken_away_in_each_format(page, samples):
    evaluate(page, samples)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.evaluate("""() => {
        const clipboard = navigator.clipboard, write = clipboard.writeText.bind(clipboard);
        window.copied = [];
        clipboard.writeText = (text) => { window.copied.push(text); return write(text); };
    }""")
    page.locator("table.workloads .opens").first.click()
    begins = {
        "Kubernetes VPA": "VerticalPodAutoscaler",
        "Kubernetes": "requests",
        "docker update": "docker update --",
    }
    for label, expected in begins.items():
        page.get_by_role("link", name=label, exact=True).click()
        expect(page.locator(".manifest")).to_contain_text(expected)
        with page.expect_download() as file:
            page.get_by_role("link", name="Download").click()
        text = file.value.path().read_text()
        assert expected in text
        assert "Synthetic training jobs" in text
        button = page.get_by_role("button", name="Copy")
        button.click()
        expect(page.get_by_role("button", name="Copied")).to_be_visible()
        assert page.evaluate("window.copied.splice(0)") == [text]
        assert page.evaluate("navigator.clipboard.readText()") == text
    page.get_by_role("button", name="Export", exact=True).click()
    with page.expect_download() as file:
        page.get_by_role("link", name="All workloads, JSON").click()
    about = json.loads(file.value.path().read_text())["about"]
    assert about["traces"] == "Synthetic training jobs"


@pytest.mark.long
def test_tables_and_pictures_can_be_taken_away(page, samples):
    evaluate(page, samples)
    with page.expect_download() as table:
        page.get_by_role("link", name="Export policies, CSV").click()
    lines = table.value.path().read_text().splitlines()
    assert lines[0].startswith("policy,policy_title,kind,scale,over")
    assert len(lines) == 7
    page.get_by_role("button", name="Export frontier CPU").click()
    with page.expect_download() as picture:
        page.get_by_role("button", name="Picture, SVG").click()
    assert "<svg" in picture.value.path().read_text()
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Export", exact=True).click()
    with page.expect_download() as report:
        page.get_by_role("link", name="Everything, JSON").click()
    assert set(json.loads(report.value.path().read_text())["resources"]) == {"cpu", "memory"}


def test_policies_are_chosen_though_the_server_is_slow(page, samples):
    """Evaluate, clicked at once, takes what was just ticked."""
    open_samples(page, samples, "cycle=100000")
    page.locator("details.settings > summary").click()
    held = []

    def hold(route):
        chosen = "evaluate-policies.value" in json.loads(route.request.post_data or "{}").get("output", "")
        held.append(route) if chosen else route.continue_()

    page.route(re.compile(r"/_dash-update-component\b"), hold)
    page.get_by_role("button", name="None", exact=True).click()
    page.get_by_role("button", name="Evaluate").click()
    expect(page.get_by_text("No policy is chosen.")).to_be_visible(timeout=10_000)
    page.get_by_role("button", name="The usual policies").click()
    expect(page.get_by_role("checkbox", checked=True)).to_have_count(9)
    assert not held


def test_on_a_phone_what_is_wrong_is_shown_though_the_form_is_long(page, samples):
    page.set_viewport_size({"width": 390, "height": 844})
    open_samples(page, samples, "cycle=100000")
    page.locator("details.settings > summary").click()
    page.get_by_role("button", name="None", exact=True).click()
    page.get_by_role("button", name="Evaluate").click()
    expect(page.get_by_text("No policy is chosen.")).to_be_in_viewport()
    page.locator(".pagehead .lead").evaluate("lead => lead.append('2d711642b726b044'.repeat(6))")
    assert cut_figures(page, 390) == [], "a name without a space breaks, too"


def test_the_page_is_accessible_and_fits(page, samples):
    evaluate(page, samples)
    page.wait_for_timeout(500)
    assert unfit(page, 1440, 390) == []
    page.set_viewport_size({"width": 1440, "height": 900})
    page.locator("table.workloads .opens").first.click()
    expect(page.locator(".openrow .strip")).to_be_visible()
    page.wait_for_timeout(500)
    assert unfit(page, 1440, 390) == []
    page.set_viewport_size({"width": 1440, "height": 900})
    page.get_by_role("button", name="Prices").click()
    page.wait_for_timeout(400)
    assert axe_in_both_schemes(page) == []
    page.keyboard.press("Escape")
    page.locator("details.settings > summary").click()
    expect(page.locator("#evaluate-start")).to_be_visible()
    assert unfit(page, 390) == []
