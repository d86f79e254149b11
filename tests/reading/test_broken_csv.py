"""More than 200 kinds of broken CSV, each answered by a sentence that a person can act on.

A case is a good file that was broken in one way. The answer is either a `PhaseDockError` or a
problem in the report; it must name the place (row, column or file) and say what to do, and a case
that is repaired must keep what was good.
"""

import gzip
import re
from dataclasses import dataclass

import pytest

from core.errors import PhaseDockError
from core.reading import inspect_file, read_with_report
from core.reading.mapping import ColumnMapping, MappedColumn
from core.traces.model import Resampling, Role

HEADER = "execution,timestamp,cpu,memory,workload"
MAPPING = ColumnMapping(
    execution="execution",
    time="timestamp",
    resampling=Resampling.HOLD,
    features=(MappedColumn("cpu", Role.CPU, "cores"), MappedColumn("memory", Role.MEMORY, "bytes")),
    attributes=("workload",),
)
N = 12


def good_rows():
    return [
        [name, str(1_700_000_000 + 10 * i), f"{0.5 + 0.01 * i:.2f}", str(1000 + i), "vision"]
        for name in ("a", "b")
        for i in range(N)
    ]


def text_of(rows, header=HEADER, end="\n"):
    return end.join([header, *(",".join(row) for row in rows)]) + end


@dataclass(frozen=True)
class Case:
    """A broken file, what its sentence must say, and how many rows stay (None: it is refused)."""

    name: str
    data: bytes
    says: tuple[str, ...]
    kept: int | None = None
    kind: str | None = None
    suffix: str = ".csv"


def case(name, data, *says, kept=None, kind=None, suffix=".csv"):
    return Case(name, data.encode() if isinstance(data, str) else data, says, kept, kind, suffix)


def with_cell(row, column, value):
    rows = good_rows()
    rows[row][column] = value
    return text_of(rows)


def quoted(value):
    return '"' + value.replace('"', '""') + '"'


NO_NUMBERS = (
    "abc", "1.2.3", "--1", "1,5", "0x1F", "1_000", "12 34", "1e", "e5", "+", ".", "½", "١٢x", "true", "FALSE",
    "yes", "1٫5",
    "#REF!", "#DIV/0!", "#N/A!", "=1+1", "?", "…", "1.5GiB", "3 cores", "200m", "1;5", "$5", "(5)", "5-",
    "1e5e5",
    "one", "nil", "undefined", "missing", "[1]", "{1}", "'1'", "1'000", "1 000,5", "0b1", "１，５",
   "1/2", "1:2", "١_"
)  # fmt: skip
INFINITE = ("inf", "-inf", "Infinity", "1e999", "-1e999", "+inf", "INF")
MISSING = ("", " ", "NA", "N/A", "NaN", "nan", "null", "NULL", "None", "-", "n/a")
NEGATIVE = ("-1", "-0.001", "-1e9", "-5.5")
HUGE = ("1e30", "9" * 40, "1e300")
NO_TIMES = (
    "yesterday", "2024-13-01", "12:00", "1.7e9s", "0x65", "now",
    "01.02.2024", "T", "1700000000,5", "17e",
    "2024-02-30", "2024-01-01T25:00:00", "noon", "#VALUE!", "1_700_000_000"
)  # fmt: skip
QUANTITIES = {"cpu": ("3 cores", "200m", "1'000"), "memory": ("1.5GiB", "1'000")}
COLUMNS = {"cpu": 2, "memory": 3}


def cell_cases():
    for column, place in COLUMNS.items():
        for value in (one for one in NO_NUMBERS if one not in QUANTITIES[column]):
            yield case(
                f"{column} reads {value}", with_cell(3, place, quoted(value)),
                f"Column “{column}”", "row 5", value.strip(), kept=2 * N, kind="unparsable"
            )  # fmt: skip
        for value in INFINITE:
            yield case(
                f"{column} is {value}", with_cell(4, place, value),
                f"Column “{column}”", "row 6", "infinite", kept=2 * N, kind="infinite"
            )  # fmt: skip
        for value in MISSING:
            yield case(
                f"{column} is missing as “{value}”", with_cell(5, place, value),
                f"Column “{column}”", "row 7", "empty", kept=2 * N, kind="missing"
            )  # fmt: skip
        for value in NEGATIVE:
            yield case(
                f"{column} is {value}", with_cell(6, place, value),
                f"Column “{column}”", "row 8", "below zero", "last value", kept=2 * N, kind="negative"
            )  # fmt: skip
        for value in HUGE:
            yield case(
                f"{column} is {value}", with_cell(7, place, value),
                f"Column “{column}”", "row 9", "larger than any machine", kept=2 * N, kind="implausible"
            )  # fmt: skip
        yield case(
            f"{column} begins without a value", with_cell(0, place, ""),
            f"Column “{column}”", "row 2", kept=2 * N - 1, kind="missing"
        )  # fmt: skip
    for value in NO_TIMES:
        yield case(
            f"time reads {value}", with_cell(3, 1, quoted(value)),
            "Column “timestamp”", "row 5", "dropped", kept=2 * N - 1, kind="unparsable_time"
        )  # fmt: skip
    for value in MISSING:
        yield case(
            f"time is missing as “{value}”", with_cell(3, 1, value),
            "Column “timestamp”", "row 5", "without a time", kept=2 * N - 1, kind="missing_time"
        )  # fmt: skip
    for value in ("", " ", "   ", '""'):
        yield case(
            f"execution is missing as “{value}”", with_cell(3, 0, value),
            "Column “execution”", "row 5", "without an execution", kept=2 * N - 1, kind="missing_execution"
        )  # fmt: skip


def row_cases():
    rows, time = good_rows(), "Column “timestamp”"
    lonely, other = ["c", *rows[0][1:]], [*rows[-1][:4], "text"]
    for cells in (1, 2, 3, 4, 6, 7, 12):
        changed = good_rows()
        changed[4] = (changed[4] + ["x"] * 9)[:cells]
        says = ("Row 6", f"{cells} cells instead of the 5")
        yield case(f"a row of {cells} cells", text_of(changed), *says, kept=2 * N - 1, kind="ragged")
    for name, changed, kind, says, kept in (
        ("rows backwards", rows[::-1], "unsorted", (time, "row 3"), 2 * N),
        ("two rows swapped", [rows[1], rows[0], *rows[2:]], "unsorted", (time, "row 3"), 2 * N),
        ("a row twice", [*rows[:3], rows[2], *rows[3:]], "duplicate_time", (time, "row 4"), 2 * N),
        ("the file twice", rows + rows, "duplicate_time", (time, "row 2"), 2 * N),
        ("the header again", [*rows[:5], HEADER.split(","), *rows[5:]], "repeated_header", ("row 7",), 2 * N),
        ("an execution of one row", [*rows, lonely], "too_short", ("“c”", "fewer than 2"), 2 * N),
        ("executions mixed", rows[::2] + rows[1::2], "interleaved", ("2 executions",), 2 * N),
        ("two workloads", [*rows[:-1], other], "mixed_identity", ("“workload”", "row 25"), 2 * N),
        ("a long gap", rows[:3] + rows[7:], "gap", ("3 periods",), 2 * N - 4)
    ):  # fmt: skip
        yield case(name, text_of(changed), *says, kept=kept, kind=kind)
    same = [[name, "1700000000", *rest] for name, _, *rest in rows]
    yield case("all times equal", text_of(same), "None of the 24 rows", "the time of a later row")
    for name, index in (("cpu", 2), ("memory", 3)):
        empty = [[cell if i != index else "" for i, cell in enumerate(row)] for row in rows]
        yield case(f"nothing in {name}", text_of(empty), f"Column “{name}” has no usable number", kept=24,
                   kind="empty_column")  # fmt: skip
        words = [[cell if i != index else "word" for i, cell in enumerate(row)] for row in rows]
        yield case(
            f"words in {name}", text_of(words), f"Column “{name}”", "“word”", kept=24, kind="unparsable"
        )
    bad = [[*row[:2], "-1", *row[3:]] for row in rows]
    yield case(
        "nothing but negative usage", text_of(bad), "Column “cpu”", "below zero", kept=24, kind="negative"
    )
    bare = [[row[0], "later", *row[2:]] for row in rows]
    yield case("no time in any row", text_of(bare), "None of the 24 rows", "“later”")
    words = [[*row[:2], "x", "y", row[4]] for row in rows]
    yield case("no number in any row", text_of(words), "None of the 24 rows", "“cpu”")


def header_cases():
    rows = good_rows()
    for missing in HEADER.split(","):
        place = HEADER.split(",").index(missing)
        names = [name for name in HEADER.split(",") if name != missing]
        less = [[cell for i, cell in enumerate(row) if i != place] for row in rows]
        yield case(f"no column {missing}", text_of(less, ",".join(names)), "Row 1", f"“{missing}”")
        other = HEADER.replace(missing, missing.upper())
        yield case(
            f"column {missing.upper()}", text_of(rows, other), "Row 1", f"“{missing}”", f"“{missing.upper()}”"
        )
        blank = ",".join("" if name == missing else name for name in HEADER.split(","))
        yield case(
            f"{missing} unnamed", text_of(rows, blank), "Row 1", f"“{missing}”", f"“column {place + 1}”"
        )
    twice = text_of([[*row, row[2]] for row in rows], HEADER + ",cpu")
    yield case("cpu twice", twice, "Row 1", "“cpu”", kept=24, kind="duplicate_column")
    thrice = text_of([[*row, row[2], row[2]] for row in rows], HEADER + ",cpu,cpu")
    yield case("cpu thrice", thrice, "Row 1", "“cpu”", kept=24, kind="duplicate_column")
    nameless = text_of([[*row, row[2]] for row in rows], HEADER + ",")
    yield case("a column without name", nameless, "Row 1", kept=24, kind="unnamed_column")
    yield case(
        "titles above", "My measurements\nof today\n" + text_of(rows), "row 3", kept=24, kind="preamble"
    )
    yield case("comments above", "# made by x\n" + text_of(rows), "row 2", kept=24, kind="preamble")
    yield case("no header", "\n".join(",".join(row) for row in rows), "Row 1", "“execution”")
    yield case("header only", HEADER + "\n", "no rows below its header")
    yield case("header without line end", HEADER, "no rows below its header")
    yield case("many columns", ",".join(f"c{i}" for i in range(30_000)) + "\n", "Row 1", "30,000 columns")
    yield case("other table", "a,b\n1,2\n3,4\n", "Row 1", "“execution”", "“a”")


def file_cases():
    whole = text_of(good_rows())
    packed = gzip.compress(whole.encode())
    yield case("empty", b"", "broken.csv", "is empty")
    yield case("line ends only", "\n\n\n", "broken.csv", "only empty rows")
    yield case("blanks only", "   \n  \n", "broken.csv", "only empty rows")
    yield case("separators only", ",,,\n,,,\n", "broken.csv", "only empty rows")
    yield case("byte order mark only", b"\xef\xbb\xbf", "broken.csv", "only empty rows")
    for name, start in (
        ("zip", b"PK\x03\x04junk"), ("bzip2", b"BZh91AY"), ("xz", b"\xfd7zXZ\x00\x00"),
        ("7z", b"7z\xbc\xaf\x27"), ("zstd", b"\x28\xb5\x2f\xfd\x00"), ("pdf", b"%PDF-1.7"),
        ("png", b"\x89PNG\r\n"), ("jpeg", b"\xff\xd8\xff\xe0"),
        ("excel", b"\xd0\xcf\x11\xe0\xa1"), ("elf", b"\x7fELF\x02"), ("sqlite", b"SQLite format 3\x00"),
        ("hdf5", b"\x89HDF\r\n"), ("pickle", b"\x80\x04\x95\x10\x00"), ("orc", b"ORC\x00")
    ):  # fmt: skip
        yield case(f"a {name} file", start + bytes(range(64)), "broken.csv", "not a table")
    yield case("binary junk", bytes(range(256)) * 20, "broken.csv", "row", "binary")
    yield case("junk without zero", bytes(range(128, 256)) * 20, "broken.csv", "row 1", "binary")
    yield case("a zero byte late", whole.replace("1003", "10\x003", 1), "row 5", "binary")
    yield case("parquet cut off", b"PAR1" + bytes(50), "broken.csv", "damaged Parquet")
    yield case(
        "gzip cut off", packed[: len(packed) // 2], "broken.csv.gz", "ends in the middle", suffix=".csv.gz"
    )
    yield case(
        "gzip damaged", packed[:40] + b"\xff\xff" + packed[42:], "broken.csv.gz", "damaged", suffix=".csv.gz"
    )
    yield case("gzip of nothing", gzip.compress(b""), "broken.csv.gz", "empty rows", suffix=".csv.gz")
    yield case("gzip magic only", b"\x1f\x8b", "broken.csv.gz", "ends in the middle", suffix=".csv.gz")
    yield case(
        "latin-1",
        whole.replace("vision", "vidéo").encode("latin-1"),
        "Row 2",
        "UTF-8",
        kept=24,
        kind="encoding",
    )
    late = whole.encode()[:-20] + "é".encode("latin-1") + whole.encode()[-20:]
    yield case("one latin-1 letter", late, "Row 25", "UTF-8", kind="encoding", kept=23)
    yield case("utf-16", whole.encode("utf-16"), "UTF-16", kept=24, kind="utf16")
    yield case("html", "<!DOCTYPE html>\n<html><body>Not found</body></html>\n", "Row 1", "“execution”")
    yield case("json of another kind", '{"a": "b"}', "broken.csv", "neither a response")
    yield case("json lines of other columns", '{"a": 1}', "Row 1", "“execution”")
    yield case("json cut off", '{"data": [', "broken.csv", "row 1")
    yield case("an error page", "502 Bad Gateway\n", "Row 1", "“execution”")
    yield case("a line without end", HEADER + "\n" + "1," * 3_000_000, "Row 2", "longer than")
    open_quote = whole.replace("b,1700000050", '"b,1700000050', 1)
    yield case("a quotation mark left open", open_quote, "Row 19", "quotation mark", kept=N + 5, kind="quote")
    yield case("a cell of 200,000 letters", with_cell(3, 2, "x" * 200_000), "Row 5", "field larger")
    yield case(
        "cut off in a row", whole[:-15], "Row 25", "cells instead of the 5", kept=2 * N - 1, kind="ragged"
    )
    for separator, name in (("\t", "tab"), (";", "semicolon"), ("|", "bar")):
        other = whole.replace(",", separator)
        broken = other.replace("0.53", "x.53", 1)
        yield case(
            f"{name} between and a bad cell", broken, "Column “cpu”", "row 5", kept=24, kind="unparsable"
        )
    yield case("colon between", whole.replace(",", ":"), "Row 1", "“execution”")
    windows = whole.replace("\n", "\r\n").replace("0.53", "bad", 1)
    yield case("CRLF and a bad cell", windows, "Column “cpu”", "row 5", kept=24, kind="unparsable")
    old = whole.replace("\n", "\r").replace("0.53", "bad", 1)
    yield case("CR and a bad cell", old, "Column “cpu”", "row 5", kept=24, kind="unparsable")
    marked = b"\xef\xbb\xbf" + whole.replace("0.53", "bad", 1).encode()
    yield case("byte order mark and a bad cell", marked, "Column “cpu”", "row 5", kept=24, kind="unparsable")
    spaced = whole.replace("0.53", "bad", 1).replace("\n", "\n\n")
    yield case("blank lines and a bad cell", spaced, "Column “cpu”", "row 9", kept=24, kind="unparsable")
    gaps = whole.replace("\n", "\n\n").replace("0.53", "-0.53", 1)
    yield case("blank lines and a negative", gaps, "Column “cpu”", "row 9", kept=24, kind="negative")
    inside = whole.replace("vision", '"vi\nsion"', 1).replace("0.53", "-0.53", 1)
    yield case("a line end in quotes", inside, "Column “cpu”", "row 6", kept=24, kind="negative")
    comma = whole.replace(",", ";").replace(".", ",").replace("0,53", "0,5x", 1)
    yield case("decimal commas and a bad cell", comma, "Column “cpu”", "row 5", kept=24, kind="unparsable")
    bomb = gzip.compress((HEADER + "\n").encode() + b"a,1,1,1,x\n" * 12_000_000, 9)
    yield case("a gzip bomb", bomb, "broken.csv.gz", "unpacks to more than", suffix=".csv.gz")


CASES = [*cell_cases(), *row_cases(), *header_cases(), *file_cases()]
NEXT_STEP = re.compile(
    r"\b(Write|Fill|Check|Give|Close|Copy|Save|Choose|Lower|Name|Set|Raise|Change|Map|Open|Export|Unpack|Keep|Add|"
    r"No action is needed|An attribute should|Usage cannot)\b"
)


def test_there_are_more_than_two_hundred_kinds():
    assert len(CASES) >= 200
    assert len({one.name for one in CASES}) == len({one.data for one in CASES}) == len(CASES)


@pytest.mark.parametrize("broken", CASES, ids=lambda one: one.name)
def test_a_broken_file_is_answered_with_place_and_next_step(broken, tmp_path):
    path = tmp_path / f"broken{broken.suffix}"
    path.write_bytes(broken.data)
    answer = answer_to(lambda: read_with_report(path, MAPPING))
    if isinstance(answer, PhaseDockError):
        assert broken.kept is None, str(answer)
        assert answer.hint
        sentence = str(answer)
    else:
        sentence = sentence_of(broken, *answer)
    for part in broken.says:
        assert part in sentence
    assert NEXT_STEP.search(sentence), sentence
    assert "Traceback" not in sentence
    assert "None" not in sentence.replace("None of the", "")


def answer_to(work):
    try:
        return work()
    except PhaseDockError as error:
        return error


def sentence_of(broken, traces, report):
    """What the report says of the kind of problem that was made, once the rest proved right."""
    assert broken.kept is not None, report.sentences()
    assert report.rows_kept == broken.kept
    assert traces.n_executions == report.executions_kept == 2
    found = [one for one in report.problems if one.kind == broken.kind]
    assert found, report.sentences()
    assert all(one.count >= 1 for one in found)
    return " ".join(one.sentence() for one in found)


@pytest.mark.parametrize("broken", CASES, ids=lambda one: one.name)
def test_looking_at_a_broken_file_never_fails_otherwise(broken, tmp_path):
    path = tmp_path / f"broken{broken.suffix}"
    path.write_bytes(broken.data)
    answer = answer_to(lambda: inspect_file(path))
    if isinstance(answer, PhaseDockError):
        assert answer.message
        assert NEXT_STEP.search(answer.hint), str(answer)
    else:
        assert answer.columns
        assert answer.mapping is None or answer.layout
