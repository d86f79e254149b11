"""A real web process and a real worker for browser tests, and what axe says of a page."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path

from axe_playwright_python.sync_playwright import Axe

ROOT = Path(__file__).resolve().parents[2]
BROWSERS = (
    "chromium-headless-shell",
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
)


def chromium():
    """The system's Chromium, or None."""
    return next(filter(None, map(shutil.which, BROWSERS)), None)


@dataclass
class Server:
    """A running PhaseDock: web and worker as processes of their own, on a folder of their own."""

    base_url: str
    home: Path
    environment: dict[str, str]
    web: subprocess.Popen[bytes]
    worker: subprocess.Popen[bytes]
    samples: str = ""

    def start_worker(self):
        self.worker = _start_worker(self.environment)

    def log_end(self):
        """The end of what it logged."""
        return self.home.with_suffix(".log").read_text(errors="replace")[-4000:]

    def stop(self):
        for process in (self.web, self.worker):
            stop(process)


def start(command, environment):
    with Path(environment["PHASEDOCK_HOME"]).with_suffix(".log").open("ab") as log:
        return subprocess.Popen(
            command, cwd=ROOT, env=environment, stdout=log, stderr=log, start_new_session=True
        )


def _start_worker(environment):
    return start([sys.executable, "-m", "core.cli", "worker"], environment)


def stop(process):
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(10)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_until_it_serves(base_url, seconds=60):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            with urllib.request.urlopen(f"{base_url}/healthz", timeout=2) as answer:
                if answer.status == 200:
                    return
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
    raise AssertionError(f"{base_url} did not answer within {seconds} s")


def start_server(home, **more):
    port = free_port()
    environment = os.environ | {"PHASEDOCK_HOME": str(home), "PORT": str(port), "HOST": "127.0.0.1"} | more
    web = start([sys.executable, "-m", "gunicorn", "-c", "gunicorn.conf.py", "app.main:wsgi()"], environment)
    server = Server(f"http://127.0.0.1:{port}", home, environment, web, _start_worker(environment))
    wait_until_it_serves(server.base_url)
    return server


FOLLOW = "to => { history.pushState({}, '', to); dispatchEvent(new PopStateEvent('popstate')); }"

DISMISS = "document.querySelectorAll('.mantine-Notification-closeButton').forEach(each => each.click())"


def visit(page, address):
    """Go to an address as a link does where PhaseDock is open already; else load it."""
    if not page.url.startswith("http"):
        page.goto(address)
        return
    page.evaluate(FOLLOW, "/nowhere")  # or the page would stay as it is, were the address the same
    page.get_by_role("heading", name="404").wait_for()
    page.evaluate(DISMISS)  # a notice of the last page may lie over the next one's buttons
    page.evaluate(FOLLOW, address)


_STILL = """() => document.getAnimations().every(
  one => one.playState !== "running" || one.effect.getComputedTiming().endTime === Infinity)"""


AXE = Axe()


def axe_findings(page):
    """What axe finds, minor findings included, as sentences.

    What fades in or out has too little contrast for a moment: a finding has to last.
    """
    found = []
    for _ in range(3):
        page.wait_for_function(_STILL)
        if not page.evaluate("'axe' in window"):
            page.evaluate(AXE.axe_script)
        results = page.evaluate("axe.run({ resultTypes: ['violations'] })")
        found = [
            f"{violation['id']}: {violation['help']} ({violation['nodes'][0]['html'][:160]})"
            for violation in results["violations"]
        ]
        if not found:
            return []
    return found


def axe_in_both_schemes(page):
    """What axe finds in light and in dark, for a page, a dialog or a menu that is open."""
    found = []
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        page.locator(f"html[data-mantine-color-scheme={scheme}]").wait_for()
        found += [f"{scheme}: {text}" for text in axe_findings(page)]
    return found


_CUT = r"""() => {
  const quantity = /\d ?(cores|[KMG]iB|B|%|s|min|h)(\W|$)/;
  const scrolls = element => /auto|scroll/.test(getComputedStyle(element).overflowX);
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const found = [];
  for (let text = texts.nextNode(); text; text = texts.nextNode()) {
    const owner = text.parentElement, card = owner.closest(".card,.livecard,.smallone,.headline");
    if (!card || !text.data.trim() || !owner.checkVisibility({ visibilityProperty: true })) continue;
    if (owner.closest("svg,.js-plotly-plot,.ag-root-wrapper,.sr")) continue;
    const range = document.createRange();
    range.selectNodeContents(text);
    const end = range.getBoundingClientRect().right;
    for (let box = owner; ; box = box.parentElement) {
      if (box !== card && scrolls(box)) break;
      const prose = /[.]$|, | · /.test(owner.textContent); // a sentence or a list may end in an ellipsis
      const figure = quantity.test(owner.textContent) && !prose;
      const hides = figure && getComputedStyle(box).overflowX !== "visible";
      const clips = box === card ? !getComputedStyle(owner).textOverflow.includes("ellipsis") : hides;
      if (clips && end > box.getBoundingClientRect().right + 0.5) found.push(owner.textContent);
      if (box === card) break;
    }
  }
  return [...new Set(found)];
}"""


def cut_figures(page, *widths):
    """Texts that run over the edge of their card, quantities of which a part is hidden, too wide a page."""
    height = (page.viewport_size or {"height": 900})["height"]
    found = []
    for width in widths:
        page.set_viewport_size({"width": width, "height": height})
        page.wait_for_timeout(300)  # figures and tables take their new size
        found += [f"{width}: {text}" for text in _lasting(page, _CUT)]
        wider = _lasting(page, f"[document.documentElement.scrollWidth].filter(wide => wide > {width})")
        found += [f"{width}: the page is {wide} wide" for wide in wider]
    return found


def _lasting(page, script):
    """The list that a script gives, unless it becomes empty: a busy machine draws late."""
    for _ in range(20):
        found = page.evaluate(script)
        if not found:
            break
        page.wait_for_timeout(250)
    return found


def unfit(page, *widths):
    """What is wrong with a page in both colour schemes at these widths: for axe, too wide, or cut off."""
    found = []
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        page.locator(f"html[data-mantine-color-scheme={scheme}]").wait_for()
        for width in widths:
            found += [f"{scheme}, {text}" for text in cut_figures(page, width)]
            # colours depend on the scheme, and what else axe looks at on the width
            if (scheme, width) in (("light", widths[0]), ("dark", widths[-1])):
                found += [f"{scheme}, {width}: {text}" for text in axe_findings(page)]
    return found
