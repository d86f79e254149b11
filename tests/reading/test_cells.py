"""Single cells: numbers in any country's writing, quantities with units, dates; and what stays ambiguous."""

import math
import re
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.reading.dates import (
    find_date_formats,
    is_date,
    parse_clock,
    parse_named_date,
    parse_ordered_date,
)
from core.reading.guessing.order import group_by_execution
from core.reading.guessing.units import Column
from core.reading.numbers import (
    EMPTY,
    NumberStyle,
    convert_number,
    find_style,
    find_style_and_evidence,
    find_style_of_rows,
    find_written_unit,
    is_ambiguous,
    parse_number,
    parse_numbers,
    parse_quantity,
    split_columns,
)
from core.units import FILE_UNITS, GIB, MIB, Unit

PLAIN = FILE_UNITS["plain"]
COMMA, GROUPED = NumberStyle(",", "."), NumberStyle(".", ",")


@pytest.mark.parametrize(
    ("text", "style", "value"),
    [
        ("12", NumberStyle(), 12),
        ("-1.5e3", NumberStyle(), -1500),
        (".5", NumberStyle(), 0.5),
        ("−2", NumberStyle(), -2),
        ("1,234.5", GROUPED, 1234.5),
        ("1.234,5", COMMA, 1234.5),
        ("0,5", COMMA, 0.5),
        ("1 234,5", NumberStyle(",", " "), 1234.5),
        ("1,234", NumberStyle(), None),
        ("1.5", COMMA, None),
        ("12:00", NumberStyle(), None),
        ("1_0", NumberStyle(), None),
        ("0x1", NumberStyle(), None),
        ("10.0.0.1", NumberStyle(), None),
        ("9" * 200, NumberStyle(), float("9" * 200)),
    ],
)
def test_a_number_is_read_in_its_writing(text, style, value):
    found = parse_number(text, style)
    assert (found and found.value) == value


@pytest.mark.parametrize(
    ("cells", "style"),
    [
        (["0,5", "1,25"], COMMA),
        (["1,234.5"], GROUPED),
        (["1.234,5"], COMMA),
        (["0.5", "1,234"], NumberStyle()),
        (["1 234,5"], NumberStyle(",", " ")),
        (["12,345,678"], GROUPED),
        (["0,287", "307 200", "307 300"], NumberStyle(",", " ")),
        (["0.287", "307 200", "307 300"], NumberStyle(".", " ")),
        (["4.028", "439.468.717"], COMMA),
        (["10.0.0.1", "31.01.2026", "x"], NumberStyle()),
        ([], NumberStyle()),
    ],
)
def test_a_table_shows_how_it_writes_numbers(cells, style):
    assert find_style(cells) == style
    assert find_style_of_rows([[cell, "x"] for cell in cells]) == style


def test_a_number_that_can_be_two_is_not_shown_by_itself():
    assert is_ambiguous("1,234", NumberStyle())
    assert not is_ambiguous("1.5", NumberStyle())
    assert find_style_and_evidence(["1.234", "5.678"]) == (NumberStyle(), False)
    assert find_style_and_evidence(["1.536m", "946m", "1743552378"]) == (NumberStyle(), False)
    assert find_style_and_evidence(["1.234", "0.678"])[1]


@given(st.floats(0.001, 1e9), st.integers(0, 3))
def test_what_is_written_in_any_style_is_read_back(value, digits):
    english = f"{value:,.{digits}f}"
    german = english.translate(str.maketrans(",.", ".,"))
    for text, style in ((english, GROUPED), (german, COMMA)):
        found = parse_number(text, style)
        assert found is not None
        assert found.value == float(f"{value:.{digits}f}")


@pytest.mark.parametrize(
    ("text", "unit", "value"),
    [
        ("544m", "cores", 0.544),
        ("1", "cores", 1),
        ("250m", "millicores", 250),
        ("5n", "cores", 5e-9),
        ("512Mi", "bytes", 512 * MIB),
        ("512Mi", "mib", 512),
        ("0.62GiB", "bytes", 0.62 * GIB),
        ("1.5 MB", "bytes", 1.5e6),
        ("54.49%", "percent_of_core", 54.49),
        ("54%", "share_of_machine", 0.54),
        ("7%", "plain", 7),
        ("5%", "bytes", None),
        ("5GiB", "cores", None),
        ("512m", "bytes", None),
        ("3 apples", "plain", None),
        ("1.2kB", "bytes_total", 1200),
        ("12 Mbit/s", "bytes_per_s", 1.5e6),
        ("12 Mbps", "bytes_per_s", 1.5e6),
        ("3 MB/s", "bytes_per_s", 3e6),
        ("3 MiB/s", "kib_per_s", 3072),
        ("3 mb/s", "bytes_per_s", None),
        ("250 W", "watts", 250),
        ("900 mW", "watts", 0.9),
        ("2 KiB", "written", 2048),
        ("30%", "written", 30),
    ],
)
def test_a_quantity_is_in_its_columns_unit(text, unit, value):
    found = parse_quantity(text, FILE_UNITS[unit])
    assert found is None if value is None else found is not None
    assert value is None or found[0] == pytest.approx(value)


def test_letters_alone_are_not_sure():
    assert parse_quantity("2M", FILE_UNITS["bytes"]) == (2e6, False)
    assert parse_quantity("2MiB", FILE_UNITS["bytes"]) == (2 * MIB, True)


@pytest.mark.parametrize(
    ("cells", "unit"),
    [
        (["544m", "1", "0"], Unit.CORES),
        (["54%", "0"], Unit.SHARE),
        (["1.5", "2"], None),
        (["0B", "512MiB"], Unit.BYTES),
        (["3 Mbit/s"], Unit.BYTES_PER_SECOND),
        (["250 W"], Unit.WATTS),
        (["--", "N/A"], None),
    ],
)
def test_what_cells_measure_is_what_most_of_them_say(cells, unit):
    assert find_written_unit(parse_numbers(cells)) is unit


NOON = datetime(2026, 1, 31, 12, tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    "text",
    [
        "2026-01-31T12:00:00Z",
        "2026-01-31 12:00",
        "2026/01/31 12:00:00",
        "2026-01-31T13:00:00+01:00",
        "31 Jan 2026 12:00:00",
        "Jan 31, 2026 12:00:00 PM",
        "Sat Jan 31 12:00:00 UTC 2026",
        "Sat, 31 Jan 2026 12:00:00 GMT",
        "20260131T120000Z",
        "20260131120000",
        "2026-01-31 12:00:00,000",
        "Sat Jan 31 04:00:00 PST 2026",
        "Sat 31 Jan 2026 02:00:00 PM EET",
        "2026-01-31 13:00:00 CET",
        "Jan 31, 2026 @ 12:00:00.000",
        "Sat Jan 31 2026 13:00:00 GMT+0100 (Central European Standard Time)",
        "Sat Jan 31 12:00:00 CST 2026",
    ],
)
def test_dates_with_one_meaning(text):
    assert parse_named_date(text) == NOON
    assert {parse_ordered_date(text, order) for order in ("dmy", "mdy")} == {NOON}
    assert is_date(text)
    assert find_date_formats([text]) == ("iso",)


@pytest.mark.parametrize(
    ("cells", "kinds"),
    [
        (["31/01/2026 12:00"], ("dmy",)),
        (["01/31/2026 12:00"], ("mdy",)),
        (["31.01.2026", "01.02.2026"], ("dmy",)),
        (["01/02/2026 10:00:00", "01/02/2026 10:00:10"], ("dmy", "mdy")),
        (["01/02/2026 23:59:50", "02/02/2026 00:00:00"], ("dmy",)),
        (["02/01/2026 23:59:50", "02/02/2026 00:00:00"], ("mdy",)),
        (["26/01/31 12:00", "26/01/31 12:01"], ("dmy", "ymd")),
        (["26-01-31 23:59:50", "26-02-01 00:00:00"], ("ymd",)),
        (["99/12/31 12:00"], ("ymd",)),
        (["31/01/26 23:59:50", "01/02/26 00:00:00"], ("dmy",)),
        (["31.01.26 12:00"], ("dmy",)),
        (["01/31/26 12:00 PM"], ("mdy",)),
        (["12:00:00", "12:00:05"], ("clock",)),
        (["1 day, 02:00:00"], ("clock",)),
        (["words"], ()),
        ([], ()),
    ],
)
def test_the_order_of_a_date_follows_from_the_whole_column(cells, kinds):
    assert find_date_formats(cells) == kinds


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("00:01:05", 65),
        ("1:05 PM", 47_100),
        ("36:00:00", 129_600),
        ("2 days, 01:00:00", 176_400),
        ("25:61:00", None),
    ],
)
def test_times_of_day_and_spans(text, seconds):
    assert parse_clock(text) == seconds


@pytest.mark.parametrize(
    "text", ["2026-02-30", "2026-13-01", "1700000000", "31/31/2026", "0000-00-00", "x" * 500]
)
def test_what_is_no_date(text):
    assert parse_named_date(text) is None
    assert not is_date(text)


FORMS = re.compile(r"[+-]?\d{0,4}([.,' ]\d{0,4}){0,3}(e[+-]?\d)?( ?(GiB|m|%))?", re.ASCII)
TEXTS = st.from_regex(FORMS, fullmatch=True)


@given(st.lists(TEXTS, max_size=8))
def test_numbers_are_read_the_same_with_and_without_the_shorter_ways(texts):
    """The usual forms are recognised sooner; without that, everything is read as before."""
    styles = (NumberStyle(), COMMA, GROUPED)
    sooner = (
        [[parse_number(text, style) for text in texts] for style in styles],
        find_style_and_evidence(texts),
    )
    with pytest.MonkeyPatch.context() as patched:
        for way in ("_BARE", "_POINTED", "_SURELY_POINTED"):
            patched.setattr(f"core.reading.numbers.{way}", re.compile(r"(?!)"))
        patched.setattr("core.reading.numbers._vote", slow_vote)
        assert sooner == (
            [[parse_number(text, style) for text in texts] for style in styles],
            find_style_and_evidence(texts),
        )


BARE = st.from_regex(
    re.compile(r" ?[+-]?\d{0,90}(\.\d{0,90})?(e[+-]?\d{0,3})?|N/A", re.ASCII | re.IGNORECASE), fullmatch=True
)


@given(st.lists(BARE | TEXTS, max_size=8), st.sampled_from((NumberStyle(), COMMA, GROUPED)))
def test_the_numbers_of_a_column_are_those_of_its_cells(texts, style):
    """Bare numbers are read all at once."""
    assert parse_numbers(texts, style) == [
        found
        for text in texts
        if text.strip() not in EMPTY and (found := parse_number(text, style)) is not None
    ]


@given(st.lists(BARE | TEXTS, max_size=8).map(lambda texts: tuple(map(str.strip, texts))))
def test_a_column_of_bare_numbers_is_read_as_any_other(texts):
    column = Column("cpu", texts, NumberStyle())
    found = parse_numbers(texts)
    assert column.numeric == (2 * len(found) > sum(text not in EMPTY for text in texts))
    values = [value[0] for one in found if (value := convert_number(one, PLAIN))]
    assert column.values() == [value for value in values if math.isfinite(value)]
    assert column.written is find_written_unit(found)


ROWS = st.lists(st.lists(st.sampled_from(["a", " b", "1 ", ""]), max_size=4), max_size=6)


@given(ROWS, st.integers(0, 4))
def test_columns_are_those_of_the_rows(rows, width):
    wanted = [tuple(row[i].strip() for row in rows if i < len(row)) for i in range(width)]
    assert split_columns(rows, width) == wanted


@given(ROWS, st.sampled_from([(), ("y",), ("x", "z")]))
def test_the_rows_of_an_execution_are_those_with_its_names(rows, names):
    header, found = ("x", "y", "z"), {}
    for row in rows:
        if len(row) == len(header):
            found.setdefault(tuple(row[header.index(name)] for name in names), []).append(row)
    assert group_by_execution(names, header, rows) == list(found.values())


def slow_vote(digits):
    """What a number says of marks, by looking at every mark."""
    marks = re.sub(r"\d", "", digits)
    kinds = list(dict.fromkeys(marks))
    if len(kinds) == 2 and marks.count(kinds[1]) == 1 and kinds[1] in ".,":
        return kinds[1], kinds[0]
    if len(kinds) != 1:
        return None
    if len(marks) > 1 or kinds[0] in " '":
        grouped = re.fullmatch(rf"\d{{1,3}}({re.escape(kinds[0])}\d{{3}})+", digits)
        return ({".": ",", ",": "."}.get(kinds[0], ""), kinds[0]) if grouped else None
    return None if re.fullmatch(r"[1-9]\d{0,2}[.,]\d{3}", digits) else (kinds[0], "")
