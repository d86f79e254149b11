"""Every line of the thesis' Algorithms 1 to 5 has a test that is named after it."""

import re
from pathlib import Path

import pytest

LINES = {1: 26, 2: 17, 3: 22, 4: 21, 5: 31}


def lines_with_tests(algorithm):
    """The lines that the names of tests mention."""
    found = set()
    for path in Path(__file__).parent.glob("*/test_algorithm_*.py"):
        names = re.findall(rf"def test_algorithm_{algorithm}_lines?((?:_\d+)+)_", path.read_text("utf-8"))
        found |= {int(number) for name in names for number in name.split("_") if number}
    return found


@pytest.mark.parametrize(("algorithm", "lines"), LINES.items())
def test_every_line_has_a_test(algorithm, lines):
    assert lines_with_tests(algorithm) == set(range(1, lines + 1))
