"""Limits as Docker writes them: what they mean, how they change, what has to be sent."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.engines.docker_host.apply_limits import NO_LIMIT, spelling_request, update_request
from core.engines.docker_host.limits import Limits

MIB = 1 << 20
CORES = 4.0

limits = st.builds(
    Limits,
    nano_cpus=st.just(0),
    cpu_quota=st.sampled_from([0, -1, 1000, 25_000, 100_000, 250_000]),
    cpu_period=st.sampled_from([0, 50_000, 100_000]),
    cpu_shares=st.sampled_from([0, 2, 512, 1024, 4096]),
    memory=st.sampled_from([0, 64 * MIB, 512 * MIB]),
    memory_swap=st.sampled_from([0, -1, 600 * MIB]),
    memory_reservation=st.sampled_from([0, -1, 32 * MIB]),
)


def applied(now, body):
    """What a container has after an update, by Docker's own rules: zeros are ignored, the rest is written."""
    names = {
        "NanoCpus": "nano_cpus",
        "CpuQuota": "cpu_quota",
        "CpuPeriod": "cpu_period",
        "CpuShares": "cpu_shares",
        "Memory": "memory",
        "MemorySwap": "memory_swap",
        "MemoryReservation": "memory_reservation",
    }
    return Limits(**(now.to_dict() | {names[key]: value for key, value in body.items() if value != 0}))


@pytest.mark.parametrize("cgroup", [1, 2])
@given(now=limits, wanted=limits)
def test_an_update_makes_any_limits_into_any_others(cgroup, now, wanted):
    body = update_request(now, wanted, CORES, cgroup)
    assert 0 not in body.values()
    assert applied(now, body).agrees(wanted, CORES)
    assert update_request(applied(now, body), wanted, CORES, cgroup) == {}


@given(before=limits, cores=st.sampled_from([None, 0.5, 3.0]), memory=st.sampled_from([None, 96 * MIB]))
def test_what_was_set_comes_back_digit_by_digit(before, cores, memory):
    """Fields of 0 that were never sent stay 0; those that were can only mean the same."""
    changed = before.with_cores(cores)
    changed = changed if memory is None else changed.with_memory(memory)
    now = before
    for wanted in (changed, before):
        now = applied(now, update_request(now, wanted, CORES, 1))
        now = applied(now, spelling_request(now, wanted))
    assert now.agrees(before, CORES)
    assert now.cpu_period == before.cpu_period
    after, zeros = now.to_dict(), {name for name, value in before.to_dict().items() if value == 0}
    assert {name: after[name] for name in after if name not in zeros} == {
        name: value for name, value in before.to_dict().items() if name not in zeros
    }
    if memory is None:
        assert (now.memory, now.memory_swap) == (before.memory, before.memory_swap)
    if cores is None:
        assert now.cpu_quota == before.cpu_quota


@given(now=limits, wanted=limits)
def test_writing_limits_otherwise_changes_nothing_that_they_do(now, wanted):
    reached = applied(now, update_request(now, wanted, CORES, 1))
    body = spelling_request(reached, wanted)
    assert 0 not in body.values()
    assert applied(reached, body).agrees(wanted, CORES)
    assert spelling_request(applied(reached, body), wanted) == {}


@given(wanted=limits)
def test_a_container_with_cpus_is_only_ever_sent_cpus(wanted):
    """Docker refuses a quota for it, and takes at most the machine's cores."""
    now = Limits(nano_cpus=1_500_000_000)
    body = update_request(now, wanted, CORES, 1)
    assert not {"CpuQuota", "CpuPeriod"} & set(body)
    assert 10**7 <= body.get("NanoCpus", 10**9) <= CORES * 1e9
    assert applied(now, body).effect(CORES)[1:] == wanted.effect(CORES)[1:]


def test_what_limits_say():
    assert Limits().cores is None
    assert Limits(cpu_quota=-1, cpu_period=100_000).cores is None
    assert Limits(cpu_quota=50_000).cores == 0.5
    assert Limits(cpu_quota=50_000, cpu_period=50_000).cores == 1.0
    assert Limits(nano_cpus=250_000_000).cores == 0.25
    assert Limits(memory=NO_LIMIT, memory_swap=NO_LIMIT).memory_bytes is None
    assert Limits(memory=5 * MIB).memory_bytes == 5 * MIB
    assert (Limits().weight, Limits(cpu_shares=512).weight) == (1.0, 0.5)


def test_different_words_for_the_same_agree():
    assert Limits().agrees(Limits(cpu_quota=-1, cpu_period=100_000, cpu_shares=1024), CORES)
    assert Limits().agrees(Limits(memory=NO_LIMIT, memory_swap=NO_LIMIT, memory_reservation=-1), CORES)
    assert Limits(nano_cpus=4 * 10**9).agrees(Limits(), CORES)
    assert Limits(nano_cpus=10**9).agrees(Limits(cpu_quota=100_000, cpu_period=100_000), CORES)
    assert not Limits(cpu_quota=50_000).agrees(Limits(cpu_quota=51_000), CORES)
    assert not Limits(cpu_quota=25_000, cpu_period=50_000).agrees(Limits(cpu_quota=50_000), CORES)
    assert not Limits(memory=MIB, memory_swap=-1).agrees(Limits(memory=MIB, memory_swap=2 * MIB), CORES)


def test_a_quota_of_the_whole_machine_is_taken_away_again():
    whole = Limits().with_cores(CORES)
    assert not whole.agrees(Limits(), CORES)
    assert update_request(whole, Limits(), CORES, 1) == {"CpuQuota": -1}


def test_limits_are_changed_the_way_they_are_said():
    assert Limits().with_cores(0.5) == Limits(cpu_quota=50_000)
    assert Limits(cpu_period=20_000, cpu_quota=1).with_cores(0.5).cpu_quota == 10_000
    assert Limits(nano_cpus=10**9).with_cores(0.333) == Limits(nano_cpus=330_000_000)
    assert Limits(cpu_quota=50_000).with_cores(None) == Limits(cpu_quota=-1)
    assert Limits().with_cores(0.001).cpu_quota == 1000
    assert Limits().with_weight(1.0) == Limits()
    assert Limits().with_weight(0.5).cpu_shares == 512
    assert Limits(cpu_shares=512).with_weight(1.0).cpu_shares == 1024


def test_swap_follows_memory():
    assert Limits().with_memory(MIB) == Limits(memory=MIB, memory_swap=2 * MIB)
    more = Limits(memory=2 * MIB, memory_swap=5 * MIB)
    assert more.with_memory(MIB) == Limits(memory=MIB, memory_swap=4 * MIB)
    assert Limits(memory=2 * MIB, memory_swap=-1).with_memory(MIB).memory_swap == -1
    assert more.with_memory(None) == Limits()


@given(limits)
def test_limits_survive_being_written_down(found):
    assert Limits.from_dict(found.to_dict()) == found
