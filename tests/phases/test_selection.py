"""Choosing the number of phases, and searching hyper-parameters."""

import os
import subprocess
import sys

import numpy as np
import pytest

from core.errors import Cancelled, InputError
from core.phases import PhaseSettings, SearchSpace, choose_k, choose_k_for_model, fit, search
from core.phases.choosing.hyper_parameters import split_executions
from core.phases.choosing.phase_count import Candidate, find_elbow, recommend_count
from tests.phases.making import three_phases, trace_set


def blobs(k, n=100, seed=0):
    rng = np.random.default_rng(seed)
    places = 10 * np.stack([np.cos(2 * np.pi * np.arange(k) / k), np.sin(2 * np.pi * np.arange(k) / k)], 1)
    return np.concatenate([rng.normal(place, 0.3, (n, 2)) for place in places]).astype(np.float32)


@pytest.mark.parametrize("k", [2, 3, 4, 6])
def test_as_many_phases_as_there_are_groups(k):
    told = []
    choice = choose_k(blobs(k), range(2, 9), refits=4, progress=lambda f, _, **x: told.append((f, x["k"])))
    assert choice.recommended == k
    assert [each.k for each in choice.candidates] == list(range(2, 9))
    best = choice.candidates[k - 2]
    assert best.silhouette > 0.9
    assert best.stability == pytest.approx(1.0)
    assert best.within < 0.01
    within = [each.within for each in choice.candidates]
    assert within == sorted(within, reverse=True)
    assert str(k) in choice.reason
    assert told[-1] == (1.0, 8)


def test_the_choice_is_the_same_every_time_and_can_be_cancelled():
    codes = blobs(3)
    assert choose_k(codes, range(2, 5), refits=3) == choose_k(codes, range(2, 5), refits=3)

    def cancel(fraction, message, **metrics):
        raise Cancelled

    with pytest.raises(Cancelled):
        choose_k(codes, progress=cancel)


def test_too_few_different_codes(refuses):
    with refuses(InputError):
        choose_k(np.zeros((50, 3), np.float32))
    few = np.repeat(np.eye(3, dtype=np.float32), 20, axis=0)
    assert [each.k for each in choose_k(few, refits=2).candidates] == [2, 3]


def test_refits_that_lose_a_rare_code_do_not_find_it_again():
    codes = np.zeros((50, 1), np.float32)
    codes[0] = 1
    choice = choose_k(codes, [2], refits=20, seed=1)
    assert choice.recommended == 2
    assert 0.4 < choice.candidates[0].stability < 0.9


def test_a_phase_has_at_least_ten_samples_on_average(sentence):
    rng = np.random.default_rng(0)
    choice = choose_k(rng.random((10, 3), np.float32), refits=4)
    assert [each.k for each in choice.candidates] == [2]
    sentence(choice.doubt)
    assert [each.k for each in choose_k(rng.random((47, 3), np.float32), refits=2).candidates] == [2, 3, 4]


def test_one_level_with_noise_has_no_phases():
    codes = np.random.default_rng(0).normal(0, 1, (400, 5)).astype(np.float32)
    choice = choose_k(codes, range(2, 9), refits=8)
    assert choice.recommended == 2
    assert choice.doubt.startswith("No clear phases: refits")


def test_phases_that_blend_are_said_to(sentence):
    choice = choose_k(np.random.default_rng(0).random((400, 2), np.float32), range(2, 9), refits=8)
    sentence(choice.doubt)
    assert not choose_k(blobs(3), refits=4).doubt


def test_codes_of_a_model():
    traces = three_phases()
    model = fit(traces, PhaseSettings(encoder="pca", hidden=2))
    assert 2 <= choose_k_for_model(model, traces).recommended <= 12


def test_elbow():
    assert find_elbow([2, 3, 4, 5, 6], [1.0, 0.5, 0.1, 0.08, 0.06]) == 4
    assert find_elbow([2], [0.0]) == 2
    assert find_elbow([2, 3, 4], [0.05, 0.04, 0.03]) == 2  # two explain nearly everything
    assert find_elbow([2, 3, 4], [0.2, 0.1, 0.09]) == 3


def candidates(*rows):
    return [Candidate(k, within, silhouette, stability) for k, within, silhouette, stability in rows]


def test_the_elbow_is_recommended_if_it_is_stable_and_separates(sentence):
    choice = recommend_count(candidates((2, 0.9, 0.8, 1.0), (3, 0.2, 0.6, 0.93), (4, 0.1, 0.9, 0.5)), 100)
    assert (choice.recommended, choice.elbow) == (3, 3)
    sentence(choice.reason)


@pytest.mark.parametrize("elbow", [(3, 0.2, 0.3, 0.95), (3, 0.2, 0.7, 0.3)])
def test_an_elbow_that_does_not_hold_gives_way_to_the_best_stable_silhouette(elbow, sentence):
    choice = recommend_count(candidates((2, 0.9, 0.7, 0.97), elbow, (4, 0.1, 0.9, 0.5)), 100)
    assert (choice.recommended, choice.elbow) == (2, 3)
    sentence(choice.reason)


def test_where_little_is_stable_the_steadiest_are_chosen_from():
    choice = recommend_count(candidates((2, 0.9, 0.7, 0.8), (3, 0.5, 0.9, 0.1), (4, 0.1, 0.6, 0.77)), 100)
    assert choice.recommended == 2
    assert not choice.doubt


def test_where_nothing_is_found_again_the_least_is_taken_with_a_doubt(sentence):
    choice = recommend_count(candidates((2, 0.9, 0.7, 0.4), (3, 0.5, 0.9, 0.1), (4, 0.1, 0.6, 0.6)), 100)
    assert choice.recommended == 2
    sentence(choice.reason)
    assert choice.doubt.startswith("No clear phases")
    assert recommend_count(candidates((3, 0.2, 0.2, 0.95)), 100).doubt.startswith(
        "No clear phases: samples lie"
    )


# ── hyper-parameters ──


def test_search_tries_the_grid_and_puts_the_best_first():
    traces, told = three_phases(), []
    space = SearchSpace(hidden=(2, 8), history=(1, 4), learning_rate=(1e-3,), epochs=(15,))
    trials = search(traces, space, seed=1, progress=lambda f, m, **x: told.append((f, m, x)))
    assert len(trials) == 4
    errors = [trial.held_out_error for trial in trials]
    assert errors == sorted(errors)
    assert {(t.settings.hidden, t.settings.history) for t in trials} == {(2, 1), (2, 4), (8, 1), (8, 4)}
    assert all(trial.training_error > 0 for trial in trials)
    assert told[-1][0] == 1.0
    assert {"trial", "epoch", "error"} == set(told[-1][2])
    assert told[0][1].startswith("Trial 1 of 4: Epoch 1")


def test_random_search_is_a_seeded_part_of_the_grid():
    space, base = SearchSpace(), PhaseSettings(seed=5)
    some = space.trials(base, seed=3, at_most=4)
    assert len(some) == 4
    assert some == space.trials(base, seed=3, at_most=4) != space.trials(base, seed=4, at_most=4)
    assert all(trial in space.trials(base, seed=0) for trial in some)
    assert all(trial.seed == 5 for trial in some)


def test_the_split_is_by_execution():
    traces = three_phases(8)
    training, held = split_executions(traces, 0.25, seed=2)
    assert len(held) == 2
    assert sorted([*training, *held]) == sorted(traces.ids)
    assert split_executions(traces, 0.25, seed=2) == (training, held)
    two = three_phases(2)
    assert [len(part) for part in split_executions(two, 0.9, 0)] == [1, 1]


def test_searches_that_cannot_be(refuses):
    with refuses(InputError):
        search(three_phases(2), SearchSpace(hidden=()))
    with refuses(InputError):
        search(three_phases(1))
    with refuses(InputError):
        search(three_phases(2), SearchSpace(history=(128,)))
    rng = np.random.default_rng(0)
    uneven = trace_set([rng.normal(size=(40, 2)), rng.normal(size=(3, 2))])
    with refuses(InputError):
        search(uneven, features=["cpu"], seed=_seed_that_holds_out(uneven, "e1"))


def _seed_that_holds_out(traces, name):
    return next(seed for seed in range(100) if split_executions(traces, 0.25, seed)[1] == [name])


def test_a_new_process_computes_on_one_thread_from_the_beginning():
    """What is loaded within a limit is not limited: k-means took two to four times as long."""
    script = (
        "from threadpoolctl import threadpool_info\n"
        "from core.phases.clustering import single_threaded\n"
        "with single_threaded():\n"
        "    import sklearn.cluster\n"
        "    print(sorted({each['num_threads'] for each in threadpool_info()}))"
    )
    environment = os.environ | {"OMP_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "2"}
    said = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True
    )
    assert said.stdout.strip() == "[1]"
