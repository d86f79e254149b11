"""Kills workers at random moments while they start, pause and end submitted jobs, and counts what that cost.

``python -m tests.campaigns.killed_queue --docker unix:///path/docker.sock --kills 12``; the engine needs the
image ``phasedock-jobs:light`` and nobody else's containers. Every job that was acknowledged must be on the
list at the end, none may ever have had a second container, and within 45 s of the next worker's start nothing
is paused or limited and every state agrees with Docker's.
"""

from __future__ import annotations

import argparse
import json
import random
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.bootstrap import open_workspace
from core.config import Settings, child_environment
from core.live.queue.values import QueueState
from tests.live.host import connect

if TYPE_CHECKING:
    import docker
    from docker.models.containers import Container

    from core.application import Workspace

ROOT = Path(__file__).resolve().parents[2]
LABEL = "phasedock.submission"
JOB = {"program": "mlp", "command": "--steps 100000", "memory": 0.25, "request": 0.5, "min": 0.25}
TURNS = {"grain": 0.25, "order": "round-robin", "quantum": 2.0}
SETTLED_WITHIN_S = 45.0
_WAIT_S = 120.0


@dataclass
class Figures:
    """What a campaign gave.

    Parameters
    ----------
    kills, submitted, cancelled
        Workers killed, and jobs submitted and cancelled beforehand.
    settled_after
        Seconds from the start of the next worker until all was in order.
    wrong
        A sentence for all that was not as it has to be.
    """

    kills: int = 0
    submitted: int = 0
    cancelled: int = 0
    settled_after: list[float] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)


class Campaign:
    """One workspace on one engine, whose workers are killed.

    Parameters
    ----------
    space, client
        The workspace, and the engine as Docker's own client sees it.
    seed
        Seeds the moments and what is cancelled.
    """

    def __init__(self, space: Workspace, client: docker.DockerClient, seed: int) -> None:
        self.space, self.client, self.chance = space, client, random.Random(seed)
        self.figures = Figures()
        self._acknowledged: set[str] = set()
        self._containers: dict[str, str] = {}

    def kill_once(self) -> None:
        """Let a policy work on new and old jobs, kill its worker, and see what the next one makes of it."""
        worker = self._worker()
        self._attach()
        number, queue = self.figures.kills, self.space.live.queue
        for each in range(2):
            job = queue.submit("local", {**JOB, "name": f"job-{number}-{each}"})
            self._acknowledged.add(job.id)
        _until(lambda: (attached := self.space.live.view.peek("local").attached) and attached.run)
        if self.chance.random() < 0.6:
            queue.cancel("local", self.chance.choice(self._active()).id)
            self.figures.cancelled += 1
        time.sleep(self.chance.random() * 5)
        worker.send_signal(signal.SIGKILL)
        worker.wait()
        self.figures.kills += 1
        self._count()
        self._settle()

    def _settle(self) -> None:
        worker, begun = self._worker(), time.monotonic()
        while wrong := self._unsettled():
            if time.monotonic() - begun > SETTLED_WITHIN_S:
                self.figures.wrong.append(f"kill {self.figures.kills}: {wrong}")
                break
            time.sleep(0.2)
        self.figures.settled_after.append(round(time.monotonic() - begun, 1))
        for job in self._active()[:-2]:
            self.space.live.queue.cancel("local", job.id)
        worker.terminate()
        worker.wait()

    def _unsettled(self) -> str:
        """What is not in order; empty if all is."""
        if self.space.live.saved_limits.all():
            return "limits are still saved"
        there = self._there()
        return next((said for job in self._active() if (said := _disagrees(job, there.get(job.id)))), "")

    def _count(self) -> None:
        """Note what was lost, and every second container."""
        self.figures.submitted = len(self._acknowledged)
        listed = {job.id for job in self.space.live.queue.list("local")}
        self.figures.wrong += [f"{job} was lost" for job in self._acknowledged - listed]
        for job, container in self._there().items():
            if container.status == "created":
                continue  # it is replaced: it never ran
            if self._containers.setdefault(job, container.id) != container.id:
                self.figures.wrong.append(f"{container.name} is a second container")

    def _there(self) -> dict[str, Container]:
        found = self.client.containers.list(all=True, filters={"label": LABEL}, ignore_removed=True)
        ids = [each.labels[LABEL] for each in found]
        self.figures.wrong += [f"{job} has several containers" for job in set(ids) if ids.count(job) > 1]
        return dict(zip(ids, found, strict=True))

    def _active(self) -> list[Any]:
        return [job for job in self.space.live.queue.list("local") if not job.state.over]

    def _attach(self) -> None:
        policy = self.chance.choice(["free", "elastic"])
        chosen = TURNS if policy == "elastic" else {}
        self.space.live.policies.attach("local", policy, chosen, "control", reattach=False)

    def _worker(self) -> subprocess.Popen[bytes]:
        settings = self.space.settings
        more = {"PHASEDOCK_DOCKER": settings.docker, "PHASEDOCK_CONTROL": "on"}
        command = [sys.executable, "-m", "core.cli", "worker"]
        return subprocess.Popen(
            command, env=child_environment(settings) | more, cwd=ROOT, stderr=subprocess.DEVNULL
        )


def _disagrees(job: Any, container: Container | None) -> str:
    """How a job and its container disagree; empty if they do not."""
    status = None if container is None else container.status
    limited = container is not None and container.attrs["HostConfig"]["CpuQuota"] > 0
    match job.state:
        case _ if job.cancelling:
            return f"{job.name} is still being ended"
        case QueueState.WAITING if status is not None:
            return f"{job.name} waits and has a container"
        case QueueState.RUNNING if status != "running" or limited:
            return f"{job.name} runs, and its container is {status}{', limited' if limited else ''}"
        case QueueState.PAUSED:
            return f"{job.name} is paused"
    return ""


def _until(true: Any) -> None:
    end = time.monotonic() + _WAIT_S
    while not true():
        if time.monotonic() > end:
            raise TimeoutError("it did not happen in time")
        time.sleep(0.1)


def run(docker_url: str, kills: int, seed: int) -> Figures:
    """Kill workers so many times; what that gave. Everything that was started is removed."""
    with tempfile.TemporaryDirectory() as folder, connect(docker_url) as client:
        space = open_workspace(Settings(home=Path(folder), docker=f"local={docker_url}", control=True))
        campaign = Campaign(space, client, seed)
        try:
            for _ in range(kills):
                campaign.kill_once()
        finally:
            space.live.limits.release()
            for job in space.live.queue.list("local"):
                space.live.queue.end("local", job.id, remove=True)
            space.close()
    return campaign.figures


def main() -> None:
    """Read the options, run, and print the figures as JSON; exit code 1 if anything was wrong."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--docker", required=True)
    parser.add_argument("--kills", type=int, default=12)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    figures = run(asked.docker, asked.kills, asked.seed)
    print(json.dumps(asdict(figures), indent=1))
    sys.exit(1 if figures.wrong else 0)


if __name__ == "__main__":
    main()
