"""A header that lacks the name of its first column: the rows have an index, as pandas reads them."""

import csv
import gzip
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.errors import InputError
from core.reading import inspect_file, read_traces, read_with_report
from core.reading.formats.csv import CsvSource
from core.reading.mapping import ColumnMapping, MappedColumn
from core.reading.readers import UNKNOWN_DAMAGE
from core.traces.model import Role

N = 12


def table():
    return pd.DataFrame(
        {
            "pod": np.repeat(["a", "b,c"], N // 2),
            "time": np.tile(np.arange(N // 2) * 10, 2),
            "cpu": np.linspace(0.5, 2, N),
            "memory": np.arange(N) + 10**9,
        }
    )


def write_as_r(frame, path, sep=",", quoting=csv.QUOTE_NONNUMERIC):
    """What ``write.table(frame, path, sep = ",")`` writes: row names, and no name above them."""
    text = frame.to_csv(sep=sep, quoting=quoting, index_label="gone", lineterminator="\n")
    head, rest = text.split("\n", 1)
    path.write_text(head.split(sep, 1)[1] + "\n" + rest, encoding="utf-8")
    return path


@pytest.mark.parametrize("sep", [",", ";", "\t"])
@pytest.mark.parametrize("quoting", [csv.QUOTE_NONNUMERIC, csv.QUOTE_MINIMAL])
def test_columns_are_those_that_pandas_reads(tmp_path, sep, quoting, sentence):
    path = write_as_r(table().set_index(np.arange(1, N + 1).astype(str)), tmp_path / "r.csv", sep, quoting)
    theirs = pd.read_csv(path, sep=sep)
    assert theirs.index.tolist() == list(range(1, N + 1))
    traces, report = read_with_report(path)
    assert [feature.name for feature in traces.features] == ["cpu", "memory"]
    assert traces.ids == ("a", "b,c")
    for name in ("time", "cpu", "memory"):
        ours = traces.time if name == "time" else traces.column(name)
        np.testing.assert_array_equal(ours, theirs[name])
    said = next(one for one in report.problems if one.kind == "unnamed_index")
    assert (said.row, said.column) == (1, "index")
    sentence(said.sentence())


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.tuples(st.floats(0, 1e6), st.integers(0, 10**9)), min_size=1, max_size=20),
    st.sampled_from(["numbers", "texts", "dates"]),
    st.booleans(),
)
def test_fast_and_exact_reading_give_what_pandas_gives(tmp_path, rows, kind, packed):
    n = len(rows)
    index = {
        "numbers": [str(i) for i in range(n)],
        "texts": [f"row {i}" for i in range(n)],
        "dates": [str(each) for each in pd.date_range("2026-01-31", periods=n, freq="10s")],
    }[kind]
    path = write_as_r(pd.DataFrame(rows, columns=["cpu", "x"], index=index), tmp_path / "r.csv")
    theirs = pd.read_csv(path)
    if packed:
        path.write_bytes(gzip.compress(path.read_bytes()))
    source = CsvSource.open(path)
    assert source.header == ("index", *theirs.columns)
    mapping = ColumnMapping(
        (MappedColumn("cpu", Role.CPU), MappedColumn("x")), attributes=("index",), period=1.0
    )
    for raw in (source.read(mapping), source.read_lines(mapping)):
        for ours, name in zip(raw.columns, theirs.columns, strict=True):
            np.testing.assert_array_equal(ours, theirs[name])
        names = [raw.attributes[0].names[code] for code in raw.attributes[0].codes]
        assert names == [str(each) for each in theirs.index]


def test_an_index_of_dates_is_the_time(tmp_path):
    frame = table()[["cpu", "memory"]].set_index(
        pd.date_range("2026-01-31", periods=N, freq="5s").astype(str)
    )
    mapping = inspect_file(write_as_r(frame, tmp_path / "r.csv")).mapping
    assert mapping is not None
    assert (mapping.time, mapping.time_unit) == ("index", "iso")


def test_files_of_ai4dl_with_row_names_are_theirs(tmp_path):
    frame = pd.DataFrame(
        {
            "timestamp": 1_565_962_220 + 30 * np.arange(N),
            "pod.id": np.repeat(["e1", "e2"], N // 2),
            "cpu.usage.cores": np.linspace(0, 1, N),
            "mem.current": np.arange(N) + 1000,
        }
    )
    path = write_as_r(frame, tmp_path / "sample.csv")
    assert inspect_file(path).layout == "ai4dl"
    traces = read_traces(path)
    assert traces.ids == ("e1", "e2")
    assert traces.column("mem.current").tolist() == pd.read_csv(path)["mem.current"].tolist()


def test_one_column_with_row_names(tmp_path):
    path = write_as_r(table()[["cpu"]], tmp_path / "r.csv")
    mapping = replace(inspect_file(path).mapping, period=1.0)
    assert read_traces(path, mapping).column("cpu").tolist() == pd.read_csv(path)["cpu"].tolist()


def test_a_bad_cell_keeps_its_row_number(tmp_path):
    path = write_as_r(table(), tmp_path / "r.csv")
    path.write_text(path.read_text().replace("1000000005", "many", 1))
    _, report = read_with_report(path)
    assert "Column “memory”: row 7 has “many”" in " ".join(report.sentences())


@pytest.mark.parametrize(
    ("text", "header"),
    [
        ("a,b\n1,2,\n3,4,\n", ("a", "b")),  # a separator at the end of every row
        ("a,b\n1,2\n3,4,5\n5,6\n", ("a", "b")),  # one row too wide
        ("A title\ntime,cpu\n1,2\n2,3\n", ("time", "cpu")),
    ],
)
def test_other_uneven_files_have_no_index(tmp_path, text, header):
    path = tmp_path / "t.csv"
    path.write_text(text)
    assert CsvSource.open(path).header == header


@pytest.mark.parametrize(
    ("header", "row"),
    [
        ("timestamp,pod,cpu_cores,memory_bytes", "2026-01-31T12:00:{0:02}Z,train-1,0,{1},500833848"),
        ("pod,cpu_cores,memory_bytes", "train-1,0,{1},500833848"),
        ("timestamp,cpu_cores,memory_bytes", "17698608{0:02},0,{1},500833848"),
    ],
)
def test_decimal_commas_between_commas_make_no_index(tmp_path, header, row, refuses):
    lines = [header, *(row.format(5 * i % 60, 40 + i) for i in range(10))]
    path = tmp_path / "de.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    with refuses(InputError):
        inspect_file(path)


@pytest.mark.parametrize("index", ["{0}", "row {0}"])
def test_whole_numbers_behind_an_index_are_read(tmp_path, index):
    rows = [index.format(i) + f",a,{1_700_000_000 + 10 * i},{i % 3},{10**9 + i}" for i in range(12)]
    path = tmp_path / "r.csv"
    path.write_text("\n".join(["pod,time,cpu_cores,memory_bytes", *rows]) + "\n", encoding="utf-8")
    assert read_traces(path).column("cpu_cores").tolist() == [i % 3 for i in range(12)]


def test_a_first_cell_of_thousands_of_digits_counts_no_rows(tmp_path):
    path = tmp_path / "long.csv"
    path.write_text("time,pod,cpu\n" + f"{'9' * 5_001},a,1,2\n" * 3)
    with pytest.raises(InputError) as told:
        read_traces(path)
    assert UNKNOWN_DAMAGE not in told.value.message
