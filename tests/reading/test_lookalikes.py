"""Tables that only look like known ones; numbers that may be no dates, and percentages that may be shares."""

import pytest

from core.reading.mapping import UNKNOWN
from core.traces.model import Role
from tests.reading.test_layouts import roles, table


@pytest.mark.parametrize(
    ("name", "first", "unit"),
    [
        ("time_ns", "1700000000000000000", "ns"),
        ("timestamp_ms", "1700000000000", "ms"),
        ("elapsed_min", "3", "min"),
        ("Zeit", "1700000000", "s"),
    ],
)
def test_a_column_of_time_may_end_with_its_unit(name, first, unit):
    found = table(f"{name},cpu_cores", f"{first},0.5").mapping
    assert (found.time, found.time_unit) == (name, unit)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("180000000", "180060000"),  # milliseconds of a trace
        ("259200000", "259201000"),  # milliseconds since a boot
        ("262815123456", "262816123456"),  # microseconds since a boot
        ("262815123456789", "262816123456789"),  # nanoseconds since a boot
        ("134143344000000000", "134143344050000000"),  # FILETIME
        ("639056064000000000", "639056064050000000"),  # ticks of .NET
    ],
)
@pytest.mark.parametrize("header", ["t,cpu_cores", "execution,timestamp,cpu_cores,memory_bytes"])
def test_numbers_before_2000_are_no_dates(header, first, second):
    cells = {"execution": "a", "cpu_cores": "1", "memory_bytes": "500000000"}
    rows = [",".join(cells.get(name, time) for name in header.split(",")) for time in (first, second)]
    assert table(header, *rows).mapping.time_unit == UNKNOWN


def test_a_name_that_speaks_against_a_date_is_asked():
    found = table("timestamp_us,cpu_cores", "1700000000000,1", "1700000001000,1").mapping
    assert found.time_unit == UNKNOWN


RECORDER = "execution,timestamp,cpu_cores,memory_bytes"


@pytest.mark.parametrize(
    ("first", "second", "unit", "assumed"),
    [
        ("1700000000", "1700000005", "s", ()),
        ("2026-01-31T12:00:00Z", "2026-01-31T12:00:05Z", "iso", ()),
        ("0", "5", "s", ("timestamp",)),
        ("0", "10000", UNKNOWN, ()),
    ],
)
def test_times_of_a_known_layout_are_judged_as_those_of_any_table(first, second, unit, assumed):
    found = table(RECORDER, f"a,{first},1,500000000", f"a,{second},1,500000000")
    assert found.layout == "recorder"
    assert (found.mapping.time_unit, found.mapping.assumed) == (unit, assumed)


def test_a_host_that_takes_turns_tells_recordings_apart():
    rows = [f"a,{1_700_000_000 + 5 * i},h{i % 2},1,500000000" for i in range(20)]
    found = table("execution,timestamp,host,cpu_cores,memory_bytes", *rows)
    assert found.mapping.executions == ("execution", "host")


@pytest.mark.parametrize(
    "header",
    [
        "timestamp,name,cpu_percent,memory_bytes",
        "timestamp,busy,idle",
        "elapsed_s,cpu_percent,real_mib",
        "timestamp,gpu 0 utilization,gpu 0 memory_mib",
        "timestamp,system.cpu,system.memory",
    ],
)
def test_names_that_a_reader_gives_are_not_believed_of_a_file(header):
    names = header.split(",")
    rows = [",".join("web" if name == "name" else str(i) for name in names) for i in range(1, 4)]
    found = table(header, *rows)
    assert found.layout == "generic"
    assert all(one.role is not Role.CPU or one.unit_key == UNKNOWN for one in found.mapping.features)


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("mem_pct", Role.MEMORY),
        ("cpu_pct_node", Role.CPU),
        ("cpu_percent_of_core", Role.CPU),
        ("system.memory.actual.used.pct", Role.MEMORY),
    ],
)
def test_a_percentage_that_may_be_a_share_is_asked(name, role):
    assert roles(table(f"t,{name}", "1,0.31", "2,0.42"))[name] == (role, UNKNOWN)
    assert roles(table(f"t,{name}", "1,0.31%", "2,0.42%"))[name][1] != UNKNOWN
    assert roles(table(f"t,{name}", "1,0.31", "2,4.2"))[name][1] != UNKNOWN


@pytest.mark.parametrize(
    ("header", "row", "asked"),
    [
        ("execution,timestamp,cpu,mem,cpu_iowait", "a,1700000000,0.31,16000,0.1", "cpu"),
        ("execution,timestamp,cpu,mem,cpu_iowait", "a,1700000000,31,31.5,0.1", "mem"),
        ("container_id,machine_id,time_stamp,cpu_util_percent", "c_1,m_1,0,0.31", "cpu_util_percent"),
        ("run_id,_timestamp,system.cpu", "a,1700000000,0.31", "system.cpu"),
    ],
)
def test_a_known_layout_does_not_make_percentages_of_shares(header, row, asked):
    found = table(header, row, row)
    assert found.layout != "generic"
    assert roles(found)[asked][1] == UNKNOWN


@pytest.mark.parametrize(
    ("values", "unit"),
    [
        ([50.0] * 99 + [104.2], UNKNOWN),
        ([50.0] * 99 + [250.0], UNKNOWN),
        ([50.0] * 95 + [250.0] * 5, "percent_of_core"),
        ([250.0], "percent_of_core"),
    ],
)
def test_one_outlier_does_not_make_a_percentage_one_of_a_core(values, unit):
    rows = [f"{i},{value}" for i, value in enumerate(values)]
    assert roles(table("t,cpu_percent", *rows))["cpu_percent"] == (Role.CPU, unit)


def test_windows_utility_exceeds_100_and_is_of_the_machine():
    rows = [f"{i},{100 + i}" for i in range(40)]
    assert roles(table("t,% Processor Utility", *rows))["% Processor Utility"] == (Role.CPU, UNKNOWN)
