"""Series in one execution, phases as executions and sums among them are seen in the samples themselves."""

import numpy as np
import pytest

from core.reading.cleaning import suspect_samples
from core.reading.cleaning.suspect_samples import find_mixed_executions
from core.traces import evidence
from core.traces.evidence import find_sums
from core.traces.model import Feature, Role, TraceSet
from core.units import Unit

CPU = Feature("cpu", Role.CPU, Unit.CORES)
MEMORY = Feature("memory", Role.MEMORY, Unit.BYTES)
RNG = np.random.default_rng(7)


def traces(executions):
    """A set of CPU and memory from ``{execution: (times, cpu, memory)}``."""
    lengths = [len(time) for time, _, _ in executions.values()]
    time, cpu, memory = (
        np.concatenate([np.asarray(one[i], float) for one in executions.values()]) for i in range(3)
    )
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return TraceSet((CPU, MEMORY), (cpu, memory), time, tuple(executions), offsets, 10.0)


def walk(n=60, level=1.0):
    return level * (1.5 + np.sin(np.arange(n) / 5) / 2 + RNG.normal(0, 0.05, n))


def one(time, cpu=None, memory=None):
    n = len(time)
    return traces({"a": (time, walk(n) if cpu is None else cpu, walk(n, 1e9) if memory is None else memory)})


def test_steps_that_are_short_and_long_in_turns_are_doubted(sentence):
    sentence(next(find_mixed_executions(one(np.cumsum([3.0, 7.0] * 30)))))
    sentence(next(find_mixed_executions(one(np.cumsum([2.0, 2.0, 6.0] * 20)))))


@pytest.mark.parametrize(
    "steps",
    [
        np.full(60, 10.0),
        RNG.normal(10, 0.5, 60),
        np.diff(np.round(np.arange(61) * 2.5)),
        np.diff(np.floor(np.arange(61) * 1.5)),
        np.diff(np.floor(np.arange(61) * 1.5) * 60),
        np.where(np.arange(60) % 20 == 0, 60.0, 10.0),
        RNG.choice([5.0, 10.0], 60),
    ],
)
def test_other_steps_are_not(steps):
    assert not list(find_mixed_executions(one(np.cumsum(steps))))


@pytest.mark.parametrize("levels", [(1e9, 3e9), (3e9, 1e9, 2e9)])
def test_memory_that_jumps_at_every_sample_is_doubted(levels, sentence):
    memory = walk(60, 1e8) + np.array([levels[i % len(levels)] for i in range(60)])
    sentence(next(find_mixed_executions(one(np.arange(60) * 10.0, memory=memory))))


@pytest.mark.parametrize(
    "memory",
    [
        walk(60, 1e9),
        RNG.uniform(1e9, 3e9, 60),
        np.where(np.arange(60) % 12 < 6, 1e9, 3e9),
        np.where(np.arange(60) == 30, 3e9, 1e9),
        np.linspace(1e8, 5e9, 60),
    ],
)
def test_memory_of_one_container_is_not(memory):
    assert not list(find_mixed_executions(one(np.arange(60) * 10.0, memory=memory)))


def blocks(length):
    time = np.arange(120) * 10.0
    first = np.arange(120) // length % 2 == 0
    return traces(
        {
            name: (time[mine], walk(mine.sum()), walk(mine.sum()))
            for name, mine in (("t", first), ("e", ~first))
        }
    )


def test_executions_that_wait_for_each_other_are_doubted(sentence):
    sentence(next(find_mixed_executions(blocks(10))))


@pytest.mark.parametrize("length", [1, 60])
def test_polls_in_turns_and_runs_one_after_another_are_not(length):
    assert not list(find_mixed_executions(blocks(length)))


def several(names, **sums):
    time = np.arange(60) * 10.0
    found = {name: (time, walk(level=1 + i), walk(level=1e9 * (3 - i))) for i, name in enumerate(names)}
    for name, share in sums.items():
        cpu, memory = (
            share * sum(values[i] for values in list(found.values())[: len(names)]) for i in (1, 2)
        )
        found[name] = (time, cpu, memory)
    return traces(found)


def test_a_sum_and_a_mean_of_others_are_doubted(sentence):
    sentence(next(find_sums(several("abc", whole=1.01))))
    assert "“middle”" in next(find_sums(several("ab", middle=0.5)))
    assert "“t1”" in next(find_sums(several("ab", t1=1.0, t2=2.2)))


def test_of_many_samples_those_of_one_time_are_compared(monkeypatch, sentence):
    monkeypatch.setattr(evidence, "MAX_SAMPLES", 90)
    sentence(next(find_sums(several("abc", whole=1.01))))
    assert not list(find_sums(several("abc")))


def test_of_many_executions_some_are_looked_at(monkeypatch, sentence):
    monkeypatch.setattr(suspect_samples, "MAX_EXECUTIONS_FOR_TURNS", 2)
    time, memory = np.arange(60) * 5.0, np.tile([1e9, 4e9], 30)
    mixed = {f"e{i}": (time, np.ones(60), memory) for i in range(7)}
    sentence(next(find_mixed_executions(traces(mixed))))


@pytest.mark.parametrize(
    ("names", "above"), [(("p", "p/main"), "p"), (("/", "/docker/a"), "/"), (("a/b", "a/b/c"), "a/b")]
)
def test_a_path_above_another_is_doubted(names, above):
    assert next(find_sums(several(names))).startswith(f"“{above}” is beside")


@pytest.mark.parametrize("names", [("a", "b"), ("a", "b", "c"), ("p/a", "p/b"), ("train-1", "train-10")])
def test_containers_are_not(names):
    assert not list(find_sums(several(names)))


def test_replicas_that_do_the_same_are_not():
    cpu, memory, time = walk(), walk(level=1e9), np.arange(60) * 10.0
    same = {name: (time, cpu + RNG.normal(0, 0.02, 60), memory) for name in "abcd"}
    assert not list(find_sums(traces(same)))
    assert not list(find_sums(traces({name: (time, np.ones(60), np.ones(60)) for name in "abcd"})))
