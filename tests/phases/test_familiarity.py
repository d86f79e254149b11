"""How far traces are from what a model was trained on."""

from dataclasses import replace

import numpy as np
import pytest

from core.files import load_model, save_model
from core.phases import PhaseSettings, fit
from core.phases.drift import compare_with_training, drift_warning
from tests.phases.making import GIB, three_phases


@pytest.fixture(scope="module")
def traces():
    return three_phases()


@pytest.fixture(scope="module")
def model(traces):
    return fit(traces, PhaseSettings(phases=3, encoder="window"))


def test_a_model_knows_the_range_of_what_it_was_trained_on(model, traces, tmp_path):
    found = compare_with_training(load_model(save_model(model, tmp_path / "m")), traces)
    assert found.has_record
    assert not found.is_far
    assert found.period_ratio == 1
    for each in found.outside:
        assert each.above == pytest.approx(0.01, abs=0.01)
        assert each.below == pytest.approx(0.01, abs=0.01)


def test_other_units_and_other_periods_are_told_in_numbers(model, traces):
    cpu, memory = traces.columns
    larger = compare_with_training(model, replace(traces, columns=(cpu, memory * 1024)))
    assert larger.is_far
    assert [each.name for each in larger.out_of_range] == ["memory"]
    assert larger.out_of_range[0].above == pytest.approx(np.mean(memory * 1024 > np.quantile(memory, 0.99)))
    smaller = compare_with_training(model, replace(traces, columns=(cpu, memory / GIB)))
    assert smaller.out_of_range[0].below == 1.0
    slower = compare_with_training(model, replace(traces, period=50.0))
    assert slower.is_far
    assert slower.period_ratio == 5
    assert not slower.out_of_range


def test_values_far_below_those_of_the_training_are_told(model, traces, sentence):
    """A share of one, read by a model of percentages: nothing is above what it knows, and little below."""
    cpu, memory = traces.columns
    found = compare_with_training(
        model, replace(traces, columns=(np.maximum(cpu / 100, np.quantile(cpu, 0.01)), memory))
    )
    assert found.outside[0].share <= 0.02
    assert found.outside[0].reach == pytest.approx(0.01, rel=0.5)
    assert [each.name for each in found.out_of_range] == ["cpu"]
    sentence(drift_warning(found, "jobs")[1])
    assert not compare_with_training(
        model, replace(traces, columns=(cpu / 10 + cpu.mean() / 2, memory))
    ).out_of_range


def test_an_older_model_does_not_know(model, traces):
    older = replace(model, training=replace(model.training, ranges=()))
    found = compare_with_training(older, traces)
    assert not found.has_record
    assert not found.is_far
    unknown = replace(model, training=replace(model.training, period=0.0))
    assert compare_with_training(unknown, replace(traces, period=50.0)).period_ratio is None


def test_what_a_person_has_to_know_is_said_in_numbers(model, traces, sentence):
    assert drift_warning(compare_with_training(model, traces), "jobs") is None
    cpu, memory = traces.columns
    headline, text = drift_warning(
        compare_with_training(model, replace(traces, columns=(cpu, memory * 1024), period=50.0)), "jobs"
    )
    sentence(headline)
    sentence(text)
    assert "memory: 100.0% of samples are above the 99th percentile of the training, 0.0% below" in text
    older = replace(model, training=replace(model.training, ranges=(), period=0.0))
    headline, text = drift_warning(compare_with_training(older, traces), "jobs")
    assert headline.endswith("what jobs was trained on is not known.")
    sentence(text)
