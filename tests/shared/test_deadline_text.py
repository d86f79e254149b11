"""Deadlines as people write them: what is meant is found, what could mean two things is refused."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.deadline_text import format_deadline, read_deadline

NOW = datetime(2027, 1, 15, 8, 0, tzinfo=UTC).timestamp()
BERLIN = "Europe/Berlin"


def at(*moment, zone="UTC"):
    return datetime(*moment, tzinfo=ZoneInfo(zone)).timestamp()


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("2h", 7200), ("in 2 h", 7200), ("1 h 30 min", 5400), ("90 minutes", 5400), ("1.5 hours", 5400),
        ("45s", 45), ("1d 2h", 93600), ("  In  10 MIN ", 600)
    ]
)  # fmt: skip
def test_a_span_counts_from_now(text, seconds):
    assert read_deadline(text, NOW) == NOW + seconds


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("18:00", (2027, 1, 15, 18, 0)), ("6 pm", (2027, 1, 15, 18, 0)), ("6:30pm", (2027, 1, 15, 18, 30)),
        ("by 12 pm", (2027, 1, 15, 12, 0)), ("tomorrow 12 am", (2027, 1, 16, 0, 0)),
        ("tomorrow 9:00", (2027, 1, 16, 9, 0)), ("today 23:59", (2027, 1, 15, 23, 59)),
        ("2027-01-20 18:00", (2027, 1, 20, 18, 0)), ("2027-01-20T18:00:30", (2027, 1, 20, 18, 0, 30))
    ]
)  # fmt: skip
@pytest.mark.parametrize("zone", ["UTC", BERLIN])
def test_a_time_of_day_is_that_of_whoever_wrote_it(text, moment, zone):
    assert read_deadline(text, NOW, zone) == at(*moment, zone=zone)


def test_a_zone_that_is_written_is_meant():
    assert read_deadline("2027-01-20T18:00+01:00", NOW, "America/New_York") == at(2027, 1, 20, 17, 0)


def test_where_clocks_are_put_forward_a_morning_is_an_hour_nearer():
    evening = at(2027, 3, 27, 20, 0, zone=BERLIN)
    assert read_deadline("tomorrow 8:00", evening, BERLIN) - evening == 11 * 3600


@pytest.mark.parametrize(
    "text",
    [
        "6", "soon", "2 weeks", "in 5",
        "25:00", "13 pm", "0 am",
        "18:75", "7:00", "0 s",
        "2027-01-20", "2026-01-20 18:00",
        "2037-01-20 18:00", "9999 h"
    ]
)  # fmt: skip
def test_what_is_not_clear_or_over_is_refused_with_what_to_write(text, refuses):
    with refuses(ValueError) as caught:
        read_deadline(text, NOW, "UTC")
    assert "18:00" in str(caught.value) or "tomorrow" in str(caught.value)


def test_a_zone_that_is_not_known_is_not_taken_for_another(refuses):
    for name in ("Mars/Olympus", "../../etc/passwd", "\0"):
        with refuses(ValueError):
            read_deadline("18:00", NOW, name)
    assert read_deadline("2 h", NOW, "Mars/Olympus") == NOW + 7200


def test_nothing_is_no_deadline():
    assert read_deadline("  ", NOW) is None


def test_a_moment_is_said_as_it_was_understood(sentence):
    assert format_deadline(NOW + 3600, NOW, BERLIN) == "10:00 (in 1 h 00 min)"
    sentence(format_deadline(NOW + 20 * 3600, NOW, BERLIN))
    assert format_deadline(NOW - 60, NOW, "UTC") == "07:59 (over)"
    assert format_deadline(NOW + 5 * 86400, NOW, "UTC").startswith("2027-01-20 08:00 (in 120 h")


def read_or_refusal(text):
    """The moment that a text means, or the sentence by which it is refused."""
    try:
        return read_deadline(text, NOW, "UTC")
    except ValueError as refused:
        return str(refused)


@given(st.text(max_size=30))
def test_any_text_is_a_moment_to_come_or_a_sentence(text):
    what = read_or_refusal(text)
    if isinstance(what, str):
        assert what.endswith((".", "with it."))
    else:
        assert what is None or NOW < what <= NOW + 366 * 86400
