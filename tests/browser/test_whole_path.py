"""The main job of PhaseDock, as a person does it: a CSV in, a model trained, phases on the screen."""

import re

import numpy as np
import pytest
from playwright.sync_api import expect

from tests.browser.serving import axe_findings, start_server
from tests.synthetic import synthetic_traces


@pytest.fixture(scope="module")
def fresh(tmp_path_factory):
    """A server on which nothing is yet."""
    running = start_server(tmp_path_factory.mktemp("fresh") / "home")
    yield running
    running.stop()


@pytest.fixture(scope="session")
def trace_file(tmp_path_factory):
    """Eight containers as a CSV that names its columns its own way."""
    traces, _ = synthetic_traces(8, 11)
    path = tmp_path_factory.mktemp("files") / "night batch.csv"
    cpu, memory = traces.columns[0], traces.columns[1]
    names = np.repeat(np.array(traces.ids, dtype=object), np.diff(traces.offsets))
    rows = ["container_name,time,cpu_cores,mem_mib"]
    rows += [
        f"{name},{t:.0f},{c:.4f},{m / 2**20:.2f}"
        for name, t, c, m in zip(names, traces.time, cpu, memory, strict=True)
    ]
    path.write_text("\n".join(rows))
    return path


def settle(page):
    """Wait until no request is under way; live pages ask every second or so, and answer at once."""
    page.wait_for_timeout(500)


def test_from_a_csv_to_phases(page, guard, fresh, trace_file):
    guard.servers.append(fresh)
    page.goto(fresh.base_url)
    expect(page.get_by_role("heading", level=1)).to_have_text("Overview")
    assert axe_findings(page) == []

    page.get_by_role("link", name="Add traces").first.click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Traces")
    settle(page)
    assert axe_findings(page) == []
    with page.expect_file_chooser() as chooser:
        page.locator("#choose-file").click()
    chooser.value.set_files(trace_file)
    expect(page.locator("#map-import")).to_be_visible(timeout=20_000)
    assert axe_findings(page) == []
    page.locator("#map-name").fill("Night batch")
    page.locator("#map-import").click()
    train = page.get_by_role("link", name="Train a model").first
    expect(train).to_be_visible(timeout=30_000)
    settle(page)
    assert axe_findings(page) == []

    train.click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Models")
    page.locator("#train-start").click(timeout=20_000)
    see = page.get_by_role("link", name="See phases").first
    expect(see).to_be_visible(timeout=60_000)
    settle(page)
    assert axe_findings(page) == []

    see.click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Phases")
    expect(page.locator(".js-plotly-plot .heatmaplayer image").first).to_be_attached(timeout=20_000)
    expect(page.locator(".phasecard")).to_have_count(5)
    settle(page)
    assert axe_findings(page) == []

    page.get_by_role("link", name=re.compile("^Tasks")).first.click()
    expect(page.get_by_text("Train", exact=False).first).to_be_visible()
    settle(page)
    assert axe_findings(page) == []


@pytest.mark.parametrize("path", ["/", "/phases"])
def test_nothing_is_wider_than_a_phone(page, path):
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(path)
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    page.wait_for_timeout(800)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
