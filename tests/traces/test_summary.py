"""The table of executions equals its slow twin."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from core.traces.model import Feature, Role, TraceSet, mean_of, peak_of, summarise
from core.units import Unit
from tests.oracles import slow_traces
from tests.synthetic import synthetic_traces

VALUES = st.lists(st.floats(-1e6, 1e6) | st.just(float("nan")), min_size=1, max_size=6)


@given(st.lists(VALUES, min_size=1, max_size=6))
def test_statistics_equal_the_slow_twin(parts):
    values = np.concatenate([np.array(part) for part in parts])
    offsets = np.cumsum([0, *map(len, parts)])
    wanted = np.array([slow_traces.statistics(part) for part in parts])
    np.testing.assert_allclose(mean_of(values, offsets), wanted[:, 0], atol=1e-6)
    np.testing.assert_array_equal(peak_of(values, offsets), wanted[:, 1])


def test_each_execution_has_its_row():
    traces = synthetic_traces(6, 3, samples=80)[0]
    table = summarise(traces).set_index("execution")
    for one in traces.executions():
        row = table.loc[one.name]
        assert row["samples"] == len(one.time)
        assert row["duration_s"] == one.time[-1] - one.time[0] + traces.period
        np.testing.assert_allclose(row["cpu_mean"], one.columns["cpu_cores"].mean())
        assert row["memory_peak"] == one.columns["memory_bytes"].max()
        assert row["workload"] == one.attributes["workload"]


def test_gaps_are_counted_and_missing_roles_are_empty():
    traces = TraceSet(
        features=(Feature("x", Role.OTHER, Unit.PLAIN),),
        columns=(np.arange(6.0),),
        time=np.array([0.0, 1, 9, 0, 1, 2]),
        ids=("a", "b"),
        offsets=np.array([0, 3, 6]),
        period=1.0,
        breaks=np.array([2]),
        attributes={"samples": ["p", "q"]},
    )
    table = summarise(traces)
    assert table["gaps"].tolist() == [1, 0]
    assert table["cpu_mean"].isna().all()
    assert table["samples"].tolist() == [3, 3]
    assert table["samples (attribute)"].tolist() == ["p", "q"]


def test_an_empty_set_has_an_empty_table():
    empty = np.empty(0)
    traces = TraceSet((), (), empty, (), np.array([0]), 1.0)
    assert len(summarise(traces)) == 0
