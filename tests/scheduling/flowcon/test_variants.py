"""FlowCon's variants, one by one."""

import pytest

from core.errors import InputError
from core.scheduling.actions import SetLimit, Start
from core.scheduling.model import Worker
from core.scheduling.policies import POLICIES
from core.scheduling.policies.flowcon import PRESETS
from tests.scheduling.flowcon.jobs import run, table
from tests.scheduling.making import Table


def slow_and_quick(**settings):
    """`a` in CL with little growth, `b` in NL."""
    made = table("a", "b", **settings)
    run(made, 10.0, a=(0.99, 5.0), b=(0.5, 5.0))
    run(made, 20.0, a=(0.98, 5.0), b=(0.1, 5.0))
    return made


def test_presets_are_settings_that_can_be_chosen():
    alphas = [POLICIES["flowcon"].build_settings(values).alpha for values in PRESETS.values()]
    assert alphas == [0.01, 0.03, 0.05, 0.10, 0.15]
    assert POLICIES["flowcon"].build_settings().alpha == 0.03


@pytest.mark.parametrize("wrong", [{"alpha": 0}, {"itval": -1}, {"limits": "firm"}, {"beta": 0.5}])
def test_settings_out_of_bounds_are_refused(wrong):
    with pytest.raises(InputError):
        POLICIES["flowcon"].build_settings(wrong)


def test_growth_means_compares_the_means_of_two_intervals():
    made = table("a", growth="means", alpha=0.001)
    made.prints("a", 0.9, 0.7, cpu=10.0)
    made.step(10.0)
    assert made.growths["a"] == pytest.approx((1.0 - 0.8) / 10.0)
    made.prints("a", 0.6, 0.4, cpu=10.0)
    made.step(20.0)
    assert made.growths["a"] == pytest.approx((0.8 - 0.5) / 10.0)
    made.prints("a", cpu=10.0)
    made.step(30.0)
    assert made.growths["a"] == pytest.approx((0.5 - 0.4) / 10.0)  # nothing printed: the last value


def test_unknown_inf_gives_cl_its_lower_bound_while_any_growth_is_unknown():
    known, infinite = slow_and_quick(), slow_and_quick(unknown="unknown-inf")
    for made in (known, infinite):
        made.prints("a", 0.4, cpu=5.0)
        made.prints("b", 0.09, cpu=5.0)
        made.step(30.0)
        for step, level in enumerate((0.36, 0.32)):
            made.prints("a", level, cpu=5.0)
            made.prints("b", 0.09, cpu=5.0)
            made.step(40.0 + 10.0 * step)
        assert made.labels == {"a": "CL", "b": "CL"}
        made.put("c")
        made.step(50.0)
    assert known.limits["c"] == 1.0
    assert "a" not in known.limits  # all known growth is a's: it keeps the node
    assert infinite.limits["a"] == pytest.approx(0.17)


def test_new_limit_multiplicative_grows_from_what_it_was():
    made = slow_and_quick(new_limit="multiplicative")
    assert made.limits == {"a": 0.25}
    run(made, 30.0, a=(0.48, 2.5), b=(0.05, 7.5))  # a: P 0.05, R 0.25, G 0.2; b: G 0.00667
    part = 0.2 / (0.2 + 0.005 / 0.75)
    assert made.limits["a"] == pytest.approx(round(0.25 * (1 + part), 2))


def test_threshold_peak_is_relative_to_the_jobs_own_largest_growth():
    made = table("a", threshold="peak", alpha=0.5)
    run(made, 10.0, a=(0.9999, 10.0))
    assert made.labels == {"a": "NL"}  # its growth is tiny, and its largest so far
    run(made, 20.0, a=(0.99985, 10.0))
    assert made.labels == {"a": "NL"}  # half of it exactly is not below half
    run(made, 30.0, a=(0.99984, 10.0))
    assert made.labels == {"a": "WL"}


def test_soft_limits_are_weights_without_quotas():
    made = slow_and_quick(limits="soft")
    assert made.answer.actions == (SetLimit("a", None, 0.25),)


def test_hybrid_limits_are_weights_and_a_quota_in_cl_only():
    made = slow_and_quick(limits="hybrid")
    assert made.answer.actions == (SetLimit("a", 0.25, 0.25),)
    made.put("c")
    made.step(21.0)
    assert Start("c", "w", None, 1.0) in made.answer.actions


@pytest.mark.parametrize(
    ("capacity", "given"), [(1.0, 0.25), (8.0, 2.0), (0.02, 0.01), (0.333, 0.08), (64.0, 16.0)]
)
def test_quotas_have_two_decimals_and_at_least_a_hundredth_of_a_core(capacity, given):
    made = table("a", "b", capacity=capacity)
    run(made, 10.0, a=(0.99, 5.0 * capacity), b=(0.5, 5.0 * capacity))
    run(made, 20.0, a=(0.98, 5.0 * capacity), b=(0.1, 5.0 * capacity))
    assert made.limits["a"] == given


def test_no_quota_is_above_the_node():
    made = Table("flowcon", workers=(Worker("w", 0.999),))
    made.put("a")
    made.step(0.0)
    assert made.limits == {"a": 0.99}


def test_work_conserving_raises_all_limits_by_one_factor_where_the_node_would_idle():
    capped, raised = slow_and_quick(), slow_and_quick(work_conserving=True)
    for made in (capped, raised):
        # b cannot use more than 0.2 of the node, and a is held at its limit: 0.55 idles
        run(made, 30.0, a=(0.97, 2.5), b=(0.0, 2.0))
    assert "a" not in capped.limits
    assert raised.limits == {"a": 0.8}
    assert "Work-conserving" in raised.rules()


def test_work_conserving_changes_nothing_where_the_node_is_full():
    made = slow_and_quick(work_conserving=True)
    run(made, 30.0, a=(0.97, 2.5), b=(0.0, 7.5))
    assert "Work-conserving" not in made.rules()


def test_a_job_that_prints_nothing_stays_in_nl_with_the_whole_node():
    made = Table("flowcon")
    made.on("w", "a")
    for time in (0.0, 20.0, 40.0):
        made.put("a", cpu_seconds=time)
        made.step(time)
    assert made.labels == {"a": "NL"}
    assert made.growths == {"a": None}


def test_a_loss_that_is_not_a_number_is_passed_over():
    made = table("a")
    run(made, 10.0, a=(float("nan"), 10.0))
    assert made.growths == {"a": 0.0}
    run(made, 20.0, a=(0.0, 10.0))
    assert made.growths == {"a": pytest.approx(0.1)}
