"""From a click on an execution to its drawn timeline, in Chromium, on a real server.

The longest execution has 200,000 samples. The time runs from the click to the paint after Plotly has
drawn the new figure, taken inside the page.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from playwright.sync_api import sync_playwright

from benchmarks.chromium import chromium
from benchmarks.large_set import LONGEST, large_workspace

if TYPE_CHECKING:
    from playwright.sync_api import Page

_ROOT = Path(__file__).resolve().parent.parent
_LIMIT_MS, _REPEATS = 300.0, 9
_ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync"]
_CLICK = """([from, to]) => new Promise((done) => {
  const graph = document.querySelector(".js-plotly-plot");
  const click = (row, then) => {
    graph.once("plotly_afterplot", () => requestAnimationFrame(() => setTimeout(then, 0)));
    document.querySelector(`#executions .ag-row[row-index="${row}"]`).click();
  };
  click(from, () => setTimeout(() => {
    const start = performance.now();
    click(to, () => done(performance.now() - start));
  }, 600));
})"""


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait(url: str) -> None:
    for _ in range(300):
        try:
            urllib.request.urlopen(f"{url}/healthz", timeout=1).close()
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise TimeoutError(f"{url} does not answer")


def _measure(page: Page) -> tuple[float, float]:
    short = [float(page.evaluate(_CLICK, [3 + i % 2, 5])) for i in range(_REPEATS)]
    longest = [float(page.evaluate(_CLICK, [3 + i % 2, 0])) for i in range(_REPEATS)]
    return float(np.median(short)), float(np.median(longest))


def run() -> list[dict[str, object]]:
    """Measure a usual execution and the longest."""
    path = chromium()
    with large_workspace(longest=LONGEST) as (place, trace_set_id, model_id):
        port = _free_port()
        environment = os.environ | {"PHASEDOCK_HOME": str(place.settings.home), "PORT": str(port)}
        command = [sys.executable, "-m", "gunicorn", "-c", "gunicorn.conf.py", "app.main:wsgi()"]
        web = subprocess.Popen(
            command, cwd=_ROOT, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            url = f"http://127.0.0.1:{port}"
            _wait(url)
            with sync_playwright() as driver:
                browser = driver.chromium.launch(executable_path=path, args=_ARGUMENTS)
                page = browser.new_page(viewport={"width": 1440, "height": 900})
                page.goto(f"{url}/phases?traces={trace_set_id}&model={model_id}&execution=container-00002")
                page.wait_for_selector(".js-plotly-plot .xtick", timeout=60_000)
                page.wait_for_timeout(1_500)
                usual, longest = _measure(page)
                browser.close()
        finally:
            web.terminate()
            web.wait(20)
    return [
        _row("timeline, 240 samples: click to drawn, median", usual),
        _row(f"timeline, {LONGEST:,} samples: click to drawn, median", longest),
    ]


def _row(name: str, value: float) -> dict[str, object]:
    return {
        "name": name,
        "value": value,
        "unit": "ms",
        "target": f"<= {_LIMIT_MS:g} ms",
        "met": value <= _LIMIT_MS,
    }
