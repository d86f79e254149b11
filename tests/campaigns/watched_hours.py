"""Watches fifty containers for hours on a Live page in Chromium, and reads what that keeps in memory.

``python -m tests.campaigns.watched_hours --hours 2``, as root; it starts a Docker Engine of its own. Every
minute: the memory of web and worker (proportional set size, children included), the page's heap after a
collection and its number of nodes. In the first tenth the autopilot begins to watch, a container's window is
opened, and other pages are visited. Exit code 1 if a bound is passed, the heap grows by more than a quarter
after that tenth, or the console says anything.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.live import containers_of, open_page, start_processes
from core.bootstrap import open_workspace
from core.config import Settings
from core.sampling.values import Mode
from core.workspace.samples import load_samples
from tests.live import host

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from playwright.sync_api import Page

MB = 1e6
BOUNDS = {"web": 300.0, "worker": 400.0}
"""The largest memory that is allowed, in MB."""
_EVERY_S, _COUNT, _GROWTH = 60.0, 50, 1.25


@dataclass
class Figures:
    """A row per minute, what the console said, and a sentence for all that was wrong."""

    rows: list[dict[str, float]] = field(default_factory=list)
    console: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    def judge(self) -> None:
        """Say what passed a bound."""
        for name, most in BOUNDS.items():
            largest = max(row[name] for row in self.rows)
            if largest > most:
                self.wrong.append(f"{name} had {largest:.0f} MB, and {most:.0f} are allowed")
        heaps = [row["heap"] for row in self.rows]
        tenth = max(len(heaps) // 10, 1)
        before, after = max(heaps[tenth : 2 * tenth]), min(heaps[-tenth:])
        if after > _GROWTH * before:
            self.wrong.append(f"the heap grew from {before:.1f} to {after:.1f} MB")
        if self.console:
            self.wrong.append(f"the console said {self.console[0]}")


def memory_of(root: int) -> float:
    """The proportional memory of a process and its children in MB."""
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            parents[int(stat.parent.name)] = int(stat.read_text().rsplit(")", 1)[1].split()[1])
    family, waiting = set[int](), [root]
    while waiting:
        family.add(each := waiting.pop())
        waiting += [pid for pid, parent in parents.items() if parent == each]
    total = 0
    for pid in family:
        with suppress(OSError):
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
            total += sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))
    return total / MB


def heap_of(page: Page) -> tuple[float, float]:
    """The page's heap in MB after a collection, and its number of nodes."""
    session = page.context.new_cdp_session(page)
    session.send("HeapProfiler.collectGarbage")
    session.send("Performance.enable")
    found = {one["name"]: one["value"] for one in session.send("Performance.getMetrics")["metrics"]}
    session.detach()
    return found["JSHeapUsedSize"] / MB, found["Nodes"]


def watch(page: Page, pids: Mapping[str, int], steps: Sequence, hours: float, figures: Figures) -> None:
    """Read the figures every minute; the steps are done one after the other in the first tenth."""
    begun, waiting = time.monotonic(), list(steps)
    while (passed := time.monotonic() - begun) < hours * 3600:
        if waiting and passed >= 360 * hours * (len(steps) - len(waiting) + 1) / (len(steps) + 1):
            waiting.pop(0)()
        page.wait_for_timeout(1000 * _EVERY_S)
        heap, nodes = heap_of(page)
        row = {name: round(memory_of(pid), 1) for name, pid in pids.items()}
        figures.rows.append(
            {"minute": round((time.monotonic() - begun) / 60), **row, "heap": round(heap, 2), "nodes": nodes}
        )
        sys.stderr.write(f"{figures.rows[-1]}\n")


def run(hours: float) -> Figures:
    """Watch for some hours; what that gave."""
    figures = Figures()
    with ExitStack() as stack:
        home = stack.enter_context(tempfile.TemporaryDirectory())
        daemon = stack.enter_context(host.killable("watched-hours"))
        database = f"sqlite:///{home}/db"
        settings = Settings(
            home=Path(home), docker=f"local={daemon.url}", control=True, database_url=database
        )
        space = open_workspace(settings)
        stack.callback(space.close)
        _, model = load_samples(space.traces, space.models)
        lent = {f"/{each}": {"bind": f"/{each}", "mode": "ro"} for each in host.PROGRAMS}
        first = containers_of(stack, daemon.url, "empty", _COUNT, volumes=lent)[0]
        port, pids = start_processes(stack, settings)
        address = f"http://127.0.0.1:{port}/live?engine=local"
        page = open_page(stack, address, _COUNT)
        page.on("console", lambda said: figures.console.append(f"{said.type}: {said.text}"))
        page.on("pageerror", lambda error: figures.console.append(str(error)))

        def attach() -> None:
            space.live.policies.attach(
                "local", "autopilot", {"policy": "phase.rule", "model": model.id}, Mode.WATCH
            )

        def open_window() -> None:
            page.goto(f"{address}&container={first.name}")

        def leave_and_return() -> None:
            for other in ("/runs", "/phases", "/tasks", "/live?engine=local"):
                page.goto(f"http://127.0.0.1:{port}{other}")
                page.wait_for_timeout(5_000)

        watch(page, pids, (attach, open_window, leave_and_return), hours, figures)
    figures.judge()
    return figures


def main() -> int:
    """Read the options, run, and print the figures as JSON; exit code 1 if anything was wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hours", type=float, default=2.0)
    figures = run(parser.parse_args().hours)
    print(json.dumps(asdict(figures), indent=1))
    return 1 if figures.wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
