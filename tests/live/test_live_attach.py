"""A policy on real containers: watching changes nothing; control does, and everything comes back exactly.

What limits really are is read from the control group and from Docker, not from what PhaseDock says.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from core.config import Settings, child_environment
from core.runtime.infos import TaskState
from core.runtime.live.values import Mode
from core.runtime.worker import Worker
from core.runtime.workspace import Workspace, open_workspace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from docker.models.containers import Container

pytestmark = pytest.mark.live

# a loss that falls fast and then hardly at all, so that FlowCon finds it converged
FALLING = """
import time, math
begin = time.time()
while True:
    end = time.time() + 0.2
    while time.time() < end: pass
    t = time.time() - begin
    print(f"step {int(t * 5)} loss={math.exp(-t * 2) + 0.1:.6f}", flush=True)
"""
# one that still learns when the others have converged, or all would keep their limits
LEARNING = FALLING.replace("math.exp(-t * 2)", "math.exp(-t / 20)")
BUSY = "while True: pass"
FAST = {"itval": 2.0}


@pytest.fixture
def live_settings(tmp_path: Path, docker_url: str) -> Settings:
    return Settings(home=tmp_path / "home", docker=f"local={docker_url}", control=True)


@pytest.fixture
def space(live_settings: Settings) -> Iterator[Workspace]:
    opened = open_workspace(live_settings)
    yield opened
    opened.live.release()
    opened.close()


@pytest.fixture
def worker(space: Workspace) -> Iterator[Worker]:
    made = Worker(space)
    made.start()
    yield made
    made.stop(20)


def cgroup(container: Container) -> tuple[int, int]:
    """Quota and period as the kernel has them."""
    pid = container.client.api.inspect_container(container.id)["State"]["Pid"]
    for line in Path(f"/proc/{pid}/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if "cpu" in controllers.split(","):
            root = next(
                root
                for root in map(Path, ("/sys/fs/cgroup/cpu,cpuacct", "/sys/fs/cgroup/cpu"))
                if root.is_dir()
            )
            quota = int((root / path.strip("/") / "cpu.cfs_quota_us").read_text())
            return quota, int((root / path.strip("/") / "cpu.cfs_period_us").read_text())
        if controllers == "":
            quota, period = (Path("/sys/fs/cgroup") / path.strip("/") / "cpu.max").read_text().split()
            return -1 if quota == "max" else int(quota), int(period)
    raise AssertionError(pid)


def limits(container: Container) -> dict[str, Any]:
    """What Docker says of its limits."""
    host = container.client.api.inspect_container(container.id)["HostConfig"]
    names = ("NanoCpus", "CpuQuota", "CpuPeriod", "CpuShares", "Memory", "MemorySwap", "MemoryReservation")
    return {name: host.get(name) or 0 for name in names}


def until(seen: Callable[[], Any], seconds: float = 30.0) -> Any:
    """Wait until something is true; gives it."""
    end = time.monotonic() + seconds
    while not (found := seen()):
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.1)
    return found


def ended(space: Workspace, task: str) -> Any:
    return until(lambda: info if (info := space.tasks.get(task)).state.ended else None)


def test_watching_says_what_it_would_do_and_changes_nothing(space, worker, light_image, start_job):
    jobs = [start_job(light_image, ["python3", "-c", FALLING], labels={"phasedock": "1"}) for _ in range(2)]
    before = [(limits(job), cgroup(job)) for job in jobs]
    task = space.live.attach("local", "flowcon", FAST, Mode.WATCH)
    view = until(lambda: v if (v := space.live.look("local")).attached and v.attached.resizes else None)
    assert view.attached.task == task
    assert view.attached.mode is Mode.WATCH
    assert {row.label for row in view.rows} <= {"NL", "WL", "CL", None}
    assert view.attached.said[0].container in {job.name for job in jobs}
    assert [(limits(job), cgroup(job)) for job in jobs] == before
    assert space.live.detach("local") == task
    assert ended(space, task).state is TaskState.DONE
    assert [(limits(job), cgroup(job)) for job in jobs] == before
    assert space.live.look("local").attached is None


def test_releasing_says_whose_limits_the_policy_put_back(space, worker, light_image, start_job):
    labels = {"phasedock": ""}
    jobs = [start_job(light_image, ["python3", "-c", each], labels=labels) for each in (FALLING, LEARNING)]
    space.live.attach("local", "flowcon", FAST, Mode.CONTROL)
    held = until(lambda: {row.name for row in space.live.look("local").rows if row.held})
    assert held <= set(space.live.release().restored)
    assert {cgroup(job)[0] for job in jobs} == {-1}
    assert space.live.release().restored == ()


def test_control_changes_the_control_group_and_detaching_puts_it_back(space, worker, light_image, start_job):
    labels = {"phasedock": ""}
    jobs = [
        start_job(light_image, ["python3", "-c", FALLING], labels=labels, nano_cpus=1_500_000_000),
        start_job(
            light_image, ["python3", "-c", FALLING], labels=labels, cpu_quota=70_000, cpu_period=50_000
        ),
        start_job(light_image, ["python3", "-c", LEARNING], labels=labels, mem_limit="512m"),
    ]
    foreign = start_job(light_image, ["python3", "-c", FALLING], cpu_quota=80_000, cpu_period=100_000)
    of_a_run = start_job(light_image, ["python3", "-c", BUSY], labels=labels | {"phasedock.run": "another"})
    before, kernel = [limits(job) for job in jobs], [cgroup(job) for job in jobs]
    outside = [(limits(each), cgroup(each)) for each in (foreign, of_a_run)]
    task = space.live.attach("local", "flowcon", FAST, Mode.CONTROL)
    until(lambda: any(0 < cgroup(job)[0] < 0.9 * cgroup(job)[1] for job in jobs))
    until(lambda: any(row.held for row in space.live.look("local").rows))
    view = space.live.look("local")
    assert view.others >= 1
    assert foreign.id not in {row.id for row in view.rows}
    assert [(limits(each), cgroup(each)) for each in (foreign, of_a_run)] == outside
    run = view.attached.run
    space.live.detach("local")
    done = ended(space, task)
    assert done.state is TaskState.DONE, done.error
    assert [cgroup(job) for job in jobs] == kernel
    assert [replace_unset(limits(job)) for job in jobs] == [replace_unset(each) for each in before]
    assert space.live.holds.all() == ()
    assert [(limits(each), cgroup(each)) for each in (foreign, of_a_run)] == outside
    assert space.runs.get(run).ticks == done.result["decisions"] > 0
    assert space.runs.replay(run) == []


def replace_unset(values: dict[str, Any]) -> dict[str, Any]:
    """Docker writes “no limit” as 0 or −1, usual shares as 0 or 1024, the usual period as 0 or 100,000."""
    same = {"CpuQuota": {-1: 0}, "CpuShares": {1024: 0}, "CpuPeriod": {100_000: 0}, "MemorySwap": {-1: 0}}
    return {name: same.get(name, {}).get(value, value) for name, value in values.items()}


def test_a_worker_that_is_killed_while_it_controls_leaves_nothing_behind(
    space, live_settings, light_image, start_job
):
    """The worker is a process of its own, killed with SIGKILL; the next one puts every limit back."""
    job = start_job(
        light_image, ["python3", "-c", FALLING], labels={"phasedock": "1"}, nano_cpus=1_900_000_000
    )
    before, kernel = limits(job), cgroup(job)
    environment = child_environment(live_settings) | {
        "PHASEDOCK_DOCKER": live_settings.docker,
        "PHASEDOCK_CONTROL": "on",
    }
    task = space.live.attach("local", "flowcon", FAST, Mode.CONTROL)
    command = [sys.executable, "-m", "core.cli", "worker"]
    first = subprocess.Popen(command, env=environment, cwd=Path(__file__).parents[2])
    try:
        until(lambda: cgroup(job) != kernel, 60)
        first.send_signal(signal.SIGKILL)
        first.wait(10)
        assert cgroup(job) != kernel
        assert space.tasks.get(task).state is TaskState.INTERRUPTED
    finally:
        if first.poll() is None:
            first.kill()
    second = subprocess.Popen(command, env=environment, cwd=Path(__file__).parents[2])
    try:
        until(lambda: cgroup(job) == kernel, 30)
        until(lambda: not space.live.holds.all(), 10)
        assert limits(job) == before
    finally:
        second.terminate()
        assert second.wait(20) == 0


def test_a_paused_container_goes_on_after_its_worker_was_killed(space, light_image, start_job):
    job = start_job(light_image, ["python3", "-c", BUSY], labels={"phasedock": "1"}, nano_cpus=1_500_000_000)
    kernel = cgroup(job)
    keeper = space.live.holds.keeper("0123456789abcdef")
    with space.live.engine_registry.host("local", keeper, lambda _: True) as host:
        now = host.inspect(job.id)
        host.set_limits(job.id, now.limits.with_cores(0.5))
        keeper.keep_paused("local", job.id, now.limits, True)
        host.pause(job.id)
    assert space.live.put_back_orphans().restored == (job.name,)
    job.reload()
    assert job.status == "running"
    assert cgroup(job) == kernel


def test_an_engine_that_is_lost_ends_the_policy_with_a_sentence(tmp_path, light_image):
    settings = Settings(home=tmp_path / "home", docker=f"gone=unix://{tmp_path}/none.sock", control=True)
    space = open_workspace(settings)
    try:
        info = space.live.engines()[0]
        assert info.state == "missing"
        assert info.hint
        with pytest.raises(Exception, match="Nothing answers"):
            space.live.attach("gone", "flowcon", {}, Mode.CONTROL)
    finally:
        space.close()
