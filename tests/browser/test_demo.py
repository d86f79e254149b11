"""The first minutes without Docker: three ways in, the samples by one click, and all of Live on the demo."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import VIEWPORT
from tests.browser.serving import start_server, unfit

WIDTHS = (1280, 390)


@pytest.fixture(scope="module")
def fresh(tmp_path_factory):
    """A server of the module's own on a machine without Docker, on which control is off."""
    folder = tmp_path_factory.mktemp("demo")
    running = start_server(folder / "home", PHASEDOCK_DOCKER=f"local=unix://{folder}/none.sock")
    yield running
    running.stop()


def row(page):
    return page.locator("#live-grid .ag-center-cols-container .ag-row")


def test_from_the_first_start_to_phases_and_a_recording_of_the_demo(page, fresh):
    page.goto(f"{fresh.base_url}/")
    expect(page.get_by_role("heading", name="Three ways in")).to_be_visible()
    expect(page.locator("#_pages_content").get_by_text("Docker: not found")).to_be_visible()
    expect(page.locator(".hero-strips .strip").first).to_be_visible()
    assert unfit(page, *WIDTHS) == []
    page.set_viewport_size(VIEWPORT)
    page.get_by_role("button", name="Load samples and model").click()
    expect(page.get_by_role("heading", name="What your jobs do")).to_be_visible()
    expect(page.locator(".kpis, .cols-4").first).to_contain_text("not evaluated yet")
    expect(page.locator("#_pages_content .js-plotly-plot .main-svg").first).to_be_visible()
    assert unfit(page, *WIDTHS) == []
    page.set_viewport_size(VIEWPORT)
    page.goto(f"{fresh.base_url}/live")
    expect(page.locator("#live-grid .phase").first).to_be_visible(timeout=60_000)
    page.get_by_role("button", name="Record", exact=True).click()
    samples = page.locator('[data-moving="samples"]')
    expect(samples).to_have_text(re.compile(r"^[1-9]\d*$"), timeout=60_000)
    page.locator("#live-record").get_by_role("button", name="Stop").click()
    expect(page.locator(".mantine-Notification-root", has_text="The recording has ended")).to_be_visible()


def test_live_is_a_demo_on_which_a_limit_is_set_a_policy_attached_and_all_released(page, fresh):
    page.goto(f"{fresh.base_url}/live")
    expect(page.locator("#live-lead")).to_contain_text("Demo: recorded jobs, replayed,")
    expect(page.locator("#live-notice")).to_contain_text("Docker: not found. This is a demo.")
    expect(page.locator("#live-notice .command")).to_have_count(2)
    expect(row(page).first).to_be_visible()
    assert unfit(page, *WIDTHS) == []
    page.set_viewport_size(VIEWPORT)
    page.locator('#live-grid [data-act="one"]').first.click()
    window = page.get_by_role("dialog")
    window.get_by_label("CPU, cores").fill("0.2")
    window.get_by_role("button", name=re.compile("Set the limits of")).click()
    message = page.locator(".mantine-Notification-root", has_text="changed.")
    expect(message).to_contain_text("0.20 cores.")
    message.get_by_role("button", name="Undo").click()
    expect(page.locator(".mantine-Notification-root", has_text="restored")).to_be_visible()
    page.locator("#live-mode").get_by_text("Control").click()
    page.get_by_role("button", name="Attach", exact=True).click()
    page.get_by_role("button", name="Attach in control mode").click()
    expect(page.locator("#live-policy .decisions li").nth(1)).to_be_visible(timeout=60_000)
    page.get_by_role("button", name="Release everything").click()
    page.get_by_role("dialog").get_by_role("button", name="Release everything").click()
    expect(page.locator("#live-policy")).to_contain_text("none attached", timeout=60_000)
    expect(page.locator('#live-grid [data-act="undo"]')).to_have_count(0)
