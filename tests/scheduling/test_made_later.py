"""What is made when somebody looks at it is a tuple to everybody who looks, and is made once."""

import copy
import pickle

import pytest

from core.scheduling.lazy_tuple import PartlyLazyTuple


def counted(made, value):
    def make():
        made.append(value)
        return value

    return make


def test_nothing_is_made_until_somebody_looks_and_then_once():
    made = []
    values = PartlyLazyTuple(["a", counted(made, "b")])
    assert (len(values), bool(values), made) == (2, True, [])
    assert [list(values), values[1], values[:1]] == [["a", "b"], "b", ("a",)]
    assert made == ["b"]


def test_it_equals_its_tuple_both_ways_and_not_another():
    values = PartlyLazyTuple(["a", lambda: "b"])
    assert values == ("a", "b") == values == PartlyLazyTuple([lambda: "a", "b"])
    assert values != ("a",)
    assert values != ["a", "b"]
    assert (hash(values), repr(values)) == (hash(("a", "b")), "('a', 'b')")


@pytest.mark.parametrize("taken", [copy.deepcopy, lambda values: pickle.loads(pickle.dumps(values))])
def test_it_is_copied_and_stored_as_the_tuple(taken):
    other = taken(PartlyLazyTuple(["a", lambda: "b"]))
    assert type(other) is tuple
    assert other == ("a", "b")
