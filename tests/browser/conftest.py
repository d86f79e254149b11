"""A real server, a real worker and a real Chromium; any error in the page fails the test."""

from __future__ import annotations

import os
import re
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from playwright.sync_api import expect

from core.bootstrap import open_workspace
from core.config import Settings
from core.workspace.samples import load_samples
from tests.browser.serving import Server, chromium, start_server
from tests.data.make_synthetic import SYNTHETIC

CHROMIUM = chromium()
expect.set_options(timeout=30_000)
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
VIEWPORT = {"width": 1280, "height": 720}
FORGET = """() => {
  const remembered = localStorage.length + sessionStorage.length;
  localStorage.clear();
  sessionStorage.clear();
  return remembered > 0;
}"""
WATCH_ADDRESS = """(() => {
  const seen = window.addressChanges = [];
  const note = what => seen.push(`${Math.round(performance.now())} ms ${what}`) > 40 && seen.shift();
  for (const name of ["pushState", "replaceState"]) {
    const plain = history[name];
    history[name] = function (state, title, url) {
      note(`${name} ${url} ${new Error().stack.split("\\n").slice(2, 4).map(each => each.trim()).join(" ")}`);
      return plain.apply(this, arguments);
    };
  }
  addEventListener("popstate", () => note(`popstate ${location.href}`), true);
})()"""
"""Notes who changed a page's address: what a failed test found there is otherwise hard to explain."""


def pytest_collection_modifyitems(items):
    for item in items:
        if Path(item.path).is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.browser)
            if item.get_closest_marker("timeout") is None:
                item.add_marker(pytest.mark.timeout(180))
            if CHROMIUM is None and not os.environ.get("PHASEDOCK_TESTS_ALL"):
                item.add_marker(pytest.mark.skip(reason="Chromium is not installed"))


@pytest.fixture(scope="session")
def browser_type_launch_args():
    return {"executable_path": CHROMIUM, "args": ARGUMENTS}


@pytest.fixture(scope="session")
def _profile(browser_type, browser_type_launch_args, browser_context_args, tmp_path_factory):
    """A profile on disk, so that Chromium keeps compiled scripts; its first, blank page keeps it open."""
    folder = tmp_path_factory.mktemp("chromium")
    settings = browser_type_launch_args | browser_context_args
    with closing(browser_type.launch_persistent_context(folder, **settings)) as made:
        made.add_init_script(WATCH_ADDRESS)
        yield made


@pytest.fixture(scope="module")
def _shared_pages(_profile):
    """The window that one test of a module leaves to the next."""
    kept = []
    yield kept
    for page in kept:
        page.close()


@pytest.fixture
def page(request, _profile, _shared_pages):
    """A window as others left it, as a person has one all day (`visit`); a new one after a failure."""
    failed = request.session.testsfailed
    window = _shared_pages.pop() if _shared_pages else _profile.new_page()
    yield window
    if request.session.testsfailed > failed and not window.is_closed():
        print(*window.evaluate("window.addressChanges || []"), sep="\n")
    for page in _profile.pages:
        loaded = page.url.startswith("http")
        # what a page has read of its memory, it knows until it is loaded again
        remembers = loaded and page.evaluate(FORGET)
        if page is window and loaded and not remembers and request.session.testsfailed == failed:
            page.unroute_all()
            page.emulate_media(color_scheme="null")
            page.set_viewport_size(VIEWPORT)
            _shared_pages.append(page)
        elif page is window or loaded:
            page.close()
    _profile.clear_cookies()
    _profile.clear_permissions()


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    """One server for all tests of the session; tests make things of their own in it."""
    running = start_server(tmp_path_factory.mktemp("phasedock") / "home")
    yield running
    running.stop()


@pytest.fixture(scope="session")
def base_url(server):
    return server.base_url


@dataclass
class Guard:
    """What the page must not do: write to the console, throw, or ask another machine for anything."""

    found: list[str] = field(default_factory=list)
    allowed: list[re.Pattern[str]] = field(default_factory=list)
    servers: list[Server] = field(default_factory=list)

    def allow(self, pattern):
        """Expect errors that match; a test of a refusal has some."""
        self.allowed.append(re.compile(pattern))

    def unexpected(self):
        return [line for line in self.found if not any(p.search(line) for p in self.allowed)]


@pytest.fixture(scope="module")
def live(tmp_path_factory, docker_url):
    """A server of the module's own that watches a Docker Engine, called box, and may control it."""
    home = tmp_path_factory.mktemp("live") / "home"
    running = start_server(home, PHASEDOCK_DOCKER=f"box={docker_url}", PHASEDOCK_CONTROL="on")
    yield running
    running.stop()


@pytest.fixture
def guard(request, page, server):
    watching = Guard(servers=[server])
    if "live" in request.fixturenames:
        watching.servers.append(request.getfixturevalue("live"))

    def logged(message):
        watching.found.append(f"console, {message.type}: {message.text} ({message.location['url']})")

    def threw(error):
        watching.found.append(f"page: {error}")

    def check_request(request):
        if not request.url.startswith(("http://127.0.0.1:", "data:", "blob:", "about:")):
            watching.found.append(f"left this machine: {request.url}")

    listeners = {"console": logged, "pageerror": threw, "request": check_request}
    for event, listener in listeners.items():
        page.on(event, listener)
    yield watching
    for event, listener in listeners.items():
        page.remove_listener(event, listener)
    assert watching.unexpected() == [], "\n".join(each.log_end() for each in watching.servers)


@pytest.fixture(autouse=True)
def _guarded(request):
    if "page" in request.fixturenames:
        request.getfixturevalue("guard")


@pytest.fixture(scope="session")
def stocked(server):
    """The session's server, with the synthetic sample on it, whose phases are known."""
    space = open_workspace(Settings(home=server.home))
    traces, model = load_samples(space.traces, space.models, sample=SYNTHETIC)
    space.close()
    server.samples = f"traces={traces.id}&model={model.id}"
    return server


@pytest.fixture(scope="session")
def samples(stocked):
    """The synthetic sample as an address names it; other tests add sets and models to the server."""
    return stocked.samples
