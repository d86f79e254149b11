"""A Docker Engine that dies under a run: it goes on when the engine is back, or ends with a clear reason."""

import os
import signal
import threading
import time

import pytest

from core.engines.docker_host import Address, Host, HostLost
from core.engines.run import PlannedJob
from core.engines.values import FollowOptions
from core.scheduling.actions import SetLimit, Start
from core.scheduling.model import JobState
from tests.live import host
from tests.live.engines import opened

pytestmark = pytest.mark.live


@pytest.fixture(scope="module")
def daemon():
    with host.killable("killed") as made:
        yield made


def printing(name, arrival=0.0):
    """A job that prints losses for a minute."""
    program = (
        "trap 'exit 1' TERM; n=1; while [ $n -lt 600 ]; do echo loss=0.$n; n=$((n+1)); /bin/sleep 0.1; done"
    )
    volumes = {f"/{name}": f"/{name}" for name in host.PROGRAMS}
    return PlannedJob(name, "empty", ("/bin/sh", "-c", program), arrival, volumes=volumes)


def started(engine):
    """The first job runs and has printed something."""
    engine.wait(None)
    engine.observe()
    assert engine.apply([Start("a", "worker-0", 0.5)]) == ()
    end = time.monotonic() + 20
    while time.monotonic() < end:
        engine.wait(engine.time + 0.3)
        seen = engine.observe()
        if seen.jobs[0].readings:
            return seen
    raise AssertionError("it printed nothing")


@pytest.mark.long
def test_an_engine_that_comes_back_is_waited_for_and_the_run_goes_on(daemon, tmp_path):
    with opened(daemon.url, tmp_path, printing("a"), printing("b", 4.0)) as engine:
        started(engine)
        daemon.kill()
        failures = engine.apply([SetLimit("a", 0.25)])
        assert "Docker host local" in failures[0].why
        again = threading.Timer(1.0, daemon.start)
        again.start()
        try:
            ended = ()
            while not ended:
                engine.wait(engine.time + 0.5)
                ended = engine.observe().ended
        finally:
            again.join()
        assert [(job.id, job.state) for job in ended] == [("a", JobState.FAILED)]
        assert engine.reasons["a"].startswith("Docker on local was restarted")
        while engine.observe().jobs == ():
            engine.wait(None)
        assert engine.apply([Start("b", "worker-1")]) == ()
        engine.wait(engine.time + 0.5)
        assert engine.observe().jobs[0].state is JobState.RUNNING


@pytest.mark.long
def test_an_engine_that_stays_away_ends_the_run_in_one_sentence(daemon, tmp_path):
    with opened(daemon.url, tmp_path, printing("a"), options=FollowOptions(1.5)) as engine:
        started(engine)
        daemon.kill()
        begin = time.monotonic()
        with pytest.raises(HostLost) as caught:
            engine.wait(engine.time + 60)
        assert 1.0 < time.monotonic() - begin < 15
        assert caught.value.message == "The Docker host local was lost, and did not come back within 1.5 s."
        assert caught.value.hint
        left = engine.close()
        assert len(left) == 1
        assert "could not be removed" in left[0]
    daemon.start()


@pytest.mark.long
def test_an_engine_that_a_killed_run_left_running_gives_way_to_a_new_one(daemon):
    left, again = daemon._process, host.Daemon(daemon.folder)
    again.start()
    assert left.wait(10) == -signal.SIGKILL
    assert again._process.poll() is None
    daemon._process = again._process


@pytest.mark.long
def test_an_engine_that_hangs_is_lost_and_found_again(daemon):
    with Host(Address("local", daemon.url), request_timeout=0.5) as host:
        assert host.containers() == ()
        os.kill(daemon._process.pid, signal.SIGSTOP)
        os.waitid(os.P_PID, daemon._process.pid, os.WSTOPPED)
        try:
            begin = time.monotonic()
            with pytest.raises(HostLost, match="no answer") as caught:
                host.ping()
            assert time.monotonic() - begin < 2
            assert caught.value.kind == "lost"
        finally:
            os.kill(daemon._process.pid, signal.SIGCONT)
        end = time.monotonic() + 5
        while not answers(host):
            assert time.monotonic() < end


def answers(host):
    """Whether a host answers now."""
    try:
        host.ping()
    except HostLost:
        return False
    return True
