"""What live tests share: a workspace that may control the engine, and containers that are gone afterwards."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import docker
import pytest

from core.bootstrap import open_workspace, worker_for
from core.config import Settings
from tests.live import host

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from docker.models.containers import Container

    from core.application import Workspace
    from core.tasks.worker import Worker


@pytest.fixture
def settings(tmp_path: Path, docker_url: str) -> Settings:
    """Settings of a workspace that may control the engine."""
    return Settings(home=tmp_path / "home", docker=f"local={docker_url}", control=True)


@pytest.fixture
def space(settings: Settings) -> Iterator[Workspace]:
    """That workspace; what it changed is put back, and what it started is removed."""
    opened = open_workspace(settings)
    yield opened
    opened.runs.remove_left()
    opened.live.limits.release()
    opened.close()


@pytest.fixture
def worker(space: Workspace) -> Iterator[Worker]:
    """A worker of that workspace."""
    made = worker_for(space)
    made.start()
    yield made
    made.stop(20)


@pytest.fixture
def start_job(docker_client: docker.DockerClient) -> Iterator[Callable[..., Container]]:
    """Start containers (image, command, docker-py's options) that are removed after the test."""
    made: list[Container] = []

    def start(image: str, command: list[str], **more: Any) -> Container:
        made.append(host.run_job(docker_client, image, command, **more))
        return made[-1]

    yield start
    for container in made:
        try:
            container.remove(force=True, v=True)
        except docker.errors.NotFound:
            continue
