"""One training program in a container, as a benchmark sees it: its cores, its threads, its steps."""

from __future__ import annotations

import time
from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING, Any

from core.engines.run.agent import FOLDER_IN_CONTAINER, FOLDER_VARIABLE, AgentFolder

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from docker import DockerClient
    from docker.models.containers import Container

PERIOD = 100_000
"""Microseconds over which the kernel keeps to a quota."""
PROCESSORS = "0,1"
_LONGEST = 600.0
"""Seconds to wait for anything before giving up."""


@dataclass(frozen=True)
class Step:
    """One step, as the program wrote it: its number, when it was done (Unix seconds), and its loss."""

    number: int
    at: float
    loss: str


class Job:
    """A program in a container on two processors, with an agent's folder that outlives the container.

    Parameters
    ----------
    client
        Of the engine.
    image, command
        What to run.
    folder
        The agent's folder on this machine.
    """

    def __init__(self, client: DockerClient, image: str, command: Sequence[str], folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.agent = AgentFolder(folder)
        self._client, self._image, self._command = client, image, list(command)
        self._container: Container | None = None

    def start(self, cores: float = 2.0) -> None:
        """Start it, or start it again from its checkpoint."""
        options: dict[str, Any] = {"cpu_period": PERIOD, "cpu_quota": round(cores * PERIOD)}
        self._container = self._client.containers.run(
            self._image,
            ["python3", "-m", "phasedock_jobs", *self._command],
            detach=True,
            network_mode="none",
            cpuset_cpus=PROCESSORS,
            volumes={str(self.agent.path): {"bind": FOLDER_IN_CONTAINER, "mode": "rw"}},
            environment={FOLDER_VARIABLE: FOLDER_IN_CONTAINER},
            **options,
        )
        self._container.reload()

    def remove(self) -> None:
        """End it at once."""
        if self._container is not None:
            self._container.remove(force=True, v=True)
            self._container = None

    def limit(self, cores: float) -> None:
        """Change its quota."""
        assert self._container is not None
        self._container.update(cpu_period=PERIOD, cpu_quota=round(cores * PERIOD))

    def resize(self, cores: float, *, follow: bool, before: float) -> None:
        """Change its cores; its threads before that where there are fewer cores, after it where more."""
        if cores > before or not follow:
            self.limit(cores)
        if follow:
            version = self.agent.send_request(threads=max(1, ceil(cores)))
            self._wait(lambda: self.agent.read_report().version >= version)
        if cores < before:
            self.limit(cores)

    def wait_for_step(self, number: int) -> None:
        """Wait until a step is done and written."""
        self._wait(lambda: len(self.steps()) >= number)

    def save(self) -> int:
        """Have it write a checkpoint and stand still, and return the last step that is in it."""
        number = self.agent.request.checkpoint + 1
        self.agent.send_request(checkpoint=number, hold=True)
        self._wait(lambda: self.agent.read_report().checkpoint == number)
        return self.agent.read_report().checkpoint_step

    def move(self) -> None:
        """End its container and start it again in a new one, from its checkpoint."""
        self.remove()
        self.agent.send_request(hold=False)
        self.start()

    def _wait(self, met: Callable[[], bool]) -> None:
        until = time.monotonic() + _LONGEST
        while not met():
            if time.monotonic() > until or self.agent.read_report().state == "failed":
                raise RuntimeError(
                    f"{self._command[0]} did not get there; it says {self.agent.read_report()}."
                )
            time.sleep(0.005)

    def cpu_seconds(self) -> float:
        """Processor seconds of all its processes so far."""
        assert self._container is not None
        stats = self._client.api.stats(self._container.id, stream=False, one_shot=True)
        return float(stats["cpu_stats"]["cpu_usage"]["total_usage"]) / 1e9

    def steps(self) -> list[Step]:
        """Return the steps so far."""
        return read_steps(self.agent.path / "readings.csv")


def read_steps(path: Path) -> list[Step]:
    """Return the steps that are written completely in a ``readings.csv``."""
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    rows = [line.split(",") for line in text.split("\n")[:-1]]
    return [Step(int(number), float(at), loss) for at, number, loss in rows]
