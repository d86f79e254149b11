"""SpeCon, Algorithm 5 (rebalancing): as resolved, and as printed line by line."""

from dataclasses import replace

from core.scheduling.policies.specon import (
    PlacedContainer,
    count_containers,
    rebalance_as_printed,
    rebalance_as_resolved,
)
from tests.scheduling.making import MIGRATING, Table, workers


def on(worker, *durations, rebalanced=False):
    """Containers on a worker, named by it and their place, converged so many seconds ago."""
    return [
        PlacedContainer(f"{worker}-{place}", worker, each, was_rebalanced=rebalanced)
        for place, each in enumerate(durations)
    ]


def moved(found):
    return [(move.job, move.to) for move in found]


def test_algorithm_5_line_1_without_workers_nothing_is_done():
    assert rebalance_as_printed([], ()) == ()


def test_algorithm_5_lines_2_3_count_the_containers_of_every_worker():
    assert count_containers([*on("w1", 1.0, 2.0), *on("w3", 1.0)], workers(0, 0, 0)) == {
        "w1": 2,
        "w2": 0,
        "w3": 1,
    }


def converged(rebalance="resolved", **where):
    """Jobs on workers that are all in CC by the tick of 120 s, those named later converging later."""
    made = Table(
        "specon", {"alpha": 0.01, "interval": 30.0, "rebalance": rebalance}, workers=workers(1.0, 0.0)
    )
    for name, worker in where.items():
        made.on(worker, name)
    made.step(0.0)
    for place, level in enumerate((1.0, 0.991, 0.983, 0.976)):
        for name in where:
            made.prints(name, level)
        made.step(30.0 + 30.0 * place)
    assert set(made.labels.values()) == {"CC"}
    return made


def test_algorithm_5_lines_4_5_6_the_duration_is_the_time_since_convergence():
    made = converged(a="w1", b="w1")
    assert made.moves == {"a": "w2"}
    values = dict(made.answer.reasons[-1].values)
    assert values["seconds since convergence"] == 0.0


def test_algorithm_5_lines_7_8_idle_workers_are_candidates():
    placed = [*on("w1", 5.0, 6.0), *on("w2", 7.0)]
    assert moved(rebalance_as_printed(placed, workers(0, 0, 0))) == [("w1-0", "w3")]


def test_algorithm_5_line_9_as_printed_bf_is_rounded_down_and_may_never_allow_a_move():
    placed = on("w1", 5.0, 6.0)
    assert rebalance_as_printed(placed, workers(0, 0, 0)) == ()  # ⌊2 / 3⌋ = 0
    assert moved(rebalance_as_resolved(placed, workers(0, 0, 0))) == [("w1-0", "w2")]  # ⌈2 / 3⌉ = 1


def test_algorithm_5_lines_10_11_12_each_idle_worker_below_bf_takes_one():
    placed = on("w1", 5.0, 6.0, 7.0, 8.0)
    assert moved(rebalance_as_printed(placed, workers(0, 0, 0))) == [("w1-0", "w2"), ("w1-1", "w3")]


def test_algorithm_5_lines_13_14_the_shortest_duration_goes_and_leaves_d():
    placed = [*on("w1", 9.0, 3.0, 6.0), *on("w2", 1.0)]
    assert moved(rebalance_as_printed(placed, workers(0, 0, 0, 0))) == [("w2-0", "w3"), ("w1-1", "w4")]


def test_algorithm_5_lines_15_16_it_is_migrated_and_marked_as_rebalanced(sentence):
    made = converged("as-printed", a="w1", b="w1")
    assert made.moves == {"a": "w2"}
    assert made.state.watched["a"].was_rebalanced
    sentence(made.rules("a")[-1])


def test_algorithm_5_lines_17_18_an_idle_worker_that_bf_does_not_allow_is_passed_over():
    assert rebalance_as_printed(on("w1", 5.0), workers(0, 0)) == ()


def test_algorithm_5_lines_19_20_21_22_without_idle_workers_those_below_bf_less_one_are_candidates():
    even = [*on("w1", 1.0, 2.0, 3.0), *on("w2", 4.0, 5.0)]
    assert rebalance_as_printed(even, workers(0, 0)) == ()  # bf = 2, and 2 is not below 1
    odd = [*on("w1", 1.0, 2.0, 3.0, 4.0, 5.0), *on("w2", 6.0)]
    assert moved(rebalance_as_printed(odd, workers(0, 0))) == [("w1-0", "w2")]  # bf = 3, and 1 is below 2


def test_algorithm_5_lines_23_24_25_only_containers_elsewhere_are_found():
    placed = [*on("w1", 7.0, 8.0, 9.0, 10.0, 11.0), *on("w2", 1.0)]
    assert moved(rebalance_as_printed(placed, workers(0, 0))) == [("w1-0", "w2")]


def test_algorithm_5_lines_26_27_as_printed_every_candidate_is_to_take_the_same_container():
    placed = [*on("w1", *range(1, 9)), *on("w2", 20.0), *on("w3", 21.0)]
    assert moved(rebalance_as_printed(placed, workers(0, 0, 0))) == [("w1-0", "w2"), ("w1-0", "w3")]  # bf = 3


def test_algorithm_5_line_28_as_printed_it_is_marked_as_rebalanced_and_may_move_again():
    placed = on("w1", 5.0, 6.0, rebalanced=True)
    assert moved(rebalance_as_printed(placed, workers(0, 0))) == [("w1-0", "w2")]
    assert rebalance_as_resolved(placed, workers(0, 0)) == ()


def test_algorithm_5_lines_29_30_31_where_nobody_is_a_candidate_nothing_moves():
    placed = [*on("w1", 1.0, 2.0), *on("w2", 3.0, 4.0)]
    assert rebalance_as_printed(placed, workers(0, 0)) == ()


def test_algorithm_5_resolved_moves_from_the_fullest_to_the_emptiest_once_an_interval():
    placed = [*on("w1", 1.0, 2.0, 3.0), *on("w2", 1.0, 2.0, 3.0, 4.0), *on("w3", 1.0)]
    assert moved(rebalance_as_resolved(placed, workers(0, 0, 0, 0))) == [("w2-0", "w4")]


def test_algorithm_5_resolved_needs_a_difference_of_two():
    assert rebalance_as_resolved([*on("w1", 1.0, 2.0), *on("w2", 3.0)], workers(0, 0)) == ()


def test_algorithm_5_resolved_passes_over_donors_that_have_nothing_to_give():
    placed = [*on("w1", 1.0, 2.0, 3.0, rebalanced=True), *on("w2", 9.0, 8.0)]
    assert moved(rebalance_as_resolved(placed, workers(0, 0, 0))) == [("w2-1", "w3")]


def test_algorithm_5_passes_over_containers_that_write_no_checkpoints():
    placed = [each._replace(can_migrate=each.duration > 5.0) for each in on("w1", 5.0, 6.0)]
    assert moved(rebalance_as_printed(placed, workers(0, 0))) == [("w1-1", "w2")]
    assert moved(rebalance_as_resolved(placed, workers(0, 0))) == [("w1-1", "w2")]


def test_algorithm_5_resolved_moves_each_container_once_and_one_at_a_time():
    made = converged(a="w1", b="w1", c="w1", d="w1")
    assert made.moves == {"a": "w2"}
    made.put("a", state=MIGRATING, worker="w2")
    made.step(150.0)
    assert made.moves == {}  # one is on its way
    made.on("w2", "a")
    made.step(180.0)
    assert made.moves == {"b": "w2"}
    made.on("w2", "b")
    made.step(210.0, ended=("c", "d"))
    assert made.moves == {}  # both were moved before
    assert made.state.watched["a"].was_rebalanced


def test_algorithm_5_is_suspended_by_a_new_container_in_pc():
    made = converged(a="w1", b="w1", c="w1", d="w1")
    made.on("w2", "a")
    made.put("e")
    made.step(150.0)
    assert made.labels["e"] == "PC"
    assert made.moves == {}


def test_algorithm_5_acts_at_ticks_only():
    made = converged(a="w1", b="w1", c="w1", d="w1")
    made.on("w2", "a")
    made.step(149.0)
    assert made.moves == {}
    made.step(150.0)
    assert made.moves == {"b": "w2"}


def test_algorithm_5_as_printed_can_move_a_container_to_and_fro():
    made = converged("as-printed", a="w1", b="w1")
    made.on("w2", "a")
    made.step(150.0)
    assert made.moves == {}
    made.step(165.0, ended=("b",))
    made.put("c", state=made.jobs["a"].state, worker="w2")
    made.step(170.0)
    long_ago = made.state.watched["a"]._replace(converged_at=-50.0)
    made.state = replace(made.state, watched={**made.state.watched, "c": long_ago})
    made.step(180.0)
    assert made.moves == {"a": "w1"}
