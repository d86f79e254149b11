"""Statistics of phases, and the descriptions generated from them."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.phases import WARM_UP, PhaseSettings, PhaseStatistics, fit, phase_runs, phase_statistics
from core.phases.matching import default_features
from core.traces.model import Feature, Role, TraceSet
from core.units import Unit
from tests.examples import fewer
from tests.phases.making import CPU, GIB, MEMORY, three_phases, trace_set


def labelled(rows, labels, **more):
    traces = trace_set(rows, **more)
    return traces, np.array(labels, np.int16)


def test_runs_end_where_phases_executions_and_stretches_do():
    traces, labels = labelled(
        [np.ones((5, 2)), np.ones((4, 2))], [0, 0, 1, 1, 1, 1, 1, 0, 0], breaks=[3], period=10.0
    )
    runs = phase_runs(traces, labels)
    assert runs.start.tolist() == [0, 2, 3, 5, 7]
    assert runs.length.tolist() == [2, 1, 2, 2, 2]
    assert runs.phase.tolist() == [0, 1, 1, 1, 0]
    assert runs.seconds.tolist() == [20, 10, 20, 20, 20]


def test_an_empty_set_has_no_runs():
    traces, labels = labelled([np.empty((0, 2))], [])
    assert len(phase_runs(traces, labels).start) == 0
    (only,) = phase_statistics(traces, labels, [0])
    assert (only.samples, only.share, only.runs, only.description) == (
        0,
        0.0,
        0,
        "Does not occur in these traces",
    )


def test_statistics_by_hand():
    cpu = [1.0, 2, 3, 4, 10]
    memory = [0.0, 6, 12, 18, 100]
    traces, labels = labelled([np.column_stack([cpu, memory])], [1, 1, 1, 1, -1])
    one, warm_up = phase_statistics(traces, labels, [1])
    assert (one.phase, one.samples, one.share, one.runs, one.median_stay) == (1, 4, 0.8, 1, 40.0)
    assert one.cpu is not None
    assert one.memory is not None
    assert one.cpu.mean == 2.5
    assert one.cpu.sd == pytest.approx(np.std([1, 2, 3, 4]))
    assert one.cpu.quantiles == pytest.approx(tuple(np.quantile([1, 2, 3, 4], [0.05, 0.25, 0.5, 0.75, 0.95])))
    assert one.memory_growth == pytest.approx(36.0)
    assert (warm_up.phase, warm_up.samples) == (WARM_UP, 1)
    assert warm_up.description.startswith("Warm-up")


def test_growth_is_not_counted_across_gaps_executions_or_phases():
    memory = [0.0, 1, 100, 101, 500, 501]
    rows = np.column_stack([np.ones(6), memory])
    traces, labels = labelled([rows[:2], rows[2:]], [0, 0, 0, 0, 0, 0], breaks=[4])
    (one,) = phase_statistics(traces, labels, [0])
    assert one.memory_growth == pytest.approx(6.0)


def test_the_jump_of_memory_from_one_phase_to_the_next_is_no_growth():
    memory = [5.0, 1, 1, 1, 1, 5, 5, 5, 5, 9]
    traces, labels = labelled([np.column_stack([np.ones(10), memory])], [0] * 6 + [1] * 4)
    assert [each.memory_growth for each in phase_statistics(traces, labels, [0, 1])] == [0.0, 0.0]


def test_growth_leaves_out_memory_that_was_not_measured():
    memory = [0.0, 1, 2, np.nan, 4, 5, 6, 7]
    traces, labels = labelled([np.column_stack([np.ones(8), memory])], [0] * 8)
    (one,) = phase_statistics(traces, labels, [0])
    assert one.memory_growth == pytest.approx(6.0)


def test_values_that_are_not_numbers_are_left_out():
    rows = np.column_stack([[1.0, np.nan, 3.0], [1.0, 1, 1]])
    traces, labels = labelled([rows], [0, 0, 0])
    (one,) = phase_statistics(traces, labels, [0])
    assert one.cpu is not None
    assert one.cpu.mean == 2.0


def test_statistics_go_through_json():
    traces, labels = labelled([np.ones((3, 2))], [0, 0, 1])
    for each in phase_statistics(traces, labels, [0, 1]):
        assert PhaseStatistics.from_dict(each.to_dict()) == each


def test_cores_stand_for_cpu_before_other_cpu_features():
    features = (Feature("pct", Role.CPU, Unit.SHARE), CPU, Feature("x"))
    traces, labels = labelled([np.ones((3, 3))], [0, 0, 0], features=features)
    (one,) = phase_statistics(traces, labels, [0])
    assert one.cpu is not None
    assert one.cpu.name == "cpu"
    assert one.memory is None


# ── descriptions ──


def described(*blocks, features=(CPU, MEMORY), period=10.0):
    """The descriptions of phases 0, 1, …, each with the rows of one block in an execution of its own."""
    traces = trace_set([np.asarray(block, float) for block in blocks], features, period=period)
    labels = np.repeat(np.arange(len(blocks)), [len(block) for block in blocks]).astype(np.int16)
    return [each.description for each in phase_statistics(traces, labels, range(len(blocks)))]


def block(cpu, memory, n=40):
    return np.column_stack([np.broadcast_to(cpu, n), np.broadcast_to(memory, n)])


def test_levels_and_growth_in_words(sentence):
    growing = np.linspace(1, 2, 40) * GIB
    sentence(
        *described(block(4.0, 3 * GIB), block(0.5, growing), block(0.01, 2 * GIB), block(2.0, growing[::-1]))
    )


def test_spikes_and_uneven_levels_in_words(sentence):
    spikes = np.where(np.arange(40) % 8 == 0, 4.0, 0.1)
    sway = np.where(np.arange(40) % 2 == 0, 1.0, 3.9)
    uneven = np.tile([1.0, 2.0, 2.0, 1.0], 10) * GIB
    sentence(*described(block(4.0, GIB), block(spikes, GIB), block(sway, uneven)))


GPUS = (Feature("gpu0", Role.GPU, Unit.SHARE), Feature("gpu1", Role.GPU, Unit.SHARE))
READ = Feature("read", Role.BLOCK_IN, Unit.BYTES_PER_SECOND)


def with_gpus(*blocks):
    """Descriptions of blocks of (cpu, gpu0, gpu1, read), each a phase of its own."""
    table = [np.column_stack([np.broadcast_to(column, 50) for column in columns]) for columns in blocks]
    traces = trace_set([np.concatenate(table)], features=(CPU, *GPUS, READ))
    labels = np.repeat(np.arange(len(blocks)), 50).astype(np.int16)
    return phase_statistics(traces, labels, range(len(blocks)))


def test_gpus_that_wait_are_said_with_the_reason_only_where_the_samples_show_it():
    waits = np.where(np.arange(50) % 7 == 0, 0.0, 0.95)
    loads = np.where(waits == 0, 4.0, 1.0)
    found = with_gpus((loads, waits, waits, 0), (1.0, waits, waits, 0), (2.0, waits, 0.9, 0), (3.0, 0, 0, 0))
    assert found[0].gpu_idle.share == pytest.approx(8 / 50)
    assert found[0].description.endswith("GPU idle 16% of the time: data loading")
    assert found[1].description.endswith("GPU idle 16% of the time")
    assert found[2].description.endswith("busy GPU")  # the other one works
    assert found[3].description.endswith("GPU idle")
    back = PhaseStatistics.from_dict(found[0].to_dict())
    assert back == found[0]
    older = found[0].to_dict()
    del older["gpu_idle"]
    assert PhaseStatistics.from_dict(older).gpu_idle is None


def test_chance_is_no_data_loading():
    rng = np.random.default_rng(0)
    said = 0
    for _ in range(60):
        gpu = np.where(rng.random(50) < 0.3, 0.0, 0.9)
        (found,) = with_gpus((rng.gamma(2, 1.0, 50), gpu, gpu, rng.gamma(1, 2.0**24, 50)))
        said += found.gpu_idle.loading
    assert said <= 2


def test_shares_are_of_time_not_of_samples():
    """Rows as they come: six slow samples of an idle GPU among twelve."""
    gpu = np.tile([0.9, 0.0], 6)
    traces = trace_set([np.column_stack([np.ones(12), gpu, gpu, np.zeros(12)])], (CPU, *GPUS, READ))
    steps = np.where(gpu == 0, 25.0, 5.0)
    traces = replace(traces, time=np.concatenate([[0.0], np.cumsum(steps)[:-1]]))
    labels = (gpu == 0).astype(np.int16)
    busy, idle = phase_statistics(traces, labels, range(2))
    # the last sample lasts a period, 10 s
    assert idle.share == pytest.approx(135 / 165)
    assert busy.share + idle.share == pytest.approx(1)
    (whole,) = phase_statistics(traces, np.zeros(12, np.int16), range(1))
    assert whole.gpu_idle.share == pytest.approx(135 / 165)


def test_what_goes_over_disks_is_said_where_it_is_much():
    found = with_gpus((1.0, 0.5, 0.5, 80 * 2**20), (1.0, 0.9, 0.9, 2**18))
    assert found[0].description.endswith("moderate GPU, reading from disk")
    assert found[1].description.endswith("busy GPU")


def test_segments_last_until_the_next_one_begins_however_irregular_the_sampling():
    traces = trace_set([np.ones((6, 2))], breaks=[4])
    traces = replace(traces, time=np.array([0.0, 8, 20, 29, 100, 111]))
    runs = phase_runs(traces, np.array([0, 0, 1, 1, 1, 0], np.int16))
    assert runs.seconds.tolist() == [20, 19, 11, 10]  # to the next; to the gap; to the next; to the end


def test_phases_that_read_alike_are_told_apart_by_the_first_fact_that_differs(sentence):
    sentence(*described(block(4.0, 3 * GIB), block(3.9, GIB)))
    assert described(block(4.0, GIB), block(3.5, GIB))[1].endswith("about 3.5 cores")
    sway = 4.0 + 0.2 * np.where(np.arange(40) % 2 == 0, 1, -1)
    assert described(block(4.0, GIB), block(sway, GIB))[1].endswith("varying by 0.2 cores")
    assert described(block(4.0, GIB), block(4.0, GIB, 20))[1].endswith("for about 3 min 20 s")
    same = described(block(4.0, GIB), block(4.0, GIB))
    assert [text.rpartition(", ")[2] for text in same] == ["number 1", "number 2"]


def test_without_cpu_and_memory_the_features_are_named(sentence):
    assert described(np.full((5, 1), 2.0), features=(Feature("net"),)) == ["Net about 2"]
    sentence(*described(np.zeros((5, 2))))


@given(st.integers(0, 2**31 - 1), st.integers(2, 9))
@fewer(2)
def test_no_two_phases_of_a_model_read_the_same(seed, k):
    traces = three_phases(4, seed=seed % 1000, stay=15)
    model = fit(traces, PhaseSettings(phases=k, encoder="window", seed=seed))
    texts = [each.description for each in model.statistics]
    assert len(set(texts)) == len(texts)
    assert all(model.description(each.phase) == each.description for each in model.statistics)
    assert model.description(99) == ""


def test_statistics_of_bounded_use_say_at_least():
    """Half of the samples are at a limit of one core: the upper half of demand is not known."""
    used = np.where(np.arange(100) % 2, 1.0, 0.2)
    columns = {
        Feature("cpu", Role.CPU, Unit.CORES): used,
        Feature("limit", Role.CPU_LIMIT, Unit.CORES): np.ones(100),
    }
    traces = TraceSet(
        tuple(columns), tuple(columns.values()), np.arange(100.0), ("a",), np.array([0, 100]), 1.0
    )
    (phase,) = phase_statistics(traces, np.zeros(100, np.int16), [0])
    assert (phase.cpu.censored, phase.cpu.is_at_least) == (0.5, True)
    assert phase.cpu.quantiles == (0.2, 0.2, 0.2, 1.0, 1.0)
    assert PhaseStatistics.from_dict(phase.to_dict()) == phase
    alone = replace(traces, features=traces.features[:1], columns=(used,))
    (free,) = phase_statistics(alone, np.zeros(100, np.int16), [0])
    assert (free.cpu.censored, free.cpu.is_at_least) == (0.0, False)


def test_what_held_use_back_is_no_feature_of_a_model():
    columns = {
        Feature("cpu", Role.CPU, Unit.CORES): np.arange(100.0),
        Feature("host_pressure", Role.HOST_PRESSURE, Unit.SHARE): np.arange(100.0) / 100,
        Feature("throttled", Role.THROTTLED, Unit.SHARE): np.arange(100.0) / 100,
    }
    traces = TraceSet(
        tuple(columns), tuple(columns.values()), np.arange(100.0), ("a",), np.array([0, 100]), 1.0
    )
    assert [each.name for each in default_features(traces)] == ["cpu"]
