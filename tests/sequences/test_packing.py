"""Runs and packing: lossless, equal to the slow twins, whatever the labels."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.sequences import Element, Warmup, pack, pack_sequences, unpack
from tests.oracles import slow_sequences as slow
from tests.sequences.making import PERIOD, executions, labelled, sequences


def slow_runs(found, skip=True):
    return [
        slow.runs_of(labels, [i * PERIOD for i in range(len(labels))], PERIOD, skip_warm_up=skip)
        for labels in found
    ]


@given(executions, st.sampled_from(Warmup))
def test_runs_equal_the_slow_twins(found, warmup):
    made = sequences(found, warmup=warmup)
    assert [[list(run) for run in made.runs_of(i)] for i in range(len(found))] == slow_runs(
        found, warmup is Warmup.SKIP
    )
    assert made.durations.tolist() == [len(labels) * PERIOD for labels in found]
    assert [made.phases[code] for code in made.code] == made.phase.tolist()


@given(st.lists(st.integers(0, 3), max_size=40))
def test_unpacking_gives_the_phases_back(phases):
    packed = pack(phases)
    assert list(unpack(packed)) == phases
    assert [(each.phases, each.repeats) for each in packed] == slow.pack(phases)
    assert all(1 <= len(each.phases) <= 3 for each in packed)


@given(executions)
def test_packing_all_at_once_equals_packing_one_by_one(found):
    made = sequences(found)
    packed = pack_sequences(made)
    for i in range(len(found)):
        phases = [phase for phase, _, _ in made.runs_of(i)]
        assert packed.elements_of(i) == pack(phases)
        assert list(unpack(packed.elements_of(i))) == phases
    for element, symbol in enumerate(packed.symbol):
        start, unit = packed.start[element], packed.unit[element]
        expected = Element(
            tuple(made.phase[start : start + unit].tolist()), 1 + (packed.repeats[element] > 1)
        )
        assert packed.symbols[symbol] == expected


@pytest.mark.parametrize(
    ("phases", "said"),
    [
        ([], ""),
        ([2], "φ3"),
        ([2, 4, 0, 4, 0, 4, 0], "φ3 (φ5·φ1)×3"),
        ([0, 1, 2, 0, 1, 2, 0], "(φ1·φ2·φ3)×2 φ1"),
        ([1, 0, 1, 0, 1], "(φ2·φ1)×2 φ2"),
        ([-1, 3, 3, 3], "warm-up (φ4)×3"),
        ([0, 1, 0, 2], "φ1 φ2 φ1 φ3"),
    ],
)
def test_what_packing_looks_like(phases, said):
    assert " ".join(str(each) for each in pack(phases)) == said


def test_a_gap_within_a_phase_does_not_divide_its_run():
    made = sequences([[-1, 0, 0, -1, 0, 1]], breaks=[3])
    assert made.runs_of(0) == [(0, 3, 30.0), (1, 1, 10.0)]
    assert sequences([[0, 0, 0]], breaks=[1]).runs_of(0) == [(0, 3, 30.0)]


def test_an_execution_in_warm_up_has_no_runs_unless_warm_up_counts():
    assert sequences([[-1, -1], [0]], phases=[0]).offsets.tolist() == [0, 0, 1]
    own = sequences([[-1, -1], [0]], phases=[0], warmup=Warmup.OWN)
    assert own.runs_of(0) == [(-1, 2, 20.0)]
    assert own.phases == (-1, 0)


def test_no_executions_have_no_sequences():
    made = sequences([])
    assert made.n_runs == made.n_executions == 0
    assert len(pack_sequences(made).start) == 0
    assert labelled([])[0].n_samples == 0
