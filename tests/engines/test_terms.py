"""What labels of a container say of it, and what is said of a label that cannot be understood."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.engines.terms import read_terms
from core.scheduling.model import NO_TERMS, Terms

GIB = 2.0**30
NOW = 1_800_000_000.0


def terms_of(**labels):
    return read_terms({f"phasedock.{name}": text for name, text in labels.items()}, NOW)


def test_labels_say_what_an_experiment_says_of_a_job():
    found = terms_of(request="2", min="0.5", max="4", memory="1.5 GiB", priority="7", deadline="in 2 h")
    assert found.request == 2.0
    assert found.terms == Terms(min=0.5, max=4.0, memory=1.5 * GIB, priority=7)
    assert found.until == NOW + 7200
    assert found.wrong == {}


def test_without_labels_nothing_is_said():
    assert read_terms({"phasedock": "", "phasedock.loss": "acc", "other.request": "9"}, NOW) == (
        None,
        NO_TERMS,
        None,
        {},
    )


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("request", "two", "is not a number of cores"), ("request", "0", "is not a number of cores"),
        ("request", "nan", "is not a number of cores"), ("min", "-1", "is not a number of cores"),
        ("max", "1e9", "is not a number of cores"), ("memory", "2 GB", "is not a size"),
        ("memory", "much", "is not a size"), ("memory", "0", "is not a size"),
        ("priority", "10", "is not a priority"),
        ("priority", "-1", "is not a priority"), ("priority", "high", "is not a priority"),
        ("deadline", "6", "is not a time"), ("deadline", "2020-01-01 10:00", "is over")
    ]
)  # fmt: skip
def test_what_cannot_be_understood_says_nothing_and_why(name, text, why):
    found = terms_of(**{name: text, "priority" if name == "max" else "max": "3"})
    assert set(found.wrong) == {f"phasedock.{name}"}
    assert why in found.wrong[f"phasedock.{name}"]
    assert found.wrong[f"phasedock.{name}"].endswith(".")
    assert (found.request, found.until, found.terms.memory) == (None, None, None)


def test_bounds_that_cannot_be_are_left_out_together():
    found = terms_of(min="4", max="2", request="3")
    assert (found.terms.min, found.terms.max, found.request) == (None, None, 3.0)
    assert set(found.wrong) == {"phasedock.min"}


@given(
    st.dictionaries(
        st.sampled_from(["request", "min", "max", "memory", "priority", "deadline"]), st.text(max_size=20)
    )
)
def test_any_text_is_understood_or_named(labels):
    found = terms_of(**labels)
    assert set(found.wrong) <= {f"phasedock.{name}" for name in labels}
    assert found.request is None or 0 < found.request <= 4096
    assert found.terms.min is None or found.terms.max is None or found.terms.min <= found.terms.max
    assert found.until is None or found.until > NOW
