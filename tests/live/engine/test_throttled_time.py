"""The kernel's throttled time says what a container would use without its limit."""

import os
import time

import pytest

from core.engines.docker_host import Address, Host
from core.sampling.sampler import usage_between
from core.scheduling.policies.autopilot.cpu import estimate_unlimited_use

pytestmark = pytest.mark.live

WINDOWS, SECONDS = 5, 2.0


@pytest.fixture
def host(docker_url):
    with Host(Address("local", docker_url)) as host:
        yield host


@pytest.mark.parametrize(
    ("processes", "limit"),
    [
        (1, 0.1),
        pytest.param(2, 0.2, marks=pytest.mark.long),
        pytest.param(1, 0.9, marks=pytest.mark.long),
        pytest.param(2, 1.9, marks=pytest.mark.long),
    ],
)
def test_what_is_used_and_what_is_withheld_make_what_would_be_used(
    host, start_job, light_image, processes, limit
):
    """Never more than that; and all of it under a limit that bites whatever else takes processors."""
    if processes > (os.cpu_count() or 1):
        pytest.skip("this machine has too few processors for that")
    program = "import os\n" + "os.fork()\n" * (processes - 1) + "while True: pass"
    started = start_job(light_image, ["python3", "-c", program], nano_cpus=int(limit * 1e9))
    container = host.inspect(started.id)
    wanted = []
    for _ in range(WINDOWS):
        before = host.counters([container])[container.id]
        time.sleep(SECONDS)
        usage = usage_between(before, host.counters([container])[container.id])
        wanted.append(estimate_unlimited_use(usage.cpu, usage.withheld, float(os.cpu_count())))
    assert max(wanted) <= 1.1 * processes
    assert limit > 0.5 or max(wanted) >= 0.6 * processes
