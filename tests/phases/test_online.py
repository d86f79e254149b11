"""The online detector gives the labels that `predict` gives, sample by sample."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import InputError
from core.phases import WARM_UP, OnlineDetector, PhaseSettings, expand, fit, predict
from tests.examples import fewer
from tests.phases.making import three_phases, trace_set


def replayed(model, traces):
    """All executions side by side, one round per sample."""
    detector = OnlineDetector(model)
    values = np.column_stack(traces.columns)
    labels = np.full(traces.n_samples, -9, np.int16)
    for step in range(int(np.diff(traces.offsets).max())):
        here = [
            name for name in traces.ids if step < traces.slice_of(name).stop - traces.slice_of(name).start
        ]
        rows = [traces.slice_of(name).start + step for name in here]
        labels[rows] = detector.push(here, values[rows])
    return labels


@given(
    st.integers(0, 1000),
    st.sampled_from(["crbm", "window", "pca"]),
    st.sampled_from(["label", "zeros"]),
    st.integers(1, 5),
    st.booleans(),
)
@fewer(2)
def test_online_equals_offline(seed, encoder, warmup, history, divided):
    traces = three_phases(3, seed=seed, stay=10)
    settings = PhaseSettings(phases=3, encoder=encoder, warmup=warmup, history=history, epochs=3, seed=seed)
    model = fit(traces, settings)
    if divided:
        model = expand(model, traces, 2, 2)
    np.testing.assert_array_equal(replayed(model, traces), predict(model, traces))


@pytest.fixture(scope="module")
def model():
    return fit(three_phases(), PhaseSettings(phases=3, epochs=3))


def test_gaps_and_departures_begin_warm_up_again(model):
    detector = OnlineDetector(model)
    sample = np.array([[3.5, 4.0 * 1024**3]])

    def push(*values):
        return [int(detector.push(["a"], np.array([v]) if v is not None else sample)[0]) for v in values]

    full = push(None, None, None, None)
    assert full[:3] == [WARM_UP] * 3
    assert full[3] != WARM_UP
    assert push([np.nan, 1.0], None, None, None) == [WARM_UP] * 4
    assert push(None) == full[3:]
    detector.gap(["a", "nobody"])
    assert push(None, None, None) == [WARM_UP] * 3
    assert push(None) == full[3:]
    detector.forget(["a", "nobody"])
    assert len(detector) == 0
    assert push(None) == [WARM_UP]


def test_places_of_the_departed_are_used_again(model):
    detector = OnlineDetector(model)
    for round_number in range(20):
        names = [f"{round_number}-{place}" for place in range(7)]
        detector.push(names, np.ones((7, 2)))
        detector.forget(names)
    assert len(detector._seen) <= 14


def test_wrong_shapes_and_doubles_are_refused(model, refuses):
    detector = OnlineDetector(model)
    with refuses(InputError):
        detector.push(["a"], np.ones((1, 3)))
    with refuses(InputError):
        detector.push(["a", "a"], np.ones((2, 2)))
    assert detector.push([], np.empty((0, 2))).tolist() == []


def test_a_thousand_containers_at_once(model):
    detector, rng = OnlineDetector(model), np.random.default_rng(0)
    rounds = np.abs(rng.normal(2, 1, size=(6, 1000, 2))) * [1, 1024**3]
    names = [f"c{place}" for place in range(1000)]
    found = np.stack([detector.push(names, rows) for rows in rounds], axis=1)
    traces = trace_set(list(rounds.transpose(1, 0, 2)))
    np.testing.assert_array_equal(found.ravel(), predict(model, traces))
