"""Columns to trace sets: messy rows against a slow twin, and each check by itself."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import Cancelled
from core.reading.cleaning import build_trace_set
from core.reading.mapping import ColumnMapping, MappedColumn
from core.reading.table import CodedColumn, RawTable
from core.traces.model import Resampling, Role
from core.traces.validation import UnusableError
from core.units import Unit
from tests.oracles import slow_traces

NAN = math.nan
CPU = MappedColumn("cpu", Role.CPU, "cores")
PLAIN = ColumnMapping((CPU,), execution="e", time="t", resampling=Resampling.NONE, min_samples=1, max_gap=2)


def raw(names, time, *columns, attributes=()):
    known = list(dict.fromkeys(name for name in names if name))
    codes = np.array([known.index(name) if name else -1 for name in names], dtype=np.int32)
    return RawTable(
        n_rows=len(names),
        executions=CodedColumn(codes, tuple(known)),
        time=None if time is None else np.array(time, dtype=float),
        columns=[np.array(column, dtype=float) for column in columns],
        attributes=attributes,
        rows_read=len(names),
    )


def slow_build(rows, max_gap):
    """Executions by first appearance: sorted by time, last of equal times, bad rows out, gaps held."""
    groups = {}
    for name, time, value in rows:
        if name and math.isfinite(time):
            groups.setdefault(name, []).append((time, value))
    found = {}
    for name, samples in groups.items():
        last = dict(samples)
        kept = [(time, value) for time, value in sorted(last.items()) if not value < 0 and value != math.inf]
        times = [time for time, _ in kept]
        values = slow_traces.hold_values([value for _, value in kept], max_gap)
        both = [(t, v) for t, v in zip(times, values, strict=True) if v is not None]
        if both:
            found[name] = both
    return found


ROWS = st.lists(
    st.tuples(
        st.sampled_from(["a", "b", "c", ""]),
        st.integers(0, 8).map(float) | st.just(NAN),
        st.integers(-1, 9).map(float) | st.just(NAN),
    ),
    max_size=25,
)


@given(ROWS)
def test_messy_rows_become_what_the_slow_twin_makes(rows):
    wanted = slow_build(rows, 2)
    table = raw([r[0] for r in rows], [r[1] for r in rows], [r[2] for r in rows])
    if not wanted:
        with pytest.raises(UnusableError):
            build_trace_set(table, PLAIN)
        return
    traces, report = build_trace_set(table, PLAIN)
    assert set(traces.ids) == set(wanted)
    for one in traces.executions():
        assert list(zip(one.time, one.columns["cpu"], strict=True)) == wanted[one.name]
    assert report.rows_kept == traces.n_samples == sum(map(len, wanted.values()))
    if report.rows_kept < len(rows):
        assert report.problems


def test_a_clean_table_is_taken_without_a_copy_or_a_word():
    table = raw(["a"] * 3 + ["b"] * 3, [0, 1, 2] * 2, range(6))
    traces, report = build_trace_set(table, ColumnMapping((CPU,), execution="e", time="t"))
    assert traces.columns[0] is table.columns[0]
    assert traces.time is table.time
    assert report.problems == ()
    assert {one.severity for one in report.problems} <= {"info"}
    assert (report.rows_read, report.rows_kept, report.executions_kept) == (6, 6, 2)


def test_counters_become_rates_and_survive_a_restart():
    counter = MappedColumn("n", Role.CPU, "cpu_nanoseconds_total")
    table = raw(["a"] * 5 + ["b"] * 2, [0, 10, 20, 30, 40, 0, 5], [5e9, 15e9, 35e9, 10e9, 20e9, 0, 5e9])
    traces, report = build_trace_set(
        table, ColumnMapping((counter,), execution="e", time="t", min_samples=1, period=10)
    )
    assert traces.columns[0].tolist() == [1, 2, 1, 1, 1]
    assert traces.features[0].unit is Unit.CORES
    assert report.count("counter_reset") == 1
    assert next(one.row for one in report.problems if one.kind == "counter_reset") == 5
    assert report.count("counter_start") == 2


def test_a_counter_beside_another_feature_loses_the_same_rows():
    columns = (MappedColumn("n", Role.CPU, "cpu_seconds_total"), MappedColumn("m", Role.MEMORY, "mib"))
    table = raw(["a"] * 4, [0, 1, 2, 3], [0, 1, 2, 3], [1, 2, 3, 4])
    traces, _ = build_trace_set(table, ColumnMapping(columns, execution="e", time="t"))
    assert traces.columns[1].tolist() == [2 * 2**20, 3 * 2**20, 4 * 2**20]


def test_without_time_rows_are_counted():
    table = raw(["a", "b", "a", "b", "a"], None, range(5))
    traces, _ = build_trace_set(table, ColumnMapping((CPU,), execution="e", time_unit="none", period=2.0))
    assert traces.time.tolist() == [0, 2, 4, 0, 2]
    assert traces.columns[0].tolist() == [0, 2, 4, 1, 3]


def test_gaps_split_and_short_executions_leave_with_their_breaks():
    time = [0, 1, 2, 0, 0, 1, 9, 10]
    table = raw(["a"] * 3 + ["short"] + ["b"] * 4, time, range(8))
    traces, report = build_trace_set(table, ColumnMapping((CPU,), execution="e", time="t"))
    assert traces.ids == ("a", "b")
    assert traces.breaks.tolist() == [5]
    assert report.count("too_short") == 1
    assert next(one.row for one in report.problems if one.kind == "too_short") == 5
    assert report.rows_kept == 7


def test_values_whose_sum_is_beyond_all_numbers_are_no_fault_of_the_file():
    table = raw(["a"] * 4, [0, 1, 2, 3], [1.0, 1e308, 1e308, 2.0])
    traces, report = build_trace_set(table, ColumnMapping((CPU,), execution="e", time="t"))
    assert "infinite" not in [one.kind for one in report.problems]
    assert report.count("implausible") == 2
    assert traces.columns[0].tolist() == [1, 1, 1, 2]


def test_a_limit_may_be_missing_and_a_wrong_one_stays_empty():
    limit = MappedColumn("limit", Role.CPU_LIMIT, "cores")
    table = raw(["a"] * 3, [0, 1, 2], [1, 1, 1], [2, math.inf, NAN])
    traces, report = build_trace_set(table, ColumnMapping((CPU, limit), execution="e", time="t"))
    assert traces.n_samples == 3
    np.testing.assert_array_equal(traces.columns[1], [2, NAN, NAN])
    assert [one.kind for one in report.problems] == ["infinite_kept", "missing_kept"]
    assert all("stay empty" in one for one in report.sentences())


@pytest.mark.parametrize(
    "network",
    [MappedColumn("net", Role.NETWORK_IN, "bytes_per_s"), MappedColumn("net")],
    ids=lambda one: one.role,
)
def test_what_is_beside_usage_may_be_missing(network):
    times = list(range(10))
    received = [1, NAN, 3, NAN, NAN, NAN, NAN, NAN, NAN, 10]
    table = raw(["a"] * 10 + ["b"] * 10, times * 2, [1] * 20, received + [NAN] * 10)
    traces, report = build_trace_set(table, ColumnMapping((CPU, network), execution="e", time="t"))
    assert traces.n_samples == 20
    # short gaps are bridged as elsewhere, and no row is lost for a long one
    np.testing.assert_array_equal(traces.columns[1], [1, 1, 3, 3, 3, 3, NAN, NAN, NAN, 10, *[NAN] * 10])
    assert report.count("missing") == 4
    assert report.count("missing_kept") == 13
    alone = raw(["a"] * 4, [0, 1, 2, 3], [NAN, 1, 2, 3])
    traces, _ = build_trace_set(alone, ColumnMapping((network,), execution="e", time="t"))
    assert traces.n_samples == 3


def test_attributes_are_those_of_the_first_row_in_time():
    kinds = CodedColumn(np.array([1, 0, 0, -1]), ("late", "early"))
    mapping = ColumnMapping((CPU,), execution="e", time="t", attributes=("kind",))
    table = raw(["a", "a", "b", "b"], [0, 1, 1, 0], range(4), attributes=(kinds,))
    traces, report = build_trace_set(table, mapping)
    assert traces.attributes == {"kind": ["early", ""]}
    assert report.count("mixed_attribute") == 2


def test_nothing_at_all_is_said(refuses):
    with refuses(UnusableError) as caught:
        build_trace_set(raw([], [], []), PLAIN)
    assert caught.value.report.rows_read == 0
    with refuses(UnusableError) as caught:
        build_trace_set(raw(["a"], [0], [1]), ColumnMapping((CPU,), execution="e", time="t"))
    assert caught.value.report.count("too_short") == 1


def test_progress_is_told_and_may_stop():
    told = []
    table = raw(["a"] * 3, [0, 1, 2], range(3))
    build_trace_set(table, PLAIN, lambda share, message: told.append((share, message)))
    assert [share for share, _ in told] == sorted(share for share, _ in told)
    assert told[-1] == (1.0, "Checked")

    def stop(share, message):
        raise Cancelled

    with pytest.raises(Cancelled):
        build_trace_set(table, PLAIN, stop)


@pytest.mark.parametrize(
    ("gone", "rule", "filled"), [((), "hold", 0), ((4, 9), "hold", 2), ((4, 9), "none", 0)]
)
def test_missing_samples_that_are_filled_are_counted_and_mark_the_import(gone, rule, filled):
    times = [float(10 * i) for i in range(40) if i not in gone]
    table = raw(["a"] * len(times), times, [1.0 + i for i in range(len(times))])
    mapping = ColumnMapping(
        (MappedColumn("cpu", Role.CPU, "cores"),), execution="e", time="t", resampling=Resampling(rule)
    )
    _, report = build_trace_set(table, mapping)
    assert report.count("filled") == filled
    assert report.faultless is (filled == 0)
