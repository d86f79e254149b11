"""Grouping equals `numpy.unique`, whether the numbers are small or not."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.sequences.packing import group_keys


@pytest.mark.parametrize("bound", [50, 1 << 40])
@given(keys=st.lists(st.integers(0, 49), max_size=30))
def test_grouping_equals_numpys(bound, keys):
    values = np.array(keys, np.int64)
    found, place = group_keys(values, bound)
    expected, inverse = np.unique(values, return_inverse=True)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(place, inverse)
