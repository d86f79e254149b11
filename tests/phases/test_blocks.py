"""Predicting from columns, sixteen samples at a time, equals the formulas, slice by slice."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import InputError
from core.phases import WARM_UP, PhaseModel, PhaseSettings, predict
from core.phases.crbm import Layout, initial_parameters
from core.phases.encoders import CrbmEncoder, PcaEncoder
from core.phases.model import Expansion
from core.phases.prediction import labels_of, model_windows
from core.phases.rows import Scaler
from core.traces.model import Feature
from tests.oracles import crbm_twin as twin
from tests.phases.making import trace_set


def a_model(layout, rng, k=4, warmup="label", encoder="crbm"):
    """A model with random parameters that spread its codes over the unit cube."""
    crbm = replace(
        initial_parameters(layout, rng, spread=2.0 * layout.past**0.5),
        hidden_bias=rng.normal(size=layout.hidden).astype(np.float32),
    )
    made = CrbmEncoder(crbm)
    if encoder == "pca":
        components = rng.normal(size=(layout.hidden, layout.window)).astype(np.float32)
        made = PcaEncoder(components, rng.normal(size=layout.window).astype(np.float32), layout.features)
    return PhaseModel(
        features=tuple(Feature(f"f{place}") for place in range(layout.features)),
        scaler=Scaler(rng.normal(5, 3, layout.features), rng.uniform(0.1, 4, layout.features)),
        encoder=made,
        centres=rng.uniform(size=(k, layout.hidden)).astype(np.float32),
        settings=PhaseSettings(phases=max(k, 2), warmup=warmup),
    )


def divided(model, phase, into, rng):
    centres = rng.uniform(size=(into, model.encoder.size)).astype(np.float32)
    ids = tuple(range(model.next_id, model.next_id + into))
    return replace(model, expansions=(*model.expansions, Expansion(phase, ids, centres)))


def some_traces(model, lengths, rng, breaks=()):
    rows = [
        model.scaler.mean + model.scaler.scale * rng.normal(size=(length, len(model.features)))
        for length in lengths
    ]
    return trace_set(rows, model.features, breaks)


@st.composite
def problems(draw):
    """A model of any small size, perhaps with nested expansions, and executions of any length."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    layout = Layout(draw(st.integers(1, 10)), draw(st.integers(1, 6)), draw(st.integers(1, 20)))
    encoder, warmup = draw(st.sampled_from(["crbm", "pca"])), draw(st.sampled_from(["label", "zeros"]))
    model = a_model(layout, rng, draw(st.integers(1, 20)), warmup, encoder)
    for _ in range(draw(st.integers(0, 3))):
        model = divided(model, draw(st.sampled_from(model.phases)), draw(st.integers(2, 4)), rng)
    lengths = draw(st.lists(st.integers(1, 90), min_size=1, max_size=4))
    breaks = draw(st.lists(st.integers(1, sum(lengths)), max_size=2, unique=True).map(sorted))
    return model, some_traces(model, lengths, rng, [at for at in breaks if at < sum(lengths)])


def slow_codes(model, traces):
    """The code of every sample as the formulas say, and which samples have a window."""
    values = (np.column_stack(traces.columns) - model.scaler.mean) / model.scaler.scale
    rows = values.astype(np.float32)
    codes, has_window = np.zeros((len(rows), model.encoder.size), np.float32), np.zeros(len(rows), bool)
    delay = int(model.warmup == "zeros")
    for begin, end in zip(traces.segments()[:-1], traces.segments()[1:], strict=True):
        for t in range(begin + model.history + delay, end):
            window = rows[t - delay - model.history : t - delay + 1]
            codes[t], has_window[t] = slow_code(model.encoder, window), True
    return codes, has_window


def slow_code(encoder, window):
    if isinstance(encoder, CrbmEncoder):
        return twin.encode(encoder.crbm, window)[-1]
    return encoder.components @ (window.ravel() - encoder.mean)


def assert_nearest(model, labels, codes):
    """Each label is that of a nearest centre on every level; only within rounding may another one do."""
    tolerance = 2e-5 * (1 + np.abs(codes).max(initial=0))
    for expansion in reversed(model.expansions):
        inside = np.flatnonzero(np.isin(labels, expansion.ids))
        assert_near(codes[inside], expansion.centres, labels[inside] - expansion.ids[0], tolerance)
        assert expansion.phase not in labels
        labels = np.where(np.isin(labels, expansion.ids), expansion.phase, labels)
    assert_near(codes, model.centres, labels, tolerance)


def assert_near(codes, centres, chosen, tolerance):
    apart = twin.distances(codes, centres)
    least = apart.min(axis=1, initial=np.inf)
    assert (apart[np.arange(len(codes)), chosen] <= least + tolerance).all()


@given(problems())
def test_labels_are_those_of_the_formulas(problem):
    model, traces = problem
    labels = predict(model, traces)
    codes, has_window = slow_codes(model, traces)
    assert labels.dtype == np.int16
    assert labels.shape == (traces.n_samples,)
    if model.warmup == "label":
        np.testing.assert_array_equal(labels == WARM_UP, ~has_window)
        labels, codes = labels[has_window], codes[has_window]
    assert_nearest(model, labels, codes)


@given(problems())
def test_a_window_by_itself_has_the_same_label(problem):
    model, traces = problem
    np.testing.assert_array_equal(predict(model, traces), labels_of(model, model_windows(model, traces)))


@pytest.mark.parametrize("history", [15, 16, 17, 40, 100])
def test_long_histories(history):
    rng = np.random.default_rng(history)
    model = a_model(Layout(2, history, 3), rng)
    traces = some_traces(model, [history, 3 * history, 1_000], rng)
    labels = predict(model, traces)
    codes, has_window = slow_codes(model, traces)
    np.testing.assert_array_equal(labels == WARM_UP, ~has_window)
    assert_nearest(model, labels[has_window], codes[has_window])


def test_the_first_of_equally_near_centres_is_taken():
    rng = np.random.default_rng(0)
    model = a_model(Layout(3, 2, 5), rng, k=6)
    model = replace(model, centres=model.centres[[0, 0, 1, 1, 0, 1]])
    model = divided(divided(model, 2, 3, rng), 0, 2, rng)
    same = [replace(each, centres=each.centres[[0] * len(each.ids)]) for each in model.expansions]
    labels = predict(replace(model, expansions=tuple(same)), some_traces(model, [200], rng))
    assert set(labels[2:]) == {6, 9}


@pytest.mark.parametrize("kind", ["float32", "every other", "read-only"])
def test_columns_of_any_kind(kind):
    rng = np.random.default_rng(1)
    model = a_model(Layout(3, 2, 5), rng)
    traces = some_traces(model, [150], rng)
    columns = [values.astype(np.float32).astype(float) for values in traces.columns]
    expected = predict(model, replace(traces, columns=tuple(columns)))
    if kind == "float32":
        columns = [values.astype(np.float32) for values in columns]
    elif kind == "every other":
        columns = [np.repeat(values, 2)[::2] for values in columns]
    else:
        for values in columns:
            values.flags.writeable = False
    np.testing.assert_array_equal(predict(model, replace(traces, columns=tuple(columns))), expected)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("length", [3, 4, 64, 67, 68, 200])
def test_a_value_that_is_not_a_number_is_found_anywhere(length, value, refuses):
    rng = np.random.default_rng(2)
    model = a_model(Layout(2, 3, 4), rng)
    traces = some_traces(model, [length], rng)
    for place in {0, length // 2, length - 1}:
        broken = traces.columns[1].copy()
        broken[place] = value
        with refuses(InputError):
            predict(model, replace(traces, columns=(traces.columns[0], broken)))


def test_finite_numbers_of_any_size_are_taken():
    rng = np.random.default_rng(3)
    model = a_model(Layout(2, 3, 4), rng)
    traces = some_traces(model, [100], rng)
    huge = traces.columns[1].copy()
    huge[50] = 1e300
    traces = replace(traces, columns=(traces.columns[0], huge))
    np.testing.assert_array_equal(predict(model, traces), labels_of(model, model_windows(model, traces)))


def test_a_feature_that_never_varied_is_taken():
    rng = np.random.default_rng(4)
    model = a_model(Layout(2, 3, 4), rng)
    model = replace(model, scaler=Scaler(np.array([7.0, 1.0]), np.array([1.0, 2.0])))
    traces = trace_set([np.column_stack([np.full(90, 7.0), rng.normal(1, 2, 90)])], model.features)
    codes, has_window = slow_codes(model, traces)
    assert_nearest(model, predict(model, traces)[has_window], codes[has_window])
