"""SpeCon, Algorithm 4 (the worker for a container that has converged), line by line."""

from dataclasses import replace

import pytest

from core.scheduling.actions import Migrate
from core.scheduling.model import Failure
from core.scheduling.policies.specon import choose_worker, least_scored, score_workers
from tests.scheduling.making import MIGRATING, Table, workers

WEIGHTS = {"PC": 2.0, "WC": 1.5, "CC": 1.0}
FOUR = workers(0.5, 0.5, 0.5, 0.5)
# the thesis' example (6.2.3): Job-1 has converged on the fourth worker, beside five others
EXAMPLE = [
    *[("w1", "PC")] * 3,
    ("w2", "PC"),
    ("w2", "WC"),
    *[("w3", "PC")] * 2,
    *[("w4", "PC")] * 5,
    ("w4", "CC"),
]


def converging(*others, used=(1.0, 0.0, 0.0), **settings):
    """`a` in CC on w1 beside `b` and `c`, which progress; it asks at the tick of 150 s."""
    made = Table("specon", {"alpha": 0.01, "interval": 30.0, **settings}, workers=workers(*used))
    made.on("w1", "a", "b", "c")
    for name, worker in others:
        made.on(worker, name)
    made.step(0.0)
    quick = [name for name in made.jobs if name != "a"]
    for place, level in enumerate((1.0, 0.991, 0.983, 0.976)):
        made.prints("a", level)
        for name in quick:
            made.prints(name, 1.0 - 0.1 * place)
        made.step(30.0 + 30.0 * place)
    assert made.labels["a"] == "CC"
    made.prints("a", 0.97)
    for name in quick:
        made.prints(name, 0.6)
    return made


def test_algorithm_4_line_1_weights_are_settings():
    made = converging(("d", "w2"), ("e", "w3"), ("f", "w3"), weight_pc=3.0, weight_cc=0.5)
    made.step(150.0)
    values = dict(next(r.values for r in made.answer.reasons if r.rule.startswith("Algorithm 4")))
    assert values == {"score of w1": 6.5, "score of w2": 3.0, "score of w3": 6.0}


def test_algorithm_4_lines_2_3_scores_of_the_thesis_example():
    found = score_workers(EXAMPLE, FOUR, WEIGHTS)
    assert list(found.values()) == [6.0, 3.5, 4.0, 11.0]


def test_algorithm_4_lines_4_5_6_7_candidates_have_the_least_score():
    assert least_scored({"u": 3.0, "v": 1.5, "w": 1.5}) == ["v", "w"]


def test_algorithm_4_lines_8_9_10_on_a_candidate_it_stays_and_is_decided():
    made = converging(*[(name, worker) for worker in ("w2", "w3") for name in (f"d{worker}", f"e{worker}")],
                      *[("f", "w2"), ("g", "w3")])  # fmt: skip
    made.step(150.0)
    assert made.moves == {}
    assert "Algorithm 4, lines 8–10" in made.rules("a")
    assert made.state.watched["a"].is_decided


def test_algorithm_4_lines_8_9_10_its_own_worker_wins_a_tie():
    to, why = choose_worker("a", "w2", {"w1": 4.0, "w2": 4.0}, workers(0.0, 1.0))
    assert to == "w2"
    assert why.rule == "Algorithm 4, lines 8–10"


def test_algorithm_4_lines_11_12_13_14_15_16_the_thesis_example_moves_to_the_second_worker():
    to, why = choose_worker("Job-1", "w4", score_workers(EXAMPLE, FOUR, WEIGHTS), FOUR)
    assert to == "w2"
    assert why.rule == "Algorithm 4, lines 11–16"


def test_algorithm_4_line_15_is_decided_as_soon_as_it_is_moved():
    made = converging(("d", "w2"))
    made.step(150.0)
    assert made.moves == {"a": "w3"}
    assert made.state.watched["a"].is_decided


def test_algorithm_4_lines_17_18_19_20_21_of_several_the_one_that_uses_least():
    made = converging(used=(1.0, 0.4, 0.2))
    made.step(150.0)
    assert made.moves == {"a": "w3"}
    assert "Algorithm 4, lines 17–21" in made.rules("a")


def test_algorithm_4_lines_17_18_of_several_that_use_alike_the_first_by_name():
    made = converging(used=(1.0, 0.2, 0.2))
    made.step(150.0)
    assert made.moves == {"a": "w2"}


def test_a_container_is_decided_on_once():
    made = converging()
    made.step(150.0)
    target = made.moves["a"]
    made.on(target, "a")
    for place in range(5):
        made.prints("a", 0.96 - 0.001 * place)
        made.prints("b", 0.5 - 0.05 * place)
        made.step(180.0 + 30.0 * place)
        assert "a" not in made.moves


def test_requests_are_served_one_at_a_time_and_scored_when_they_are():
    made = converging()
    # z converges beside a at the same tick
    made.on("w1", "z")
    made.state = replace(made.state, watched={**made.state.watched, "z": made.state.watched["a"]})
    made.prints("z", 0.97)
    made.step(150.0)
    assert made.moves == {"a": "w2"}
    assert made.state.queue == ("z",)
    made.put("a", state=MIGRATING, worker="w2")
    made.step(152.0)
    assert made.moves == {}
    made.on("w2", "a")
    made.step(154.0)
    assert "Migration done" in made.rules("a")
    assert made.moves == {"z": "w3"}  # w2 has a by now


def test_a_request_of_one_that_progresses_again_is_dropped():
    made = converging()
    made.step(150.0)
    asking = {**made.state.watched, "b": made.state.watched["b"]._replace(has_requested=True)}
    made.state = replace(made.state, watched=asking, moves={}, queue=("b",))
    made.step(151.0)
    assert made.rules("b") == ["Request dropped"]
    assert not made.state.watched["b"].is_decided


def test_a_failed_migration_leaves_it_at_its_origin_and_counts_as_decided():
    made = converging()
    made.step(150.0)
    asked = made.answer.actions[0]
    assert isinstance(asked, Migrate)
    made.step(153.0, failures=(Failure(asked, "It wrote no checkpoint."),))
    assert "Migration failed" in made.rules("a")
    assert made.state.moves == {}
    assert made.state.watched["a"].is_decided
    for place in range(4):
        made.prints("a", 0.96 - 0.001 * place)
        made.prints("b", 0.5 - 0.05 * place)
        made.step(180.0 + 30.0 * place)
        assert "a" not in made.moves


def test_a_migration_that_comes_back_without_a_word_is_over():
    made = converging()
    made.step(150.0)
    made.put("a", state=MIGRATING, worker="w2")
    made.step(152.0)
    made.on("w1", "a")
    made.step(155.0)
    assert "Migration failed" in made.rules("a")


def test_a_migration_that_never_begins_is_given_up():
    made = converging()
    made.step(150.0)
    made.step(449.0)
    assert made.state.moves
    made.step(451.0)
    assert not made.state.moves


def test_a_container_that_ends_on_its_way_is_forgotten():
    made = converging()
    made.step(150.0)
    made.step(152.0, ended=("a",))
    assert not made.state.moves
    assert "a" not in made.labels


def test_who_writes_no_checkpoints_stays_and_is_decided(sentence):
    made = converging()
    made.put("a", can_migrate=False)
    made.step(150.0)
    assert made.moves == {}
    sentence(made.rules("a"))
    assert made.state.watched["a"].is_decided


@pytest.mark.parametrize("count", [16, 200])
def test_a_reason_carries_the_scores_that_decided(count):
    many = workers(*[0.0] * count)
    score = {worker.id: 5.0 for worker in many} | {"w1": 9.0, "w7": 1.0}
    to, why = choose_worker("a", "w1", score, many)
    assert to == "w7"
    assert dict(why.values)["score of w7"] == 1.0
    assert dict(why.values)["score of w1"] == 9.0
    assert len(why.values) <= 17
