"""Loss and growth over time are those of the slow twin, for any policy, on common intervals."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.experiments.learning import Learning, step_for
from core.runs.runner import run_arm
from core.scheduling.loop import Entry
from core.scheduling.model import Job, JobState, Observation, Trigger, Worker
from tests.experiments.making import three
from tests.oracles import slow_experiments


def entry(number, time, *, jobs=(), ended=()):
    seen = Observation(number, time, Trigger.TICK, (Worker("w", 2.0),), jobs, ended)
    return Entry(seen, (), (), (), None)


@given(
    st.lists(st.tuples(st.floats(0.1, 9.0), st.floats(0.0, 3.0), st.lists(st.floats(-5.0, 5.0), max_size=3)),
             min_size=1, max_size=12),
    st.floats(0.5, 12.0)
)  # fmt: skip
def test_growth_is_that_of_the_slow_twin(pieces, step):
    learning, now, spent = Learning(), 0.0, 0.0
    readings, usage = [], [(0.0, 0.0)]
    learning.add(entry(0, 0.0, jobs=(Job("a", JobState.RUNNING, "w"),)))
    for at, (length, cores, values) in enumerate(pieces, 1):
        fresh = tuple((now + length * (n + 1) / len(values), value) for n, value in enumerate(values))
        now, spent = now + length, spent + cores * length
        readings += fresh
        usage.append((now, spent))
        last = at == len(pieces)
        job = Job("a", JobState.DONE if last else JobState.RUNNING, "w", cpu_seconds=spent, readings=fresh)
        learning.add(entry(at, now, jobs=() if last else (job,), ended=(job,) if last else ()))
    lines = learning.lines(step)
    slow = slow_experiments.growth(readings, usage, 2.0, now, lines.bounds.tolist())
    expected = [np.nan if value is None else value for value in slow]
    np.testing.assert_allclose(lines.growth["a"], expected, rtol=1e-6, atol=1e-9)
    assert lines.bounds[-1] >= now - 1e-9
    assert lines.total_growth == pytest.approx(np.nan_to_num(expected), rel=1e-6, abs=1e-9)


def test_every_policy_has_lines_on_the_same_intervals():
    experiment, made = three(), {}
    for arm in experiment.policies:
        learning = Learning()
        run_arm(experiment, arm, 1, lambda found, _, to=learning: to.add(found))
        made[arm.label] = learning.lines(step_for(400.0), 400.0)
    free, steered = made["NA"], made["FlowCon"]
    assert np.array_equal(free.bounds, steered.bounds)
    for lines in made.values():
        assert set(lines.loss) == {"VAE", "MNIST-P", "MNIST-T"}
        assert lines.mean_loss[0] == 1.0
        assert lines.mean_loss[-1] == pytest.approx(0.1, abs=0.01)
        assert (lines.loss["MNIST-T"][lines.bounds < 80.0] == 1.0).all()
        assert lines.arrived["MNIST-T"] == 80.0
    # the third job gets more of the node sooner with FlowCon, so that its loss falls sooner
    late = free.bounds > 100.0
    assert steered.loss["MNIST-T"][late].mean() < free.loss["MNIST-T"][late].mean()
    # while a job is alone its growth does not depend on the policy
    assert free.growth["VAE"][1:7] == pytest.approx(steered.growth["VAE"][1:7])


def test_a_job_that_ends_soon_after_an_interval_began_has_no_growth_there():
    """Its last step took longer than that: divided by so short a time its growth would be a spike."""
    learning = Learning()
    learning.add(entry(0, 10.0, jobs=(Job("a", JobState.RUNNING, "w", readings=((1.0, 1.0), (9.0, 0.6))),)))
    done = Job("a", JobState.DONE, "w", cpu_seconds=1.0, readings=((10.01, 0.5),))
    learning.add(entry(1, 10.01, ended=(done,)))
    assert np.isnan(learning.lines(5.0).growth["a"][2])
    assert learning.lines(5.0).total_growth[2] == 0.0
    assert learning.lines(5.0).loss["a"][-1] == 0.5


def test_a_loss_that_diverged_is_left_out_and_one_that_never_printed_is_not_known():
    learning = Learning()
    job = Job("a", JobState.RUNNING, "w", readings=((1.0, 2.0), (2.0, float("nan")), (3.0, 1.0)))
    learning.add(entry(0, 4.0, jobs=(job, Job("b", JobState.RUNNING, "w"))))
    lines = learning.lines(1.0)
    assert lines.loss["a"].tolist() == [1.0, 1.0, 1.0, 0.5, 0.5]
    assert lines.loss["b"].tolist() == [1.0] * 5
    assert np.isnan(lines.growth["b"]).all()
    assert Learning().lines(1.0).mean_loss.tolist() == [1.0, 1.0]


@pytest.mark.parametrize(("end", "step"), [(6.0, 0.1), (394.0, 5), (1385.0, 20), (1e9, 1e9 / 80)])
def test_intervals_are_round_and_about_eighty(end, step):
    assert step_for(end) == step
