"""The Tasks page in a real browser: live rows, details, cancel, retry, filters."""

import re

from playwright.sync_api import expect

from core.bootstrap import open_workspace
from core.config import Settings
from tests.browser.serving import axe_findings, unfit, visit


def submit(server, title, **settings):
    """Ask for a training behind the page's back."""
    space = open_workspace(Settings(home=server.home))
    # Other tests put small sets on the same server, on which no training lasts long enough to be seen.
    traces = next(info.id for info in space.traces.list() if info.sample)
    params = {"trace_set": traces, "settings": settings, "features": None, "name": title}
    task = space.tasks.submit("train", title, params)
    space.close()
    return task


def test_a_task_is_followed_cancelled_and_retried(page, stocked):
    visit(page, "/tasks")
    expect(page.get_by_text(re.compile(r"1 worker, \d+ threads?"))).to_be_visible()
    submit(stocked, "Night training", epochs=20_000, patience=0)
    row = page.locator(".taskrow", has_text="Night training")
    expect(row.get_by_text("running", exact=True)).to_be_visible(timeout=60_000)
    bar = row.locator("[role=progressbar]")
    first = bar.get_attribute("aria-valuenow") or ""
    row.get_by_role("link", name="Night training").click()
    expect(page.locator("#tasks-detail").get_by_text("Parameters", exact=True)).to_be_visible()
    # the first training on a machine compiles for a while before its first epoch
    expect(bar).not_to_have_attribute("aria-valuenow", first, timeout=60_000)
    assert axe_findings(page) == []
    row.get_by_role("button", name="Cancel").click()
    expect(row.get_by_text("cancelled", exact=True)).to_be_visible(timeout=60_000)

    row.get_by_role("button", name="Retry").click()
    expect(page.get_by_text("Attempt 2.")).to_be_visible()
    again = page.locator(".taskrow.on")
    again.get_by_role("button", name="Cancel").click()
    expect(again.get_by_text("cancelled", exact=True)).to_be_visible(timeout=60_000)
    page.get_by_role("link", name=re.compile("^Cancelled")).click()
    expect(page.locator(".taskrow", has_text="Night training")).to_have_count(2)


def test_the_list_fits_and_is_fine_for_axe(page, stocked):
    visit(page, "/tasks")
    expect(page.get_by_role("heading", level=1)).to_have_text("Tasks")
    page.wait_for_timeout(800)
    assert unfit(page, 1440, 1280, 390) == []
