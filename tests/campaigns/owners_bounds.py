"""Lets every policy control forty real containers while something is killed or changed at random.

``python -m tests.campaigns.owners_bounds --seconds 600``, as root; it starts a Docker Engine of its own. A
thread reads the control group of every container every 100 ms: none may have more cores than its owner's
bound. In the end all limits have to be the owners', in Docker and in the kernel, nothing may be saved any
more, no container may have been missing from the page, and no page may have failed. With a C compiler the
clocks of web and worker jump by an hour as well.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections import Counter
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import docker

from core.bootstrap import open_workspace
from core.config import Settings, child_environment
from core.sampling.values import EngineState, Mode
from core.scheduling.policies import POLICIES
from tests.browser.serving import free_port
from tests.campaigns.kills import answers, processes
from tests.campaigns.steered_faults import ROOT, limits_of, quarter
from tests.live import host
from tests.live.limits import control_group
from tests.live.workloads import program

if TYPE_CHECKING:
    from collections.abc import Callable

    from docker.models.containers import Container

    from core.application import Workspace

KINDS: dict[str, dict[str, Any]] = {
    "cpus": {"nano_cpus": 12 * 10**8},
    "quota": {"cpu_quota": 45_000, "cpu_period": 50_000},
    "free": {},
    "weight": {"cpu_shares": 512},
    "pinned": {"cpuset_cpus": "0", "nano_cpus": 10**9},
    "memory": {"nano_cpus": 15 * 10**8, "mem_limit": "256m", "memswap_limit": "256m"},
    "bounded": {"labels": {"phasedock": "1", "phasedock.max": "0.5"}},
    "restarted": {"nano_cpus": 8 * 10**8, "restart_policy": {"Name": "always"}},
}
"""Eight ways to create a container."""
BOUNDS = {"cpus": 1.2, "quota": 0.9, "pinned": 1.0, "memory": 1.5, "bounded": 0.5, "restarted": 0.8}
"""The cores that their owners allow; the others have no bound."""
_EVERY_S, _RACE_S, _TOLERANCE = 0.1, 3.0, 1.005
_SETTLED_WITHIN_S, _WAIT_S, _MISSED = 60.0, 180.0, 3
_BETWEEN_S = 6.0


@dataclass
class Figures:
    """What a campaign gave: events, looks at control groups, and a sentence for all that was wrong."""

    policies: list[str] = field(default_factory=list)
    events: dict[str, int] = field(default_factory=dict)
    looks: int = 0
    resized: int = 0
    #: How often each policy was attached: once, and after all that ended it.
    attached: Counter[str] = field(default_factory=Counter)
    settled_after: dict[str, float] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)


class BoundsWatch(threading.Thread):
    """Reads what control groups allow every 100 ms and compares it with the owners' bounds."""

    def __init__(self, figures: Figures) -> None:
        super().__init__(daemon=True)
        self._figures, self._over = figures, threading.Event()
        self._groups: dict[str, tuple[int, Path]] = {}
        self._last: dict[str, float] = {}
        self.bounds: dict[str, float] = {}
        #: Until when a change that an owner has just made may be overtaken by one that was decided before.
        self.unsure: dict[str, float] = {}

    def find(self, containers: dict[str, Container]) -> None:
        """Look up where the running containers' control groups are."""
        found = {}
        for name, each in containers.items():
            with contextlib.suppress(OSError, docker.errors.APIError):
                found[name] = control_group(each, "cpu")
        self._groups = found

    def run(self) -> None:
        while not self._over.wait(_EVERY_S):
            for name, (version, folder) in self._groups.items():
                with contextlib.suppress(OSError, ValueError):
                    cores = _cores(version, folder)
                    if cores > self.bounds[name] and _runs(folder):
                        cores = _cores(version, folder)
                    elif cores > self.bounds[name]:
                        continue
                    self._look(name, cores)

    def _look(self, name: str, cores: float) -> None:
        self._figures.looks += 1
        self._figures.resized += self._last.get(name, cores) != cores
        self._last[name] = cores
        bound = self.bounds[name]
        is_labelled = name.startswith("bounded") and math.isinf(
            cores
        )  # a label alone is no limit of Docker's
        if cores > _TOLERANCE * bound and not is_labelled and time.monotonic() > self.unsure.get(name, 0.0):
            self.unsure[name] = time.monotonic() + _RACE_S  # said once
            self._figures.wrong.append(f"{name} has {cores:.3f} cores, and {bound:g} are allowed")

    def stop(self) -> None:
        """Look no more."""
        self._over.set()
        self.join()


def _runs(folder: Path) -> bool:
    """Whether a program runs in a control group: runc limits a group before it lets the program begin."""
    pids = (folder / "cgroup.procs").read_text().split()
    commands = [Path(f"/proc/{pid}/cmdline").read_bytes() for pid in pids]
    return bool(commands) and not any(command.startswith(b"runc\0init") for command in commands)


def _cores(version: int, folder: Path) -> float:
    if version == 1:
        quota, period = (int((folder / f"cpu.cfs_{name}_us").read_text()) for name in ("quota", "period"))
    else:
        text = (folder / "cpu.max").read_text().split()
        quota, period = (-1 if text[0] == "max" else int(text[0])), int(text[1])
    return quota / period if quota > 0 else math.inf


class Campaign:
    """Forty containers, one policy after the other, and what happens to them."""

    def __init__(
        self,
        space: Workspace,
        daemon: host.Daemon,
        serving: subprocess.Popen[bytes],
        clock: Path | None,
        seed: int,
    ) -> None:
        self.space, self.daemon, self.serving, self._clock = space, daemon, serving, clock
        self.chance, self.figures = random.Random(seed), Figures()
        self._client = docker.DockerClient(base_url=daemon.url, timeout=60)
        self._watch = BoundsWatch(self.figures)
        self._missed: Counter[str] = Counter()
        self._limits: dict[str, Any] = {}
        self._ids: dict[str, str] = {}
        self._traces = quarter(space)
        self.events: dict[str, Callable[[], None]] = {
            "worker killed": lambda: self._kill("worker"),
            "web killed": lambda: self._kill("web master"),
            "engine killed": self._kill_engine,
            "container killed": self._kill_container,
            "changed by its owner": self._change,
            **({} if clock is None else {"clock set": self._set_clock}),
        }

    def start(self, count: int) -> None:
        """Start the containers, as many of each kind, and wait until all are sampled."""
        lent = [f"/{each}:/{each}:ro" for each in host.PROGRAMS]
        command = ["python3", "-u", "-c", program("math.exp(-t / 30)", 0.01, 0.6)]
        for place in range(count):
            kind = list(KINDS)[place % len(KINDS)]
            more = {"labels": {"phasedock": "1"}, **KINDS[kind]}
            name = f"{kind}-{place:02d}"
            host.run_job(self._client, "empty", command, name=name, volumes=lent, **more)
            self._watch.bounds[name] = BOUNDS.get(kind, math.inf)
        self._limits = {name: limits_of(each) for name, each in self._there().items()}
        self._ids = {name: str(each.id) for name, each in self._there().items()}
        self._watch.find(self._there())
        self._watch.start()
        self._until(lambda: len(self._view().rows) == count, "all containers are sampled")

    def let_control(self, policy: str, seconds: float) -> None:
        """Let a policy control all containers for a while, and look whether all comes back."""
        self.figures.policies.append(policy)
        said = len(self.figures.wrong)
        end, due = time.monotonic() + seconds, 0.0
        while time.monotonic() < end:
            self._attach(policy)
            self._look_at_page()
            if time.monotonic() > due:
                event = self.chance.choice(list(self.events))
                self.events[event]()
                self.figures.events[event] = self.figures.events.get(event, 0) + 1
                due = time.monotonic() + self.chance.uniform(0.5, 1.5) * _BETWEEN_S
            self._watch.find(self._there())
            time.sleep(0.5)
        if not self.figures.attached[policy]:
            self.figures.wrong.append(f"{policy} could not be attached")
        self._until(lambda: set(processes(self.serving.pid)) >= {"web master", "worker"}, "all processes run")
        begun = time.monotonic()
        while wrong := self._unsettled():
            if time.monotonic() - begun > _SETTLED_WITHIN_S:
                self.figures.wrong.append(f"{policy}: {wrong}")
                break
            time.sleep(0.5)
        for sentence in self.figures.wrong[said:]:
            sys.stderr.write(f"wrong: {sentence}\n")
        self.figures.settled_after[policy] = round(time.monotonic() - begun, 1)
        sys.stderr.write(
            f"{policy}: {self.figures.settled_after[policy]} s, {len(self.figures.wrong)} wrong\n"
        )

    def end(self) -> None:
        """Stop watching, and look for errors that nobody saw."""
        self._watch.stop()
        said = (self.space.settings.home / "serve.txt").read_text()
        if "Traceback" in said:
            self.figures.wrong.append(f"an error was logged: {said[said.index('Traceback') :][:1500]}")

    def _attach(self, policy: str) -> None:
        """Attach the policy unless it is, or something that it needs is down."""
        settings = (
            {"policy": "prev.step.max", "traces": self._traces, "cycle": 5.0} if policy == "autopilot" else {}
        )
        with contextlib.suppress(Exception):  # the engine or the worker is just being killed
            if self._view().attached is None and self.space.tasks.worker().alive:
                self.space.live.policies.attach("local", policy, settings, Mode.CONTROL, reattach=False)
                self.figures.attached[policy] += 1

    def _unsettled(self) -> str:
        """What is not as the owners want it; empty if all is."""
        with contextlib.suppress(Exception):
            if self._view().attached is not None:
                self.space.live.policies.detach("local")
                return "the policy is still attached"
        if saved := self.space.live.saved_limits.all():
            return f"limits of {saved[0].name} are still saved"
        there = self._there()
        for name, before in self._limits.items():
            if name not in there:
                return f"{name} does not run"
            said, kernel = limits_of(there[name])
            if said != before[0] or (kernel and kernel != before[1]):
                return f"{name} had {before} and has {(said, kernel)}"
        return ""

    def _look_at_page(self) -> None:
        """Compare the page's containers with those there are, and ask for the page."""
        view = self._view()
        is_fresh = view.engine.state is EngineState.READY and view.at is not None
        shown = {each.id for each in (*view.rows, *view.stopped)}
        for name, container in self._ids.items():
            self._missed[name] = self._missed[name] + 1 if is_fresh and container not in shown else 0
            if self._missed[name] == _MISSED:
                state = self._client.containers.get(name).attrs["State"]
                self.figures.wrong.append(f"{name} is missing from the page: {state}")
        for path in ("/", "/live?engine=local", "/live?engine=local&container=cpus-00"):
            try:
                urllib.request.urlopen(
                    f"http://127.0.0.1:{self.space.settings.port}{path}", timeout=20
                ).close()
            except urllib.error.HTTPError as error:
                if error.code >= 500:
                    self.figures.wrong.append(f"{path}: {error.code}")
            except OSError:
                continue  # web is just being killed

    def _view(self) -> Any:
        return self.space.live.view.request_view("local")

    def _there(self) -> dict[str, Container]:
        with contextlib.suppress(docker.errors.DockerException, OSError):
            found = self._client.containers.list(filters={"label": "phasedock"}, ignore_removed=True)
            return {str(each.name): each for each in found}
        return {}

    def _kill(self, victim: str) -> None:
        if pid := processes(self.serving.pid).get(victim):
            os.kill(pid, signal.SIGKILL)

    def _kill_engine(self) -> None:
        self.daemon.kill()
        time.sleep(self.chance.uniform(0.0, 3.0))
        self.daemon.start()
        self._start_all()

    def _kill_container(self) -> None:
        if there := self._there():
            there[self.chance.choice(sorted(there))].kill()
            time.sleep(self.chance.uniform(0.5, 3.0))
        self._start_all()

    def _start_all(self) -> None:
        for each in self._client.containers.list(
            all=True, filters={"label": "phasedock"}, ignore_removed=True
        ):
            if each.status != "running":
                with contextlib.suppress(docker.errors.APIError):  # its restart policy was faster
                    each.start()

    def _change(self) -> None:
        """Let an owner give a container another limit, which is its bound from then on."""
        there = {
            name: each for name, each in self._there().items() if name.split("-")[0] in ("cpus", "memory")
        }
        if not there:
            return
        name, cores = self.chance.choice(sorted(there)), round(self.chance.uniform(0.2, 1.6), 2)
        self._watch.unsure[name] = math.inf
        typed = ["docker", "-H", self.daemon.url, "update", "--cpus", f"{cores:.2f}", name]
        changed = subprocess.run(typed, check=False, capture_output=True).returncode == 0
        if changed:
            self._watch.bounds[name] = cores
            quota = round(cores * 100_000)
            (said, kernel), nano = self._limits[name], round(cores * 1e9)
            self._limits[name] = ({**said, "NanoCpus": nano}, kernel and ((quota, 100_000), *kernel[1:]))
        self._watch.unsure[name] = time.monotonic() + _RACE_S

    def _set_clock(self) -> None:
        assert self._clock is not None
        self._clock.write_bytes(self.chance.choice((-3600, 0, 3600)).to_bytes(8, sys.byteorder, signed=True))

    def _until(self, true: Callable[[], Any], what: str) -> None:
        end = time.monotonic() + _WAIT_S
        while not true():
            if time.monotonic() > end:
                said = (self.space.settings.home / "serve.txt").read_text()[-2000:]
                raise TimeoutError(f"not in time: {what}\n{said}")
            time.sleep(0.2)


_PRELOADED = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
int clock_gettime(clockid_t clock, struct timespec *now) {
  static int (*real)(clockid_t, struct timespec *);
  static const volatile long long *ahead;
  if (!real) {
    real = dlsym(RTLD_NEXT, "clock_gettime");
    void *file = mmap(0, 8, PROT_READ, MAP_SHARED, open(getenv("CLOCK_AHEAD"), O_RDONLY), 0);
    if (file != MAP_FAILED) ahead = file;
  }
  int failed = real(clock, now);
  if (ahead && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) now->tv_sec += *ahead;
  return failed;
}
"""
"""A library that sets the clock of a process ahead by the seconds in a file; sleeping needs no such clock."""


def _settable_clock(folder: Path) -> tuple[Path | None, dict[str, str]]:
    """A file that sets the clocks of processes with this environment ahead; none without a compiler."""
    if shutil.which("cc") is None:
        return None, {}
    clock, library = folder / "clock", folder / "clock.so"
    clock.write_bytes(bytes(8))
    (folder / "clock.c").write_text(_PRELOADED)
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, folder / "clock.c", "-ldl"], check=True)
    return clock, {"LD_PRELOAD": str(library), "CLOCK_AHEAD": str(clock)}


def run(policies: list[str], seconds: float, count: int, seed: int) -> Figures:
    """Let each policy control the containers for some seconds; what that gave."""
    with tempfile.TemporaryDirectory() as folder, host.killable("owners-bounds") as daemon:
        settings = Settings(home=Path(folder), port=free_port(), docker=f"local={daemon.url}", control=True)
        space = open_workspace(settings)
        clock, faked = _settable_clock(Path(folder))
        more = {"PHASEDOCK_DOCKER": settings.docker, "PHASEDOCK_CONTROL": "on", **faked}
        with (settings.home / "serve.txt").open("wb") as said:
            command = [sys.executable, "-m", "tests.campaigns.kills", "--serve"]
            environment = child_environment(settings) | more
            serving = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=said, stderr=said)
        campaign = Campaign(space, daemon, serving, clock, seed)
        try:
            campaign._until(lambda: answers(settings.port), "web answers")
            campaign.start(count)
            for policy in policies:
                campaign.let_control(policy, seconds)
            campaign.end()
        finally:
            serving.send_signal(signal.SIGTERM)
            serving.wait(60)
            space.live.limits.release()
            space.close()
            shutil.copy(settings.home / "serve.txt", Path(tempfile.gettempdir()) / "owners-bounds.txt")
    return campaign.figures


def main() -> int:
    """Read the options, run, and print the figures as JSON; exit code 1 if anything was wrong."""
    allowed = [name for name in POLICIES if not POLICIES[name].oracle]
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600.0, help="for each policy")
    parser.add_argument("--containers", type=int, default=40)
    parser.add_argument("--policies", nargs="*", default=allowed, choices=allowed)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    asked = parser.parse_args()
    figures = run(asked.policies, asked.seconds, asked.containers, asked.seed)
    print(json.dumps({"seed": asked.seed, **asdict(figures)}, indent=1))
    return 1 if figures.wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
