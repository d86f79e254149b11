"""The Sequences page on the synthetic sample, in a real browser."""

import csv
import io
import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.serving import axe_findings, unfit, visit

GRAPH = "document.getElementById('sequence-graph')._cyreg.cy"


def open_samples(page, samples, more=""):
    visit(page, f"/sequences?{samples}{more}")
    page.wait_for_function(
        f"() => {{ try {{ return {GRAPH}.nodes().length > 3 }} catch (e) {{ return false }} }}"
    )
    expect(page.locator("#sequence-paths .ag-row").first).to_be_visible(timeout=20_000)


def emit(page, selector):
    """A tap on the graph's canvas, where the node or the middle of the edge is."""
    page.wait_for_timeout(600)
    place = page.evaluate(
        f"""(selector) => {{
          const cy = {GRAPH}, one = cy.elements(selector)[0];
          const at = one.isNode() ? one.renderedPosition() : one.renderedMidpoint();
          const box = cy.container().getBoundingClientRect();
          return [box.left + at.x, box.top + at.y];
        }}""",
        selector,
    )
    page.mouse.click(*place)


def test_a_node_leads_to_its_executions_and_each_of_them_to_phases(page, samples):
    page.set_viewport_size({"width": 1440, "height": 1050})
    open_samples(page, samples)
    assert axe_findings(page) == []
    emit(page, "node.p4")
    title = page.locator("#behind-name")
    expect(title).to_have_text("φ4")
    expect(page.locator("#behind-list")).to_contain_text(re.compile(r"\d+ executions? \(\d+\.\d%\)"))
    expect(page).to_have_url(re.compile("pick=node%3A3"))
    expect(page.locator("#seq-next .afterline")).to_contain_text("φ4")
    page.wait_for_timeout(400)
    assert axe_findings(page) == []
    row = page.locator("#seq-behind-grid .ag-row").first
    name = row.get_attribute("row-id")
    assert name
    page.reload()
    expect(title).to_have_text("φ4", timeout=20_000)
    page.locator("#seq-behind-grid .ag-row").first.click()
    expect(page).to_have_url(re.compile("/phases"))
    expect(page.locator("#execution-title")).to_contain_text(name.rpartition("/")[2], timeout=20_000)


def test_an_edge_a_cell_a_row_and_the_tree_have_executions_behind_them(page, samples):
    page.set_viewport_size({"width": 1440, "height": 1050})
    open_samples(page, samples, "&hide=0.30")
    title = page.locator("#behind-name")
    emit(page, "edge[p >= 0.8]")
    expect(title).to_have_text("φ5 → φ4")
    page.keyboard.press("Escape")
    expect(page).not_to_have_url(re.compile("pick="))
    # while it slides away its title is there already, but it does not listen for Escape yet
    expect(title).to_be_hidden()
    page.locator("#sequence-paths .ag-row").first.click()
    expect(title).to_have_text(re.compile(r"^φ\d.* φ\d"))
    page.keyboard.press("Escape")
    expect(title).to_be_hidden()
    page.locator(".nextrow").first.click()
    expect(title).to_contain_text("→")
    page.keyboard.press("Escape")
    expect(title).to_be_hidden()
    heat = page.locator("#seq-matrix .nsewdrag").bounding_box()
    assert heat
    page.mouse.click(heat["x"] + heat["width"] / 4, heat["y"] + heat["height"] / 10)
    expect(title).to_have_text("φ1 → φ2")
    page.keyboard.press("Escape")
    expect(title).to_be_hidden()
    page.locator(".slice path.surface").nth(1).click()
    expect(title).to_contain_text("and what follows")


@pytest.mark.long
def test_the_memory_is_in_the_address_and_changes_graph_table_and_matrix(page, samples):
    open_samples(page, samples)
    page.locator("#seq-memory").get_by_text("2", exact=True).click()
    page.wait_for_function(f"() => {GRAPH}.nodes('.long').length > 3")
    expect(page).to_have_url(re.compile("memory=2"))
    page.get_by_role("button", name="As table").click()
    first = page.locator("#sequence-edges .ag-row").first
    expect(first.locator(".ag-cell").first.locator(".phase")).to_have_count(2)
    first.click()
    expect(page.locator("#behind-name")).to_contain_text("›")
    page.reload()
    page.wait_for_function(
        f"() => {{ try {{ return {GRAPH}.nodes('.long').length > 3 }} catch (e) {{ return false }} }}",
        timeout=20_000,
    )


def test_longer_states_are_laid_out_in_layers_and_none_covers_another(page, samples):
    page.set_viewport_size({"width": 1440, "height": 1050})
    open_samples(page, samples, "&memory=2")
    boxes = f"""{GRAPH}.nodes().map(node => {{
        const at = node.position(); return [at.x, at.y, node.width(), node.height()];
    }})"""
    # one row for each layer, where a circle has another height for nearly every state
    page.wait_for_function(
        f"() => {{ const rows = {boxes}.map(box => Math.round(box[1]));"
        " return new Set(rows).size < rows.length * 0.75 }"
    )
    found = page.evaluate(boxes)
    assert len(found) > 8
    for number, (x, y, width, height) in enumerate(found):
        for left, top, wide, high in found[:number]:
            assert abs(x - left) >= (width + wide) / 2 or abs(y - top) >= (height + high) / 2
    page.get_by_role("button", name="Export the graph").click()
    with page.expect_download() as download:
        page.locator("#seq-svg").click()
    drawn = Path(download.value.path()).read_text(encoding="utf-8")
    assert "NaN" not in drawn
    assert drawn.count(" Q") > drawn.count("marker-end")


def test_a_graph_that_goes_as_it_changes_leaves_nothing_to_be_done(page, samples):
    """Whatever Cytoscape had put off must not touch a graph that is gone; an error fails every test."""
    open_samples(page, samples)
    page.wait_for_timeout(500)
    page.evaluate(
        f"""() => {{
          const cy = {GRAPH};
          cy.remove(cy.nodes()[0]);
          cy.container().style.width = "300px";
          setTimeout(() => dash_clientside.set_props("_pages_content", {{ children: null }}), 20);
        }}"""
    )
    expect(page.locator("#sequence-graph")).to_have_count(0)
    page.wait_for_timeout(500)


@pytest.mark.long
def test_what_comes_next_can_be_asked_of_other_phases_and_further_on(page, samples):
    open_samples(page, samples, "&after=0")
    line = page.locator("#seq-next .afterline")
    expect(line).to_contain_text("φ1")
    page.get_by_role("button", name="Change the phases to start from").click()
    page.locator("[data-after='3.2']").click()
    expect(line).to_contain_text("φ4›φ3")
    expect(page).to_have_url(re.compile("after=3.2"))
    first = page.locator(".nextrow b").first.inner_text()
    page.locator("#seq-ahead").click()
    page.get_by_role("option", name="2 phases on").click()
    expect(page.locator(".nextrow b").first).not_to_have_text(first)
    chances = [float(text) for text in page.locator(".nextrow b").all_inner_texts()]
    assert sum(chances) == pytest.approx(1.0, abs=0.03)


@pytest.mark.long
def test_tables_and_pictures_can_be_taken_away(page, samples, tmp_path):
    open_samples(page, samples, "&memory=2")
    page.get_by_role("button", name="Export", exact=True).click()
    for name, head in (
        ("Transitions", "from"),
        ("Paths and prototypes", "number"),
        ("What comes next", "what"),
    ):
        with page.expect_download() as download:
            page.get_by_role("link", name=f"{name}, CSV").last.click()
        rows = list(csv.reader(io.StringIO(Path(download.value.path()).read_text(encoding="utf-8"))))
        assert rows[0][0] == head
        assert len(rows) > 1
        if name == "Transitions":
            assert any("›" in row[0] for row in rows[1:])
    page.keyboard.press("Escape")
    for kind, begins in (("PNG", b"\x89PNG"), ("SVG", b"<svg")):
        page.get_by_role("button", name="Export the graph").click()
        with page.expect_download() as download:
            page.locator(f"#seq-{kind.lower()}").click()
        assert Path(download.value.path()).read_bytes().startswith(begins)
        page.keyboard.press("Escape")


def test_colours_follow_the_scheme(page, samples):
    page.emulate_media(color_scheme="light")
    open_samples(page, samples)
    colour = f"{GRAPH}.nodes('.p1').style('background-color')"
    page.wait_for_function(f"() => {colour} === 'rgb(64,151,207)'")
    page.get_by_role("button", name="Switch between light and dark").click()
    page.wait_for_function(f"() => {colour} === 'rgb(98,170,254)'")


def test_a_phone_has_everything_without_scrolling_sideways(page, samples):
    page.set_viewport_size({"width": 390, "height": 844})
    open_samples(page, samples)
    heads = page.locator("#sequence-paths .ag-header-cell-text")
    expect(heads).to_have_text(["No.", "Packed sequence", "Example", "Share"])
    page.wait_for_timeout(800)
    table = page.locator("#sequence-paths .ag-center-cols-viewport")
    assert table.evaluate("box => box.scrollWidth <= box.clientWidth + 1")
    assert unfit(page, 390) == []
