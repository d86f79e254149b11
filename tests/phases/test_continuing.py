"""A model that is trained further knows what is new, and still calls the old phases by their numbers."""

from dataclasses import replace

import numpy as np
import pytest

from core.errors import InputError, MismatchError
from core.phases import expand, predict
from core.phases.drift import concatenate, continue_training, find_strange_samples
from core.traces.model import Role
from core.units import Unit
from tests.builders import small_model, small_traces

OLD = small_traces(8, samples=160)


def louder(traces, times=6.0):
    """Containers that use several times as much as any that were seen before."""
    return replace(traces, columns=tuple(values * times for values in traces.columns))


@pytest.mark.parametrize("encoder", ["crbm", "pca", "window"])
@pytest.mark.parametrize("warmup", ["label", "zeros"])
def test_old_phases_keep_their_numbers_and_new_ones_get_the_next(encoder, warmup):
    model = small_model(OLD, encoder=encoder, warmup=warmup, phases=3, epochs=6)
    new = louder(small_traces(3, seed=5, samples=160))
    assert find_strange_samples(model, new).mean() > 0.5
    both = concatenate(model, [OLD, new])
    made = continue_training(model, both)
    assert made.phases == (0, 1, 2, 3)
    before, after = predict(model, OLD), predict(made, OLD)
    known = before >= 0
    assert (before == after)[known].mean() > 0.95
    assert find_strange_samples(made, new).mean() < 0.1, "what was new is known now"
    own = predict(made, new)
    assert (own == 3).mean() > 0.6


def test_more_of_the_same_adds_no_phase_and_changes_nothing():
    model = small_model(OLD, phases=3, epochs=6)
    again = continue_training(model, concatenate(model, [OLD, small_traces(8, seed=1, samples=160)]))
    assert again.phases == model.phases
    assert (predict(model, OLD) == predict(again, OLD)).all()
    assert again.training.n_samples > OLD.n_samples


def test_it_is_the_same_each_time():
    model = small_model(OLD)
    both = concatenate(model, [OLD, louder(small_traces(2, seed=5, samples=80))])
    one, two = continue_training(model, both), continue_training(model, both)
    assert one.centres.tobytes() == two.centres.tobytes()


def test_trace_sets_are_put_together_by_what_the_model_reads():
    model = small_model(OLD)
    names = {feature.name: f"my_{feature.name}" for feature in OLD.features}
    renamed = replace(OLD, features=tuple(replace(each, name=names[each.name]) for each in OLD.features))
    both = concatenate(model, [OLD, renamed])
    assert both.features == model.features
    assert both.n_samples == 2 * OLD.n_samples
    assert len(set(both.ids)) == both.n_executions == 2 * OLD.n_executions
    assert both.ids[OLD.n_executions] == f"{OLD.ids[0]} (2)"
    for feature in model.features:
        values = both.column(feature.name)
        np.testing.assert_array_equal(values[: OLD.n_samples], values[OLD.n_samples :])
    assert both.segments()[-1] == both.n_samples


def test_what_cannot_be_continued_is_refused(refuses):
    model = small_model(OLD)
    with refuses(InputError):
        continue_training(expand(model, OLD, model.phases[0], 2), OLD)
    with refuses(InputError):
        concatenate(model, [OLD, replace(OLD, period=1.0)])
    shares = tuple(replace(each, unit=Unit.SHARE) if each.role is Role.CPU else each for each in OLD.features)
    with pytest.raises(MismatchError):
        concatenate(model, [OLD, replace(OLD, features=shares)])
