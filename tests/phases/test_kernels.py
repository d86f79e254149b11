"""The compiled loops equal their slow twins."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.phases.crbm import Layout, initial_parameters, training_copy
from core.phases.encoders import CrbmEncoder, PcaEncoder, WindowEncoder, nearest_of, packed_centres
from core.phases.kernels import loops
from core.phases.rows import Scaler, Windows, standardise, window_ends
from tests.oracles import crbm_twin as twin


@st.composite
def problems(draw):
    """A CRBM of any small size, executions, and the windows in them."""
    layout = Layout(draw(st.integers(1, 18)), draw(st.integers(1, 5)), draw(st.integers(1, 20)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    lengths = draw(st.lists(st.integers(1, 12), min_size=1, max_size=3))
    executions = [rng.normal(size=(length, layout.features)).astype(np.float32) for length in lengths]
    crbm = initial_parameters(layout, rng, spread=1.0)
    segments = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    ends = window_ends(segments, layout.history).astype(np.int64)
    rows = training_copy(np.concatenate(executions).ravel())
    windows = Windows(rows, ends, (ends - layout.history) * layout.features, sum(lengths))
    return layout, crbm, executions, windows


def pairs(layout, windows):
    """Each window as (row, history)."""
    found = [windows.rows[start : start + layout.window] for start in windows.starts]
    return [(x[layout.past :], x[: layout.past]) for x in found]


def assert_same(layout, flat, expected, tolerance=2e-4):
    for ours, theirs in zip(twin.parts(layout.unpack(flat)), twin.parts(expected), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance, equal_nan=False)


@given(problems(), st.floats(1e-4, 1e-2))
def test_online_equals_its_twin(problem, rate):
    layout, crbm, executions, windows = problem
    flat = layout.pack(crbm)
    total = loops.online(windows.rows, windows.starts, layout.shape, flat, np.float32(rate))
    expected, error = twin.online_epoch(crbm, executions, rate)
    assert total == pytest.approx(error, rel=1e-4, abs=1e-5)
    assert_same(layout, flat, expected)


@given(problems(), st.integers(1, 7), st.floats(1e-4, 1e-2))
def test_momentum_equals_its_twin(problem, batch, rate):
    layout, crbm, _, windows = problem
    flat = layout.pack(crbm)
    state = np.zeros((2, len(flat)), np.float32)
    total = loops.momentum(
        windows.rows, windows.starts, layout.shape, flat, state, batch, rate, np.float32(0.9)
    )
    expected, error = twin.momentum_epoch(crbm, pairs(layout, windows), batch, rate, 0.9)
    assert total == pytest.approx(error, rel=1e-4, abs=1e-5)
    assert_same(layout, flat, expected)


@given(problems(), st.integers(1, 7))
def test_adam_equals_its_twin(problem, batch):
    layout, crbm, _, windows = problem
    flat, rate = layout.pack(crbm), 1e-3
    state = np.zeros((3, len(flat)), np.float32)
    total = loops.adam(windows.rows, windows.starts, layout.shape, flat, state, batch, rate, 0)
    expected, error = twin.adam_epoch(crbm, pairs(layout, windows), batch, rate)
    assert total == pytest.approx(error, rel=1e-3, abs=1e-4)
    # Adam divides by a gradient's size, so where that is rounding error only its step's size is certain
    steps = -(-len(windows.starts) // batch)
    for ours, theirs in zip(twin.parts(layout.unpack(flat)), twin.parts(expected), strict=True):
        apart = np.abs(ours - theirs)
        assert apart.max(initial=0) <= 2.5 * rate * steps
        assert np.median(apart) <= 1e-4


@given(problems())
def test_reconstruct_changes_nothing_and_gives_the_error_of_the_twin(problem):
    layout, crbm, _, windows = problem
    flat = layout.pack(crbm)
    total = loops.reconstruct(windows.rows, windows.starts, layout.shape, flat)
    expected = sum(twin.step(crbm, v, c)[1] for v, c in pairs(layout, windows))
    assert total == pytest.approx(expected, rel=1e-4, abs=1e-5)
    np.testing.assert_array_equal(flat, layout.pack(crbm))


@given(problems(), st.integers(1, 20), st.integers(0, 2**31))
def test_codes_and_nearest_centres_equal_their_twins(problem, k, seed):
    layout, crbm, executions, windows = problem
    encoder = CrbmEncoder(crbm)
    codes = encoder.codes(windows)
    expected = np.concatenate([twin.encode(crbm, rows) for rows in executions])[windows.samples]
    np.testing.assert_allclose(codes, expected, atol=1e-6)
    centres = np.random.default_rng(seed).uniform(size=(k, layout.hidden)).astype(np.float32)
    labels = encoder.nearest(windows, centres)
    np.testing.assert_array_equal(labels, nearest_of(codes, centres))
    distances = np.linalg.norm(codes[:, None].astype(float) - centres[None], axis=2)
    np.testing.assert_allclose(
        distances[np.arange(len(labels)), labels], distances.min(axis=1, initial=np.inf), atol=1e-5
    )


@given(problems(), st.integers(0, 2**31))
def test_the_other_encoders_are_what_they_say(problem, seed):
    layout, _, _, windows = problem
    rng = np.random.default_rng(seed)
    window = WindowEncoder(layout.features, layout.history)
    values = np.array([windows.rows[start : start + layout.window] for start in windows.starts])
    np.testing.assert_array_equal(window.codes(windows), values.reshape(-1, layout.window))
    centres = rng.normal(size=(3, layout.window)).astype(np.float32)
    np.testing.assert_array_equal(
        window.nearest(windows, centres), nearest_of(window.codes(windows), centres)
    )
    size = min(layout.hidden, layout.window)
    components = rng.normal(size=(size, layout.window)).astype(np.float32)
    mean = rng.normal(size=layout.window).astype(np.float32)
    pca = PcaEncoder(components, mean, layout.features)
    expected = (values.reshape(-1, layout.window) - mean) @ components.T
    np.testing.assert_allclose(pca.codes(windows), expected, atol=1e-3)


def test_sigmoid_is_accurate_to_a_millionth_everywhere():
    x = np.concatenate([np.linspace(-40, 40, 20_001), [0.0, -1e30, 1e30]]).astype(np.float32)
    wide = 16
    matrix, bias = np.zeros(wide, np.float32), np.zeros(wide, np.float32)
    matrix[0] = 1
    codes = np.empty((len(x), 1), np.float32)
    loops.encode(x, np.arange(len(x)), (matrix, bias, True), codes)
    exact = 0.5 * (1 + np.tanh(x.astype(np.float64) / 2))
    assert np.abs(codes[:, 0] - exact).max() < 1e-6


def test_the_first_of_equally_near_centres_is_taken():
    codes = np.zeros((2, 3), np.float32)
    centres = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1]], np.float32)
    assert nearest_of(codes, centres).tolist() == [0, 0]
    assert packed_centres(centres).shape == (3 * 16,)


@given(st.integers(1, 5), st.integers(0, 2**31))
def test_standardised_rows_are_interleaved(n, seed):
    rng = np.random.default_rng(seed)
    values = rng.normal(5, 3, size=(7, n))
    scaler = Scaler(values.mean(axis=0), values.std(axis=0))
    rows = standardise([values[:, i] for i in range(n)], scaler)
    expected = ((values - scaler.mean) / scaler.scale).astype(np.float32)
    np.testing.assert_array_equal(rows.reshape(7, n), expected)


def test_a_hundred_epochs_follow_the_twins_error_curve():
    rng = np.random.default_rng(4)
    layout = Layout(8, 3, 10)
    rows = np.cumsum(rng.normal(size=(43, 8)), axis=0)
    rows = ((rows - rows.mean(axis=0)) / rows.std(axis=0)).astype(np.float32)
    padded_rows = training_copy(rows.ravel())
    crbm, starts = initial_parameters(layout, rng), np.arange(40, dtype=np.int64) * 8
    flat, slow = layout.pack(crbm), crbm
    ours, theirs = [], []
    for _ in range(100):
        ours.append(loops.online(padded_rows, starts, layout.shape, flat, np.float32(1e-2)))
        slow, error = twin.online_epoch(slow, [rows], 1e-2)
        theirs.append(error)
    np.testing.assert_allclose(ours, theirs, rtol=2e-3)
    assert theirs[-1] < 0.5 * theirs[0]
