"""Signing in and out where there is a password."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.serving import axe_findings, cut_figures, start_server, unfit

PASSWORD = "correct horse"


@pytest.fixture(scope="module")
def guarded(tmp_path_factory):
    """A server that asks for a password."""
    running = start_server(tmp_path_factory.mktemp("guarded") / "home", PHASEDOCK_PASSWORD=PASSWORD)
    yield running
    running.stop()


def test_one_signs_in_looks_round_and_signs_out(page, guard, guarded):
    guard.servers.append(guarded)
    guard.allow("401")
    page.goto(f"{guarded.base_url}/traces")
    expect(page).to_have_title("Sign in to PhaseDock")
    page.get_by_label("Password").fill("wrong horse")
    page.get_by_role("button", name="Sign in").click()
    expect(page.locator("form")).to_contain_text("Wrong password")
    assert [*axe_findings(page), *cut_figures(page, 1280, 390)] == []
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", name="Overview")).to_be_visible()
    assert unfit(page, 1280, 390) == []
    page.get_by_role("button", name="Sign out").click()
    expect(page).to_have_url(re.compile("/login$"))
    page.goto(f"{guarded.base_url}/traces")
    expect(page).to_have_title("Sign in to PhaseDock")
