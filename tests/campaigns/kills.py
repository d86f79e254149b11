"""Kills PhaseDock's processes at random moments amid uploads and tasks, and counts what that cost.

``python -m tests.campaigns.kills --kills 50`` is the long version; the tests run a short one. Whatever
was acknowledged (an upload by status 200, a task by its id) must be there at the end, whole and once.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import http.client
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from core.bootstrap import open_workspace
from core.cli.supervisor import RestartTimes, serve
from core.config import Settings, child_environment, load_settings
from core.workspace.records import TaskState
from tests.browser.serving import free_port

if TYPE_CHECKING:
    from collections.abc import Callable

    from core.application import Workspace

ROOT = Path(__file__).resolve().parents[2]
TIMES = RestartTimes(up_after=3.0, first_delay=0.1, longest_delay=1.0)
VICTIMS = ("web master", "web worker", "worker")
UP_WITHIN_S = 90.0
TRAINING = {"epochs": 400, "patience": 0, "solver": "minibatch", "seed": 5}


@dataclass
class Figures:
    """What a campaign gave.

    Parameters
    ----------
    kills
        By victim.
    up_after
        Seconds from each kill to the victim's answer.
    uploads, tasks, interrupted
        Uploads and tasks that were acknowledged, and tasks that a kill interrupted.
    lost
        A sentence for all that was acknowledged and is not there, or is not as it was sent.
    """

    kills: dict[str, int] = field(default_factory=lambda: dict.fromkeys(VICTIMS, 0))
    up_after: list[float] = field(default_factory=list)
    uploads: int = 0
    tasks: int = 0
    interrupted: int = 0
    lost: list[str] = field(default_factory=list)
    reasons: Counter[str] = field(default_factory=Counter)
    """How those tasks ended that came to nothing, and how many."""

    def __str__(self) -> str:
        kills = ", ".join(f"{name} {number}" for name, number in self.kills.items())
        return (
            f"{sum(self.kills.values())} kills ({kills}); {len(self.up_after)} waits until all was up, "
            f"{max(self.up_after, default=0.0):.1f} s at most; {self.uploads} uploads and {self.tasks} tasks "
            f"acknowledged, {self.interrupted} interrupted and retried; lost: {self.lost or 'nothing'}"
            f"{''.join(f'; {number} × {why}' for why, number in self.reasons.items())}"
        )


class Load(threading.Thread):
    """Uploads files and asks for tasks until it is told to stop."""

    def __init__(self, place: Workspace, seed: int) -> None:
        super().__init__(daemon=True)
        self.uploads: dict[str, str] = {}
        self.tasks: dict[str, str] = {}
        self.enough = threading.Event()
        self._place, self._random = place, random.Random(seed)

    def run(self) -> None:
        number = 0
        while not self.enough.wait(self._random.uniform(0.0, 0.3)):
            number += 1
            name, body = f"file {number}", self._file(number)
            # a broken connection is no acknowledgement
            with contextlib.suppress(OSError, http.client.HTTPException):
                upload = self._send(name, body)
                if number % 3:
                    params = {"upload": upload, "mapping": None, "name": name, "layout": None}
                    self.tasks[self._place.tasks.submit("ingest", name, params)] = name
                else:
                    self.uploads[upload] = hashlib.sha256(body).hexdigest()

    def _file(self, number: int) -> bytes:
        # no more cores than a machine has, or the unit is asked for
        rows = (f"a,{second},{number % 64 + self._random.random():.6f}" for second in range(200 + number))
        return "\n".join(("execution,timestamp,cpu_cores", *rows)).encode() + b"\n"

    def _send(self, name: str, body: bytes) -> str:
        announced = json.dumps({"name": f"{name}.csv", "size": len(body)}).encode()
        upload = str(self._ask("POST", "/api/uploads", announced)["id"])
        self._ask("PUT", f"/api/uploads/{upload}", body)
        return upload

    def _ask(self, method: str, path: str, body: bytes) -> dict[str, object]:
        connection = http.client.HTTPConnection("127.0.0.1", self._place.settings.port, timeout=20)
        with contextlib.closing(connection):
            connection.request(method, path, body, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            content = answer.read()
        if answer.status != 200:
            raise http.client.HTTPException(content.decode())
        return dict(json.loads(content))


class Campaign:
    """One `phasedock serve`, a load on it, and the kills.

    Parameters
    ----------
    home
        An empty folder.
    seed
        Of the moments.
    overlap
        Share of kills after which the next one does not wait until all is up again.
    """

    def __init__(self, home: Path, seed: int, overlap: float = 0.2) -> None:
        self.settings = Settings(home=home, port=free_port())
        self.place = open_workspace(self.settings)
        self.figures = Figures()
        self._random, self._overlap = random.Random(seed), overlap
        self._load = Load(self.place, seed)
        self._trainings: list[str] = []

    def run(self, kills: int) -> Figures:
        """Kill so many processes, then look at what is there."""
        environment = child_environment(self.settings)
        command = [sys.executable, "-m", "tests.campaigns.kills", "--serve"]
        with (self.settings.home / "serve.txt").open("wb") as said:
            self._serving = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=said, stderr=said)
        try:
            self._until_all_are_up()
            self._load.start()
            for number in range(kills):
                self._kill(VICTIMS[number % 3])
            self._load.enough.set()
            self._load.join()
            self._until_all_are_up()
            self._check()
        finally:
            self._serving.send_signal(signal.SIGTERM)
            self._serving.wait(30)
            self.place.close()
        return self.figures

    def _kill(self, victim: str) -> None:
        if victim == "worker":
            self._ask_for_training()
        time.sleep(self._random.uniform(0.0, 2.0))
        doomed = self._await(lambda: processes(self._serving.pid).get(victim, 0))
        os.kill(doomed, signal.SIGKILL)
        killed = time.monotonic()
        self.figures.kills[victim] += 1
        if self._random.random() < self._overlap:
            return
        self._until_all_are_up(doomed)
        self.figures.up_after.append(time.monotonic() - killed)

    def _ask_for_training(self) -> None:
        if sets := self.place.traces.list():
            name = f"model {len(self._trainings)}"
            params = {"trace_set": sets[0].id, "settings": TRAINING, "features": None, "name": name}
            self._trainings.append(self.place.tasks.submit("train", name, params))

    def _until_all_are_up(self, doomed: int = 0) -> None:
        self._await(lambda: self._all_are_up(doomed))

    def _await(self, condition: Callable[[], int]) -> int:
        deadline = time.monotonic() + UP_WITHIN_S
        while not (value := condition()):
            if time.monotonic() > deadline or self._serving.poll() is not None:
                raise AssertionError((self.settings.home / "serve.txt").read_text()[-3000:])
            time.sleep(0.05)
        return value

    def _all_are_up(self, doomed: int) -> bool:
        now = processes(self._serving.pid)
        return (
            set(now) == set(VICTIMS)
            and doomed not in now.values()
            and self.place.tasks.worker().alive
            and answers(self.settings.port)
        )

    def _check(self) -> None:
        figures, place = self.figures, self.place
        figures.uploads = len(self._load.uploads) + len(self._load.tasks)
        figures.tasks = len(self._load.tasks) + len(self._trainings)
        for upload, digest in self._load.uploads.items():
            if hashlib.sha256(place.uploads.path(upload).read_bytes()).hexdigest() != digest:
                figures.lost.append(f"upload {upload}")
        for task, name in self._load.tasks.items():
            result = self._result(task)
            rows = 200 + int(name.split()[1])
            if result is None or place.traces.load(str(result["trace_set"])).offsets[-1] != rows:
                figures.lost.append(f"trace set {name}")
        figures.lost += [f"task {task}" for task in self._trainings if self._result(task) is None]
        stored = sorted(info.name for info in place.traces.list())
        if stored != sorted(self._load.tasks.values()):
            figures.lost.append(f"trace sets that are there more than once, or asked for by nobody: {stored}")

    def _result(self, task: str) -> dict[str, object] | None:
        """What a task came to, once it is done; one that a kill interrupted is retried."""
        deadline = time.monotonic() + UP_WITHIN_S
        while time.monotonic() < deadline:
            info = self.place.tasks.get(task)
            if info.state is TaskState.DONE:
                return dict(info.result or {})
            why = f"{info.state}: {info.error}"
            if info.state is TaskState.INTERRUPTED:
                self.figures.interrupted += 1
                task = self.place.tasks.retry(task)
            elif info.state.ended:
                break
            time.sleep(0.05)
        self.figures.reasons[why] += 1
        return None


def processes(serving: int) -> dict[str, int]:
    """The ids of what `serve` keeps up, by name, those that live."""
    found = {}
    for pid in children(serving):
        if "gunicorn" in command_of(pid):
            found["web master"] = pid
            found.update(("web worker", child) for child in children(pid))
        elif "worker" in command_of(pid):
            found["worker"] = pid
    return found


def children(pid: int) -> list[int]:
    with contextlib.suppress(OSError):
        threads = Path(f"/proc/{pid}/task").iterdir()
        return [int(child) for thread in threads for child in (thread / "children").read_text().split()]
    return []


def command_of(pid: int) -> str:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    return ""


def answers(port: int) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    with contextlib.closing(connection), contextlib.suppress(OSError, http.client.HTTPException):
        connection.request("GET", "/healthz")
        return connection.getresponse().status == 200
    return False


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    parser.add_argument("--serve", action="store_true", help="be the process that is put to the test")
    asked = parser.parse_args()
    if asked.serve:
        return serve(load_settings(), lambda _: None, times=TIMES)
    with tempfile.TemporaryDirectory(prefix="phasedock-kills-") as folder:
        figures = Campaign(Path(folder), asked.seed).run(asked.kills)
    print(f"seed {asked.seed}: {figures}")
    return 1 if figures.lost else 0


if __name__ == "__main__":
    raise SystemExit(main())
