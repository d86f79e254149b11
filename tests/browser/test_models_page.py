"""The Models page in a real browser: train and come back, cancel, choose k, import, expand, compare."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.serving import axe_findings, unfit, visit

AI4DL = Path(__file__).resolve().parents[3] / "shared" / "reference" / "ai4dl"
SLOWLY = {"Epochs": "20000", "Patience": "0"}


def open_view(page, samples, view):
    visit(page, f"/models?{samples}&view={view}")
    expect(page.get_by_role("heading", level=1)).to_have_text("Models")
    page.wait_for_load_state("networkidle")


def start_training(page, samples, name, **fields):
    """Fill the form and press Train; gives the card of the task."""
    open_view(page, samples, "train")
    page.get_by_text("More settings").click()
    for label, value in fields.items():
        page.get_by_label(label, exact=True).fill(value)
    page.get_by_label("Name", exact=True).fill(name)
    page.get_by_role("button", name="Train", exact=True).click()
    card = page.locator(".livetask", has_text=f"Train {name} on")
    expect(card).to_be_visible()
    return card


def wait_for_points(card, more_than):
    """Wait until the live curve has more points than that; gives how many it has."""
    points = "each => (each.data && each.data[0] && each.data[0].x || []).length"
    for _ in range(120):
        graph = card.locator(".js-plotly-plot")
        found = int(graph.first.evaluate(points)) if graph.count() else 0
        if found > more_than:
            return found
        card.page.wait_for_timeout(500)
    raise AssertionError(f"the curve never had more than {more_than} points")


def test_training_is_seen_live_found_again_and_leads_to_its_phases(page, samples):
    card = start_training(page, samples, "evening", **(SLOWLY | {"Epochs": "4000"}))
    expect(card.get_by_text(re.compile(r"Epoch \d+ of 4000"))).to_be_visible(timeout=60_000)
    before = wait_for_points(card, 0)

    page.reload()
    card = page.locator(".livetask", has_text="Train evening on")
    expect(card.get_by_text(re.compile(r"Epoch \d+ of 4000"))).to_be_visible(timeout=60_000)
    wait_for_points(card, before)

    expect(card.get_by_text("done", exact=True)).to_be_visible(timeout=90_000)
    card.get_by_role("link", name="See phases").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Phases")
    expect(page.locator("#pick-model")).to_have_value("evening")


@pytest.mark.long
def test_a_training_can_be_cancelled_and_retried(page, samples):
    card = start_training(page, samples, "given up", **SLOWLY)
    card.get_by_role("button", name="Cancel").click()
    expect(card.get_by_text("cancelled", exact=True)).to_be_visible(timeout=60_000)
    expect(card.get_by_text("Nothing was saved")).to_be_visible()
    card.get_by_role("button", name="Retry").click()
    again = page.locator(".livetask", has_text="Train given up on")
    again.get_by_role("button", name="Cancel").click()
    expect(again.get_by_text("cancelled", exact=True)).to_be_visible(timeout=60_000)


@pytest.mark.long
def test_presets_fill_the_form(page, samples):
    open_view(page, samples, "train")
    page.get_by_role("button", name="Published model").click()
    expect(page.get_by_label("Epochs", exact=True)).to_have_value("1000")
    page.get_by_text("More settings").click()
    expect(page.get_by_label("Seed", exact=True)).to_have_value("1234")


@pytest.mark.long
@pytest.mark.skipif(not AI4DL.exists(), reason="AI4DL's published files are not here")
def test_the_published_files_are_imported_by_their_names(page, samples):
    open_view(page, samples, "import")
    files = [*(AI4DL / "ai4dl_crbm1").iterdir(), *AI4DL.glob("*.joblib")]
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="choose files").click()
    chooser.value.set_files(files)
    expect(page.locator(".slot .state", has_text="here")).to_have_count(4, timeout=60_000)
    assert axe_findings(page) == []
    page.get_by_label("Name", exact=True).fill("published")
    page.get_by_role("button", name="Import", exact=True).click()
    expect(page.locator(".modelhead", has_text="published")).to_be_visible(timeout=60_000)
    expect(page.locator(".modelhead").get_by_text("AI4DL import")).to_be_visible()


@pytest.mark.long
def test_a_phase_is_expanded_renamed_trashed_and_deleted(page, samples):
    visit(page, "/models")
    link = page.locator(".modelitem a.name", has_text=re.compile("^Synthetic training jobs, 5 phases$"))
    visit(page, link.get_attribute("href") or "")
    expect(page.locator("#expand-name")).to_have_value(re.compile("^Synthetic training jobs"))
    page.wait_for_load_state("networkidle")
    page.locator("#expand-name").fill("finer")
    page.get_by_role("button", name="Expand", exact=True).click()
    page.get_by_role("link", name="Open the model").click(timeout=60_000)
    expect(page.locator(".modelhead h2")).to_have_text("finer")
    expect(page.locator(".branches")).to_contain_text("divided")
    page.wait_for_timeout(800)
    assert axe_findings(page) == []

    page.get_by_role("button", name="Rename").click()
    page.locator("#model-rename-name").fill("finest")
    page.locator("#model-rename-save").click()
    expect(page.locator(".modelhead h2")).to_have_text("finest")

    page.get_by_role("button", name="Move to trash").click()
    page.get_by_role("button", name="Undo").click()
    expect(page.locator(".modelhead h2")).to_have_text("finest")
    page.get_by_role("button", name="Move to trash").click()
    page.get_by_role("link", name=re.compile("in the trash")).click()
    row = page.locator(".item", has_text="finest")
    row.get_by_role("button", name="Delete for good").click()
    expect(page.locator("#model-delete-text")).to_contain_text("finest")
    page.locator("#model-delete-yes").click()
    expect(row).to_have_count(0)


@pytest.mark.long
def test_two_models_are_compared(page, samples):
    card = start_training(page, samples, "second", Epochs="5")
    expect(card.get_by_text("done", exact=True)).to_be_visible(timeout=60_000)
    page.get_by_role("link", name="Compare", exact=True).click()
    expect(page.get_by_text("adjusted Rand index")).to_be_visible(timeout=60_000)
    expect(page.locator(".js-plotly-plot .heatmaplayer image")).to_be_attached()
    page.locator("#compare-b").click()
    page.get_by_role("option", name=re.compile("^Synthetic training jobs, 5 phases$")).click()
    expect(page).to_have_url(re.compile("b="))
    expect(page.get_by_text("Shares side by side")).to_be_visible()
    page.wait_for_timeout(500)
    assert axe_findings(page) == []


@pytest.mark.parametrize("view", ["", "train", "choose", "search", "compare", "import"])
def test_every_view_is_fine_for_axe_and_fits_a_phone(page, samples, view):
    open_view(page, samples, view)
    page.wait_for_timeout(800)
    assert unfit(page, 1280, 390) == []
