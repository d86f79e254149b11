"""What steers is fitted on a whole trace set, and falls short there for the time that is tolerated."""

from dataclasses import replace

import pytest

from core.errors import InputError, NotFoundError
from core.phases import predict
from core.provisioning.advice import fold, from_plain, to_plain
from core.provisioning.evaluation.metrics import tally, under_time_0
from core.provisioning.fleet import Resource, prepare
from core.scheduling.policies.autopilot.fitting import Lesson, fit_to_steer
from core.traces.model import Role
from core.units import Unit
from tests.builders import small_model, small_traces

CYCLE = 600.0
TRACES = small_traces(12, samples=200)
MODEL = small_model(TRACES)


def learned(policy="prev.step.max", tolerance=0.05, *, traces=TRACES, model=MODEL, memory=True):
    return fit_to_steer(traces, model, Lesson(policy, CYCLE, tolerance, memory))


@pytest.mark.parametrize("policy", ["prev.step.rules", "vpa", "phase.rule"])
@pytest.mark.parametrize("tolerance", [0.02, 0.1])
def test_it_falls_short_for_the_time_that_is_tolerated(policy, tolerance):
    made = learned(policy, tolerance)
    found = prepare(TRACES, CYCLE).with_phases(predict(MODEL, TRACES), None)
    for resource, adviser in ((Resource.CPU, made.cpu), (Resource.MEMORY, made.memory)):
        demand = found.demands[resource]
        short = float(under_time_0(tally(demand, fold(adviser, demand)).pooled())[0])
        assert 0.5 * tolerance < short <= tolerance + 1e-9


def test_it_is_kept_as_values_and_arrays():
    made = learned("phase.rule")
    again = from_plain(*to_plain(made))
    assert (again.name, again.cycle, again.period) == ("phase.rule", CYCLE, TRACES.period)
    demand = prepare(TRACES, CYCLE).with_phases(predict(MODEL, TRACES), None).demands[Resource.CPU]
    assert fold(again.cpu, demand).tolist() == fold(made.cpu, demand).tolist()


def test_memory_is_learned_only_where_that_is_asked_for():
    assert learned(memory=False).memory is None


def test_what_cannot_steer_is_refused(refuses):
    with refuses(InputError):
        learned("static.peak")
    with pytest.raises(NotFoundError):
        learned("nobody")
    with refuses(InputError):
        learned("phase.rule", model=None)
    shares = tuple(
        replace(each, unit=Unit.SHARE) if each.role is Role.CPU else each for each in TRACES.features
    )
    with refuses(InputError):
        learned(traces=replace(TRACES, features=shares), model=None)
