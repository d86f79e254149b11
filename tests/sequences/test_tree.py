"""The prefix tree, paths and prototypes against slow twins; relabelling permutes and nothing else."""

import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.sequences import pack_sequences, paths_of, prefix_tree, prototypes_of
from tests.oracles import slow_sequences as slow
from tests.sequences.making import executions, sequences


def grown(found, phases=None):
    return prefix_tree(pack_sequences(sequences(found, phases)))


def slow_paths(made):
    """Each execution's packed sequence without its repetition counts."""
    return [
        tuple((unit, times > 1) for unit, times in slow.pack([phase for phase, _, _ in made.runs_of(i)]))
        for i in range(made.n_executions)
    ]


def key(elements):
    return tuple((each.phases, each.repeats > 1) for each in elements)


@given(executions)
def test_the_tree_equals_its_slow_twin(found):
    tree = grown(found)
    through, ends = slow.beginnings(slow_paths(tree.packed.sequences))
    made = {key(tree.path(node)): int(tree.count[node]) for node in range(tree.n_nodes)}
    assert made == (dict(through) or {(): 0})
    assert {key(tree.path(node)): int(n) for node, n in enumerate(tree.ends) if n} == dict(ends)
    assert all(tree.parent[node] < node for node in range(1, tree.n_nodes))
    for node in range(tree.n_nodes):
        children = tree.children(node)
        assert all(tree.depth[child] == tree.depth[node] + 1 for child in children)
        counts = tree.count[children].tolist()
        assert counts == sorted(counts, reverse=True)
        assert tree.count[node] == sum(counts) + tree.ends[node]
        assert len(tree.executions(node)) == tree.count[node]


@given(executions)
def test_paths_equal_their_slow_twin(found):
    tree = grown(found)
    made, mine = tree.packed.sequences, paths_of(tree)
    _, ends = slow.beginnings(slow_paths(made))
    assert {key(path.elements): path.count for path in mine} == dict(ends)
    assert [path.count for path in mine] == sorted((path.count for path in mine), reverse=True)
    assert sum(path.share for path in mine) == pytest.approx(1.0 if found else 0.0)
    for path in mine:
        followers = [i for i, each in enumerate(slow_paths(made)) if each == key(path.elements)]
        durations = [float(made.durations[i]) for i in followers]
        assert path.seconds == statistics.median(durations)
        assert path.example in followers
        nearest = min(abs(duration - path.seconds) for duration in durations)
        assert abs(made.durations[path.example] - path.seconds) == nearest


@given(executions, st.sampled_from([0.5, 0.9, 1.0]))
def test_prototypes_are_the_fewest_paths_that_cover(found, coverage):
    paths = paths_of(grown(found))
    chosen = prototypes_of(paths, coverage)
    assert paths[: len(chosen)] == chosen
    if found:
        assert sum(path.count for path in chosen) >= coverage * len(found) - 1e-9
        assert sum(path.count for path in chosen[:-1]) < coverage * len(found)


@given(executions, st.permutations(range(4)))
def test_relabelling_permutes_the_tree_and_nothing_else(found, new):
    phases = [0, 1, 2, 3]
    renamed = [[new[label] if label >= 0 else label for label in labels] for labels in found]
    before, after = grown(found, phases), grown(renamed, phases)
    for name in ("parent", "depth", "count", "node", "end"):
        np.testing.assert_array_equal(getattr(before, name), getattr(after, name))
    for node in range(before.n_nodes):
        moved = tuple((tuple(new[p] for p in each.phases), each.repeats) for each in before.path(node))
        assert moved == tuple((each.phases, each.repeats) for each in after.path(node))
    facts = [(p.node, p.count, p.share, p.covered, p.seconds, p.example) for p in paths_of(before)]
    assert facts == [(p.node, p.count, p.share, p.covered, p.seconds, p.example) for p in paths_of(after)]


def test_the_tree_of_a_few_executions():
    tree = grown([[0, 1, 0, 1], [0, 1, 0, 1, 0, 1], [0, 1], [0], [-1]])
    paths = {" ".join(str(e) for e in p.elements): p.count for p in paths_of(tree)}
    assert paths == {"(φ1·φ2)×2": 2, "φ1 φ2": 1, "φ1": 1, "": 1}
    assert tree.count[0] == 5


def test_one_phase_and_no_executions():
    only = grown([[0, 0], [0]])
    assert [p.covered for p in paths_of(only)] == [1.0]
    nothing = grown([])
    assert nothing.n_nodes == 1
    assert paths_of(nothing) == () == prototypes_of(())
