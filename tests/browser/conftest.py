"""A real server, a real worker and a real Chromium; any error in the page fails the test."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from axe_playwright_python.sync_playwright import Axe

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Page

ROOT = Path(__file__).resolve().parents[2]
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(item.path).is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.browser)
            item.add_marker(pytest.mark.timeout(180))
            if CHROMIUM is None and not os.environ.get("PHASEDOCK_TESTS_ALL"):
                item.add_marker(pytest.mark.skip(reason="Chromium is not installed"))


@pytest.fixture(scope="session")
def browser_type_launch_args() -> dict[str, object]:
    return {"executable_path": CHROMIUM, "args": ARGUMENTS}


@dataclass
class Server:
    """A running PhaseDock: web and worker as processes of their own, on a folder of their own."""

    base_url: str
    home: Path
    environment: dict[str, str]
    web: subprocess.Popen[bytes]
    worker: subprocess.Popen[bytes]

    def start_worker(self) -> None:
        self.worker = start([sys.executable, "-m", "core.cli", "worker"], self.environment)

    def stop(self) -> None:
        for process in (self.web, self.worker):
            stop(process)


def start(command: list[str], environment: dict[str, str]) -> subprocess.Popen[bytes]:
    log = Path(environment["PHASEDOCK_HOME"]).with_suffix(".log").open("ab")
    return subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=log, stderr=log, start_new_session=True
    )


def stop(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(10)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_until_it_serves(base_url: str, seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            with urllib.request.urlopen(f"{base_url}/healthz", timeout=2) as answer:
                if answer.status == 200:
                    return
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
    raise AssertionError(f"{base_url} did not answer within {seconds} s")


def start_server(home: Path, **more: str) -> Server:
    port = free_port()
    environment = os.environ | {"PHASEDOCK_HOME": str(home), "PORT": str(port), "HOST": "127.0.0.1"} | more
    web = start([sys.executable, "-m", "gunicorn", "-c", "gunicorn.conf.py", "app.main:wsgi()"], environment)
    server = Server(f"http://127.0.0.1:{port}", home, environment, web, web)
    server.start_worker()
    wait_until_it_serves(server.base_url)
    return server


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One server for all tests of the session; tests make things of their own in it."""
    running = start_server(tmp_path_factory.mktemp("phasedock") / "home")
    yield running
    running.stop()


@pytest.fixture(scope="session")
def base_url(server: Server) -> str:
    return server.base_url


@dataclass
class Guard:
    """What the page must not do: log an error, throw, or ask another server for anything."""

    found: list[str] = field(default_factory=list)
    allowed: list[re.Pattern[str]] = field(default_factory=list)

    def allow(self, pattern: str) -> None:
        """Expect errors that match; a test of a refusal has some."""
        self.allowed.append(re.compile(pattern))

    def unexpected(self) -> list[str]:
        return [line for line in self.found if not any(p.search(line) for p in self.allowed)]


@pytest.fixture
def guard(page: Page, base_url: str) -> Iterator[Guard]:
    watching = Guard()
    page.on(
        "console",
        lambda message: (
            watching.found.append(f"console: {message.text}") if message.type == "error" else None
        ),
    )
    page.on("pageerror", lambda error: watching.found.append(f"page: {error}"))

    def leaves(url: str) -> None:
        if not url.startswith((base_url, "data:", "blob:", "about:")):
            watching.found.append(f"left the server: {url}")

    page.on("request", lambda request: leaves(request.url))
    yield watching
    assert watching.unexpected() == []


@pytest.fixture(autouse=True)
def _guarded(request: pytest.FixtureRequest) -> None:
    if "page" in request.fixturenames:
        request.getfixturevalue("guard")


def serious_axe_findings(page: Page) -> list[str]:
    """What axe finds that is serious or critical, as sentences."""
    results = Axe().run(page).response
    return [
        f"{violation['id']}: {violation['help']} ({violation['nodes'][0]['html'][:120]})"
        for violation in results["violations"]
        if violation["impact"] in ("serious", "critical")
    ]
