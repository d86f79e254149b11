"""Windows cross neither an execution's bound nor a gap, and equal their slow twin."""

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from core.errors import InputError, NotFoundError
from core.phases.rows import trace_windows, window_ends, windows
from tests.oracles import slow_traces
from tests.synthetic import synthetic_traces


@given(st.lists(st.integers(0, 9), max_size=8), st.integers(0, 5))
def test_windows_equal_the_slow_twin(lengths, history):
    segments = np.cumsum([0, *lengths])
    values = np.arange(2.0 * segments[-1]).reshape(-1, 2)
    ends = window_ends(segments, history)
    wanted, where = slow_traces.windows(values.tolist(), segments.tolist(), history)
    assert ends.tolist() == where
    assert windows(values, ends, history).tolist() == wanted


def test_no_window_crosses_a_break():
    traces = replace(synthetic_traces(2, 1, samples=60)[0], breaks=np.array([30]))
    found, ends = trace_windows(traces, ("cpu_cores", "memory_bytes"), 3)
    assert found.shape == (len(ends), 4, 2)
    assert not {0, 1, 2, 30, 31, 32} & set(ends.tolist())
    assert {3, 29, 33} <= set(ends.tolist())


def test_what_cannot_be_is_said(refuses):
    traces = synthetic_traces(1, 1, samples=60)[0]
    with refuses(InputError):
        trace_windows(traces, ("cpu_cores",), -1)
    with refuses(InputError):
        trace_windows(traces, (), 1)
    with refuses(NotFoundError):
        trace_windows(traces, ("nothing",), 1)
