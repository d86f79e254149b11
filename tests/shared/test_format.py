"""What core/units writes; format.json hands all of it to its twin in the browser."""

import json
import math

import pytest

from core.units import (
    GIB,
    KIB,
    MIB,
    Unit,
    format_bytes,
    format_change,
    format_cores,
    format_duration,
    format_list,
    format_number,
    format_share,
    format_value,
)
from tests.shared.make_format_cases import FILE, WRITERS, text


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (format_number(0.0), "0.00"),
        (format_number(-0.125), "−0.12"),  # a tie goes to the even digit
        (format_number(2.675), "2.67"),  # no tie: the double is below
        (format_number(99.999), "100.00"),
        (format_number(100.5), "100"),
        (format_number(-1234567.0), "−1,234,567"),
        (format_number(7.0, 0), "7"),
        (format_cores(2.416), "2.42 cores"),
        (format_bytes(1023.0), "1023 B"),
        (format_bytes(KIB), "1.00 KiB"),
        (format_bytes(-1.5 * MIB), "−1.50 MiB"),
        (format_bytes(3.35 * GIB), "3.35 GiB"),
        (format_bytes(5000 * GIB), "5,000 GiB"),
        (format_duration(0.0), "0 s"),
        (format_duration(4.25), "4.2 s"),
        (format_duration(9.99), "10.0 s"),
        (format_duration(59.5), "1 min 00 s"),
        (format_duration(655.0), "10 min 55 s"),
        (format_duration(3900.0), "1 h 05 min"),
        (format_duration(-75.0), "−1 min 15 s"),
        (format_duration(3.6e6), "1,000 h 00 min"),
        (format_share(0.281), "28.1%"),
        (format_share(0.00125, 2), "0.12%"),
        (format_change(-0.248), "−24.8%"),
        (format_change(0.05, 0), "+5%"),
        (format_change(0.0), "0.0%"),
        (format_change(-0.0004), "0.0%"),
        (format_change(0.004, 0), "0%"),
        (format_change(-0.0005), "−0.1%"),
        (format_value(60.0, Unit.SECONDS), "1 min 00 s"),
        (format_value(0.5, Unit.SHARE), "50.0%"),
    ],
)
def test_quantities_are_written_for_people(written, expected):
    assert written == expected


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("write", [write for name, write in WRITERS.items() if name != "value"])
def test_what_is_unknown_is_a_dash_without_a_unit(write, value):
    assert callable(write)
    assert write(value) == "–"


def test_the_browser_is_held_to_what_is_written_here():
    assert FILE.read_text(encoding="utf-8") == text(), "run python -m tests.shared.make_format_cases"
    assert {name for name, _, _ in json.loads(text())} == set(WRITERS)


def test_words_are_listed_as_in_a_sentence():
    assert [format_list(words) for words in ([], ["a"], ["a", "b"], ["a", "b", "c"])] == [
        "",
        "a",
        "a and b",
        "a, b and c",
    ]
