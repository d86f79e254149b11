"""Usage whose unit changes within a file, and values that stand for missing ones, are doubted."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.reading.cleaning.suspect_samples import find_level_changes
from core.traces.model import Feature, Role, TraceSet
from core.units import MIB, Unit

N = 300
CPU = 1.5 + 0.5 * np.sin(np.arange(N) / 9)
MEMORY = (800 + 100 * np.sin(np.arange(N) / 31)) * MIB


def recorded(cpu=CPU, memory=MEMORY):
    return TraceSet(
        features=(Feature("cpu", Role.CPU, Unit.CORES), Feature("mem", Role.MEMORY, Unit.BYTES)),
        columns=(np.asarray(cpu, float), np.asarray(memory, float)),
        time=np.arange(N, dtype=float),
        ids=("a",),
        offsets=np.array([0, N]),
        period=1.0,
    )


def at(where, values, other):
    return np.where(np.isin(np.arange(N), where), other, values)


LATE = np.arange(200, N)


@pytest.mark.parametrize(
    ("traces", "column"),
    [
        (recorded(cpu=at(LATE, CPU, 100 * CPU)), "cpu"),
        (recorded(cpu=at(LATE, CPU, CPU / 1000)), "cpu"),
        (recorded(memory=at(LATE, MEMORY, 1024 * MEMORY)), "mem"),
        (recorded(memory=at(LATE, MEMORY, MEMORY / 2**20)), "mem"),
        (recorded(memory=at(range(5, N, 50), MEMORY, 99_999 * MIB)), "mem"),
        (recorded(cpu=at(range(5, N, 50), CPU, 65_535)), "cpu"),
        (recorded(memory=at(range(5, N, 50), MEMORY, 0)), "mem"),
    ],
)
def test_numbers_that_change_their_meaning_are_doubted(traces, column):
    ((found, sentence),) = find_level_changes(traces)
    assert found == column
    assert f"“{column}” of “a”" in sentence
    assert sentence.endswith("?")


@pytest.mark.parametrize(
    "traces",
    [
        recorded(),
        recorded(cpu=at(LATE, CPU, 30 * CPU)),  # another phase
        recorded(cpu=at(range(0, N, 2), CPU, 0)),  # idle in turns
        recorded(memory=at(LATE, MEMORY, 64 * MEMORY)),
        recorded(memory=at(LATE, MEMORY, 0)),  # it has ended
        recorded(memory=at([60], MEMORY, 40 * MEMORY)),  # one peak
        recorded(cpu=np.minimum(3 * CPU, 4.0)),  # held at its limit
    ],
)
def test_phases_peaks_and_ends_are_not(traces):
    assert list(find_level_changes(traces)) == []


LEVELS = st.lists(st.sampled_from([0.0, 1.0, 1.5, 16.0, 1e3, 99_999.0]), min_size=20, max_size=60)
TWO = st.tuples(
    st.lists(st.floats(0.5, 2.0), min_size=5, max_size=40),
    st.lists(st.floats(50.0, 200.0), min_size=15, max_size=40),
).map(lambda parts: [*parts[0], *parts[1]])


@given(LEVELS | TWO)
def test_nothing_is_missed_by_looking_at_ordered_values_first(values):
    traces = recorded(cpu=np.repeat(values, N)[:: len(values)], memory=np.resize(values, N))
    found = list(find_level_changes(traces))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("core.reading.cleaning.suspect_samples._has_two_levels", lambda _: True)
        patched.setattr(
            "core.reading.cleaning.suspect_samples._has_missing_code", lambda values, _: has_code(values)
        )
        assert found == list(find_level_changes(traces))


def has_code(values):
    """Whether the largest value is far above all others, and comes several times, others between."""
    same = values == values.max()
    rest = values[~same].max(initial=0.0)
    times = int((np.diff(same.astype(int)) == 1).sum())
    return 2 < same.sum() <= 0.2 * len(values) and 0 < 10 * rest < values.max() and times > 1
