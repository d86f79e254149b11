"""What the live tests of the Docker engine share: hosts, programs that speak the agent's protocol, ends."""

import time
from contextlib import ExitStack, contextmanager
from math import inf

from core.engines.docker_host import Address, Host, has_label
from core.engines.run import Node, PlannedJob, RunEngine

MARK = "phasedock.test.engine"
"""The label of containers that are there already, as other people's would be."""
STEPS = """
import json, math, os, sys, time
from pathlib import Path
from phasedock_jobs.agent import Agent
seconds, steps, slower_from = float(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
agent = Agent.from_environment(threads=lambda wanted: wanted or 1)
place = agent.folder / "checkpoint.json"
done = json.loads(place.read_text()) if place.exists() else 0
def save():
    place.with_suffix(".new").write_text(json.dumps(agent.step))
    place.with_suffix(".new").replace(place)
agent.begin(done, steps, save)
for step in range(done + 1, steps + 1):
    end = time.process_time() + seconds / steps * (2 if step >= slower_from else 1)
    while time.process_time() < end:
        math.sqrt(step)
    agent.reached(step, 1 / step, save)
agent.finish()
"""
"""A program that takes so many core-seconds for so many steps, whatever machine it runs on."""


def steps_program(seconds, steps=20, slower_from=inf):
    """The command of a job of so many core-seconds in so many steps, which take twice as long from one on."""
    return ("python3", "-c", STEPS, str(seconds), str(steps), str(slower_from))


def planned(image, name, seconds, steps=20, slower_from=inf, **more):
    """A job that speaks the agent's protocol; `more` is for `PlannedJob`."""
    settings = {"can_migrate": True, "labels": {"phasedock.test": "1"}} | more
    return PlannedJob(name, image, steps_program(seconds, steps, slower_from), **settings)


@contextmanager
def opened(url, folder, *jobs, cpus=((0,), (1,)), **more):
    """An engine over sets of processors of one host; everything of it is gone afterwards."""
    with ExitStack() as stack:
        host = stack.enter_context(Host(Address("local", url)))
        workers = [Node(f"worker-{n}", host, each) for n, each in enumerate(cpus)]
        engine = RunEngine(workers, jobs, folder=folder, **more)
        stack.callback(engine.close)
        yield engine


def ours(container):
    """Whether a container is of these tests: other tests may use the same engine at the same time."""
    return has_label(container) and MARK in container.labels


def start_jobs(engine, *starts):
    """Let the jobs arrive and start them."""
    engine.wait(None)
    engine.observe()
    assert engine.apply(starts) == ()


def looked_until(engine, true, seconds=10.0, all_seen=None):
    """Look until something is seen of the first job; that observation."""
    end = time.monotonic() + seconds
    while True:
        seen = looked(engine, 0.1)
        if all_seen is not None:
            all_seen.append(seen)
        if true(seen.jobs[0]):
            return seen
        assert time.monotonic() < end


def looked(engine, seconds=0.3):
    """Wait a little and look."""
    engine.wait(engine.time + seconds)
    return engine.observe()


def to_the_end(engine, seconds=60.0):
    """Look until all jobs have ended; all observations."""
    seen, end = [], time.monotonic() + seconds
    while not engine.finished:
        assert time.monotonic() < end
        seen.append(looked(engine))
    return seen
