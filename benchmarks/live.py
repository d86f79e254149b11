"""The cost of watching and control, end to end: containers, a worker, the web server, and a browser page.

    PHASEDOCK_DOCKER=local=unix:///var/run/docker.sock python -m benchmarks.live IMAGE WATCH CONTROL SECONDS

Starts WATCH containers of IMAGE (50; with a shell; each prints a loss once a second), a real worker and a
real web server, and opens the Live page in Chromium, which asks once a second. First arm: watching all of
them, with the phases of the bundled model. Second: the autopilot watches them as well, by these phases.
Third: FlowCon controls CONTROL of them (20), the others are removed. CPU is that of the processes as the
kernel counts it, after ten seconds of warming up; of the page, what its ticks cost its main thread, the tasks
longer than 50 ms, and the longest time between two frames. One JSON document is printed.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
import uuid
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import docker
from playwright.sync_api import sync_playwright

from benchmarks.chromium import chromium
from core.bootstrap import open_workspace
from core.config import child_environment, load_settings
from core.sampling.values import Mode
from core.workspace.samples import load_samples

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from docker.models.containers import Container
    from playwright.sync_api import Page

    from core.application import Workspace
    from core.config import Settings

_PRINTING = "i=1; while true; do i=$((i + 1)); echo step $i loss=0.$((1000 + i % 50)); sleep 1; done"
_WARMING = 10.0
_LISTEN = """
const first = !window.found;
window.found = {longtask: [], measure: [], gap: 0};
if (!first) return;
for (const type of ["longtask", "measure"]) {
  const keep = (list) => window.found[type].push(...list.getEntries().map((each) => each.duration));
  new PerformanceObserver(keep).observe({type});
}
let before = performance.now();
const frame = (now) => {
  window.found.gap = Math.max(window.found.gap, now - before);
  before = now;
  requestAnimationFrame(frame);
};
requestAnimationFrame(frame);
"""


def cpu_of(roots: Sequence[int]) -> float:
    """CPU seconds of processes, their threads and their children."""
    ticks = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            pid, columns = int(stat.parent.name), stat.read_text().rsplit(")", 1)[1].split()
            if pid in roots or int(columns[1]) in roots:
                ticks += int(columns[11]) + int(columns[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def measured(space: Workspace, page: Page, pids: dict[str, int], seconds: float) -> dict[str, Any]:
    """Shares of a core, how regular samples were, and how the page fared."""
    page.wait_for_timeout(1000 * _WARMING)
    page.evaluate(f"(() => {{{_LISTEN}}})()")
    engine = space.live.engines.names[0]
    before, start = {name: cpu_of([pid]) for name, pid in pids.items()}, time.monotonic()
    page.wait_for_timeout(1000 * seconds)
    passed = time.monotonic() - start
    used = {name: round((cpu_of([pid]) - before[name]) / passed, 4) for name, pid in pids.items()}
    page_figures = page.evaluate("window.found")
    ticks, tasks = sorted(page_figures["measure"]), page_figures["longtask"]
    past = space.live.view.totals_history(engine, seconds)
    rows = space.live.view.request_view(engine).rows
    return {
        "containers": len(rows),
        "with_loss": sum(row.loss is not None for row in rows),
        "share_of_a_core": used | {"together": round(sum(used.values()), 4)},
        "samples_per_second": round(len(past.time) / seconds, 3),
        "page": {
            "ticks": len(ticks),
            "script_ms_median": round(ticks[len(ticks) // 2], 1) if ticks else None,
            "script_ms_most": round(ticks[-1], 1) if ticks else None,
            "tasks_over_50_ms": len(tasks),
            "longest_task_ms": round(max(tasks, default=0.0), 1),
            "longest_between_frames_ms": round(page_figures["gap"], 1),
        },
    }


def main(image: str, watch: int, control: int, seconds: float) -> dict[str, object]:
    """Measure the arms."""
    with ExitStack() as stack:
        home = stack.enter_context(tempfile.TemporaryDirectory())
        settings = replace(
            load_settings(), home=Path(home), control=True, database_url=f"sqlite:///{home}/db"
        )
        space = open_workspace(settings)
        stack.callback(space.close)
        _, model = load_samples(space.traces, space.models)
        engine = space.live.engines.names[0]
        containers = containers_of(stack, space.live.engines.address(engine).url, image, watch)
        port, pids = start_processes(stack, settings)
        page = open_page(stack, f"http://127.0.0.1:{port}/live?engine={engine}", watch)
        watching = measured(space, page, pids, seconds)
        space.live.policies.attach(
            engine, "autopilot", {"policy": "phase.rule", "model": model.id}, Mode.WATCH
        )
        _until(lambda: (attached := space.live.view.peek(engine).attached) is not None and bool(attached.run))
        steering = measured(space, page, pids, seconds)
        space.live.policies.detach(engine)
        _until(lambda: space.live.view.peek(engine).attached is None)
        for each in containers[control:]:
            each.remove(force=True)
        del containers[control:]
        space.live.policies.attach(engine, "flowcon", {"itval": 20.0}, Mode.CONTROL)
        controlling = measured(space, page, pids, seconds)
        space.live.limits.release()
        return {"watching": watching, "autopilot watching": steering, "controlling": controlling}


def _until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + 120
    while not true():
        if time.monotonic() > end:
            raise SystemExit("The policy did not begin, or did not end, within two minutes.")
        time.sleep(0.2)


def containers_of(stack: ExitStack, url: str, image: str, count: int, **more: Any) -> list[Container]:
    """Start that many containers that print a loss each second; they are removed with the stack."""
    client = docker.DockerClient(base_url=url) if url else docker.from_env()
    stack.callback(client.close)
    mark, containers = uuid.uuid4().hex[:8], list[Any]()
    stack.callback(lambda: [each.remove(force=True) for each in containers])
    for at in range(count):
        command, options = ["sh", "-c", _PRINTING], {"detach": True, "network_mode": "none"}
        labels, name = {"phasedock": "1"}, f"bench-{mark}-{at}"
        containers.append(client.containers.run(image, command, labels=labels, name=name, **options, **more))
    return containers


def start_processes(stack: ExitStack, settings: Settings) -> tuple[int, dict[str, int]]:
    """Start the worker and the web server; return the server's port, and both ids."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    environment_changes = {
        "PHASEDOCK_CONTROL": "on",
        "PHASEDOCK_DOCKER": settings.docker,
        "DATABASE_URL": settings.database_url,
        "PORT": str(port),
    }
    environment = child_environment(settings) | environment_changes
    commands = {
        "worker": ["-m", "core.cli", "worker"],
        "web": ["-m", "gunicorn", "-c", "gunicorn.conf.py", "app.main:wsgi()"],
    }
    pids = {}
    for name, command in commands.items():
        process = subprocess.Popen([sys.executable, *command], env=environment)
        stack.callback(process.wait, 30)
        stack.callback(process.terminate)
        pids[name] = process.pid
    end = time.monotonic() + 60
    while time.monotonic() < end:
        with suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=2):
            return port, pids
        time.sleep(0.2)
    raise SystemExit("The web server did not start.")


def open_page(stack: ExitStack, address: str, containers: int) -> Page:
    """Open the page and wait until it shows all containers."""
    browser = stack.enter_context(sync_playwright()).chromium.launch(
        executable_path=chromium(), args=["--no-sandbox", "--disable-gpu"]
    )
    stack.callback(browser.close)
    page = browser.new_page(viewport={"width": 1440, "height": 1000})
    page.goto(address)
    page.wait_for_function(
        "(n) => document.querySelector('#live-lead')?.textContent.includes(`${n} of ${n}`)",
        arg=containers,
        timeout=120_000,
    )
    return page


if __name__ == "__main__":
    words = [*sys.argv[1:], *("phasedock-jobs:light", "50", "20", "60")[len(sys.argv) - 1 :]]
    print(json.dumps(main(words[0], int(words[1]), int(words[2]), float(words[3])), indent=1))
