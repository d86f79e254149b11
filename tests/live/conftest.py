"""What live tests share: a workspace that may control the engine, and containers that are gone afterwards."""

import docker
import pytest

from core.bootstrap import open_workspace, worker_for
from core.config import Settings
from tests.live import host


@pytest.fixture
def settings(tmp_path, docker_url):
    """Settings of a workspace that may control the engine."""
    return Settings(home=tmp_path / "home", docker=f"local={docker_url}", control=True)


@pytest.fixture
def space(settings):
    """That workspace; what it changed is put back, and what it started is removed."""
    opened = open_workspace(settings)
    yield opened
    opened.runs.remove_left()
    opened.live.limits.release()
    opened.close()


@pytest.fixture
def worker(space):
    """A worker of that workspace."""
    made = worker_for(space)
    made.start()
    yield made
    made.stop(20)


@pytest.fixture
def start_job(docker_client):
    """Start containers (image, command, docker-py's options) that are removed after the test."""
    made = []

    def start(image, command, **more):
        made.append(host.run_job(docker_client, image, command, **more))
        return made[-1]

    yield start
    for container in made:
        try:
            container.remove(force=True, v=True)
        except docker.errors.NotFound:
            continue
