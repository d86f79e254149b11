"""Lets the autopilot give real training jobs random amounts of memory, and counts what the kernel killed.

``python -m tests.campaigns.memory_resizes --docker unix:///path/docker.sock --resizes 500``; the engine needs
the images of ``make jobs-image``. What says how much is a provisioning policy from outside that says
anything; what keeps the jobs alive are the autopilot's own rules, and how the bundled recordings grew.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import docker

from core.bootstrap import open_workspace, worker_for
from core.config import Settings
from core.sampling.values import Mode
from core.scheduling.actions import SetMemory
from core.units import MIB
from core.workspace.samples import load_samples
from tests.campaigns.steered_faults import kills
from tests.live import host

if TYPE_CHECKING:
    from docker.models.containers import Container

    from core.application import Workspace

ANYTHING = """
from dataclasses import dataclass
from math import sin
from core.provisioning.advice import serializable
from core.provisioning.policy import Policy, PolicyKind, by_advice
from core.settings_fields import NoSettings

@serializable
@dataclass(frozen=True)
class Anything:
    most: float

    def begin(self, time):
        return 0, self.most

    def advise(self, state, last, time):
        return state + 1, self.most * abs(sin(1e4 * last.value + time))

def fit(training, settings, progress):
    return by_advice(Anything(2.0 * float(training.values.max())))

POLICIES = (Policy("anything", PolicyKind.REACTIVE, "Says anything.", fit, NoSettings),)
"""
_COURSE = ("--shards", "2", "--workers", "1", "--renew", "1")
JOBS = {
    "mlp": ("light", "mlp", *_COURSE, "--judge", "8", "--second", "0.5"),
    "autoencoder": ("light", "autoencoder", *_COURSE, "--size", "0.5"),
    "classifier": ("torch", "classifier", *_COURSE, "--judge", "8"),
    "tf-classifier": ("tensorflow", "tf-classifier", *_COURSE, "--second", "0.5"),
}
_STEPS = "100"


@dataclass
class Figures:
    """What a campaign gave.

    Parameters
    ----------
    resizes
        Memory limits that were set.
    killed
        Processes that the kernel killed for want of memory.
    ended
        Jobs that came to their end, by exit code.
    least
        The smallest limit, MiB.
    seconds
        How long it took.
    """

    resizes: int = 0
    killed: int = 0
    ended: dict[str, int] = field(default_factory=dict)
    least: float = float("inf")
    seconds: float = 0.0


class Jobs:
    """Keeps one container of each program running, and looks at what became of it."""

    def __init__(self, client: docker.DockerClient, figures: Figures) -> None:
        self._client, self._figures, self._number = client, figures, 0
        self._there: dict[str, Container] = {}
        self._killed: dict[str, int] = {}

    def keep_up(self) -> None:
        """Count what was killed, and start again what has ended."""
        for name, (image, *program) in JOBS.items():
            there = self._there.get(name)
            if there is not None:
                self._killed[str(there.id)] = max(kills(there), self._killed.get(str(there.id), 0))
                there.reload()
                if there.status == "running":
                    continue
                code = str(there.attrs["State"]["ExitCode"])
                self._figures.ended[code] = self._figures.ended.get(code, 0) + 1
                if there.attrs["State"]["OOMKilled"]:
                    self._killed[str(there.id)] = max(1, self._killed[str(there.id)])
                there.remove()
            self._number += 1
            command = ["python3", "-m", "phasedock_jobs", *program, "--steps", _STEPS]
            self._there[name] = host.run_job(
                self._client, f"phasedock-jobs:{image}", command, name=f"{name}-{self._number}",
                labels={"phasedock": "1"},
            )  # fmt: skip
        self._figures.killed = sum(self._killed.values())

    def remove(self) -> None:
        """End them all."""
        for each in self._there.values():
            with suppress(docker.errors.NotFound):
                each.remove(force=True)


def run(docker_url: str, resizes: int) -> Figures:
    """Steer until so many limits were set; what that gave. Everything that was started is removed."""
    figures, begun = Figures(), time.monotonic()
    with tempfile.TemporaryDirectory() as folder, host.connect(docker_url) as client:
        policy = Path(folder) / "anything.py"
        policy.write_text(ANYTHING)
        home = Path(folder) / "home"
        space = open_workspace(
            Settings(home=home, docker=f"local={docker_url}", control=True, policies=(policy,))
        )
        jobs, worker = Jobs(client, figures), worker_for(space)
        worker.start()
        try:
            settings = {
                "policy": "anything",
                "traces": load_samples(space.traces, space.models)[0].id,
                "cycle": 1.0,
                "memory": True,
            }
            space.live.policies.attach("local", "autopilot", settings, Mode.CONTROL)
            while figures.resizes < resizes:
                jobs.keep_up()
                time.sleep(1.0)
                attached = space.live.view.request_view("local").attached
                if attached is not None and attached.run:
                    _count(space, attached.run, figures)
            space.live.policies.detach("local")
        finally:
            worker.stop(30)
            jobs.keep_up()
            jobs.remove()
            space.live.limits.release()
            space.close()
    figures.seconds = round(time.monotonic() - begun, 1)
    return figures


def _count(space: Workspace, run_: str, figures: Figures) -> None:
    """How many memory limits the ledger of a run has set, and the smallest."""
    limits = [
        action.limit
        for entry in space.runs.ledgers.entries(run_)
        for action in entry.actions
        if isinstance(action, SetMemory) and action.limit is not None
        if action not in [failure.action for failure in entry.failures]
    ]
    figures.resizes, figures.least = len(limits), round(min(limits, default=0.0) / MIB, 1)


def main() -> int:
    """Read the options, run, and print the figures as JSON; exit code 1 if anything was killed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--docker", required=True)
    parser.add_argument("--resizes", type=int, default=500)
    asked = parser.parse_args()
    figures = run(asked.docker, asked.resizes)
    print(json.dumps(asdict(figures), indent=1))
    return 1 if figures.killed or set(figures.ended) > {"0"} else 0


if __name__ == "__main__":
    sys.exit(main())
