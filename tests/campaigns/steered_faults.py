"""Breaks something at a random moment while the autopilot steers real containers, and counts what that cost.

``python -m tests.campaigns.steered_faults --each 20``, as root; it starts a Docker Engine of its own. After
every fault all limits have to be what they were before, in Docker and in the kernel, nothing may be saved any
more, at most one policy steers, and what was decided has to replay.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import docker
import numpy as np

from core.bootstrap import open_workspace
from core.config import Settings, child_environment
from core.engines.docker_host.apply_limits import NO_LIMIT
from core.sampling.phases import LIVE_FEATURES
from core.sampling.values import Mode
from core.traces.model import TraceSet
from core.units import MIB
from tests.browser.serving import free_port
from tests.campaigns.kills import answers, processes
from tests.live import host
from tests.live.limits import control_group, docker_limits, kernel_memory, kernel_quota
from tests.live.workloads import BUSY

if TYPE_CHECKING:
    from collections.abc import Callable

    from docker.models.containers import Container

    from core.application import Workspace

ROOT = Path(__file__).resolve().parents[2]
SETTLED_WITHIN_S = 60.0
_WAIT_S = 120.0
_HALF, _KILLED, _NOTICED_WITHIN_S = 0.5, 137, 5.0
_PARENT = "/phasedock-faults"
_TOGETHER = 700 * 2**20
"""What all containers may use together: filling it is to them as a host without memory."""
_LIMITS: dict[str, dict[str, Any]] = {
    "wide": {"nano_cpus": 2 * 10**9, "mem_limit": "512m"},
    "quota": {"cpu_quota": 150_000, "cpu_period": 100_000},
    "free": {},
}
_HOG = "import time; x = bytearray({mib} * 2**20); x[::4096] = b'1' * len(x[::4096]); time.sleep(2)"


@dataclass
class Figures:
    """What a campaign gave.

    Parameters
    ----------
    faults
        How often each happened.
    settled_after
        Seconds until all was as before, at most, by fault.
    killed
        Containers of which the kernel killed something.
    wrong
        A sentence for all that was not as it has to be.
    """

    faults: dict[str, int] = field(default_factory=dict)
    settled_after: dict[str, float] = field(default_factory=dict)
    killed: int = 0
    wrong: list[str] = field(default_factory=list)


class Campaign:
    """A workspace that is served, an engine, and the faults.

    Parameters
    ----------
    space, daemon
        The workspace, and the engine that it steers.
    serving
        The process that keeps web and worker up.
    seed
        Seeds the moments.
    """

    def __init__(
        self, space: Workspace, daemon: host.Daemon, serving: subprocess.Popen[bytes], seed: int
    ) -> None:
        self.space, self.daemon, self.serving = space, daemon, serving
        self.chance, self.figures = random.Random(seed), Figures()
        self._client = docker.DockerClient(base_url=daemon.url, timeout=30)
        self._before: dict[str, Any] = {}
        self._settings = {"policy": "prev.step.max", "traces": quarter(space), "cycle": 2.0, "memory": True}
        self.faults: dict[str, Callable[[], None]] = {
            "worker killed": lambda: self._kill("worker"),
            "web killed": lambda: self._kill("web master"),
            "engine killed": self._engine,
            "out of memory": lambda: self._fill(self._there()["wide"], 600),
            "removed": lambda: self._any().remove(force=True),
            "restarted": lambda: self._any().restart(timeout=0),
            "changed by hand": self._by_hand,
            "host out of memory": lambda: self._fill(self._beside(), 690),
        }

    def once(self, fault: str) -> None:
        """Let the autopilot steer, break something, and look whether all comes back."""
        started = time.monotonic()
        self._ready()
        before = {name: limits_of(each) for name, each in self._there().items()}
        ids = {name: each.id for name, each in self._there().items()}
        task = self.space.live.policies.attach(
            "local", "autopilot", self._settings, Mode.CONTROL, reattach=False
        )
        self._until(lambda: all(limits_of(each) != before[name] for name, each in self._there().items()))
        self._until(lambda: (attached := self.space.live.view.peek("local").attached) and attached.run)
        run = str(self.space.live.view.peek("local").attached.run)
        time.sleep(self.chance.uniform(0.0, 4.0))
        self.faults[fault]()
        self.figures.faults[fault] = self.figures.faults.get(fault, 0) + 1
        time.sleep(self.chance.uniform(0.0, 4.0))
        if self.space.live.view.peek("local").attached:
            self.space.live.policies.detach("local")
        begun = time.monotonic()
        while wrong := self._unsettled(task, before, ids):
            if time.monotonic() - begun > SETTLED_WITHIN_S:
                self._wrong(f"{fault}: {wrong}")
                break
            time.sleep(0.2)
        took = round(time.monotonic() - begun, 1)
        self.figures.settled_after[fault] = max(took, self.figures.settled_after.get(fault, 0.0))
        sys.stderr.write(f"{fault}: as before after {took} s, {time.monotonic() - started:.0f} s in all\n")
        if problems := self.space.runs.replay(run):
            self._wrong(f"{fault}: run {run} does not replay: {problems[0]}")

    def _wrong(self, text: str) -> None:
        self.figures.wrong.append(text)
        sys.stderr.write(f"wrong: {text}\n")

    def _unsettled(self, task: str, before: dict[str, Any], ids: dict[str, str | None]) -> str:
        """What is not as it was; empty if all is."""
        if not self.space.tasks.get(task).state.ended:
            return "the policy is still attached"
        if saved := self.space.live.saved_limits.all():
            return f"limits of {saved[0].name} are still saved"
        for name, each in self._there(stopped=True).items():
            if each.id != ids.get(name):
                continue
            now = limits_of(each)
            if now[0] != before[name][0] or (now[1] and now[1] != before[name][1]):
                return f"{name} had {before[name]} and has {now}"
        return ""

    def _ready(self) -> None:
        """All processes, the engine and all containers are up, and nobody steers."""
        self._until(lambda: set(processes(self.serving.pid)) >= {"web master", "worker"})
        self._until(lambda: answers(self.space.settings.port) and self.space.tasks.worker().alive)
        there = {each.name: each for each in self._client.containers.list(all=True, ignore_removed=True)}
        for name, limits in _LIMITS.items():
            if name in there and there[name].status != "running":
                there[name].start()
            elif name not in there:
                self._start(name, ["python3", "-c", BUSY], labels={"phasedock": "1"}, **limits)
        version, folder = control_group(self._there()["wide"], "memory")
        most = "memory.limit_in_bytes" if version == 1 else "memory.max"
        (folder.parent / most).write_text(str(_TOGETHER))
        self._until(lambda: self._sampled_containers() >= set(_LIMITS))

    def _sampled_containers(self) -> set[str]:
        return {each.name for each in self.space.live.view.request_view("local").rows if each.cpu is not None}

    def _start(self, name: str, command: list[str], **more: Any) -> Container:
        lent = [f"/{each}:/{each}:ro" for each in host.PROGRAMS]
        return host.run_job(
            self._client, "empty", command, name=name, volumes=lent, cgroup_parent=_PARENT, **more
        )

    def _there(self, *, stopped: bool = False) -> dict[str, Container]:
        found = self._client.containers.list(all=stopped, filters={"label": "phasedock"}, ignore_removed=True)
        return {str(each.name): each for each in found}

    def _any(self) -> Container:
        there = self._there()
        return there[self.chance.choice(sorted(there))]

    def _kill(self, victim: str) -> None:
        os.kill(processes(self.serving.pid)[victim], signal.SIGKILL)

    def _engine(self) -> None:
        self.daemon.kill()
        time.sleep(self.chance.uniform(0.0, 3.0))
        self.daemon.start()
        for each in self._client.containers.list(all=True, filters={"label": "phasedock"}):
            each.start()

    def _by_hand(self) -> None:
        """Let somebody type ``docker update``, which takes a container's CPU limit as it was given only."""
        container, cores = self._any(), self.chance.uniform(0.1, 1.9)
        limit = (
            ["--cpus", f"{cores:.2f}"] if container.name == "wide" else ["--cpu-quota", f"{1e5 * cores:.0f}"]
        )
        typed = ["docker", "-H", self.daemon.url, "update", *limit, str(container.name)]
        subprocess.run(typed, check=True, capture_output=True)

    def _beside(self) -> Container:
        """A container that nobody steers."""
        return self._start("beside", ["sleep", "100"])

    def _fill(self, container: Container, mib: int) -> None:
        """Use more memory in a container than it has, or than all have together.

        In half of the cases it is the containers' own programs that the kernel kills first.
        """
        there = self._there()
        before = {name: kills(each) for name, each in there.items()}
        if container.name == "beside" or self.chance.random() < _HALF:
            for each in there.values():
                each.reload()
                Path(f"/proc/{each.attrs['State']['Pid']}/oom_score_adj").write_text("1000")
        container.exec_run(["python3", "-c", _HOG.format(mib=mib)])
        until = time.monotonic() + _NOTICED_WITHIN_S  # Docker notices the end of a container a little later
        while not (killed := sum(_killed(each, before[name]) for name, each in there.items())):
            if time.monotonic() > until:
                self._wrong(f"nothing was killed for want of memory in {container.name}")
                break
            time.sleep(0.1)
        self.figures.killed += killed
        with contextlib.suppress(docker.errors.NotFound):
            self._client.containers.get("beside").remove(force=True)

    def _until(self, true: Callable[[], Any]) -> None:
        end = time.monotonic() + _WAIT_S
        while not true():
            if time.monotonic() > end:
                said = (self.space.settings.home / "serve.txt").read_text()[-2000:]
                raise TimeoutError(f"it did not happen in time\n{said}")
            time.sleep(0.1)


def limits_of(container: Container) -> tuple[Any, Any]:
    """What Docker says, and the kernel; nothing of the latter where the container does not run.

    Docker has no way to take a limit away again but -1, and the largest number of bytes: both are none. Nor
    has it one to take a weight away: 1024 is what a container without one has.
    """
    none = (-1, NO_LIMIT)
    said = {name: 0 if value in none else value for name, value in docker_limits(container).items()}
    said["CpuShares"] = said["CpuShares"] or 1024
    try:
        return said, (kernel_quota(container), kernel_memory(container))
    except (OSError, ProcessLookupError):
        return said, None


def kills(container: Container) -> int:
    """How often the kernel killed one of its processes for want of memory, as its group counts."""
    with contextlib.suppress(OSError, ProcessLookupError):
        version, folder = control_group(container, "memory")
        text = (folder / ("memory.oom_control" if version == 1 else "memory.events")).read_text()
        return int(dict(line.split() for line in text.splitlines()).get("oom_kill", 0))
    return 0


def _killed(container: Container, before: int) -> bool:
    """Whether the kernel killed its program, or one more of its processes than before."""
    container.reload()
    state = container.attrs["State"]
    return state["ExitCode"] == _KILLED if not state["Running"] else kills(container) > before


def quarter(space: Workspace) -> str:
    """What the autopilot learns from: containers that use a quarter of a core and 30 MiB, once a second."""
    rng, n = np.random.default_rng(1), 4 * 120
    features = tuple(each for each in LIVE_FEATURES if each.name in ("cpu_cores", "memory_bytes"))
    columns = (0.25 + 0.05 * rng.random(n), 30 * MIB + MIB * rng.random(n))
    offsets = np.arange(0, n + 1, 120, dtype=np.int64)
    times, none = np.tile(np.arange(120.0), 4), np.empty(0, np.int64)
    traces = TraceSet(features, columns, times, tuple("abcd"), offsets, 1.0, none)
    return space.traces.add(traces, None, name="a quarter").id


def run(each: int, seed: int, only: str | None = None) -> Figures:
    """Let each fault happen so many times, in random order; what that gave."""
    with tempfile.TemporaryDirectory() as folder, host.killable("killed-steering") as daemon:
        settings = Settings(home=Path(folder), port=free_port(), docker=f"local={daemon.url}", control=True)
        space = open_workspace(settings)
        more = {"PHASEDOCK_DOCKER": settings.docker, "PHASEDOCK_CONTROL": "on"}
        environment = child_environment(settings) | more
        with (settings.home / "serve.txt").open("wb") as said:
            command = [sys.executable, "-m", "tests.campaigns.kills", "--serve"]
            serving = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=said, stderr=said)
        campaign = Campaign(space, daemon, serving, seed)
        plan = [fault for fault in campaign.faults if only in (None, fault) for _ in range(each)]
        campaign.chance.shuffle(plan)
        try:
            for fault in plan:
                campaign.once(fault)
        finally:
            serving.send_signal(signal.SIGTERM)
            serving.wait(30)
            space.live.limits.release()
            space.close()
    return campaign.figures


def main() -> int:
    """Read the options, run, and print the figures as JSON; exit code 1 if anything was wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--each", type=int, default=20)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    parser.add_argument("--only", help="one fault by name")
    asked = parser.parse_args()
    figures = run(asked.each, asked.seed, asked.only)
    print(json.dumps({"seed": asked.seed, **asdict(figures)}, indent=1))
    return 1 if figures.wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
