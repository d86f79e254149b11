"""What replay takes for the same decision."""

import pytest

from core.scheduling.actions import Pause, SetLimit, Start
from core.scheduling.loop import are_equal


@pytest.mark.parametrize(
    ("decided", "same"),
    [
        ((SetLimit("a", 1.9184457952844594 * (1 + 1e-13)),), True),
        ((SetLimit("a", 1.918446),), False),
        ((SetLimit("a", None),), False),
        ((SetLimit("b", 1.9184457952844594),), False),
        ((Pause("a"),), False),
        ((), False),
        ((SetLimit("a", 1.9184457952844594), Start("b", "box")), False),
    ],
)
def test_only_the_rounding_of_an_amount_may_differ(decided, same):
    assert are_equal(decided, (SetLimit("a", 1.9184457952844594),)) is same
