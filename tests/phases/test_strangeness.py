"""Which samples a model has seen nothing like, against a loop that says the same sample by sample."""

from dataclasses import replace

import numpy as np
import pytest

from core.files.phase_models.archive import model_archive, read_model_archive
from core.phases import predict
from core.phases.drift import (
    STRANGE_QUANTILE,
    find_strange,
    find_strange_samples,
    measure_strangeness,
    with_limits,
)
from core.phases.prediction import expand, model_windows
from tests.builders import small_model, small_traces

TRACES = small_traces(8, samples=120)


def slowly(model, window):
    """Distance and error of one window, number by number."""
    n, encoder = len(model.features), model.encoder
    past, row = window[:-n].astype(float), window[-n:].astype(float)
    if encoder.name == "crbm":
        crbm = encoder.crbm
        code = [
            1 / (1 + np.exp(-(crbm.W[j] @ row + crbm.B[j] @ past + crbm.hidden_bias[j])))
            for j in range(crbm.hidden)
        ]
        made = [
            sum(crbm.W[j, i] * code[j] for j in range(crbm.hidden)) + crbm.A[i] @ past + crbm.visible_bias[i]
            for i in range(n)
        ]
    elif encoder.name == "pca":
        code = [each @ (window.astype(float) - encoder.mean) for each in encoder.components]
        whole = encoder.mean + sum(value * each for value, each in zip(code, encoder.components, strict=True))
        made = whole[-n:]
    else:
        code, made = window, row
    every = [*model.centres, *(centre for each in model.expansions for centre in each.centres)]
    distance = min(np.sqrt(sum((a - b) ** 2 for a, b in zip(code, centre, strict=True))) for centre in every)
    return distance, np.sqrt(sum((a - b) ** 2 for a, b in zip(row, made, strict=True)))


@pytest.mark.parametrize("encoder", ["crbm", "pca", "window"])
@pytest.mark.parametrize("divided", [False, True])
def test_it_is_what_a_loop_over_samples_says(encoder, divided):
    model = small_model(TRACES, encoder=encoder)
    if divided:
        model = expand(model, TRACES, model.phases[0], 2)
    windows = model_windows(model, TRACES)
    found, size = measure_strangeness(model, windows), (model.history + 1) * len(model.features)
    for place in range(0, len(windows.starts), 37):
        window = windows.rows[windows.starts[place] : windows.starts[place] + size]
        distance, error = slowly(model, window)
        assert found.distance[place] == pytest.approx(distance, rel=2e-3, abs=2e-3)
        assert found.error[place] == pytest.approx(error, rel=1e-3, abs=1e-4)


@pytest.mark.parametrize("encoder", ["crbm", "pca", "window"])
@pytest.mark.parametrize("warmup", ["label", "zeros"])
def test_of_its_own_training_a_hundredth_is_strange_either_way(encoder, warmup):
    model = small_model(TRACES, encoder=encoder, warmup=warmup)
    windows = model_windows(model, TRACES)
    found = measure_strangeness(model, windows)
    for values, limit in zip(found, model.training.limits, strict=True):
        assert (values > limit).mean() <= 1 - STRANGE_QUANTILE + 1e-9
    assert 0 < find_strange(model, windows).mean() <= 2 * (1 - STRANGE_QUANTILE)
    assert not find_strange_samples(model, TRACES)[: model.history].any(), "without a window nothing is said"


def test_what_the_training_never_did_is_strange():
    model = small_model(TRACES)
    loud = tuple(values * 8 for values in TRACES.columns)
    assert find_strange_samples(model, replace(TRACES, columns=loud)).mean() > 0.5


def test_a_model_keeps_its_limits_and_an_older_one_finds_nothing_strange():
    model = small_model(TRACES)
    again = read_model_archive(model_archive(model))
    assert again.training.limits == model.training.limits
    older = replace(model, training=replace(model.training, limits=()))
    assert not find_strange_samples(older, TRACES).any()
    assert with_limits(older, TRACES).training.limits == model.training.limits
    assert with_limits(model, TRACES) is model
    assert (predict(older, TRACES) == predict(model, TRACES)).all()
