"""What a container uses at its own limit says only that it needs at least that."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.provisioning.evaluation.evaluate import EvaluationSettings, evaluate
from core.provisioning.fleet import Resource, prepare
from core.provisioning.verdict.table import Evidence, rows_of, workloads_table
from core.provisioning.verdict.verdict import verdict
from core.provisioning.verdict.workload_evidence import smallest_amounts
from core.tables import render_csv
from core.traces.censoring import amounts_exceeded_for, killed_for_memory
from core.traces.model import ROLE_UNITS, Feature, Role, TraceSet
from core.units import GIB, MIB, Unit


def traces_of(cpu, limit=None, throttled=None, memory=None, memory_limit=None, further=None):
    """A trace set from one list of values per container, once a second; limits hold for all samples."""
    lengths = [len(each) for each in cpu]
    n = sum(lengths)
    columns = {Feature("cpu", Role.CPU, Unit.CORES): np.concatenate(cpu)}
    if limit is not None:
        columns[Feature("limit", Role.CPU_LIMIT, Unit.CORES)] = np.full(n, limit)
    if throttled is not None:
        columns[Feature("throttled", Role.THROTTLED, Unit.SHARE)] = np.concatenate(throttled)
    if memory is not None:
        columns[Feature("memory", Role.MEMORY, Unit.BYTES)] = np.concatenate(memory)
        columns[Feature("memory_limit", Role.MEMORY_LIMIT, Unit.BYTES)] = np.full(n, memory_limit)
    columns |= {
        Feature(str(role), role, ROLE_UNITS[role][0]): values for role, values in (further or {}).items()
    }
    return TraceSet(
        tuple(columns),
        tuple(each.astype(float) for each in columns.values()),
        np.concatenate([np.arange(float(length)) for length in lengths]),
        tuple(f"run-{i}" for i in range(len(lengths))),
        np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        1.0,
        attributes={"workload": ["train"] * len(lengths)},
    )


def needs_of(traces, resource=Resource.CPU, tolerance=0.05):
    return smallest_amounts(prepare(traces, 10.0).demands[resource], tolerance, 0.1)


def test_a_job_that_is_at_its_limit_for_a_tenth_of_the_time_needs_at_least_that_limit():
    wanted = np.where(np.arange(100) < 10, 2.5, 0.5)
    free, held = needs_of(traces_of([wanted])), needs_of(traces_of([np.minimum(wanted, 1.0)], limit=1.0))
    assert (free.amount[0], free.at_least[0]) == (2.5, False)
    assert (held.amount[0], held.at_least[0]) == (1.0, True)


def test_what_the_kernel_withheld_is_needed_too():
    used, withheld = np.full(100, 1.0), np.full(100, 0.5)
    needs = needs_of(traces_of([used], limit=1.0, further={Role.WITHHELD: withheld}))
    assert (needs.amount[0], needs.at_least[0]) == (1.5, True)


def test_use_on_a_host_under_pressure_is_no_small_need():
    used, pressure = np.full(100, 0.5), np.where(np.arange(100) < 60, 0.4, 0.1)
    needs = needs_of(traces_of([used], further={Role.HOST_PRESSURE: pressure}))
    assert (needs.amount[0], needs.at_least[0]) == (0.5, True)
    calm = needs_of(traces_of([used], further={Role.HOST_PRESSURE: np.full(100, 0.2)}))
    assert (calm.amount[0], calm.at_least[0]) == (0.5, False)


def test_a_limit_that_is_never_reached_changes_nothing():
    used = np.linspace(0.1, 0.9, 100)
    free, held = needs_of(traces_of([used])), needs_of(traces_of([used], limit=1.0))
    assert held.amount.tolist() == free.amount.tolist()
    assert not held.at_least.any()


def test_throttling_bounds_use_below_the_limit():
    used = np.where(np.arange(100) < 20, 0.6, 0.2)
    throttled = np.where(np.arange(100) < 20, 0.4, 0.0)
    needs = needs_of(traces_of([used], limit=1.0, throttled=[throttled]))
    assert (needs.amount[0], needs.at_least[0]) == (1.0, True), "the mean of a second hides its bursts"
    without = needs_of(traces_of([used], throttled=[throttled]))
    assert (without.amount[0], without.at_least[0]) == (0.6, True)


def test_rare_throttling_below_what_is_tolerated_decides_nothing():
    used = np.where(np.arange(1000) < 10, 1.0, 0.3)
    needs = needs_of(traces_of([used], limit=1.0))
    assert (needs.amount[0], needs.at_least[0]) == (0.3, False)


def test_memory_at_its_limit_is_needed_at_least():
    memory = [np.linspace(100, 255, 50) * MIB]
    needs = needs_of(traces_of([np.full(50, 0.5)], memory=memory, memory_limit=256 * MIB), Resource.MEMORY)
    assert needs.at_least[0]
    assert needs.amount[0] >= 256 * MIB
    roomy = needs_of(traces_of([np.full(50, 0.5)], memory=memory, memory_limit=2 * GIB), Resource.MEMORY)
    assert not roomy.at_least[0]


def time_above(values, seconds, censored, amount):
    """Kaplan and Meier's estimate of the time above an amount, one value after the other (the slow twin)."""
    above = 1.0
    for value in sorted(set(values)):
        if value > amount:
            break
        at_risk = sum(s for v, s in zip(values, seconds, strict=True) if v >= value)
        there = sum(s for v, s, c in zip(values, seconds, censored, strict=True) if v == value and not c)
        above *= 1.0 - there / at_risk
    return above


samples = st.lists(
    st.tuples(st.integers(0, 5).map(float), st.sampled_from([0.5, 1.0, 3.0]), st.booleans()),
    min_size=1,
    max_size=12,
)


@given(samples, st.sampled_from([0.0, 0.05, 0.2, 0.5]))
def test_the_amount_is_the_smallest_that_demand_exceeds_as_seldom_as_allowed(drawn, tolerance):
    values, seconds, censored = (np.array(each) for each in zip(*drawn, strict=True))
    amount = amounts_exceeded_for(values, seconds, censored, [tolerance])[0]
    enough = [v for v in sorted(set(values)) if time_above(values, seconds, censored, v) <= tolerance + 1e-9]
    assert amount == (enough[0] if enough else np.inf)


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.floats(0.2, 3.0))
def test_a_limit_never_lowers_what_is_recommended_below_it_where_it_decides(seed, limit):
    rng = np.random.default_rng(seed)
    wanted = [rng.gamma(2.0, 0.4, rng.integers(20, 60)) for _ in range(3)]
    needs = needs_of(traces_of([np.minimum(each, limit) for each in wanted], limit=limit))
    assert (needs.amount[needs.at_least] >= limit).all()


@pytest.fixture(scope="module")
def found():
    """The verdict on ten runs that were at their limit of one core for half of the time."""
    rng = np.random.default_rng(7)
    runs = [np.minimum(rng.permutation(np.repeat([1.8, 0.4], 60)), 1.0) for _ in range(10)]
    traces = traces_of(runs, limit=1.0)
    return verdict(evaluate(traces, None, EvaluationSettings(cycle=10.0), ("prev.step.max",)).report)


def test_the_verdict_says_that_the_limit_decided_and_saves_nothing(found):
    (row,) = rows_of(found, 0.05)
    assert row.cpu.at_least
    assert row.cpu.recommended >= 1.0
    assert row.evidence in (Evidence.FAIR, Evidence.NONE)
    assert (row.saved or 0.0) <= 0.0
    sentence = found.cards[0].lines[0].fixed.standing.sentence
    assert sentence == "Limited by its own limit in 50% of the time: raise the limit and record again."
    table = workloads_table(found, 0.05, "USD")
    text = next(c for c in table.columns if c.key == "cpu")
    assert text.text(text.value_of(row)) == "≥ 1.00 cores"
    assert "cpu_at_least" in next(render_csv(table))


def test_runs_that_were_killed_for_memory_raise_what_is_recommended_and_are_counted():
    memory = [np.linspace(100, 200, 50) * MIB for _ in range(9)]
    traces = traces_of([np.full(50, 0.5)] * 9, memory=memory, memory_limit=256 * MIB)
    killed = dict(traces.attributes, ended=["finished", "finished", "OOMKilled", *["finished"] * 6])
    report = evaluate(
        replace(traces, attributes=killed), None, EvaluationSettings(cycle=10.0), ("current.step.max",)
    )
    (row,) = rows_of(made := verdict(report.report), 0.05)
    assert (row.kills_seen, row.memory.at_least) == (1, True)
    assert row.memory.recommended >= 1.2 * 256 * MIB
    line = made.cards[0].line(Resource.MEMORY)
    assert (
        line.fixed.standing.sentence
        == "1 of 9 runs killed for lack of memory: raise the limit and record again."
    )
    assert "kills_seen" in next(render_csv(workloads_table(made, 0.05, "USD")))


@pytest.mark.parametrize(
    ("name", "value"), [("reason", "OOMKilled"), ("State", "OUT_OF_MEMORY"), ("ended", "killed")]
)
def test_how_an_execution_ended_is_read_from_the_words_of_several_tools(name, value):
    traces = replace(traces_of([np.ones(3), np.ones(3)]), attributes={name: ["Completed", value]})
    assert killed_for_memory(traces).tolist() == [False, True]
