"""Windows cross neither an execution's bound nor a gap, and equal their slow twin."""

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from core.errors import InputError
from core.phases.rows import Scaler, window_ends, windows_of
from tests.oracles import slow_traces
from tests.synthetic import synthetic_traces

PLAIN = Scaler(np.zeros(2), np.ones(2))


@given(st.lists(st.integers(0, 9), max_size=8), st.integers(0, 5))
def test_windows_equal_the_slow_twin(lengths, history):
    segments = np.cumsum([0, *lengths])
    values = np.arange(2.0 * segments[-1]).reshape(-1, 2)
    expected, ends = slow_traces.windows(values.tolist(), segments.tolist(), history)
    found = windows_of([values[:, 0], values[:, 1]], PLAIN, segments, history)
    assert found.samples.tolist() == ends
    length = 2 * (history + 1)
    windows = [found.rows[start : start + length].reshape(-1, 2).tolist() for start in found.starts]
    assert windows == expected


def test_no_window_crosses_a_break():
    traces = replace(synthetic_traces(2, 1, samples=60)[0], breaks=np.array([30]))
    ends = window_ends(traces.segments(), 3)
    assert not {0, 1, 2, 30, 31, 32} & set(ends.tolist())
    assert {3, 29, 33} <= set(ends.tolist())


def test_a_negative_history_is_refused(refuses):
    with refuses(InputError):
        window_ends(np.array([0, 60]), -1)
