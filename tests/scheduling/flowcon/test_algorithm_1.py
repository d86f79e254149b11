"""FlowCon, Algorithm 1, line by line; the numbers in the names are those of the thesis."""

import pytest

from core.scheduling.actions import SetLimit, Start
from tests.scheduling.flowcon.jobs import ALPHA, run, table
from tests.scheduling.making import Table


def test_algorithm_1_line_1_starts_with_every_container_in_nl_and_limit_1():
    made = Table("flowcon", ALPHA)
    made.put("a")
    made.step(0.0)
    assert made.answer.actions == (Start("a", "w", 1.0, 1.0),)
    assert made.labels == {"a": "NL"}
    assert made.growths == {"a": None}
    assert made.answer.wake == 10.0


def test_algorithm_1_line_2_goes_through_every_container_on_the_worker():
    made = table("a", "b", "c")
    run(made, 10.0, a=(0.9, 3.0), b=(0.9, 3.0), c=(0.9, 3.0))
    assert all(growth is not None for growth in made.growths.values())


def test_a_limit_is_said_as_a_share_of_the_host():
    made = table("a", "b", "c")
    run(made, 10.0, a=(0.9, 3.0), b=(0.9, 3.0), c=(0.9, 3.0))
    assert all(
        reason.text.endswith("% of host w.") for reason in made.answer.reasons if "may use" in reason.text
    )
    assert any("may use" in reason.text for reason in made.answer.reasons)


def test_algorithm_1_line_3_growth_is_progress_per_second_over_mean_usage():
    made = table("a")
    run(made, 10.0, a=(0.6, 5.0))
    # P = 0.4 / 10 s (equation 4.1), R = 5 core-seconds / 10 s / 1 core, G = P / R (equation 4.2)
    assert made.growths["a"] == pytest.approx(0.08)


def test_algorithm_1_line_3_usage_counts_at_least_a_hundredth_of_the_node():
    made = table("a")
    run(made, 10.0, a=(0.99, 0.0))
    assert made.growths["a"] == pytest.approx(0.001 / 0.01)


def test_algorithm_1_line_3_divides_by_the_largest_value_so_far():
    made = Table("flowcon", ALPHA)
    made.on("w", "a")
    made.prints("a", 50.0)
    made.step(0.0)
    run(made, 10.0, a=(30.0, 5.0))
    assert made.growths["a"] == pytest.approx(0.08)


def test_algorithm_1_line_3_first_value_counts_as_level_at_the_start():
    made = Table("flowcon", ALPHA)
    made.on("w", "a")
    made.step(0.0)
    made.prints("a", 1.0, 0.8, 0.6, cpu=5.0)
    made.step(10.0)
    assert made.growths["a"] == pytest.approx(0.08)


def test_algorithm_1_line_4_growth_of_exactly_alpha_is_not_below_it():
    made = table("a", alpha=0.0625)
    run(made, 10.0, a=(0.375, 10.0))
    assert made.growths == {"a": 0.0625}
    assert made.labels == {"a": "NL"}


def test_algorithm_1_lines_5_6_slow_in_nl_goes_to_wl_only():
    made = table("a", "b")
    run(made, 10.0, a=(0.99, 5.0), b=(0.2, 5.0))
    assert made.labels == {"a": "WL", "b": "NL"}
    assert "Algorithm 1, lines 4–6" in made.rules("a")


def test_algorithm_1_lines_7_8_9_slow_in_wl_goes_to_cl_and_stays():
    made = table("a", "b")
    run(made, 10.0, a=(0.99, 5.0), b=(0.5, 5.0))
    run(made, 20.0, a=(0.98, 5.0), b=(0.1, 5.0))
    assert made.labels == {"a": "CL", "b": "NL"}
    assert "Algorithm 1, lines 7–9" in made.rules("a")
    run(made, 30.0, a=(0.97, 5.0), b=(0.05, 5.0))
    assert made.labels["a"] == "CL"


@pytest.mark.parametrize("slow_runs", [1, 2])
def test_algorithm_1_lines_10_11_12_13_quick_growth_returns_to_nl_from_wl_and_cl(slow_runs):
    made = table("a", "b")
    for turn in range(slow_runs):
        run(made, 10.0 * (turn + 1), a=(0.99, 5.0), b=(0.9 - 0.3 * (turn + 1), 5.0))
    assert made.labels["a"] == {1: "WL", 2: "CL"}[slow_runs]
    run(made, 10.0 * (slow_runs + 1), a=(0.1, 5.0))
    assert made.labels["a"] == "NL"
    assert "Algorithm 1, lines 10–13" in made.rules("a")


def all_in_cl(made):
    run(made, 10.0, a=(0.99, 5.0), b=(0.5, 5.0))
    run(made, 20.0, a=(0.98, 5.0), b=(0.49, 5.0))
    run(made, 30.0, a=(0.97, 5.0), b=(0.48, 5.0))


def test_algorithm_1_line_14_one_container_outside_cl_is_enough_for_limits():
    made = table("a", "b")
    run(made, 10.0, a=(0.99, 5.0), b=(0.5, 5.0))
    run(made, 20.0, a=(0.98, 5.0), b=(0.49, 5.0))
    assert made.labels == {"a": "CL", "b": "WL"}
    assert made.limits["a"] == pytest.approx(0.5)


def test_algorithm_1_lines_14_15_16_all_in_cl_compete_freely():
    made = table("a", "b")
    all_in_cl(made)
    assert made.labels == {"a": "CL", "b": "CL"}
    assert made.limits == {"a": 1.0}
    assert "Algorithm 1, lines 14–17" in made.rules()


def test_algorithm_1_line_17_all_in_cl_doubles_the_interval_at_most_16_fold():
    made = table("a", "b")
    all_in_cl(made)
    waits, now = [], 30.0
    for _ in range(6):
        waits.append(made.answer.wake - now)
        now = made.answer.wake
        made.step(now)
    assert waits == [20.0, 40.0, 80.0, 160.0, 160.0, 160.0]


def test_algorithm_1_lines_18_19_each_container_has_a_limit_by_its_own_list():
    made = table("a", "b", "c")
    run(made, 10.0, a=(0.99, 3.0), b=(0.5, 3.0), c=(0.5, 3.0))
    run(made, 20.0, a=(0.98, 3.0), b=(0.49, 3.0), c=(0.1, 3.0))
    assert made.labels == {"a": "CL", "b": "WL", "c": "NL"}
    assert made.rules("a")[-1] == "Algorithm 1, line 22"
    assert made.rules("b")[-1] == "Algorithm 1, line 24"
    assert made.rules("c")[-1] == "Algorithm 1, line 26"


def test_algorithm_1_lines_20_21_in_cl_the_limit_is_its_part_of_all_growth():
    made = table("a", "b")
    run(made, 10.0, a=(0.8, 5.0), b=(0.8, 5.0))
    run(made, 20.0, a=(0.6, 5.0), b=(0.7, 5.0))
    assert made.growths == {"a": pytest.approx(0.04), "b": pytest.approx(0.02)}
    assert made.labels == {"a": "CL", "b": "CL"}
    made.put("c")
    made.step(20.0)
    assert made.limits == {"c": 1.0, "a": pytest.approx(0.67), "b": pytest.approx(0.33)}
    assert "Algorithm 1, line 21" in made.rules("a")


def test_algorithm_1_line_22_lower_bound_is_a_quarter_for_two_containers():
    made = table("a", "b")
    run(made, 10.0, a=(0.99, 5.0), b=(0.5, 5.0))
    run(made, 20.0, a=(0.98, 5.0), b=(0.1, 5.0))
    growth = made.growths
    assert growth["a"] / (growth["a"] + growth["b"]) < 0.25
    assert made.limits == {"a": 0.25}
    assert made.rules("a")[-1] == "Algorithm 1, line 22"


def test_algorithm_1_line_22_lower_bound_follows_beta_and_the_number_of_containers():
    made = table("a", "b", "c", beta=4.0)
    run(made, 10.0, a=(0.99, 3.0), b=(0.5, 3.0), c=(0.5, 3.0))
    run(made, 20.0, a=(0.98, 3.0), b=(0.1, 3.0), c=(0.1, 3.0))
    assert made.limits == {"a": 0.08}


def test_algorithm_1_lines_23_24_in_wl_the_limit_stays():
    made = table("a", "b")
    run(made, 10.0, a=(0.99, 5.0), b=(0.5, 5.0))
    run(made, 20.0, a=(0.98, 5.0), b=(0.1, 5.0))
    assert made.limits == {"a": 0.25}
    run(made, 30.0, a=(0.4, 2.0), b=(0.05, 8.0))
    run(made, 40.0, a=(0.39, 5.0), b=(0.04, 5.0))
    assert made.labels == {"a": "WL", "b": "CL"}
    assert "a" not in made.limits  # 1.0 since it was in NL
    assert made.rules("a")[-1] == "Algorithm 1, line 24"


def test_algorithm_1_lines_25_26_in_nl_the_limit_is_1_by_default():
    made = table("a", "b")
    run(made, 10.0, a=(0.99, 5.0), b=(0.5, 5.0))
    run(made, 20.0, a=(0.98, 5.0), b=(0.1, 5.0))
    run(made, 30.0, a=(0.3, 2.5), b=(0.0, 7.5))
    assert made.labels["a"] == "NL"
    assert made.limits == {"a": 1.0}


def test_algorithm_1_lines_25_26_as_printed_ratio_with_an_equal_share_at_least():
    made = table("a", "b", new_limit="ratio")
    run(made, 10.0, a=(0.2, 5.0), b=(0.6, 5.0))
    assert made.labels == {"a": "NL", "b": "NL"}
    assert made.limits == {"a": pytest.approx(0.67), "b": 0.5}


def test_shrinking_comes_before_starting_and_growing():
    made = table("a", "b")
    run(made, 10.0, a=(0.99, 5.0), b=(0.5, 5.0))
    run(made, 20.0, a=(0.98, 5.0), b=(0.49, 5.0))  # a in CL, b in WL
    made.prints("a", 0.3, cpu=5.0)
    made.prints("b", 0.48, cpu=5.0)
    made.put("c")
    made.step(30.0)
    assert [type(action) for action in made.answer.actions] == [SetLimit, Start, SetLimit]
    assert [action.job for action in made.answer.actions] == ["b", "c", "a"]
