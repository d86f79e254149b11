"""What live tests share: an engine, the images, and containers that are gone afterwards."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import docker
import pytest

from tests.live import host

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from docker.models.containers import Container


@pytest.fixture(scope="session")
def docker_url() -> Iterator[str]:
    """The address of a Docker Engine that may be used for tests."""
    host.demand()
    with host.engine() as url:
        yield url


@pytest.fixture(scope="session")
def light_image(docker_url: str) -> str:
    """The image of the NumPy programs."""
    return host.build_image(docker_url, "light")


@pytest.fixture(scope="session")
def torch_image(docker_url: str) -> str:
    """The image that has PyTorch as well."""
    return host.build_image(docker_url, "torch")


@pytest.fixture
def docker_client(docker_url: str) -> Iterator[docker.DockerClient]:
    """docker-py on that engine, for looking at what really is."""
    with host.connect(docker_url) as client:
        yield client


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
