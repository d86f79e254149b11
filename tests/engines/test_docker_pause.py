"""Pausing a container that the kernel cannot freeze at once."""

import pytest

from core.engines.docker_host import Address, Host
from core.engines.docker_host import host as hosts
from core.engines.errors import ChangeRefused

BUSY = "Docker on local says: Cannot pause container a: OCI runtime pause failed: unable to freeze: unknown."


class Refusing:
    """Stands for what is sent to Docker: refuses so many times."""

    def __init__(self, why, times):
        self.why, self.left, self.asked = why, times, 0

    def __call__(self, container, verb):
        assert (container, verb) == ("a", "pause")
        self.asked += 1
        self.left -= 1
        if self.left >= 0:
            raise ChangeRefused(self.why, "Nothing was changed.")


@pytest.fixture
def host(monkeypatch):
    monkeypatch.setattr(hosts, "FREEZE_RETRY_DELAY", 0.0)
    return Host(Address("local", "unix:///nowhere"))


@pytest.mark.parametrize("times", range(hosts.FREEZE_ATTEMPTS))
def test_a_container_that_cannot_be_frozen_is_asked_again(host, monkeypatch, times):
    monkeypatch.setattr(host, "_post_verb", doing := Refusing(BUSY, times))
    host.pause("a")
    assert doing.asked == times + 1


def test_one_that_never_can_is_refused(host, monkeypatch, refuses):
    monkeypatch.setattr(host, "_post_verb", doing := Refusing(BUSY, 99))
    with refuses(ChangeRefused):
        host.pause("a")
    assert doing.asked == hosts.FREEZE_ATTEMPTS


def test_any_other_refusal_stands(host, monkeypatch, refuses):
    monkeypatch.setattr(host, "_post_verb", doing := Refusing("Container a is not running.", 1))
    with refuses(ChangeRefused):
        host.pause("a")
    assert doing.asked == 1
