"""A date and a time of day in two columns are the time of a sample."""

from datetime import UTC, datetime, timedelta

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.reading import inspect_file, read_with_report
from core.reading.formats.register import open_source
from core.reading.mapping import ColumnMapping, MappedColumn
from core.traces.model import Role
from tests.reading.layouts.files import of, write

START = datetime(2026, 3, 14, 23, 59, 50, tzinfo=UTC)
ORDERS = {"iso": "%Y-%m-%d", "dmy": "%d.%m.%Y", "mdy": "%m/%d/%Y", "digits": "%Y%m%d"}


def moments(seconds):
    return [START + timedelta(seconds=one) for one in seconds]


def table(seconds, names="Date,Time", order="iso", values=None):
    rows = [
        f"{when:{ORDERS[order]}},{when:%H:%M:%S},{0.5 + i / 8 if values is None else values[i]}"
        for i, when in enumerate(moments(seconds))
    ]
    return "\n".join([f"{names},cpu_cores", *rows]) + "\n"


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("names", ["Date,Time", "Datum,Uhrzeit", "date,local_time", "#Date,Time"])
def test_both_are_one_time(tmp_path, order, names):
    path = write(tmp_path, "two.csv", table([0, 5, 10, 86_410, 86_415], names, order))
    traces, report = read_with_report(path)
    assert list(traces.time - START.timestamp()) == [0, 5, 10, 86_410, 86_415]
    assert of(traces, Role.CPU) == [0.5, 0.625, 0.75, 0.875, 1.0]
    assert report.faultless
    seen = inspect_file(path)
    assert seen.mapping.time == names.lstrip("#").replace(",", " ")
    assert [one.name for one in seen.columns][1:] == ["cpu_cores"]


@given(seconds=st.lists(st.integers(0, 10**6), min_size=2, max_size=40, unique=True))
def test_it_is_what_one_column_says(tmp_path_factory, seconds):
    seconds = sorted(seconds)
    folder = tmp_path_factory.mktemp("times")
    whole = "timestamp,cpu_cores\n" + "".join(
        f"{when:%Y-%m-%d %H:%M:%S},{0.5 + i / 8}\n" for i, when in enumerate(moments(seconds))
    )
    two, _ = read_with_report(write(folder, "two.csv", table(seconds)))
    one, _ = read_with_report(write(folder, "one.csv", whole))
    assert list(two.time) == list(one.time)


@pytest.mark.parametrize("exactly", [False, True])
def test_a_cell_that_is_no_time_is_reported_by_row(tmp_path, exactly, sentence):
    text = table(range(0, 60, 5)).replace("00:00:20", "25:61:00").replace("00:00:30", "")
    values = text.replace(",0.5\n", ',"0.5"\n\n') if exactly else text  # a blank line: rows are no positions
    _, report = read_with_report(write(tmp_path, "two.csv", values))
    said = next(one for one in report.problems if one.kind == "unparsable_time")
    assert (said.row, said.column) == (8 + exactly, "Date Time")
    sentence(said.message)
    assert next(one for one in report.problems if one.kind == "missing_time").row == 10 + exactly


def test_parquet_and_other_mappings(tmp_path):
    path = tmp_path / "two.parquet"
    columns = {
        "date": [f"{when:%Y-%m-%d}" for when in moments(range(4))],
        "time": [f"{when:%H:%M:%S}" for when in moments(range(4))],
        "cpu_cores": [0.5, 1.0, 1.5, 2.0],
        "pod": ["a"] * 4,
    }
    pd.DataFrame(columns).to_parquet(path)
    traces, report = read_with_report(path)
    assert report.faultless
    assert list(traces.time - START.timestamp()) == [0, 1, 2, 3]
    without = ColumnMapping((MappedColumn("cpu_cores", Role.CPU, "cores"),), execution="pod", period=2.0)
    assert read_with_report(path, without)[0].period == 2
    assert open_source(path).n_rows == 4


@pytest.mark.parametrize(
    "header", ["Date,elapsed_time", "Date,runtime", "start_date,Time", "Date,start_time", "birthday,Time"]
)
def test_a_duration_or_another_date_is_not_joined(tmp_path, header):
    path = write(tmp_path, "two.csv", table(range(0, 60, 5), header))
    assert header.split(",")[0] in open_source(path).header


def test_a_column_with_both_stays_the_time(tmp_path):
    rows = "".join(
        f"{when:%Y-%m-%d},{when:%H:%M:%S},{when:%Y-%m-%dT%H:%M:%SZ},0.5\n" for when in moments(range(4))
    )
    source = open_source(write(tmp_path, "three.csv", "Date,Time,timestamp,cpu_cores\n" + rows))
    assert source.header == ("Date", "Time", "timestamp", "cpu_cores")
    assert open_source(write(tmp_path, "two.csv", table(range(4))), as_written=True).header[0] == "Date"
