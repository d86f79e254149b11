"""A Docker Engine for the live tests: the one that was named, or one of their own.

An engine of their own keeps its images between runs under /var/tmp/phasedock-tests-UID, so that they are
built once. It has no bridge and no iptables; containers run without a network.
"""

from __future__ import annotations

import io
import os
import shutil
import signal
import socket
import subprocess
import sys
import tarfile
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import docker
import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from docker.models.containers import Container

NAMED = "PHASEDOCK_TEST_DOCKER"
HOME = Path(f"/var/tmp/phasedock-tests-{os.getuid()}")
SCRIPT = Path(__file__).parents[2] / "core" / "jobs" / "build-image.sh"
PROGRAMS = ("usr", "lib", "lib64", "bin")
"""This machine's folders that containers of the image ``empty`` are lent."""
OURS = "phasedock.test"
"""The label of every container that tests make."""


def why_not() -> str | None:
    """Say why no engine can be had on this machine, or None if one can."""
    if os.environ.get(NAMED):
        return None
    if shutil.which("docker") is None or shutil.which("dockerd") is None:
        return "needs docker and dockerd, which are not installed (tests/install-what-tests-need.sh)"
    if os.getuid() != 0:
        return f"needs root to start a Docker Engine of its own, or the address of one in {NAMED}"
    return None


def demand(*, own: bool = False) -> None:
    """Skip the test where no engine can be had, or fail where nothing may be skipped.

    Parameters
    ----------
    own
        Whether one that is named is not enough, because the test kills it.
    """
    reason = "needs root to start a Docker Engine of its own" if own and os.getuid() != 0 else why_not()
    if reason is None:
        return
    if os.environ.get("PHASEDOCK_TESTS_ALL") == "1":
        pytest.fail(reason)
    pytest.skip(reason)


@dataclass
class Daemon:
    """A Docker Engine that a test starts and may kill.

    Parameters
    ----------
    folder
        Where it keeps everything; its socket is ``docker.sock`` in there.
    """

    folder: Path
    _process: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    @property
    def url(self) -> str:
        """Its address."""
        return f"unix://{self.folder}/docker.sock"

    @property
    def pid(self) -> int:
        """The number of its process; it runs."""
        assert self._process is not None
        return self._process.pid

    def start(self, seconds: float = 60) -> None:
        """Start it and wait until it answers."""
        self.folder.mkdir(parents=True, exist_ok=True)
        for left in ("pid", "exec/containerd/containerd.pid"):
            self._end_leftover(self.folder / left)
        (self.folder / "docker.sock").unlink(missing_ok=True)
        places = ["--data-root", "data", "--exec-root", "exec", "-p", "pid"]
        places = [one if one.startswith("-") else f"{self.folder}/{one}" for one in places]
        flags = ["--iptables=false", "--ip-masq=false", "--bridge=none", "-H", self.url]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                ["dockerd", *places, *flags], stdout=log, stderr=log, start_new_session=True
            )
        self._wait(seconds)

    def stop(self) -> None:
        """Stop it, its containers included."""
        self._end(kill=False)

    def clear(self) -> None:
        """Remove its containers, those that a killed run of the tests left behind among them."""
        with connect(self.url) as client:
            for container in client.containers.list(all=True, ignore_removed=True):
                container.remove(force=True, v=True)

    def kill(self) -> None:
        """End it as a power cut would; its containers may live on until it starts again."""
        self._end(kill=True)

    def _end(self, *, kill: bool) -> None:
        if self._process is None:
            return
        self._process.kill() if kill else self._process.terminate()
        self._process.wait(60)
        self._process = None

    def _end_leftover(self, pid: Path) -> None:
        """End the process that a killed run of the tests left behind: it holds what a new one needs."""
        with suppress(OSError, ValueError):
            number = int(pid.read_text())
            if str(self.folder).encode() in Path(f"/proc/{number}/cmdline").read_bytes():
                os.kill(number, signal.SIGKILL)
                while Path(f"/proc/{number}/cmdline").read_bytes():  # empty once only its number is left
                    time.sleep(0.05)
        pid.unlink(missing_ok=True)

    def _wait(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while not answers(self.url):
            ended = self._process is None or self._process.poll() is not None
            if ended or time.monotonic() > until:
                self.kill()
                last = (self.folder / "log").read_text(errors="replace").splitlines()[-5:]
                raise RuntimeError("dockerd did not start:\n" + "\n".join(last))
            time.sleep(0.2)


def answers(url: str) -> bool:
    """Whether an engine answers there."""
    try:
        with socket.socket(socket.AF_UNIX) as probe:  # docker-py leaves a socket open where nothing listens
            probe.connect(url.removeprefix("unix://"))
        with connect(url) as client:
            return bool(client.ping())
    except (docker.errors.DockerException, OSError):
        return False


@contextmanager
def connect(url: str) -> Iterator[docker.DockerClient]:
    """Lend a client, closed afterwards."""
    client = docker.DockerClient(base_url=url, timeout=30)
    try:
        yield client
    finally:
        client.close()


@contextmanager
def engine() -> Iterator[str]:
    """Lend the address of an engine: the one that is named in the environment, or one of our own."""
    named = os.environ.get(NAMED)
    if named:
        remove_ours(named)
        yield named
        remove_ours(named)
        return
    daemon = Daemon(HOME / "engine")
    daemon.start()
    try:
        daemon.clear()
        yield daemon.url
        daemon.clear()
    finally:
        daemon.stop()


@contextmanager
def killable(name: str) -> Iterator[Daemon]:
    """Lend an engine that may be killed; its only image, ``empty``, is for this machine's own programs."""
    demand(own=True)
    daemon = Daemon(HOME / name)
    daemon.start()
    try:
        daemon.clear()
        with connect(daemon.url) as client:
            client.api.import_image_from_data(_no_programs(), repository="empty")
        yield daemon
        if not answers(daemon.url):
            daemon.start()
        daemon.clear()
    finally:
        daemon.stop()


def _no_programs() -> bytes:
    """An image's files: nothing but the folders that `PROGRAMS` and temporary files go to."""
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as tar:
        for name in (*PROGRAMS, "tmp"):
            folder = tarfile.TarInfo(name)
            folder.type, folder.mode = tarfile.DIRTYPE, 0o755
            tar.addfile(folder)
    return file.getvalue()


def build_image(url: str, kind: str) -> str:
    """Build ``light``, ``torch`` or ``tensorflow`` where it is missing or old; return the image's name."""
    settings = {"DOCKER_HOST": url, "PYTHON": sys.executable, "CACHE": str(HOME / "cache")}
    done = subprocess.run(
        [str(SCRIPT), kind],
        env=os.environ | settings,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    if done.returncode != 0:
        raise RuntimeError(f"The image {kind} could not be built:\n{done.stderr[-2000:]}")
    return f"phasedock-jobs:{kind}"


def run_job(client: docker.DockerClient, image: str, command: list[str], **more: Any) -> Container:
    """Start a container of the tests; `more` goes to docker-py's ``containers.run``."""
    labels = {OURS: "1"} | more.pop("labels", {})
    return client.containers.run(image, command, detach=True, network_mode="none", labels=labels, **more)


def remove_ours(url: str) -> None:
    """Remove every container that tests made there."""
    with connect(url) as client:
        for container in client.containers.list(all=True, filters={"label": OURS}, ignore_removed=True):
            try:
                container.remove(force=True, v=True)
            except docker.errors.NotFound:
                continue
