"""Limits on real containers: they reach the kernel, and go back to exactly what they were."""

import re
from pathlib import Path

import pytest

from core.engines.docker_host import Address, ChangeRefused, ContainerGone, Host, Limits, NotOurs
from core.engines.run import ContainerCreation

pytestmark = pytest.mark.live

MIB = 1 << 20
CPU_FILES = {
    1: ("cpu/cpu.cfs_quota_us", "cpu/cpu.cfs_period_us", "cpu/cpu.shares"),
    2: ("cpu.max", "cpu.weight"),
}
MEMORY_FILES = {
    1: (
        "memory/memory.limit_in_bytes",
        "memory/memory.memsw.limit_in_bytes",
        "memory/memory.soft_limit_in_bytes",
    ),
    2: ("memory.max", "memory.low"),
}


@pytest.fixture
def host(docker_url):
    with Host(Address("local", docker_url)) as host:
        yield host


@pytest.fixture
def sleeper(start_job, light_image):
    """Makes a container that sleeps, as somebody else would, but with our label."""

    def start(has_label=True, **settings):
        labels = {"phasedock": ""} if has_label else {}
        return start_job(light_image, ["sleep", "600"], labels=labels, **settings).id

    return start


def kernel(host, container, *files):
    """What the kernel enforces on a container, read without the code under test."""
    return [kernel_file(host, container, file).read_text().strip() for file in files]


def kernel_file(host, container, file):
    """Where a file of a container's control group is."""
    groups = Path(f"/proc/{host.inspect(container).pid}/cgroup").read_text()
    controller, _, name = file.rpartition("/")
    path = re.search(
        rf"^\d+:(?:\S*,)?{controller}(?:,\S*)?:(.*)$" if controller else r"^0::(.*)$", groups, re.MULTILINE
    )
    return Path(f"/sys/fs/cgroup/{controller}{path[1]}/{name}")


CREATED = {
    "nothing": {},
    "cpus": {"nano_cpus": 1_500_000_000},
    "quota": {"cpu_quota": 50_000, "cpu_period": 50_000},
    "shares": {"cpu_shares": 512},
    "memory": {"mem_limit": 128 * MIB},
    "memory and more swap": {"mem_limit": 128 * MIB, "memswap_limit": 512 * MIB},
    "reservation": {"mem_reservation": 64 * MIB},
}


@pytest.mark.parametrize("created", CREATED.values(), ids=CREATED)
def test_what_was_there_before_comes_back_exactly(host, sleeper, created):
    container = sleeper(**created)
    version = host.info().cgroup
    files = CPU_FILES[version] + MEMORY_FILES[version]
    before = kernel(host, container, *files)
    limits = host.inspect(container).limits
    host.set_limits(container, limits.with_cores(0.5).with_weight(2.0).with_memory(96 * MIB))
    host.set_limits(container, host.inspect(container).limits.with_cores(0.25))
    changed = kernel(host, container, *files)
    assert changed[: len(CPU_FILES[version])] != before[: len(CPU_FILES[version])]
    assert changed[len(CPU_FILES[version])] == str(96 * MIB)
    host.set_limits(container, host.inspect(container).limits.with_cores(host.info().cores))
    assert host.keeper.saved_limits(host.key(), container) == limits.to_dict()
    assert host.restore(container)
    assert kernel(host, container, *files) == before
    assert host.inspect(container).limits.agrees(limits, host.info().cores)
    assert host.keeper.saved_limits(host.key(), container) is None
    assert not host.restore(container)


@pytest.mark.parametrize(
    "created", [{}, {"nano_cpus": 10**9}, {"cpu_quota": 100_000}], ids=["none", "cpus", "quota"]
)
def test_a_limit_of_cores_reaches_the_kernel(host, sleeper, created):
    container = sleeper(**created)
    for cores in (0.5, 0.01, 1.25, None, 0.33):
        given = host.set_limits(container, host.inspect(container).limits.with_cores(cores))
        wanted = host.info().cores if cores is None and created.get("nano_cpus") else cores
        assert given.cores == wanted
        if host.info().cgroup == 1:
            quota, period, _ = kernel(host, container, *CPU_FILES[1])
            limit = None if quota == "-1" else int(quota) / int(period)
        else:
            quota, period = kernel(host, container, "cpu.max")[0].split()
            limit = None if quota == "max" else int(quota) / int(period)
        assert limit == wanted


def test_limits_of_a_container_that_does_not_run_come_back_too(host, sleeper, docker_client):
    container = sleeper(nano_cpus=10**9)
    limits = host.inspect(container).limits
    host.set_limits(container, limits.with_cores(0.2))
    docker_client.containers.get(container).kill()
    assert host.restore(container)
    assert host.inspect(container).limits == limits


def test_what_is_kept_of_a_container_that_is_gone_is_forgotten(host, sleeper, docker_client):
    container = sleeper()
    host.set_limits(container, Limits().with_cores(0.2))
    docker_client.containers.get(container).remove(force=True)
    with pytest.raises(ContainerGone):
        host.restore(container)
    assert host.keeper.saved_limits(host.key(), container) is None


def test_an_impossible_limit_is_refused_and_nothing_changes(host, sleeper):
    container = sleeper()
    before = host.inspect(container)
    with pytest.raises(ChangeRefused, match="memory limit"):
        host.set_limits(container, Limits().with_memory(1 * MIB))
    assert host.inspect(container) == before


FULL = "x = b'1' * (300 << 20); print('full', flush=True); import time; time.sleep(600)"


def test_of_a_change_that_the_kernel_refuses_nothing_stays(host, start_job, light_image):
    if host.info().cgroup != 1:
        pytest.skip("version 2 takes any limit of memory, and kills")
    job = start_job(light_image, ["python3", "-c", FULL], labels={"phasedock": ""}, mem_limit=512 * MIB)
    assert until(lambda: b"full" in job.logs())
    before = kernel(host, job.id, *MEMORY_FILES[1])
    limits = host.inspect(job.id).limits
    with pytest.raises(ChangeRefused):
        host.set_limits(job.id, limits.with_memory(200 * MIB))
    assert kernel(host, job.id, *MEMORY_FILES[1]) == before
    assert host.inspect(job.id).limits == limits


def test_a_part_of_a_change_that_reached_the_kernel_goes_back_with_the_rest(host, sleeper):
    files = MEMORY_FILES[host.info().cgroup]
    torn = {1: "memory/memory.memsw.limit_in_bytes", 2: "memory.max"}[host.info().cgroup]
    container = sleeper(mem_limit=512 * MIB)
    before = kernel(host, container, *files)
    host.set_limits(container, host.inspect(container).limits.with_cores(0.5))
    host.set_limits(container, host.inspect(container).limits.with_memory(256 * MIB))
    # as a process leaves it that is killed between a change that was refused and its mending
    kernel_file(host, container, torn).write_text(str(900 * MIB))
    host.set_limits(container, host.inspect(container).limits.with_memory(512 * MIB))
    assert kernel(host, container, *files) == before
    kernel_file(host, container, torn).write_text(str(900 * MIB))
    assert host.restore(container)
    assert kernel(host, container, *files) == before


def test_a_container_that_we_were_not_told_about_is_refused_before_anything_is_sent(
    host, sleeper, docker_client
):
    container = sleeper(has_label=False)
    host.containers()
    before = docker_client.api.inspect_container(container)
    sent = []
    host._connection._open().client.hooks["response"].append(lambda answer, **_: sent.append(answer.url))
    changes = [
        lambda: host.set_limits(container, Limits().with_cores(0.5)),
        lambda: host.start(container),
        lambda: host.stop(container),
        lambda: host.kill(container),
        lambda: host.pause(container),
        lambda: host.unpause(container),
        lambda: host.remove(container),
    ]
    for change in changes:
        with pytest.raises(NotOurs, match="PhaseDock may not change the container"):
            change()
    assert sent == []
    assert docker_client.api.inspect_container(container) == before
    host.ping()
    assert len(sent) == 1


def test_a_guard_may_allow_a_container_that_was_picked(docker_url, sleeper):
    container = sleeper(has_label=False)
    with Host(Address("local", docker_url), guard=lambda found: found.id == container) as host:
        assert host.set_limits(container, Limits().with_cores(0.5)).cores == 0.5
        assert host.restore(container)


def test_the_list_follows_what_happens(host, docker_client, sleeper):
    container = sleeper()
    assert container in {found.id for found in host.containers()}
    docker_client.containers.get(container).update(cpu_quota=30_000, cpu_period=100_000)
    seen = until(lambda: next(c.limits.cores for c in host.containers() if c.id == container) == 0.3)
    docker_client.containers.get(container).kill()
    gone = until(lambda: container not in {found.id for found in host.containers()})
    assert (seen, gone) == (True, True)


@pytest.mark.long
def test_counters_of_fifty_containers_cost_at_most_ten_milliseconds(host, light_image):
    import time

    made = [
        host.create(ContainerCreation(f"phasedock-test-{n}", light_image, ("sleep", "600")))
        for n in range(50)
    ]
    try:
        for container in made:
            host.start(container)
        containers = [found for found in host.containers() if found.id in made]
        assert len(host.counters(containers)) == 50
        costs = []
        for _ in range(10):
            begin = time.process_time()
            found = host.counters(containers)
            costs.append(time.process_time() - begin)
        assert len(found) == 50
        assert all(counters.cpu_seconds > 0 and counters.memory > 0 for counters in found.values())
        assert min(costs) <= 0.010
    finally:
        for container in made:
            host.remove(container)


def test_the_kernel_and_dockers_api_say_the_same(host, docker_url, start_job, light_image):
    from core.engines.docker_host.cgroups import parse_stats

    busy = "import time\nx = bytearray(30 << 20)\nwhile time.process_time() < 0.3: pass\ntime.sleep(600)"
    container = start_job(
        light_image, ["python3", "-c", busy], labels={"phasedock": ""}, nano_cpus=150_000_000
    ).id
    found = host.inspect(container)
    settled = until(lambda: host.counters([found])[container].cpu_seconds > 0.3)
    until(lambda: False, seconds=0.5)
    files = host.counters([found])[container]
    path = f"/containers/{container}/stats"
    api = parse_stats(host._connection.get(path, stream=False, **{"one-shot": True}), files.time)
    assert settled
    assert files.cpu_seconds == pytest.approx(api.cpu_seconds, abs=0.02)
    assert files.memory == pytest.approx(api.memory, abs=4 * MIB)
    assert files.memory > 30 * MIB
    assert files.throttled_periods == api.throttled_periods > 0
    assert files.throttled_seconds == pytest.approx(api.throttled_seconds)


def until(true, seconds=5.0):
    """Wait until something is true; False if it did not become so."""
    import time

    end = time.monotonic() + seconds
    while not true():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True
