"""Reading by two ways that must agree, with progress that may stop it, and looking without reading."""

import gzip
import io
import re

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.errors import Cancelled, InputError, RefusedError
from core.reading import inspect_file, read_traces, read_with_report
from core.reading.cleaning import build_trace_set
from core.reading.formats import base
from core.reading.formats import csv as csv_files
from core.reading.formats.csv import CsvSource
from core.reading.formats.parquet import ParquetSource
from core.reading.layouts import recognise_layout
from core.reading.mapping import ColumnMapping, MappedColumn
from core.traces.model import Role
from core.traces.validation import UnusableError
from tests.timing import cpu_seconds

NUMBERS = st.floats(0, 1e9, allow_nan=False).map(repr) | st.integers(0, 10**12).map(str) | st.just("")
MAPPING = ColumnMapping(
    features=(MappedColumn("cpu", Role.CPU), MappedColumn("x")),
    execution="e",
    time="t",
    attributes=("kind",),
    min_samples=1,
)


@st.composite
def tables(draw):
    rows = []
    for name in draw(st.lists(st.sampled_from(["a", "b c", "ü", "x,y", '"q"']), min_size=1, max_size=6)):
        for i in range(draw(st.integers(1, 5))):
            cells = [
                name,
                str(draw(st.integers(0, 99)) + i),
                draw(NUMBERS),
                draw(NUMBERS),
                draw(st.sampled_from("kl")),
            ]
            rows.append(cells)
    quoted = [",".join('"' + cell.replace('"', '""') + '"' if cell else "" for cell in row) for row in rows]
    return draw(st.sampled_from(["\n", "\r\n"])).join(["e,t,cpu,x,kind", *quoted])


def same(one, other):
    assert one.ids == other.ids
    assert one.attributes == other.attributes
    for mine, theirs in zip((one.time, *one.columns), (other.time, *other.columns), strict=True):
        np.testing.assert_array_equal(mine, theirs)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(tables(), st.booleans())
def test_the_fast_way_reads_what_the_exact_way_reads(tmp_path, text, packed):
    path = tmp_path / "t.csv"
    path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    source = CsvSource.open(path)
    try:
        exact, report = build_trace_set(source.read_lines(MAPPING), MAPPING)
    except UnusableError:
        with pytest.raises(UnusableError):
            read_traces(path, MAPPING)
        return
    fast, other = read_with_report(path, MAPPING)
    same(fast, exact)
    assert other == report


def test_a_clean_file_is_read_the_fast_way_in_parts(tmp_path, monkeypatch):
    monkeypatch.setattr(csv_files, "SEGMENT_BYTES", 1000)
    monkeypatch.setattr(csv_files, "Lines", None)
    path = write_table(tmp_path, 400)
    told = []
    traces, report = read_with_report(path, progress=lambda share, message: told.append((share, message)))
    assert [one.kind for one in report.problems] == ["assumed_unit"]
    assert traces.n_samples == 400
    assert traces.values(Role.CPU).tolist() == [i / 40 for i in range(400)]
    shares = [share for share, _ in told]
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    assert len(told) > 10


@given(st.lists(st.text("ab,", max_size=30)), st.booleans(), st.integers(1, 40), st.integers(1, 20))
def test_segments_are_the_file_in_whole_lines(lines, ended, size, usual):
    content = ("\n".join(lines) + "\n" * ended).encode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_files, "LINE_RESERVE", usual)
        parts = [
            bytes(one) for one in csv_files.read_segments(io.BufferedReader(io.BytesIO(content), 8), size)
        ]
    assert b"".join(parts) == content
    assert all(part.endswith(b"\n") for part in parts[:-1])


def write_table(folder, n, name="t.csv", cpu=lambda i: i / 40):
    path = folder / name
    rows = "".join(f"job{i // 100},{1.7e9 + 10 * (i % 100):.0f},{cpu(i)}\n" for i in range(n))
    path.write_text("execution,timestamp,cpu\n" + rows)
    return path


@pytest.mark.parametrize(
    "cpu", [lambda i: i / 40, lambda i: "x" if i == 300 else i / 40], ids=["fast", "exact"]
)
@pytest.mark.parametrize("after", [0, 1, 2])
def test_any_report_of_progress_may_stop_it(tmp_path, monkeypatch, cpu, after):
    monkeypatch.setattr(csv_files, "SEGMENT_BYTES", 1000)
    path, calls = write_table(tmp_path, 400, cpu=cpu), []

    def stop(share, message):
        calls.append(share)
        if len(calls) > after:
            raise Cancelled

    with pytest.raises(Cancelled):
        read_with_report(path, progress=stop)
    assert len(calls) == after + 1


def test_the_exact_way_tells_progress_too(tmp_path):
    path, told = tmp_path / "t.csv", []
    text = "e,t,cpu,x,kind\n" + "".join(f"a,{i},1,2,é{'k' * 300}\n" for i in range(20_000))
    path.write_bytes(text.encode("latin-1"))
    read_with_report(path, MAPPING, lambda _share, message: told.append(message))
    assert any(message.startswith("Reading row") for message in told)


PIECES = (
    "a,{i},{i},1,k\n", "a,{i},{i},1,k\n\n", "a,{i},{i},1,k\r\n", 'a,{i},{i},1,"k\nl"\n', "a,{i},{i},1,é\n",
    "a,{i},x,1,k\n", "a,{i},{i}\n", "a,{i},-1,1,k\n", "a,{i},{i},1,k,,\n", "e,t,cpu,x,kind\n", ",,,,\n",
    'a,{i},{i},1,"k"\r\n', "b,{i},{i},,k\n"
)  # fmt: skip


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.sampled_from(PIECES), min_size=3, max_size=40), st.integers(5, 200))
def test_parts_give_what_lines_give(tmp_path, kinds, size):
    path = tmp_path / "t.csv"
    rows = (kind.format(i=i) for i, kind in enumerate(kinds))
    path.write_bytes("".join(["e,t,cpu,x,kind\n", *rows]).encode())
    source = CsvSource.open(path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_files, "SEGMENT_BYTES", 4 * max(size, 20))
        patch.setattr(csv_files, "PIECE_BYTES", max(size, 20))
        try:
            whole = source.read_lines(MAPPING)
        except InputError as error:
            with pytest.raises(InputError, match=re.escape(error.message)):
                source.read(MAPPING)
            return
        parts = source.read(MAPPING)
    assert set(parts.problems) == set(whole.problems)
    assert (parts.n_rows, parts.rows_read) == (whole.n_rows, whole.rows_read)
    rows = [[one.row_of(i) for i in range(one.n_rows)] for one in (parts, whole)]
    assert rows[0] == rows[1]
    names = [
        [one.executions.names[code] if code >= 0 else "" for code in one.executions.codes]
        for one in (parts, whole)
    ]
    assert names[0] == names[1]
    for mine, theirs in zip((parts.time, *parts.columns), (whole.time, *whole.columns), strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_row_numbers_count_lines_as_an_editor_does(tmp_path, refuses):
    path = tmp_path / "t.csv"
    path.write_text("e,t,cpu\n\n\na,0,1\n\na,1,-1\na,2,2\n")
    _, report = read_with_report(path)
    assert [one.row for one in report.problems if one.kind == "negative"] == [6]
    path.write_text("e,t,cpu\na,0,1\na,1,-1\na,2,2")
    _, report = read_with_report(path)
    assert [one.row for one in report.problems if one.kind == "negative"] == [3]
    path.write_text("e,t,cpu\n\na,0,-1\na,1,-1\n")
    with refuses(UnusableError):
        read_traces(path)


def test_columns_that_nobody_mapped_are_listed_only_where_the_mapping_was_guessed(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("e,t,cpu,words\n" + "".join(f"a,{i},1,\n" for i in range(3)))
    _, report = read_with_report(path)
    assert report.count("columns_unused") == 1
    assert any("“words”" in sentence for sentence in report.sentences())
    mapping = ColumnMapping((MappedColumn("cpu", Role.CPU, "cores"),), time="t")
    assert read_with_report(path, mapping)[1].problems == ()
    assert read_traces(path, mapping).ids == ("t",)


@pytest.mark.parametrize(
    ("stamps", "first"),
    [
        (["2024-01-31T10:00:00Z", "2024-01-31T10:00:10Z"], 1706695200),
        (["2024-01-31 10:00:00", "2024-01-31 10:00:10"], 1706695200),
        (["2024-01-31T12:00:00+02:00", "2024-01-31T12:00:10+02:00"], 1706695200),
        (["2024-01-31T10:00:00.250", "2024-01-31T10:00:10.250"], 1706695200.25),
        (["2024/01/31 10:00:00", "2024/01/31 10:00:10"], 1706695200),
        (["1706695200000", "1706695210000"], 1706695200),
        (["1706695200000000", "1706695210000000"], 1706695200),
        (["1706695200000000000", "1706695210000000000"], 1706695200),
    ],
)
def test_times_of_every_kind_become_seconds(tmp_path, stamps, first):
    path = tmp_path / "t.csv"
    path.write_text("time,cpu\n" + "".join(f"{stamp},1\n" for stamp in stamps))
    traces = read_traces(path)
    assert traces.time.tolist() == pytest.approx([first, first + 10], abs=1e-3)


def test_decimal_commas_and_thousands_of_columns(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("zeit;cpu;memory MiB\n1;0,5;1000,25\n2;0,75;1001,5\n")
    assert read_traces(path).column("cpu").tolist() == [0.5, 0.75]
    names = ",".join(f"c{i}" for i in range(5000))
    path.write_text(f"time,{names}\n" + "".join(f"{i},{','.join(['1'] * 5000)}\n" for i in range(3)))
    traces, report = read_with_report(path)
    assert len(traces.features) == 64
    assert report.count("columns_unused") == 5000 - 64


def test_a_large_file_is_inspected_by_its_head(tmp_path):
    path = tmp_path / "large.csv"
    row = "job,1700000000,0.5,1000\n"
    with path.open("w") as file:
        file.write("execution,timestamp,cpu,memory\n")
        for _ in range(500):
            file.write(row * 40_000)
    assert cpu_seconds(lambda: inspect_file(path), 1.0) < 1.0
    found = inspect_file(path)
    assert found.size > 450e6
    assert found.n_rows == pytest.approx(20e6, rel=0.01)
    assert [one.dtype for one in found.columns] == ["text", "whole number", "number", "whole number"]
    assert found.columns[0].examples == ("job",)
    assert len(found.rows_preview) == 20
    path.unlink()


def test_inspection_says_what_it_can(tmp_path, sentence):
    path = write_table(tmp_path, 5)
    found = inspect_file(path)
    assert (found.layout, found.n_rows, found.problems) == ("generic", 5, ())
    path.write_text("a,when,b\nx,2024-01-01,\ny,2024-01-02,\n")
    found = inspect_file(path)
    assert found.mapping is None
    assert [one.dtype for one in found.columns] == ["text", "date", "empty"]
    sentence(found.reasons[0])


def test_a_large_packed_file_has_no_estimate(tmp_path):
    path = tmp_path / "t.csv.gz"
    rng = np.random.default_rng(0)
    rows = "".join(f"a,{i},{value}\n" for i, value in enumerate(rng.random(30_000)))
    path.write_bytes(gzip.compress(("e,t,cpu\n" + rows).encode()))
    assert inspect_file(path).n_rows is None
    assert read_traces(path).n_samples == 30_000


def test_gzip_bombs_are_refused_before_they_fill_the_machine(tmp_path, monkeypatch, refuses):
    monkeypatch.setattr(base, "FREE_BYTES", 10_000)
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(b"e,t,cpu\n" + b"a,1,1\n" * 1_000_000))
    with refuses(RefusedError):
        read_traces(path)


def test_the_quick_way_to_bad_files_is_an_error(tmp_path, refuses):
    with refuses(InputError):
        read_traces(tmp_path / "none.csv")
    with refuses(InputError):
        read_traces(tmp_path)


def test_a_long_line_later_is_refused(tmp_path, monkeypatch, refuses):
    monkeypatch.setattr(csv_files, "MAX_LINE", 2_000)
    path = tmp_path / "t.csv"
    path.write_text("e,t,cpu\na,0,1\na,1,x\na,2," + "9" * 5_000 + "\n")
    with refuses(InputError):
        read_traces(path, ColumnMapping((MappedColumn("cpu", Role.CPU, "cores"),), execution="e", time="t"))


def test_parquet_of_other_types(tmp_path):
    path = tmp_path / "t.parquet"
    table = pa.table(
        {
            "job": pa.array(["a", "a", " a ", None, "b", "b"]).dictionary_encode(),
            "when": pa.array([0, 1, 2, 3, 0, 1], pa.int32()),
            "cpu": pa.array(["1", "2", "x", "4", "5", "6"]),
            "on": pa.array([True, False, True, True, True, True]),
        }
    )
    pq.write_table(table, path)
    mapping = ColumnMapping((MappedColumn("cpu", Role.CPU),), execution="job", time="when")
    traces, report = read_with_report(path, mapping)
    assert traces.ids == ("a", "b")
    assert traces.column("cpu").tolist() == [1, 2, 2, 5, 6]
    assert [(one.kind, one.row) for one in report.problems] == [("unparsable", 3), ("missing_execution", 4)]
    logic = ColumnMapping((MappedColumn("on"),), execution="job", time="when")
    assert read_with_report(path, logic)[0].column("on").tolist() == [1, 0, 1, 1, 1]
    assert inspect_file(path).columns[1].dtype == "int32"


def test_parquet_that_cannot_be_read_is_said(tmp_path, refuses):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"cpu": pa.array([], pa.float64())}), path)
    with refuses(InputError):
        read_traces(path)
    pq.write_table(pa.Table.from_arrays([pa.array([1.0]), pa.array([2.0])], ["cpu", "cpu"]), path)
    with refuses(InputError):
        read_traces(path)
    pq.write_table(pa.table({"cpu": np.random.default_rng(0).random(50_000)}), path)
    data = bytearray(path.read_bytes())
    data[200:300_000] = bytes(299_800)
    path.write_bytes(data)
    with pytest.raises(InputError):
        read_traces(path)


def test_parquet_whose_names_are_no_text_is_damaged(tmp_path, refuses):
    path = tmp_path / "t.parquet"
    pd.DataFrame({"cpu_cores": [1.0, 2, 3]}).to_parquet(path)
    path.write_bytes(path.read_bytes().replace(b"cpu_cores", b"cpu_co\x80es"))
    with refuses(InputError):
        ParquetSource.open(path)


def test_parquet_dates_and_dates_without_time(tmp_path):
    path = tmp_path / "t.parquet"
    days = pd.date_range("2024-01-01", periods=4, freq="D")
    for column in (days.tz_localize("UTC"), days.date, days.strftime("%Y-%m-%d")):
        pd.DataFrame({"date": column, "cpu": [1.0, 2, 3, 4]}).to_parquet(path)
        told = []
        traces, _ = read_with_report(path, progress=lambda share, _message, told=told: told.append(share))
        assert traces.time[0] == days[0].timestamp()
        assert traces.period == 86_400
        assert told[0] == 0.0


def test_the_layout_of_a_file_is_recognised_once(tmp_path):
    source = CsvSource.open(write_table(tmp_path, 3))
    assert recognise_layout(source.header, source.rows).mapping == inspect_file(source.path).mapping
