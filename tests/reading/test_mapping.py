"""Mappings: plain data that goes through JSON and is checked on the way."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import InputError
from core.reading.mapping import TIME_UNITS, ColumnMapping, MappedColumn
from core.traces.model import Resampling, Role
from core.units import FILE_UNITS, GIB, Unit

CPU = MappedColumn("cpu", Role.CPU, "percent_of_machine")


@given(
    st.lists(st.text(min_size=1), min_size=1, max_size=5, unique=True),
    st.sampled_from(Role),
    st.sampled_from(sorted(FILE_UNITS)),
    st.sampled_from(sorted(TIME_UNITS)),
    st.none() | st.floats(0.001, 1e6),
    st.sampled_from(Resampling),
)
def test_a_mapping_survives_json(names, role, unit, time_unit, period, rule):
    mapping = ColumnMapping(
        features=tuple(MappedColumn(name, role, unit) for name in names),
        time_unit=time_unit,
        period=period,
        resampling=rule,
    )
    assert ColumnMapping.from_dict(json.loads(json.dumps(mapping.to_dict()))) == mapping


@pytest.mark.parametrize(
    "changes",
    [
        {"features": ()},
        {"features": (CPU, CPU)},
        {"time": "cpu"},
        {"execution": "cpu"},
        {"time": "x", "execution": "x"},
        {"features": (MappedColumn("a", Role.CPU, "stones"),)},
        {"time_unit": "weeks"},
        {"attributes": ("x",), "execution": "x"},
        {"attributes": ("y", "y")},
        {"period": 0.0},
        {"period": float("nan")},
        {"max_gap": 0.5},
        {"cores": -1.0},
        {"memory_bytes": float("inf")},
        {"min_samples": 0},
    ],
)
def test_what_cannot_be_is_said_with_a_next_step(changes, refuses):
    with refuses(InputError):
        ColumnMapping(**{"features": (CPU,), **changes})


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"features": 3},
        {"features": [{}]},
        {"features": [{"column": "a", "role": "king"}]},
        {"features": [{"column": "a"}], "period": "often"},
        {"features": [{"column": "a"}], "resampling": "guess"},
        {"features": [{"column": "a"}], "speed": 3},
        {"features": ["a"]},
    ],
)
def test_data_of_another_form_is_refused(data, refuses):
    with refuses(InputError):
        ColumnMapping.from_dict(data)


def test_a_known_machine_turns_shares_into_cores_and_bytes():
    memory = MappedColumn("mem", Role.MEMORY, "percent_of_machine")
    mapping = ColumnMapping((CPU, memory))
    assert mapping.feature(CPU).unit is Unit.SHARE
    assert mapping.factor(CPU) == 0.01
    known = replace(mapping, cores=8, memory_bytes=32 * GIB)
    assert known.feature(CPU).unit is Unit.CORES
    assert known.factor(CPU) == pytest.approx(0.08)
    assert known.feature(memory).unit is Unit.BYTES
    assert known.factor(memory) == pytest.approx(0.32 * GIB)
    other = MappedColumn("io", Role.OTHER, "percent_of_machine")
    assert known.feature(other).unit is Unit.SHARE


def test_without_a_unit_the_column_of_time_is_not_used():
    mapping = ColumnMapping((CPU,), time="when", time_unit="none")
    assert mapping.time is None
    assert mapping.columns == ("cpu",)


def test_missing_columns_are_named(refuses):
    mapping = ColumnMapping((CPU,), execution="job", time="when")
    with refuses(InputError):
        mapping.require([f"c{i}" for i in range(30)] + ["cpu"])
