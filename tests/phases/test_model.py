"""Fitting, encoding, predicting, expanding: what a phase model promises."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.cluster import KMeans

from core.errors import Cancelled, InputError, MismatchError
from core.phases import WARM_UP, PhaseModel, PhaseSettings, encode, expand, fit, predict
from core.phases.clustering import fit_centres, run_lloyd
from core.phases.encoders import CrbmEncoder, PcaEncoder
from core.phases.matching import match_features
from core.phases.prediction import reading_order
from core.traces.model import Feature, Role
from core.units import Unit
from tests.examples import fewer
from tests.oracles import crbm_twin as twin
from tests.phases.making import CPU, MEMORY, three_phases, trace_set

QUICK = PhaseSettings(phases=3, epochs=15)


@pytest.fixture(scope="module")
def traces():
    return three_phases()


@pytest.fixture(scope="module")
def model(traces):
    return fit(traces, QUICK)


@pytest.mark.parametrize("encoder", ["crbm", "window", "pca"])
@pytest.mark.parametrize("warmup", ["label", "zeros"])
def test_the_same_seed_gives_the_same_model_bit_for_bit(traces, encoder, warmup):
    settings = replace(QUICK, encoder=encoder, warmup=warmup, seed=7)
    one, two = fit(traces, settings), fit(traces, settings)
    np.testing.assert_array_equal(one.centres, two.centres)
    for name, values in one.encoder.arrays().items():
        np.testing.assert_array_equal(values, two.encoder.arrays()[name])
    assert one.training == two.training
    np.testing.assert_array_equal(predict(one, traces), predict(two, traces))


def test_usage_that_is_missing_in_some_samples_is_not_read_unasked(traces, model):
    network = Feature("network", Role.NETWORK_IN, Unit.BYTES_PER_SECOND)
    received = np.arange(traces.n_samples, dtype=float)
    received[3:9] = np.nan
    more = replace(traces, features=(*traces.features, network), columns=(*traces.columns, received))
    assert fit(more, QUICK).features == model.features


def test_known_phases_are_found_and_numbered_by_their_cpu(traces, model):
    labels = predict(model, traces)
    cpu = traces.column("cpu")
    assert model.phases == (0, 1, 2)
    means = [cpu[labels == phase].mean() for phase in model.phases]
    assert means == sorted(means)
    computing = labels[(cpu > 3) & (labels != WARM_UP)]
    assert (computing == 2).mean() > 0.9


def test_samples_without_a_window_are_warm_up(traces, model):
    labels = predict(model, traces)
    for execution in traces.ids:
        mine = labels[traces.slice_of(execution)]
        assert (mine[:3] == WARM_UP).all()
        assert (mine[3:] != WARM_UP).all()
    codes = encode(model, traces)
    assert codes.shape == (traces.n_samples, 10)
    assert not codes[labels == WARM_UP].any()


def test_no_window_crosses_a_gap(traces, model):
    with_gap = replace(traces, breaks=np.array([30]))
    labels = predict(model, with_gap)
    assert (labels[30:33] == WARM_UP).all()
    apart = predict(model, replace(traces, offsets=np.union1d(traces.offsets, [30]), ids=("x", *traces.ids)))
    np.testing.assert_array_equal(labels, apart)


def test_codes_and_labels_equal_the_formulas(traces, model):
    values = np.column_stack(traces.columns)
    rows = ((values - values.mean(axis=0)) / values.std(axis=0)).astype(np.float32)
    assert isinstance(model.encoder, CrbmEncoder)
    crbm = model.encoder.crbm
    expected = np.concatenate([twin.encode(crbm, rows[traces.slice_of(name)]) for name in traces.ids])
    codes = encode(model, traces)
    np.testing.assert_allclose(codes, expected, atol=2e-6)
    labels = predict(model, traces)
    inside = labels != WARM_UP
    np.testing.assert_array_equal(labels[inside], twin.nearest(codes[inside], model.centres))


def test_zeros_warm_up_looks_one_sample_back_and_clusters_zero_codes(traces):
    model = fit(traces, replace(QUICK, warmup="zeros", encoder="window"))
    labels, codes = predict(model, traces), encode(model, traces)
    assert WARM_UP not in labels
    assert not codes[:4].any()
    values = np.column_stack(traces.columns)
    rows = ((values - model.scaler.mean) / model.scaler.scale).astype(np.float32)
    np.testing.assert_allclose(codes[4], rows[:4].ravel(), atol=1e-6)
    np.testing.assert_array_equal(labels, twin.nearest(codes, model.centres))


def test_progress_carries_epoch_and_error_and_the_record_is_kept(traces):
    told = []
    model = fit(traces, QUICK, progress=lambda fraction, message, **m: told.append((fraction, message, m)))
    fractions = [fraction for fraction, _, _ in told]
    assert fractions == sorted(fractions)
    assert told[-1][0] == 1.0
    errors = [metrics["error"] for _, message, metrics in told if message.startswith("Epoch")]
    assert tuple(errors) == model.training.errors
    assert model.training.final_error == errors[-1] < errors[0]
    assert model.training.n_executions == traces.n_executions
    assert model.training.n_codes == traces.n_samples - 3 * traces.n_executions
    assert len(model.training.fingerprint) == 64


def test_a_cancelled_fit_stops(traces):
    def cancel(fraction, message, **metrics):
        raise Cancelled

    with pytest.raises(Cancelled):
        fit(traces, QUICK, progress=cancel)


def test_limits_and_losses_and_constants_are_not_read_by_default():
    rng = np.random.default_rng(0)
    features = (
        CPU,
        Feature("limit", Role.CPU_LIMIT, Unit.CORES),
        Feature("loss", Role.LOSS),
        Feature("same"),
        Feature("net"),
    )
    rows = rng.normal(5, 1, size=(60, 5))
    rows[:, 3] = 1
    traces = trace_set([rows], features)
    model = fit(traces, PhaseSettings(phases=2, epochs=2))
    assert [feature.name for feature in model.features] == ["cpu", "net"]
    chosen = fit(traces, PhaseSettings(phases=2, epochs=2), features=["same", "cpu"])
    assert [feature.name for feature in chosen.features] == ["same", "cpu"]
    assert chosen.scaler.scale[0] == 1.0


# ── what cannot be fitted, each with a sentence ──


def failing(traces, settings=QUICK, **more):
    with pytest.raises(InputError) as caught:
        fit(traces, settings, **more)
    assert caught.value.hint
    return caught.value.message


def test_executions_shorter_than_the_history_are_refused_by_a_sentence(sentence):
    short = trace_set([np.random.default_rng(i).normal(size=(3, 2)) for i in range(4)])
    sentence(failing(short))


def test_executions_of_one_sample_are_all_warm_up(model):
    assert (predict(model, trace_set([np.ones((1, 2))] * 3)) == WARM_UP).all()


def test_an_empty_trace_set_is_a_sentence(model):
    empty = trace_set([np.empty((0, 2))])
    assert "No feature" in failing(empty)
    assert "longest stretch" in failing(empty, features=["cpu"])
    assert len(predict(model, empty)) == 0


def test_a_value_that_is_not_a_number_is_named(sentence):
    rows = np.random.default_rng(0).normal(size=(20, 2))
    rows[13, 1] = np.nan
    sentence(failing(trace_set([rows[:10], rows[10:]])))


def test_nothing_that_varies_is_a_sentence():
    assert "varies" in failing(trace_set([np.ones((20, 2))]))


def test_more_phases_than_different_codes_is_a_sentence(sentence):
    two = np.repeat([[0.0, 1.0], [1.0, 0.0]], 40, axis=0)
    message = failing(trace_set([two[:40], two[40:]]), PhaseSettings(phases=6, encoder="window"))
    sentence(message)


def test_features_that_are_not_there_or_twice_are_named(traces, sentence):
    assert "“gpu”" in failing(traces, features=["cpu", "gpu"])
    assert "once" in failing(traces, features=["cpu", "cpu"])
    sentence(failing(traces, features=[]))


def test_a_learning_rate_that_is_too_large_is_said(traces):
    settings = PhaseSettings(solver="online", learning_rate=1.0, epochs=50, phases=2)
    assert "too large" in failing(traces, settings)


# ── does a model fit a trace set? ──


def test_a_missing_feature_lists_what_is_there(model, refuses):
    other = trace_set([np.ones((5, 2))], (CPU, Feature("net")))
    with refuses(MismatchError):
        predict(model, other)


def test_another_unit_is_a_mismatch(model, refuses):
    shares = trace_set([np.ones((5, 2))], (Feature("cpu", Role.CPU, Unit.SHARE), MEMORY))
    with refuses(MismatchError):
        predict(model, shares)


def test_cpu_and_memory_are_found_by_role_when_units_agree(model, refuses):
    renamed = (Feature("container_cpu", Role.CPU, Unit.CORES), Feature("rss", Role.MEMORY, Unit.BYTES))
    assert match_features(model.features, trace_set([np.ones((5, 2))], renamed)) == ("container_cpu", "rss")
    shares = (Feature("container_cpu", Role.CPU, Unit.SHARE), Feature("rss", Role.MEMORY, Unit.BYTES))
    with refuses(MismatchError):
        match_features(model.features, trace_set([np.ones((5, 2))], shares))


def test_parts_that_do_not_belong_together_are_said(model, refuses):
    with refuses(MismatchError):
        replace(model, centres=np.zeros((2, 4), np.float32)).check()
    with refuses(MismatchError):
        replace(model, features=(*model.features, Feature("x"))).check()
    model.check()


# ── expanding ──


def test_expanding_changes_no_other_label_and_nests(traces, model):
    before = predict(model, traces)
    once = expand(model, traces, phase=1, into=2, seed=3)
    after = predict(once, traces)
    np.testing.assert_array_equal(before[before != 1], after[before != 1])
    assert set(after[before == 1]) == {3, 4}
    assert once.phases == (0, 2, 3, 4)
    twice = expand(once, traces, phase=4, into=2, seed=3)
    again = predict(twice, traces)
    np.testing.assert_array_equal(after[after != 4], again[after != 4])
    assert set(again[after == 4]) == {5, 6}
    assert twice.phases == (0, 2, 3, 5, 6)
    assert [each.phase for each in twice.statistics] == [0, 2, 3, 5, 6, WARM_UP]
    cpu = traces.column("cpu")
    assert cpu[again == 5].mean() <= cpu[again == 6].mean()


def test_expanding_keeps_zero_codes_with_their_phase(traces):
    model = fit(traces, replace(QUICK, warmup="zeros", phases=1))
    expanded = expand(model, traces, 0, 3)
    after, codes = predict(expanded, traces), encode(model, traces)
    assert set(after) == {1, 2, 3}
    centres = expanded.expansions[0].centres
    np.testing.assert_array_equal(after - 1, twin.nearest(codes, centres))


def test_expanding_what_is_not_there_is_a_sentence(traces, model, refuses):
    with refuses(InputError):
        expand(model, traces, 9, 2)
    with refuses(InputError):
        expand(model, traces, 0, 1)
    idle = trace_set([np.tile([0.05, 2.0 * 1024**3], (10, 1))])
    with refuses(InputError):
        expand(model, idle, 2, 2)


@given(st.integers(0, 2**31 - 1), st.integers(2, 4), st.integers(0, 2))
@fewer(2)
def test_expanding_any_phase_leaves_the_others(seed, into, phase):
    traces = three_phases(3, seed=seed % 100, stay=12)
    model = fit(traces, PhaseSettings(phases=3, encoder="pca", seed=seed))
    before = predict(model, traces)
    after = predict(expand(model, traces, phase, into, seed), traces)
    np.testing.assert_array_equal(before[before != phase], after[before != phase])
    assert phase not in after


# ── numbering and clustering ──


@given(st.integers(0, 2**31 - 1), st.permutations(range(4)))
def test_numbers_do_not_depend_on_how_clusters_were_called(seed, order):
    rng = np.random.default_rng(seed)
    traces = trace_set([rng.normal(size=(40, 2))])
    labels = rng.integers(0, 4, 40)
    renamed = np.array(order)[labels]
    samples = np.arange(40)
    one, two = (reading_order(traces, samples, found, 4) for found in (labels, renamed))
    np.testing.assert_array_equal(np.argsort(one)[labels], np.argsort(two)[renamed])


def test_clusters_without_samples_come_last():
    traces = trace_set([np.array([[5.0, 1.0], [1.0, 1.0]])])
    assert reading_order(traces, np.arange(2), np.array([2, 0]), 3).tolist() == [0, 2, 1]


def test_large_sets_start_from_a_sample_and_end_on_all_codes(monkeypatch):
    rng = np.random.default_rng(0)
    codes = np.concatenate([rng.normal(centre, 0.1, size=(800, 2)) for centre in (0, 3, 6)]).astype(
        np.float32
    )
    whole = np.sort(fit_centres(codes, 3, seed=1), axis=0)
    monkeypatch.setattr("core.phases.clustering.SAMPLE", 300)
    np.testing.assert_allclose(np.sort(fit_centres(codes, 3, seed=1), axis=0), whole, atol=1e-3)


@given(st.integers(0, 2**31 - 1), st.integers(2, 6))
@fewer(2)
def test_rounds_over_all_codes_do_what_scikit_learn_does(seed, k):
    rng = np.random.default_rng(seed)
    codes = rng.uniform(size=(400, 3)).astype(np.float32)
    start = codes[:k].copy()
    theirs = KMeans(k, init=start, n_init=1, max_iter=300, tol=1e-4).fit(codes).cluster_centers_
    np.testing.assert_allclose(run_lloyd(codes, start), theirs, atol=0.02)


def test_a_centre_without_codes_stays():
    codes = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], np.float32)
    start = np.array([[0.4, 0.4], [9, 9]], np.float32)
    np.testing.assert_array_equal(run_lloyd(codes, start), [[0.5, 0.5], [9, 9]])


def test_clustering_can_be_cancelled_between_its_rounds(traces, monkeypatch):
    monkeypatch.setattr("core.phases.clustering.SAMPLE", 50)
    told = []

    def cancel(fraction, message, **metrics):
        told.append(fraction)
        if message == "Clustering codes, round 1":
            raise Cancelled

    with pytest.raises(Cancelled):
        fit(traces, QUICK, progress=cancel)
    assert told == sorted(told)
    assert 0.9 < told[-1] < 0.98


def test_a_rare_code_that_the_sample_misses_is_still_found(monkeypatch):
    monkeypatch.setattr("core.phases.clustering.SAMPLE", 5)
    codes = np.zeros((3_001, 2), np.float32)
    codes[-1] = 1
    found = np.sort(fit_centres(codes, 2, seed=0), axis=0)
    np.testing.assert_allclose(found, [[0, 0], [1, 1]], atol=1e-6)


def test_components_are_orthonormal_and_point_upwards(traces):
    model = fit(traces, replace(QUICK, encoder="pca", hidden=3))
    assert isinstance(model.encoder, PcaEncoder)
    components = model.encoder.components
    np.testing.assert_allclose(components @ components.T, np.eye(3), atol=1e-5)
    assert (components[np.arange(3), np.abs(components).argmax(axis=1)] > 0).all()
    assert isinstance(model, PhaseModel)
    assert model.history == 3
