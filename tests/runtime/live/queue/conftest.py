"""What tests of the queue share: a workspace without Docker, whose demo takes jobs."""

import time
from dataclasses import replace

import pytest

from core.bootstrap import open_workspace
from core.engines.values import FollowOptions
from core.live.queue.feed import FedEngine


@pytest.fixture
def space(settings, tmp_path):
    """A workspace on a machine without Docker, where nothing real may be changed."""
    opened = open_workspace(replace(settings, docker=f"here=unix://{tmp_path}/none.sock"))
    yield opened
    opened.close()


@pytest.fixture
def queue(space):
    """The queue of that workspace."""
    return space.live.queue


class Follower:
    """The demo as an attached policy follows it, for as long as nobody kills it."""

    def __init__(self, space, owner="0123456789abcdef"):
        live = space.live
        keeper = live.saved_limits.keeper(owner)
        self.host = live.engines.host("demo", keeper, lambda _: True)
        self.real = live.engines.adopt(
            self.host, space.settings.home / "live", lambda _: True, lambda: None, FollowOptions(1.0, 1.0)
        )
        self.fed = live.queue.fed("demo", self.real, self.real, starts=True)
        assert isinstance(self.fed, FedEngine)

    def observe_after(self, seconds=0.0):
        """What a policy sees after so many seconds, or as soon as something happens."""
        self.fed._polled = 0.0
        self.fed.wait(self.real.time + seconds)
        return self.fed.observe()

    def job(self, name):
        """A submitted job as a policy sees it now, or None."""
        return next((job for job in self.observe_after().jobs if job.id == name), None)


@pytest.fixture
def follow(space):
    """Begins to follow the demo as an attached policy does; nothing is put back, as after a kill."""
    return lambda **more: Follower(space, **more)


def until(true, seconds=20.0):
    """Wait until something is true; it."""
    end = time.monotonic() + seconds
    while not (found := true()):
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.1)
    return found
