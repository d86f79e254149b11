"""Another header or clock within a file: what was read under the first one marks the import."""

import pytest

from core.reading import inspect_file, read_with_report
from core.reading.formats.csv_dialect import EVIDENCE_ROWS, holds_names


def clock(i):
    minutes, seconds = divmod(10 * i, 60)
    return f"2026-01-31T{minutes // 60:02}:{minutes % 60:02}:{seconds:02}Z"


def table(header, row, rows=40):
    return "\n".join([header, *(",".join(map(str, row(i))) for i in range(rows))]) + "\n"


def marks(tmp_path, text, name="t.csv"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    found = inspect_file(path)
    assert not found.questions
    return [(one.kind, one.row) for one in read_with_report(path, found.mapping)[1].harmful]


@pytest.mark.parametrize("separator", [",", ";", " "])
@pytest.mark.parametrize(
    ("other", "row"),
    [
        ("time,memory_mib,cpu_cores", lambda i: (200 + i, 1.5)),
        ("time,cpu_millicores,memory_mib", lambda i: (100 + i, 500)),
        ("Zeit,Kerne,Speicher", lambda i: (1.5, 500 + i)),
    ],
)
def test_behind_the_rows_that_are_looked_at(tmp_path, separator, other, row):
    before = EVIDENCE_ROWS + 500
    first = table("time,cpu_cores,memory_mib", lambda i: (clock(i), 1.5 + i % 7 / 10, 500 + i % 50), before)
    text = first + table(other, lambda i: (clock(before + i), *row(i)), 20)
    found = marks(tmp_path, text.replace(",", separator), "t.txt" if separator == " " else "t.csv")
    assert ("other_header", before + 2) in found


@pytest.mark.parametrize("second", [",,[millicores],[KiB]", ",,request,usage", "Zeit,Container,Kerne,MiB"])
def test_a_row_of_units_or_names_below_the_header(tmp_path, second):
    rows = table("time,pod,cpu_cores,memory_mib", lambda i: (clock(i), "a", 2.5 + i % 7, 500 + i), 200)
    header, _, body = rows.partition("\n")
    assert marks(tmp_path, f"{header}\n{second}\n{body}") == [("other_header", 2)]


def test_rows_without_numbers_are_no_headers_where_they_have_a_time(tmp_path):
    rows = table("time,pod,cpu_cores,state", lambda i: (clock(i), "a", 2.5 + i % 7, "ok"), 200)
    assert marks(tmp_path, f"{rows}{clock(200)},a,,failed\n") == []


@pytest.mark.parametrize(
    ("cells", "names"),
    [
        (("time", "cpu", "memory"), True),
        (("", "", "[mCPU]", "[KiB]"), True),
        (("", "", "", "total"), False),
        (("train-1", ""), False),
        (("train-1", "failed", "-"), False),
        (("train-1", "failed", "0.5"), False),
        (("train-1", "Jan 31 2026 12:00:00"), False),
    ],
)
def test_what_may_be_a_header(cells, names):
    assert holds_names(cells) is names


def test_a_second_clock_that_drifts_marks_the_import(tmp_path):
    path = tmp_path / "t.csv"
    header = "Time A,cpu_cores,Time B,memory_mib"
    path.write_text(table(header, lambda i: (clock(i), 0.5 + i % 7, clock(2 * i), 500 + i)), encoding="utf-8")
    found = inspect_file(path)
    said = "“Time B” is another clock than “Time A”, and not used."
    assert said in found.reasons
    assert [one.message for one in read_with_report(path, found.mapping)[1].harmful] == [said]


@pytest.mark.parametrize(
    "end", [lambda i: clock(i + 1), lambda _: clock(0), lambda i: clock(i + i % 2), lambda i: f"{60 * i}"]
)
def test_times_that_go_along_are_no_second_clock(tmp_path, end):
    text = table("time,end_time,cpu_cores", lambda i: (clock(i), end(i), 0.5 + i % 7))
    assert marks(tmp_path, text) == []


def test_clocks_are_compared_within_an_execution(tmp_path):
    def row(i):
        return clock(i // 2), clock(i // 2 + 1), "ab"[i % 2], 0.5 + i % 7

    assert marks(tmp_path, table("time,end_time,container,cpu_cores", row)) == []
