"""Sequences for the tests of this folder, from lists of labels."""

import numpy as np
from hypothesis import strategies as st

from core.phases import phase_runs
from core.sequences import Warmup, phase_sequences
from core.traces.model import Feature, TraceSet

PERIOD = 10.0


def labelled(executions, breaks=()):
    """A trace set without much in it, and its labels."""
    lengths = [len(labels) for labels in executions]
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    labels = np.array([label for each in executions for label in each], np.int16)
    time = np.concatenate([np.arange(length) * PERIOD for length in lengths] or [np.empty(0)])
    traces = TraceSet(
        features=(Feature("x"),),
        columns=(np.zeros(len(labels)),),
        time=time,
        ids=tuple(f"e{i}" for i in range(len(executions))),
        offsets=offsets,
        period=PERIOD,
        breaks=np.array(breaks, np.int64),
    )
    return traces, labels


def sequences(executions, phases=None, warmup=Warmup.SKIP, breaks=()):
    """The sequences of executions given as lists of labels."""
    traces, labels = labelled(executions, breaks)
    if phases is None:
        phases = sorted({label for each in executions for label in each if label >= 0})
    runs = phase_runs(traces, labels)
    bounds = np.searchsorted(runs.start, traces.offsets)
    return phase_sequences(runs, bounds, traces.ids, phases, warmup=warmup)


def labels_of(most_phases=4, most_samples=30):
    """Labels of one execution, warm-up among them; some stay long in a phase."""
    pieces = st.tuples(st.integers(-1, most_phases - 1), st.integers(1, 4))
    return st.lists(pieces, min_size=1, max_size=most_samples // 2).map(
        lambda parts: [phase for phase, length in parts for _ in range(length)]
    )


executions = st.lists(labels_of(), max_size=12)
