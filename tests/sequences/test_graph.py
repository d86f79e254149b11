"""The transition graph against its slow twin, and what must hold of it for any labels."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import InputError
from core.sequences import END, Step, transition_graph
from tests.oracles import slow_sequences as slow
from tests.sequences.making import executions, sequences

memories = st.integers(1, 3)
steps = st.sampled_from(Step)


def edges(graph):
    return {
        (graph.name(s), graph.name(t)): n
        for s, t, n in zip(graph.source.tolist(), graph.target.tolist(), graph.count.tolist(), strict=True)
    }


def slow_executions(made):
    return [made.runs_of(i) for i in range(made.n_executions)]


@given(executions, memories, steps)
def test_the_graph_equals_its_slow_twin(found, memory, step):
    made = sequences(found)
    graph = transition_graph(made, memory, step)
    assert edges(graph) == dict(slow.transitions(slow_executions(made), memory, step.value))


@given(executions, memories, steps)
def test_rows_sum_to_one(found, memory, step):
    graph = transition_graph(sequences(found), memory, step)
    sums = np.bincount(graph.source, graph.probability, minlength=len(graph.states))
    np.testing.assert_allclose(sums, 1.0)
    rows, counts = graph.matrix()
    np.testing.assert_allclose(rows.sum(axis=1), 1.0)
    np.testing.assert_array_equal(counts.sum(axis=1), graph.visits)
    assert counts[:, -1].sum() == sum(any(label >= 0 for label in labels) for labels in found)


@given(executions, memories)
def test_without_self_loops_nothing_goes_to_where_it_is(found, memory):
    graph = transition_graph(sequences(found), memory)
    assert (graph.source != graph.target).all()
    assert graph.visits.sum() == sequences(found).n_runs


@given(executions, memories)
def test_self_loops_give_the_mean_stay(found, memory):
    made = sequences(found)
    by_run, by_sample = transition_graph(made, memory), transition_graph(made, memory, Step.SAMPLE)
    assert by_run.states == by_sample.states
    stay, loop = np.zeros(len(by_sample.states)), by_sample.source == by_sample.target
    stay[by_sample.source[loop]] = by_sample.probability[loop]
    dwell = 1.0 / (1.0 - stay)
    lengths = {}
    for runs in slow_executions(made):
        phases = [phase for phase, _, _ in runs]
        for i, (_, length, _) in enumerate(runs):
            lengths.setdefault(tuple(phases[max(0, i + 1 - memory) : i + 1]), []).append(length)
    for number, state in enumerate(by_sample.states):
        assert dwell[number] == pytest.approx(np.mean(lengths[state]))


@given(executions, memories, steps, st.permutations(range(4)))
def test_relabelling_permutes_the_graph_and_nothing_else(found, memory, step, new):
    renamed = [[new[label] if label >= 0 else label for label in labels] for labels in found]
    before = edges(transition_graph(sequences(found, [0, 1, 2, 3]), memory, step))
    after = edges(transition_graph(sequences(renamed, [0, 1, 2, 3]), memory, step))

    def moved(state):
        return tuple(new[phase] if phase >= 0 else phase for phase in state)

    assert {(moved(s), moved(t)): n for (s, t), n in before.items()} == after


@given(executions, memories, steps)
def test_the_executions_behind_an_edge_add_up(found, memory, step):
    graph = transition_graph(sequences(found), memory, step)
    _, counts = graph.matrix()
    for number, state in enumerate(graph.states):
        if len(state) < memory:
            continue
        who, times = graph.executions(state)
        assert times.sum() == graph.visits[number]
        assert len(set(who.tolist())) == len(who)
        for column, phase in enumerate((*graph.phases, END)):
            assert graph.executions(state, phase)[1].sum() == counts[number, column]


def test_a_short_state_stands_for_all_that_end_so():
    graph = transition_graph(sequences([[0, 1, 0], [1, 0]]), 2)
    assert graph.executions((0,))[1].sum() == 3
    assert graph.executions((0,), END)[0].tolist() == [0, 1]


def test_no_executions_and_one_phase():
    assert transition_graph(sequences([], phases=[0])).states == ()
    one = transition_graph(sequences([[0, 0, 0]]))
    assert edges(one) == {((0,), (END,)): 1}
    assert edges(transition_graph(sequences([[0, 0, 0]]), 1, Step.SAMPLE)) == {
        ((0,), (0,)): 2,
        ((0,), (END,)): 1,
    }


@pytest.mark.parametrize("memory", [0, 4])
def test_a_memory_that_is_not_offered(memory, refuses):
    with refuses(InputError):
        transition_graph(sequences([[0]]), memory)
