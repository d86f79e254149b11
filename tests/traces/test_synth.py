"""Synthetic traces: seeded, plausible, and their truth is known."""

import numpy as np
import pytest

from core.errors import InputError
from core.traces.model import Role, fingerprint
from tests.synthetic import BURSTY, CHECKPOINT, FAMILIES, LOAD, STAGES, STEADY, UNLOAD, synthetic_traces


def test_a_seed_is_a_data_set():
    one, labels = synthetic_traces(8, 5)
    same, again = synthetic_traces(8, 5)
    assert fingerprint(one) == fingerprint(same)
    np.testing.assert_array_equal(labels, again)
    assert fingerprint(synthetic_traces(8, 6)[0]) != fingerprint(one)


def test_usage_is_plausible_and_below_its_limit():
    traces, labels = synthetic_traces(40, 1)
    assert len(labels) == traces.n_samples
    assert set(np.unique(labels)) == set(range(len(STAGES)))
    for usage, limit in ((Role.CPU, Role.CPU_LIMIT), (Role.MEMORY, Role.MEMORY_LIMIT)):
        assert (traces.values(usage) > 0).all()
        assert (traces.values(usage) <= traces.values(limit)).all()
    assert set(traces.attributes["workload"]) == {family.name for family in FAMILIES}
    assert len(set(traces.ids)) == 40


def test_stages_differ_as_they_should():
    traces, labels = synthetic_traces(40, 2)
    for name in traces.ids:
        part = traces.slice_of(name)
        cpu, memory, stage = traces.values(Role.CPU)[part], traces.values(Role.MEMORY)[part], labels[part]
        compute = np.isin(stage, (STEADY, BURSTY))
        assert cpu[compute].mean() > 1.5 * cpu[stage == LOAD].mean()
        assert memory[stage == LOAD][-1] > 1.5 * memory[stage == LOAD][0]
        assert memory[stage == UNLOAD][-1] < 0.5 * memory[compute].mean()
    assert (labels == CHECKPOINT).any()


def test_the_loss_comes_late_and_falls():
    traces, _ = synthetic_traces(4, 3)
    for one in traces.executions():
        loss = one.columns["loss"]
        assert np.isnan(loss[0])
        printed = loss[~np.isnan(loss)]
        assert printed[0] > 0.8
        assert printed[-1] < 0.2


@pytest.mark.parametrize(("executions", "samples"), [(0, 240), (3, 10)])
def test_too_little_is_refused(executions, samples, refuses):
    with refuses(InputError):
        synthetic_traces(executions, 0, samples=samples)
