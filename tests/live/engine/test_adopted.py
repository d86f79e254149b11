"""Containers that are there already: policies steer those that may be steered, and leave all others alone."""

import pytest

from core.engines.docker_host import Address, Host
from core.engines.run import Node, RunEngine
from core.engines.watch_only import WatchOnly
from core.scheduling.actions import Pause, SetLimit
from core.scheduling.loop import drive
from core.scheduling.model import JobState, Trigger
from core.scheduling.policies import POLICIES
from tests.live.engines import MARK, looked, opened, ours
from tests.live.limits import kernel_quota

pytestmark = pytest.mark.live


OURS = ("phasedock", MARK)


@pytest.fixture
def trainers(start_job, light_image, tmp_path):
    """Starts containers as other people do: programs that print losses, with our label or without."""

    def start(*labels, losses="1/n", **settings):
        program = f"import time\nfor n in range(1, 9999):\n print('loss=%.5f' % ({losses}), flush=True)\n"
        program += " end=time.process_time()+.02\n while time.process_time()<end: pass"
        command = ["python3", "-c", program]
        return [
            start_job(light_image, command, labels=dict.fromkeys(each, ""), **settings).name
            for each in labels
        ]

    return start


def test_flowcon_steers_what_carries_the_label_and_touches_nothing_else(
    docker_url, tmp_path, docker_client, trainers
):
    """A whole FlowCon run beside a foreign container, whose description stays the same to the last bit.

    One job's loss falls by a hundredth of its peak every second, so it stays new; the other's stands still,
    so it comes to the completing list, with a quarter of the node: half a core of two.
    """
    (learning,) = trainers(OURS, losses="1e5 - 20 * n")
    converged, foreign = trainers(OURS, (), losses="1")
    steered = [learning, converged]
    before = docker_client.api.inspect_container(foreign)
    created = {name: docker_client.api.inspect_container(name)["HostConfig"] for name in steered}
    policy = POLICIES["flowcon"]
    settings = policy.build_settings({"itval": 1.0, "alpha": 0.001})
    with Host(Address("local", docker_url)) as host:
        engine = RunEngine([Node("node", host)], folder=tmp_path, adopt=ours)
        try:
            entries = []
            for entry in drive(engine, policy, settings, 1):
                entries.append(entry)
                limits = {job.id: job.limit for job in entry.observation.jobs}
                if limits.get(converged) == 0.25 * host.info().cores or entry.observation.time > 20:
                    break
            quotas = [kernel_quota(docker_client.containers.get(name))[0] for name in steered]
            cores = host.info().cores
        finally:
            assert engine.close() == ()
        restored = [host.inspect(name).limits for name in steered]
    seen = {job.id for entry in entries for job in entry.observation.jobs}
    assert seen == set(steered)
    assert quotas == [round(cores * 100_000), round(0.25 * cores * 100_000)]
    assert all(limits.cores is None for limits in restored)
    assert {name: host["CpuQuota"] for name, host in created.items()} == dict.fromkeys(steered, 0)
    assert any(job.readings for entry in entries for job in entry.observation.jobs)
    assert docker_client.api.inspect_container(foreign) == before


def test_a_container_that_is_removed_in_mid_tick_disturbs_nothing_else(
    docker_url, tmp_path, docker_client, trainers
):
    first, second = trainers(OURS, OURS)
    with Host(Address("local", docker_url)) as host:
        engine = RunEngine([Node("node", host)], folder=tmp_path, adopt=ours)
        try:
            engine.wait(None)
            assert {job.id for job in engine.observe().jobs} == {first, second}
            docker_client.containers.get(first).remove(force=True)
            failures = engine.apply([SetLimit(first, 0.5), SetLimit(second, 0.5)])
            assert [failure.action.job for failure in failures] == [first]
            seen = looked(engine)
            assert [(job.id, job.state) for job in seen.ended] == [(first, JobState.FAILED)]
            assert [(job.id, job.limit) for job in seen.jobs] == [(second, 0.5)]
            assert engine.reasons[first] == "Its container was removed."
        finally:
            assert engine.close() == ()
        assert host.inspect(second).limits.cores is None


def test_a_container_that_comes_and_goes_and_comes_back(docker_url, tmp_path, docker_client, trainers):
    with Host(Address("local", docker_url)) as host:
        engine = RunEngine([Node("node", host)], folder=tmp_path, adopt=ours)
        try:
            assert looked(engine).jobs == ()
            (one,) = trainers(OURS)
            engine.wait(engine.time + 10)
            came = engine.observe()
            assert (came.trigger, [job.id for job in came.jobs]) == (Trigger.ARRIVAL, [one])
            assert not engine.finished
            docker_client.containers.get(one).kill()
            engine.wait(engine.time + 10)
            went = engine.observe()
            assert (went.trigger, [job.id for job in went.ended]) == (Trigger.DEPARTURE, [one])
            docker_client.containers.get(one).start()
            engine.wait(engine.time + 10)
            assert [job.id for job in engine.observe().jobs] == [f"{one}#2"]
        finally:
            assert engine.close() == ()


def test_watching_changes_nothing(docker_url, tmp_path, docker_client, trainers):
    (one,) = trainers(OURS)
    before = docker_client.api.inspect_container(one)
    with Host(Address("local", docker_url)) as host:
        engine = RunEngine([Node("node", host)], folder=tmp_path, adopt=ours)
        watched = WatchOnly(engine)
        watched.wait(None)
        watched.observe()
        assert watched.apply([SetLimit(one, 0.5), Pause(one)]) == ()
        assert [action for _, action in watched.would] == [SetLimit(one, 0.5), Pause(one)]
        assert watched.observe().jobs[0].limit is None
        assert engine.close() == ()
    assert docker_client.api.inspect_container(one) == before


def test_the_cores_in_use_are_everybodys(docker_url, tmp_path, trainers):
    trainers((), cpuset_cpus="1", nano_cpus=500_000_000)
    with opened(docker_url, tmp_path, adopt=ours) as engine:
        first, second = zip(*(looked(engine, 1.0).workers for _ in range(3)), strict=True)
    # beside other programs a container may get less than its half; of what is adopted there is nothing at all
    assert 0.1 <= max(each.used for each in second) <= 1.0
    assert all(0.0 <= each.used <= 1.0 for each in first)


def test_a_limit_that_a_person_set_by_hand_survives_a_run_that_did_not_change_it(
    docker_url, tmp_path, docker_client, trainers
):
    names = trainers(OURS, OURS)
    by_hand, steered = (docker_client.containers.get(name).id for name in names)
    with Host(Address("local", docker_url)) as host:
        host.set_limits(by_hand, host.inspect(by_hand).limits.with_cores(0.7))
        engine = RunEngine([Node("node", host)], folder=tmp_path, adopt=ours)
        engine.wait(None)
        engine.observe()
        assert engine.apply([SetLimit(names[1], 0.4)]) == ()
        assert engine.close() == ()
        assert host.inspect(by_hand).limits.cores == 0.7
        assert host.inspect(steered).limits.cores is None
        assert host.restore(by_hand)
        assert host.inspect(by_hand).limits.cores is None


def test_labels_say_what_a_container_asks_for_and_until_when(docker_url, tmp_path, start_job, light_image):
    labels = {**dict.fromkeys(OURS, ""), "phasedock.request": "1.5", "phasedock.max": "2"}
    labels |= {"phasedock.deadline": "2 h", "phasedock.priority": "high"}
    name = start_job(light_image, ["sleep", "60"], labels=labels).name
    with Host(Address("local", docker_url)) as host:
        engine = RunEngine([Node("node", host)], folder=tmp_path, adopt=ours)
        try:
            (job,) = [each for each in engine.observe().jobs if each.id == name]
        finally:
            assert engine.close() == ()
    assert (job.request, job.terms_or_default.max, job.terms_or_default.priority) == (1.5, 2.0, 0)
    assert 7100 < job.terms_or_default.deadline <= 7200
