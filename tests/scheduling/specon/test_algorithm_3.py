"""SpeCon, Algorithm 3 (the container monitor), line by line."""

import pytest

from tests.scheduling.making import Table, workers

SETTINGS = {"alpha": 0.01, "interval": 30.0}


def table(*names):
    """Jobs on the first of two workers, seen at 0 s, with E = 1 read at the tick of 30 s."""
    made = Table("specon", SETTINGS, workers=workers(1.0, 0.0))
    made.on("w1", *names)
    made.step(0.0)
    for name in names:
        made.prints(name, 1.0)
    made.step(30.0)
    return made


def ticks(made, *levels, start=60.0):
    """One tick after the other, at each of which jobs have printed these values."""
    for place, printed in enumerate(levels):
        for name, level in printed.items():
            made.prints(name, level)
        made.step(start + 30.0 * place)


def in_wc():
    """G = 0.009, then 0.008: a is in WC; b progresses."""
    made = table("a", "b")
    ticks(made, {"a": 0.991, "b": 0.9}, {"a": 0.983, "b": 0.8})
    return made


def in_cc():
    made = in_wc()
    ticks(made, {"a": 0.976, "b": 0.7}, start=120.0)
    return made


def test_algorithm_3_line_1_looks_at_every_interval_of_the_clusters_clock():
    made = Table("specon", SETTINGS, workers=workers(0.0))
    made.put("a")
    made.step(47.0)
    assert made.answer.wake == 60.0
    made.step(60.0)
    assert made.answer.wake == 90.0


def test_algorithm_3_line_2_who_joins_is_in_pc_and_not_decided():
    made = Table("specon", SETTINGS, workers=workers(0.0))
    made.put("a")
    made.step(0.0)
    assert made.labels == {"a": "PC"}
    assert not made.state.watched["a"].is_decided


def test_algorithm_3_line_3_who_is_decided_is_not_looked_at_any_more():
    made = in_cc()
    made.on("w1", "c")
    ticks(made, {"a": 0.97, "b": 0.6}, start=150.0)
    assert made.moves == {"a": "w2"}
    made.on("w2", "a")
    ticks(made, {"a": 0.1, "b": 0.5}, start=180.0)
    assert made.labels["a"] == "CC"
    assert made.growths["a"] == pytest.approx(0.006)


def test_algorithm_3_lines_4_5_growth_is_the_change_of_e_between_two_ticks():
    made = table("a")
    made.prints("a", 0.7)
    made.step(45.0)
    assert made.growths == {"a": None}
    made.prints("a", 0.6)
    made.step(60.0)
    assert made.growths == {"a": pytest.approx(0.4)}


def test_algorithm_3_lines_4_5_e_is_normalised_by_its_largest_value_so_far():
    made = Table("specon", SETTINGS, workers=workers(0.0))
    made.on("w1", "a")
    made.step(0.0)
    made.prints("a", 250.0)
    made.step(30.0)
    ticks(made, {"a": 200.0})
    assert made.growths == {"a": pytest.approx(0.2)}


def test_algorithm_3_line_6_decides_nothing_before_two_growths_exist():
    made = table("a")
    ticks(made, {"a": 0.999})
    assert made.labels == {"a": "PC"}
    assert made.answer.reasons == ()


def test_algorithm_3_line_6_slow_but_not_slower_is_no_step_down():
    made = table("a")
    ticks(made, {"a": 0.995}, {"a": 0.988})
    assert made.labels == {"a": "PC"}


def test_algorithm_3_line_6_slower_but_not_slow_is_no_step_down():
    made = table("a")
    ticks(made, {"a": 0.8}, {"a": 0.7})
    assert made.labels == {"a": "PC"}


def test_algorithm_3_lines_7_8_9_from_pc_to_wc():
    made = in_wc()
    assert made.labels == {"a": "WC", "b": "PC"}
    assert "Algorithm 3, lines 6–9" in made.rules("a")


def test_algorithm_3_lines_10_11_12_misprint_resolved_from_wc_to_cc():
    made = in_cc()
    assert made.labels == {"a": "CC", "b": "PC"}
    assert "Algorithm 3, lines 10–12" in made.rules("a")


def test_algorithm_3_lines_13_14_in_cc_it_stays_and_does_not_ask_beside_one_that_progresses():
    made = in_cc()
    ticks(made, {"a": 0.97, "b": 0.6}, start=150.0)
    assert made.labels["a"] == "CC"
    assert made.rules("a") == ["Algorithm 3, lines 13–14"]
    assert made.moves == {}


def test_algorithm_3_lines_15_16_in_cc_it_asks_beside_two_of_pc_or_wc():
    made = in_cc()
    made.on("w1", "c")
    ticks(made, {"a": 0.97, "b": 0.6}, start=150.0)
    assert "Algorithm 3, lines 15–16" in made.rules("a")
    assert made.moves == {"a": "w2"}


def test_algorithm_3_line_15_counts_the_containers_of_its_own_worker_only():
    made = in_cc()
    made.on("w2", "c", "d", "e")
    ticks(made, {"a": 0.97, "b": 0.6}, start=150.0)
    assert "Algorithm 3, lines 15–16" not in made.rules("a")


@pytest.mark.parametrize("level", ["PC", "WC", "CC"])
def test_algorithm_3_lines_17_18_growing_a_little_more_again_stays(level):
    made = {"PC": lambda: table("a", "b"), "WC": in_wc, "CC": in_cc}[level]()
    if level == "PC":
        ticks(made, {"a": 0.999})
    last, growth = made.state.watched["a"].level, made.growths["a"] or 0.0
    ticks(made, {"a": last - growth - 0.0005}, start=made.answer.wake)
    assert made.labels["a"] == level
    assert "Algorithm 3, lines 17–18" in made.rules("a")


@pytest.mark.parametrize("make", [in_wc, in_cc])
def test_algorithm_3_lines_19_20_21_22_growing_quickly_again_returns_to_pc(make):
    made = make()
    ticks(made, {"a": 0.5}, start=made.answer.wake)
    assert made.labels["a"] == "PC"
    assert "Algorithm 3, lines 19–22" in made.rules("a")
    assert made.state.watched["a"].converged_at is None


def test_algorithm_3_line_19_growth_of_exactly_alpha_is_quick():
    made = Table("specon", {"alpha": 0.0625, "interval": 30.0}, workers=workers(0.0))
    made.on("w1", "a")
    made.step(0.0)
    made.prints("a", 1.0)
    made.step(30.0)
    ticks(made, {"a": 0.75}, {"a": 0.6875})
    assert made.labels == {"a": "PC"}
    assert "Algorithm 3, lines 19–22" in made.rules("a")


def test_a_container_that_printed_nothing_at_a_tick_is_first_read_at_the_next():
    made = Table("specon", SETTINGS, workers=workers(0.0))
    made.on("w1", "a")
    made.step(0.0)
    made.step(30.0)
    made.prints("a", 1.0)
    made.step(60.0)
    assert made.growths == {"a": None}
    made.prints("a", 0.9)
    made.step(90.0)
    assert made.growths == {"a": pytest.approx(0.1)}


def test_a_query_between_two_values_gives_the_one_before():
    made = table("a")
    ticks(made, {"a": 0.9}, {})
    assert made.growths == {"a": 0.0}
