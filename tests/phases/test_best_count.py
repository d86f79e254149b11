"""Choosing features and the number of phases for a person who asked for phases only."""

from dataclasses import replace

import numpy as np
import pytest

from core.errors import InputError
from core.phases import PhaseSettings
from core.phases.choosing.features import choose_features, measure_persistence
from core.phases.choosing.phase_count import fit_best_count
from core.traces.model import Feature, Role, TraceSet
from core.units import Unit
from tests.synthetic import synthetic_traces


def of(columns):
    n = len(next(iter(columns.values()))[1])
    features = tuple(Feature(name, role, Unit.PLAIN) for name, (role, _) in columns.items())
    values = tuple(np.asarray(each, dtype=np.float64) for _, each in columns.values())
    return TraceSet(features, values, np.arange(n) * 10.0, ("a",), np.array([0, n]), 10.0)


def test_what_says_nothing_of_its_own_is_left_out_and_said_why():
    cpu = np.array([1.0, 2, 1, 3, 0, 2])
    found = choose_features(
        of(
            {
                "cpu": (Role.CPU, cpu),
                "cpu_percent": (Role.OTHER, 100 * cpu),
                "memory": (Role.MEMORY, [5, 5, 6, 6, 7, 8]),
                "constant": (Role.OTHER, [4] * 6),
                "limit": (Role.CPU_LIMIT, [2, 2, 3, 3, 2, 2]),
                "net": (Role.NETWORK_IN, [np.nan, 1, 2, 3, 4, 5]),
            }
        )
    )
    assert [feature.name for feature in found.features] == ["cpu", "memory"]
    assert {one.name: one.reason for one in found.left_out} == {
        "cpu_percent": "it says the same as cpu",
        "constant": "it never changes",
        "limit": "it is not a usage",
        "net": "it is missing in some samples",
    }


def test_what_jumps_from_sample_to_sample_has_no_phases(sentence):
    rng = np.random.default_rng(4)
    level = np.repeat([1.0, 3.0, 1.0, 3.0], 30)
    columns = {
        "cpu": (Role.CPU, level + rng.normal(0, 0.1, 120)),
        "net": (Role.NETWORK_IN, rng.gamma(2, 8e5, 120)),
        "disk": (Role.BLOCK_IN, 1e6 * level + rng.normal(0, 1e5, 120)),
    }
    found = choose_features(of(columns))
    assert [feature.name for feature in found.features] == ["cpu", "disk"]
    sentence(*[one.reason for one in found.left_out])
    noise = choose_features(of({"net": columns["net"], "cpu": (Role.CPU, rng.normal(2, 0.1, 120))}))
    assert [feature.name for feature in noise.features] == ["cpu"]
    alone = choose_features(of({"net": columns["net"]}))
    assert [feature.name for feature in alone.features] == ["net"]


def test_an_index_of_rows_is_no_feature():
    columns = {"cpu": (Role.CPU, [1.0, 2, 1, 3, 0, 2]), "column 1": (Role.OTHER, range(6))}
    assert [one.reason for one in choose_features(of(columns)).left_out] == ["it counts rows"]


def test_a_counter_without_a_rate_is_no_feature(sentence):
    rng = np.random.default_rng(2)
    cpu = rng.random(60)
    columns = {
        "cpu": (Role.CPU, cpu),
        "received": (Role.OTHER, np.cumsum(rng.integers(0, 9, 60))),
        "batch_size": (Role.OTHER, np.repeat([8.0, 16, 32], 20)),
        "memory": (Role.MEMORY, np.cumsum(rng.random(60))),
    }
    found = choose_features(of(columns))
    assert [one.name for one in found.features] == ["cpu", "batch_size", "memory"]
    sentence(*[one.reason for one in found.left_out])


def test_what_differs_between_executions_only_stays_where_it_is():
    columns = {"cpu": (Role.CPU, [1.0, 2, 1, 3, 0, 2]), "rate": (Role.OTHER, [4, 4, 4, 7, 7, 7])}
    traces = replace(of(columns), ids=("a", "b"), offsets=np.array([0, 3, 6]))
    assert measure_persistence(traces, traces.column("rate")) == 1.0
    assert {one.name: one.reason for one in choose_features(traces).left_out} == {
        "rate": "it never changes within an execution"
    }
    assert measure_persistence(traces, traces.column("cpu")) < 0.5


def test_traces_that_never_change_are_refused(refuses):
    with refuses(InputError):
        choose_features(of({"cpu": (Role.CPU, [1.0] * 6)}))


@pytest.mark.slow
def test_as_many_phases_as_there_are(tmp_path):
    traces = synthetic_traces(12, seed=3)[0]
    names = [feature.name for feature in choose_features(traces).features]
    settings = PhaseSettings(epochs=20, seed=1)
    model, choice = fit_best_count(traces, settings, names)
    assert len(model.phases) == choice.recommended
    assert 2 <= choice.recommended <= 8
    assert [each.k for each in choice.candidates] == list(range(2, 9))
    assert model.settings.phases == choice.recommended
    assert sum(each.samples for each in model.statistics) > 0.9 * traces.n_samples
    again, _ = fit_best_count(traces, settings, names)
    np.testing.assert_array_equal(model.centres, again.centres)
