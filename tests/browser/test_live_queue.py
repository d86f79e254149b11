"""The queue in a browser, on the demo: a job is submitted, waits, is put first, started, and ended."""

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import VIEWPORT
from tests.browser.serving import start_server, unfit

WIDTHS = (1280, 390)


@pytest.fixture(scope="module")
def fresh(tmp_path_factory):
    """A server of the module's own on a machine without Docker."""
    folder = tmp_path_factory.mktemp("queue")
    running = start_server(folder / "home", PHASEDOCK_DOCKER=f"local=unix://{folder}/none.sock")
    yield running
    running.stop()


def test_a_job_goes_from_the_form_to_its_end(page, fresh):
    page.goto(f"{fresh.base_url}/live")
    card = page.locator("#live-queue")
    expect(card).to_contain_text("Submit a job, and it waits here", timeout=60_000)
    assert unfit(page, *WIDTHS) == []
    page.set_viewport_size(VIEWPORT)
    card.get_by_role("button", name="Submit a job").click()
    window = page.get_by_role("dialog")
    window.get_by_label("Cores requested").fill("99")
    window.get_by_role("button", name="Submit", exact=True).click()
    expect(window).to_contain_text("demo has 8.00 cores; at most that would be accepted.")
    assert unfit(page, *WIDTHS) == []
    page.set_viewport_size(VIEWPORT)
    window.get_by_label("Cores requested").fill("0.5")
    window.get_by_role("button", name="Submit", exact=True).click()
    expect(page.locator(".mantine-Notification-root", has_text="mlp is submitted.")).to_be_visible()
    job = card.locator("li")
    expect(job).to_contain_text("waiting")
    expect(card).to_contain_text("1 job waits. No policy is attached to demo.")
    card.get_by_role("button", name="Raise the priority of mlp").click()
    expect(job.locator(".priority")).to_contain_text("1")
    page.locator("#live-policy-name").click()
    page.get_by_role("option", name="No policy").click()
    page.locator("#live-mode").get_by_text("Control").click()
    page.get_by_role("button", name="Attach", exact=True).click()
    expect(page.get_by_role("dialog")).to_contain_text("Jobs that wait, which it may start: mlp.")
    page.get_by_role("button", name="Attach in control mode").click()
    expect(card.locator('li[data-state="running"]')).to_be_visible(timeout=60_000)
    assert unfit(page, *WIDTHS) == []
    page.set_viewport_size(VIEWPORT)
    card.get_by_role("button", name="Cancel mlp").click()
    page.get_by_role("button", name="End mlp").click()
    expect(card.locator('li[data-state="cancelled"]')).to_be_visible(timeout=60_000)
    card.get_by_role("button", name="Remove mlp").click()
    expect(card).to_contain_text("no jobs")
    page.get_by_role("button", name="Detach").first.click()
    expect(page.locator("#live-policy-name")).to_be_visible(timeout=60_000)


def test_a_deadline_is_told_before_and_followed_after(page, fresh):
    page.goto(f"{fresh.base_url}/live")
    card = page.locator("#live-queue")
    card.get_by_role("button", name="Submit a job").click(timeout=60_000)
    window = page.get_by_role("dialog")
    deadline, told = window.get_by_label("Deadline"), window.locator("#live-job-outlook")
    deadline.fill("2 h")
    expect(told).to_contain_text("no job of this kind has run here")
    deadline.fill("6")
    expect(told).to_contain_text("“6” is not a time.")
    deadline.fill("")
    expect(told).to_be_empty()
    assert unfit(page, *WIDTHS) == []
    page.set_viewport_size(VIEWPORT)
    deadline.fill("in 2 h")
    window.get_by_role("button", name="Submit", exact=True).click()
    due = page.locator("#live-deadlines")
    expect(due).to_contain_text("1 job, 0 guaranteed")
    expect(due.locator("li")).to_contain_text("no guarantee")
    clock = due.locator(".verdict time")
    expected = page.evaluate("new Date(Date.now() + 7200e3).toLocaleTimeString('en-GB').slice(0, 2)")
    expect(clock).to_contain_text(expected)
    assert unfit(page, *WIDTHS) == []
    page.set_viewport_size(VIEWPORT)
    # on the axis a day is written once, where it begins
    page.evaluate("""() => {
        const axis = document.querySelector(".dueaxis");
        while (axis.children.length < 4) axis.append(axis.firstElementChild.cloneNode());
        [...axis.children].forEach((tick, place) => {
            const at = new Date(2031, 4, 17 + Math.floor(place / 2), 12 + place);
            tick.dataset.at = String(at.getTime() / 1000);
        });
    }""")
    ticks = due.locator(".dueaxis time")
    for place, text in enumerate(["17 May 12:00", "13:00", "18 May 14:00", "15:00"]):
        expect(ticks.nth(place)).to_have_text(text)
    card.get_by_role("button", name="Cancel mlp").click()
    expect(due.locator("li")).to_contain_text("cancelled")
    card.get_by_role("button", name="Remove mlp").click()
    expect(due).to_be_empty()
