"""What Docker is asked for when a container is created."""

import pytest

from core.engines.docker_host import Limits
from core.engines.docker_host.host import creation_body
from core.engines.run import ContainerCreation


def test_a_container_has_no_network_and_no_ports_unless_it_is_given_some():
    body = creation_body(ContainerCreation("mine", "image"), Limits())
    assert (body["HostConfig"]["NetworkMode"], "PortBindings" in body["HostConfig"]) == ("none", False)
    assert "ExposedPorts" not in body


def test_ports_are_published_on_the_loopback_address_only():
    body = creation_body(
        ContainerCreation("mine", "image", network="bridge", ports={"6006": "80", "6007": "80"}), Limits()
    )
    assert body["ExposedPorts"] == {"80/tcp": {}}
    assert body["HostConfig"]["PortBindings"] == {
        "80/tcp": [{"HostIp": "127.0.0.1", "HostPort": "6006"}, {"HostIp": "127.0.0.1", "HostPort": "6007"}]
    }


@pytest.mark.parametrize(
    ("limits", "asked"),
    [
        (Limits(nano_cpus=1_500_000_000), {"NanoCpus": 1_500_000_000}),
        (Limits().with_cores(0.5), {"CpuQuota": 50_000, "CpuPeriod": 0}),
        (Limits(), {}),
    ],
)
def test_a_limit_is_asked_for_in_the_spelling_that_it_has(limits, asked):
    body = creation_body(ContainerCreation("mine", "image"), limits)["HostConfig"]
    assert {key: body[key] for key in ("NanoCpus", "CpuQuota", "CpuPeriod") if key in body} == asked
