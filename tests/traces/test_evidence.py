"""What does not look like containers is asked, and units are not guessed against it."""

import numpy as np
import pytest

from core.reading.guessing import guess_mapping
from core.reading.layouts import recognise_layout
from core.reading.mapping import INTERVAL, UNKNOWN
from core.reading.questions import list_questions
from core.traces import evidence
from core.traces.evidence import find_doubts
from core.traces.model import Feature, Role, TraceSet
from core.units import GIB, MIB, Unit


def traces(role, unit, values, period=10.0, more=()):
    values = np.asarray(values, dtype=np.float64)
    features = (Feature("x", role, unit), *(Feature(f"y{i}", *one[:2]) for i, one in enumerate(more)))
    columns = (values, *(np.asarray(one[2], dtype=np.float64) for one in more))
    return TraceSet(
        features, columns, np.arange(len(values)) * period, ("a",), np.array([0, len(values)]), period
    )


@pytest.mark.parametrize(
    ("set_", "said"),
    [
        (traces(Role.CPU, Unit.CORES, [1, 360]), "CPU is up to 360 cores: is it percent"),
        (traces(Role.CPU, Unit.CORES, [0.0, 0.001]), "CPU is 0.001 cores at most"),
        (traces(Role.MEMORY, Unit.BYTES, [1, 12_288]), "Memory is 12.00 KiB at most: is it in MiB"),
        (traces(Role.MEMORY, Unit.BYTES, [2.0**50]), "is it in bytes or KiB"),
        (
            traces(Role.CPU, Unit.SHARE, [0.5, 3.6]),
            "CPU is up to 360.0% of the whole: is it percent of one core",
        ),
        (traces(Role.GPU_POWER, Unit.WATTS, [0.2, 0.3]), "W at most"),
        (traces(Role.CPU, Unit.CORES, [1, 2], 0.001), "Samples are 0.001 s apart"),
        (traces(Role.CPU, Unit.CORES, [1, 2], 2e8), "An execution lasts"),
        (
            traces(Role.CPU, Unit.CORES, [3, 3], more=[(Role.CPU_LIMIT, Unit.CORES, [1, 1])]),
            "above its limit in 100.0%",
        ),
    ],
)
def test_a_doubt_is_a_question(set_, said):
    found = [one.sentence for one in find_doubts(set_)]
    assert any(said in one for one in found), found
    assert all(one.endswith("?") for one in found)


def test_ordinary_containers_raise_no_doubt():
    assert find_doubts(traces(Role.CPU, Unit.CORES, [0.0, 3.2])) == ()
    assert find_doubts(traces(Role.MEMORY, Unit.BYTES, [300 * MIB, 40 * GIB])) == ()
    assert find_doubts(traces(Role.CPU, Unit.CORES, [0.0, 0.0])) == ()


@pytest.mark.parametrize(
    ("name", "role", "unit", "value", "odd"),
    [
        ("cpu_cores", Role.CPU, Unit.CORES, 16, True),
        ("memory_gib", Role.MEMORY, Unit.BYTES, 64 * GIB, True),
        ("memory_gb", Role.MEMORY, Unit.BYTES, 64e9, True),
        ("cpu_cores", Role.CPU, Unit.CORES, 1.5, False),
        ("cpu_cores", Role.CPU, Unit.CORES, 1, False),  # a thread that is always busy
        ("cpu_usage_seconds_total", Role.CPU, Unit.CORES, 2, False),
        ("memory_mib", Role.MEMORY, Unit.BYTES, 300 * MIB, False),
    ],
)
def test_usage_that_never_changes_may_be_the_size_of_the_machine(name, role, unit, value, odd):
    def doubted(values):
        offsets = np.array([0, 5, 10])
        times = np.tile(np.arange(5.0), 2)
        set_ = TraceSet((Feature(name, role, unit),), (np.array(values, float),), times, "ab", offsets, 1.0)
        return [one.field for one in find_doubts(set_)]

    assert doubted([value] * 5 + [2 * value] * 5) == ["role"] * odd
    assert doubted([value] * 5 + [*[2 * value] * 4, value]) == []


def table(text):
    header, *rows = (tuple(line.split(",")) for line in text.strip().split("\n"))
    return header, tuple(rows)


@pytest.mark.parametrize(
    ("text", "column", "sentence", "choices"),
    [
        (
            "t,cpu %\n1,20\n2,50",
            "cpu %",
            "is in percent: of what? It is 50.00 at most",
            {"percent_of_core", "percent_of_machine"},
        ),
        (
            "t,cpu\n1,20\n2,360",
            "cpu",
            "In which unit is CPU in “cpu”? It is 360 at most",
            {"cores", "millicores"},
        ),
        ("t,cpu_util\n1,0.2\n2,0.5", "cpu_util", "In which unit", {"cores", "share_of_machine"}),
        (
            "t,mem\n1,812\n2,900",
            "mem",
            "In which unit is Memory in “mem”? It is 900 at most",
            {"mib", "mb", "gib"},
        ),
        ("t,memory_bytes\n1,812\n2,900", "memory_bytes", "In which unit is Memory", {"mib"}),
        (
            "when,cpu_cores\n01/02/2026 10:00,1\n01/02/2026 10:01,2",
            "when",
            "is the day or the month first?",
            {"dmy", "mdy"},
        ),
        (
            "when,cpu_cores\n26/01/31 10:00,1\n26/01/31 10:01,2",
            "when",
            "is the day, the month or the year first?",
            {"dmy", "ymd"},
        ),
        ("t,cpu_pct\n1,0.31\n2,0.42", "cpu_pct", "In which unit is CPU", {"share_of_machine", "cores"}),
    ],
)
def test_what_nobody_can_know_is_asked(text, column, sentence, choices):
    header, rows = table(text)
    mapping = guess_mapping(header, rows)
    assert mapping.unknown == (column,)
    (asked,) = list_questions(mapping, header, rows)
    assert asked.column == column
    assert sentence in asked.sentence
    assert choices <= set(asked.choices)
    assert UNKNOWN not in asked.choices


@pytest.mark.parametrize(
    ("text", "units", "assumed"),
    [
        ("t,cpu\n1,0.5\n2,3.5", {"cpu": "cores"}, ("t", "cpu")),
        ("time_s,cpu %\n1,0.5\n2,350", {"cpu %": "percent_of_core"}, ()),
        ("elapsed (s),mem\n1,100000000\n2,250000000", {"mem": "bytes"}, ("mem",)),
        ("cpu_cores\n1\n2", {"cpu_cores": "cores"}, ()),
        ("t_ms,cpu,memory\n1,544m,512Mi\n2,600m,600Mi", {"cpu": "cores", "memory": "bytes"}, ()),
    ],
)
def test_what_the_values_show_is_taken_and_what_is_assumed_is_said(text, units, assumed):
    mapping = guess_mapping(*table(text))
    assert {one.column: one.unit_key for one in mapping.features} == units
    assert mapping.assumed == assumed
    assert mapping.unknown == (() if mapping.time else (INTERVAL,))


def test_a_sum_beside_its_parts_is_doubted(sentence):
    both = TraceSet(
        (Feature("x", Role.CPU, Unit.CORES),),
        (np.ones(4),),
        np.array([0.0, 10.0, 0.0, 10.0]),
        ("web", "TOTAL"),
        np.array([0, 2, 4]),
        10.0,
    )
    sentence(*[one.sentence for one in find_doubts(both)])


def test_columns_of_no_known_role_are_doubted(sentence):
    (said,) = find_doubts(traces(Role.OTHER, Unit.PLAIN, [1, 2]))
    sentence(said.sentence)
    assert find_doubts(traces(Role.NETWORK_IN, Unit.BYTES_PER_SECOND, [1, 2])) == ()


@pytest.mark.parametrize(
    ("cells", "sentence", "choices"),
    [
        ("0 1000 2000", "In which unit is the time in “t”? It begins with 0 and 1000.", {"s", "ms", "min"}),
        ("0 0.01667 0.0333", "It begins with 0 and 0.01667.", {"s", "h"}),
        ("00:30 01:30 02:30", "is it a time of day, or minutes and seconds?", {"clock", "mmss"}),
    ],
)
def test_times_without_a_unit_are_asked_where_seconds_are_unlikely(cells, sentence, choices):
    header, rows = ("t", "cpu_cores"), tuple((cell, "1") for cell in cells.split())
    mapping = guess_mapping(header, rows)
    assert mapping.time_unit == UNKNOWN
    (asked,) = list_questions(mapping, header, rows)
    assert sentence in asked.sentence
    assert choices <= set(asked.choices)


@pytest.mark.parametrize(
    ("name", "cells", "unit"),
    [
        ("t", "0 5 10", "s"),
        ("t_min", "0 1 2", "min"),
        ("t", "75:30 76:30", "mmss"),
        ("t", "7:30:00 8:30:00", "clock"),
    ],
)
def test_times_whose_unit_is_written_are_not_asked(name, cells, unit):
    mapping = guess_mapping((name, "cpu_cores"), tuple((cell, "1") for cell in cells.split()))
    assert mapping.time_unit == unit


@pytest.mark.parametrize(
    "name",
    [
        "rate(container_cpu_usage_seconds_total[5m])",
        "node_namespace_pod_container:container_cpu_usage_seconds_total:sum_irate",
    ],
)
def test_a_rate_keeps_the_name_of_its_counter_and_is_none(name):
    mapping = guess_mapping(*table(f"time,pod,{name}\n1700000000,a,0.5\n1700000015,a,0.7\n1700000030,a,0.9"))
    assert [one.unit_key for one in mapping.features] == ["cores"]


@pytest.mark.parametrize(
    "name", ["container_cpu_usage_seconds_total", "cpu_usage_ns", "network_rx_bytes_total"]
)
def test_a_counter_that_falls_as_usage_does_is_asked(name):
    values = (0.3, 1.7, 1.5, 0.5, 0.9, 0.8)
    rows = tuple((f"{1700000000 + 15 * i}", "a", f"{value}") for i, value in enumerate(values))
    (found,) = recognise_layout(("time", "pod", name), rows).mapping.features
    assert found.unit_key == UNKNOWN
    grown = tuple((time, pod, f"{100 * i}") for i, (time, pod, _) in enumerate(rows))
    for order in (grown, grown[::-1]):  # from the earliest or from the latest row
        (found,) = recognise_layout(("time", "pod", name), order).mapping.features
        assert found.unit_key.endswith("_total")


@pytest.mark.parametrize("other", ["host", "namespace", "gpu"])
def test_a_column_that_takes_turns_tells_executions_apart(other):
    values = {"host": "ab", "namespace": "xy", "gpu": "01"}[other]
    text = f"time,pod,{other},cpu_cores\n" + "\n".join(
        f"{1700000000 + i / 2},p,{values[i % 2]},{1 + 6 * (i % 2)}" for i in range(8)
    )
    mapping = guess_mapping(*table(text))
    assert mapping.executions == ("pod", other)
    assert [one.column for one in mapping.features] == ["cpu_cores"]
    moved = text.replace(f"p,{values[0]}", f"p,{values[1]}")
    assert guess_mapping(*table(moved)).executions == ("pod",)


@pytest.mark.parametrize("values", [(0, 100), (90, 95, 0, 97), (10, 11)])
@pytest.mark.parametrize("name", ["gpu", "replica", "worker", "process"])
def test_numbers_that_go_to_and_fro_are_no_names(name, values):
    rows = tuple((f"{1700000000 + i}", "1", f"{values[i % len(values)]}") for i in range(40))
    mapping = guess_mapping(("time", "cpu_cores", name), rows)
    assert mapping.execution is None
    assert [one.column for one in mapping.features] == ["cpu_cores", name]


def test_empty_cells_are_no_turns():
    rows = tuple((f"{i}", "a", "" if i % 4 == 0 else f"n{1 + i // 20}", "1") for i in range(40))
    assert guess_mapping(("time_s", "pod", "host", "cpu_cores"), rows).executions == ("pod",)


@pytest.mark.parametrize("order", [lambda row: (row[0], row[2]), lambda row: (row[2], row[0])])
def test_rows_of_one_time_are_told_apart_in_any_order(order):
    rows = [(f"{1700000000 + i}", "p", f"n{k}", f"{k + 1}") for i in range(8) for k in range(3)]
    mapping = guess_mapping(("time", "pod", "node", "cpu_cores"), tuple(sorted(rows, key=order)))
    assert mapping.executions == ("pod", "node")


def test_times_are_judged_by_all_rows_that_are_looked_at():
    rows = tuple((f"{60 * i}", f"c{k}", "1") for i in range(20) for k in range(60))
    mapping = guess_mapping(("time", "container", "cpu_cores"), rows)
    assert (mapping.time_unit, mapping.assumed) == (UNKNOWN, ())


def test_the_lowest_of_something_is_no_time_in_minutes():
    rows = tuple((f"{40 + i}", f"{60 + i}", "1") for i in range(8))
    assert guess_mapping(("t_min", "t_max", "cpu_cores"), rows).time is None


def test_the_containers_of_a_pod_are_told_apart():
    mapping = guess_mapping(*table("time,pod,container,cpu_cores\n1,a,x,1\n1,a,y,2\n2,a,x,1\n2,a,y,2"))
    assert mapping.executions == ("pod", "container")
    assert guess_mapping(*table("time,pod,container,cpu_cores\n1,a,x,1\n2,b,x,2")).executions == ("pod",)


def test_use_above_limits_is_counted_in_blocks():
    chance = np.random.default_rng(1)
    used, most = chance.random(100_000), np.round(chance.random(100_000), 1)
    used[::7], most[::11] = np.nan, np.nan
    known = np.isfinite(used) & np.isfinite(most) & (most > 0)
    wanted = (used[known] > 1.25 * most[known]).mean()
    assert evidence._share_above(used, most) == pytest.approx(wanted, rel=1e-12)
