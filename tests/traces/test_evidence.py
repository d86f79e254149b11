"""What does not look like containers is asked, and units are not guessed against it."""

from __future__ import annotations

import numpy as np
import pytest

from core.traces.evidence import doubts
from core.traces.guessing import guess
from core.traces.mapping import PERIOD, UNKNOWN
from core.traces.model import Feature, Role, TraceSet
from core.traces.questions import questions
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
    found = [one.sentence for one in doubts(set_)]
    assert any(said in one for one in found), found
    assert all(one.endswith("?") for one in found)


def test_ordinary_containers_raise_no_doubt():
    assert doubts(traces(Role.CPU, Unit.CORES, [0.0, 3.2])) == ()
    assert doubts(traces(Role.MEMORY, Unit.BYTES, [300 * MIB, 40 * GIB])) == ()
    assert doubts(traces(Role.CPU, Unit.CORES, [0.0, 0.0])) == ()


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
    ],
)
def test_what_nobody_can_know_is_asked(text, column, sentence, choices):
    header, rows = table(text)
    mapping = guess(header, rows)
    assert mapping.unknown == (column,)
    (asked,) = questions(mapping, header, rows)
    assert asked.column == column
    assert sentence in asked.sentence
    assert choices <= set(asked.choices)
    assert UNKNOWN not in asked.choices


@pytest.mark.parametrize(
    ("text", "units", "assumed"),
    [
        ("t,cpu\n1,0.5\n2,3.5", {"cpu": "cores"}, ("cpu",)),
        ("t,cpu %\n1,0.5\n2,350", {"cpu %": "percent_of_core"}, ()),
        ("t,mem\n1,100000000\n2,250000000", {"mem": "bytes"}, ("mem",)),
        ("cpu_cores\n1\n2", {"cpu_cores": "cores"}, (PERIOD,)),
        ("t,cpu,memory\n1,544m,512Mi\n2,600m,600Mi", {"cpu": "cores", "memory": "bytes"}, ()),
    ],
)
def test_what_the_values_show_is_taken_and_what_is_assumed_is_said(text, units, assumed):
    mapping = guess(*table(text))
    assert {one.column: one.unit_key for one in mapping.features} == units
    assert mapping.assumed == assumed
    assert mapping.unknown == ()


def test_the_containers_of_a_pod_are_told_apart():
    mapping = guess(*table("time,pod,container,cpu_cores\n1,a,x,1\n1,a,y,2\n2,a,x,1\n2,a,y,2"))
    assert mapping.executions == ("pod", "container")
    assert guess(*table("time,pod,container,cpu_cores\n1,a,x,1\n2,b,x,2")).executions == ("pod",)
