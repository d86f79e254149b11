"""How many files of app and core four pieces of work enter: ``python -m tests.ways [--list | --json]``.

The work is real: pages are asked for over HTTP, tasks run in their handlers, and containers run on a Docker
Engine of its own. A file counts where one of its functions runs; what runs at import counts nowhere.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import tempfile
import threading
import time
from contextlib import contextmanager, redirect_stdout, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from app.context import EXTENSION
from app.main import create_app
from core.bootstrap import open_workspace
from core.config import Settings
from core.errors import Interrupted
from core.handlers import KINDS
from core.tasks.kind import TaskContext
from tests.live import host
from tests.ways.calls import BOUNDS, Calls, Rounds, beginning, import_everything, listening
from tests.ways.screen import BASE, Screen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Stages = dict[str, list[str]]
ENGINE = "local"
_LONGEST = 60.0
_JOBS = {
    "falling": "n=100; while true; do n=$((n / 2 + 1)); echo loss=$n; {rest}; done",
    "learning": "n=9000; while true; do n=$((n - 20)); echo loss=$n; {rest}; done",
}
"""Programs that print a loss: one that has soon converged, and one that goes on learning."""


def write_csv(path: Path) -> None:
    """Write three executions of two hundred samples that go back and forth between two levels."""
    lines = ["container,time,cpu_cores,memory_bytes"]
    for job in range(3):
        for at in range(200):
            busy = (at // 25 + job) % 2
            cores = 0.2 + 1.5 * busy + 0.05 * math.sin(at)
            lines.append(f"job-{job},{at},{cores:.4f},{(200 + 600 * busy + at % 7) * 2**20}")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def run_task(settings: Settings, calls: Calls) -> None:
    """Run the newest task in its handler, in a workspace of its own as a worker has one."""
    space = open_workspace(settings)
    (task, *_) = space.tasks.list(1)
    context = TaskContext(space, task.id, threading.Event())
    with calls.here():
        KINDS[task.kind].run(context, task.params)
        context.flush()
    space.close()


def from_csv(home: Path) -> dict[str, Stages]:
    """A CSV becomes a figure of its phases, with a model that the Models page is asked to train."""
    settings = Settings(home=home)
    app = create_app(settings)
    table = home / "jobs.csv"
    write_csv(table)
    form, follow, imported, page, submit, handler = (Calls() for _ in range(6))
    screen = Screen(app.server)
    screen.go("/traces")
    with form.here():
        about = {"name": table.name, "size": table.stat().st_size}
        upload = screen.http.post("/api/uploads", json=about, base_url=BASE).get_json()["id"]
        screen.http.put(f"/api/uploads/{upload}", data=table.read_bytes(), base_url=BASE)
        screen.set("upload-done", "data", {"ids": [upload], "at": 1})
        new = screen.open("/traces", screen.place)
    with follow.here():
        screen.appear(new)
    with imported.here():
        screen.set("map-import", "n_clicks", 1)
    run_task(settings, imported)
    screen.go("/models", "?view=train")
    with submit.here():
        screen.set("train-start", "n_clicks", 1)
    run_task(settings, handler)
    with page.here():
        screen.go("/phases")
    assert screen.parts["execution-title"], "the page shows no timeline"
    app.server.extensions[EXTENSION].close()
    return {
        "csv_to_figure": {
            "form": form.files,
            "follow": follow.files,
            "import": imported.files,
            "page": page.files,
        },
        "train": {"submit": submit.files, "handler": handler.files},
    }


@contextmanager
def docker_jobs(folder: Path) -> Iterator[str]:
    """Lend the address of a Docker Engine with two jobs that print losses."""
    daemon = host.Daemon(folder)
    daemon.start()
    try:
        lent = [f"/{each}:/{each}:ro" for each in host.PROGRAMS]
        with host.connect(daemon.url) as client:
            client.api.import_image_from_data(host._no_programs(), repository="empty")
            for name, program in _JOBS.items():
                command = ["/bin/sh", "-c", program.format(rest="/bin/sleep 0.2")]
                host.run_job(client, "empty", command, name=name, labels={"phasedock": "1"}, volumes=lent)
        yield daemon.url
        daemon.clear()
    finally:
        daemon.stop()


def until(true: Callable[[], bool]) -> None:
    """Wait until something is true."""
    end = time.monotonic() + _LONGEST
    while not true():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.1)


def live_sample(settings: Settings) -> dict[str, Stages]:
    """A sample of the engine, by the thread that watches it, and the tick of the page that shows it."""
    app = create_app(settings)
    screen, sampled, ticked = Screen(app.server), Calls(), Calls()
    space = open_workspace(settings)
    watcher = space.watcher()

    def at() -> float:
        answer = screen.get(f"/api/live/{ENGINE}")
        return float(answer["at"] or 0.0) if len(answer["rows"]) == len(_JOBS) else 0.0

    screen.go("/live", f"?engine={ENGINE}")
    with beginning(sampled.take):
        watcher.start()
    until(lambda: at() > 0.0)
    first = at()
    sampled.clear()
    until(lambda: at() > first + 1.5)
    files = sampled.files
    with ticked.here():
        screen.get(f"/api/live/{ENGINE}?since={first}")
    watcher.stop()
    space.close()
    app.server.extensions[EXTENSION].close()
    return {"live_sample": {"sample": files, "tick": ticked.files}}


def flowcon_decision(settings: Settings) -> dict[str, Stages]:
    """FlowCon, attached in control, up to its first decision that sets a limit."""
    space, over = open_workspace(settings), threading.Event()
    rounds = Rounds("drive", over)
    task = space.live.policies.attach(ENGINE, "flowcon", {"itval": 1.0}, "control", 1)
    info = space.tasks.get(task)
    with suppress(Interrupted), listening(rounds.take):
        KINDS[info.kind].run(TaskContext(space, task, over), info.params)
    space.live.limits.release()
    space.close()
    return {"flowcon_decision": {part: calls.files for part, calls in rounds.calls.items()}}


def ways() -> dict[str, Stages]:
    """All ways, by their stages the files that they enter."""
    import_everything()
    for name in [name for name in os.environ if name.startswith("PHASEDOCK_")]:
        del os.environ[name]
    with tempfile.TemporaryDirectory(prefix="phasedock-ways-") as folder:
        home = Path(folder) / "home"
        home.mkdir()
        found = from_csv(home)
        if why := host.why_not():
            raise SystemExit(f"Decisions and samples of Docker cannot be measured: {why}.")
        with docker_jobs(Path(folder) / "docker") as url:
            settings = Settings(home=Path(folder) / "live", docker=f"{ENGINE}={url}", control=True)
            found |= live_sample(settings)
            found |= flowcon_decision(settings)
    return found


def union(stages: Stages) -> list[str]:
    """The files of all stages, in order of their first function."""
    return list(dict.fromkeys(name for files in stages.values() for name in files))


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(prog="python -m tests.ways", description="Files that work enters.")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--list", action="store_true", help="name the files, in order")
    how.add_argument("--json", action="store_true", help="one object with a number for each way")
    asked = parser.parse_args()
    with redirect_stdout(sys.stderr):
        found = ways()
    if asked.json:
        print(json.dumps({way: len(union(found[way])) for way in sorted(found)}))
        return
    for way, stages in found.items():
        for stage, files in stages.items():
            print(f"{way:18}{stage:10}{len(files):5}")
            if asked.list:
                print("\n".join(f"    {name}" for name in files))
        print(f"{way:18}{'all':10}{len(union(stages)):5}  (at most {BOUNDS[way]})")


if __name__ == "__main__":
    main()
