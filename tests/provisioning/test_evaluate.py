"""The comparison as a whole: nothing is fitted on what is judged, and odd input gets a sentence."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import Cancelled, InputError, MismatchError
from core.phases import predict
from core.provisioning.evaluation.comparison import calibration
from core.provisioning.evaluation.evaluate import EvaluationSettings, age_bins, evaluate, total_over_age
from core.provisioning.evaluation.splitting import folds, held_out_once
from core.provisioning.fleet import Resource, prepare
from core.provisioning.policies import POLICIES
from core.provisioning.policy import Policy, PolicyKind
from core.traces.model import Feature, Role, TraceSet
from core.units import Unit
from tests.builders import small_model, small_traces
from tests.provisioning.making import demand_of, random_demand

CORE = ("budget.oracle", "prev.step.max", "prev.step.rules", "prev.step.p95", "phase.rule", "no.phase")
SETTINGS = EvaluationSettings(cycle=100.0, group_by="workload", holdout=0.5, draws=200)


def traces_of(lengths, *, values=None, period=10.0):
    n = int(sum(lengths))
    rng = np.random.default_rng(0)
    cpu = rng.gamma(2, 1, n) if values is None else np.asarray(values, float)
    return TraceSet(
        features=(Feature("cpu", Role.CPU, Unit.CORES), Feature("mem", Role.MEMORY, Unit.BYTES)),
        columns=(cpu, 1e9 + 1e8 * cpu),
        time=np.concatenate([np.arange(length) * period for length in lengths] or [np.empty(0)]),
        ids=tuple(f"c{i}" for i in range(len(lengths))),
        offsets=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        period=period,
    )


@pytest.fixture(scope="module")
def traces():
    return small_traces(20, samples=60)


@pytest.fixture(scope="module")
def model(traces):
    return small_model(traces)


@pytest.fixture(scope="module")
def report(traces, model):
    return evaluate(traces, model, SETTINGS, CORE).report


def rows(report, resource="cpu"):
    return {row["policy"]: row for row in report["resources"][resource]["policies"]}


def test_groups_are_held_out_whole_and_every_container_once(report, traces):
    group = dict(zip(traces.ids, traces.attributes["workload"], strict=True))
    parts = [{group[name] for name in fold} for fold in report["split"]["folds"]]
    assert len(parts) == 2
    assert not parts[0] & parts[1]
    assert sorted(name for fold in report["split"]["folds"] for name in fold) == sorted(traces.ids)


def test_it_is_the_same_again_and_json(report, traces, model):
    again = evaluate(traces, model, SETTINGS, CORE).report
    assert json.dumps(again, allow_nan=False) == json.dumps(report, allow_nan=False)


def test_the_bound_is_below_everything_with_its_violation(report):
    for resource in ("cpu", "memory"):
        found = rows(report, resource)
        bound = found["budget.oracle"]
        assert bound["under_time_0"] <= 0.05 + 1e-9
        assert bound["matched"]["gap_closed"] == pytest.approx(1.0)
        for name in CORE[1:]:
            assert found[name]["matched"]["over_if_exact"] >= bound["over"] - 1e-9


def test_the_best_reactive_rule_is_the_base(report):
    for resource in ("cpu", "memory"):
        best = report["resources"][resource]["best_reactive"]
        assert best in CORE[1:4]
        mine = rows(report, resource)[best]["matched"]
        assert mine["against_best"]["saving"] == mine["gap_closed"] == 0.0
        assert mine["against_best"]["low"] == mine["against_best"]["high"] == 0.0


def test_frontiers_fall(report):
    """On training containers they must; on others the order of factors is the same, so they do too."""
    for row in rows(report).values():
        over = [point["over"] for point in row["frontier"]]
        assert over == sorted(over, reverse=True)
        assert all(point["low"] <= point["over"] <= point["high"] for point in row["frontier"])


@given(
    sizes=st.lists(st.integers(1, 12), min_size=1, max_size=6).filter(lambda sizes: sum(sizes) > 1),
    share=st.sampled_from((0.05, 0.2, 0.3, 0.5, 0.9)),
    seed=st.integers(0, 99),
)
def test_every_container_is_held_out_once_and_a_workload_of_several_is_in_both_parts(sizes, share, seed):
    workloads = np.repeat(np.arange(len(sizes)), sizes)
    n = len(workloads)
    parts = held_out_once(prepare(traces_of([3] * n), 20.0, "").fleet, share, seed, workloads)
    assert sorted(np.concatenate([part.held_out for part in parts])) == list(range(n))
    for part in parts:
        assert sorted([*part.training, *part.held_out]) == list(range(n))
        assert len(part.training)
        held = np.bincount(workloads[part.held_out], minlength=len(sizes))
        for count, size in zip(held, sizes, strict=True):
            assert count < size or size == 1
            assert abs(count - size / len(parts)) < 1


def test_of_many_containers_half_are_enough_to_learn_from():
    few, many = (held_out_once(prepare(traces_of([3] * n), 20.0, "").fleet, 0.1, 0) for n in (1000, 1001))
    assert (len(few), len(many)) == (10, 2)


def test_another_seed_draws_other_folds():
    fleet = prepare(traces_of([3] * 60), 20.0, "").fleet
    workloads = np.arange(60) % 4
    first, second = (held_out_once(fleet, 0.3, seed, workloads)[0].held_out for seed in (0, 1))
    assert len(first) == len(second) == 20
    assert first.tolist() != second.tolist()


def test_what_is_held_out_changes_nothing_that_it_is_given(traces, model):
    """Other demand in one fold: what its containers get as fitted and scaled on the others stays as it is."""
    before = evaluate(traces, model, SETTINGS, CORE)
    fold = before.report["split"]["folds"][0]
    fleet = prepare(traces, 100.0, "workload").fleet
    held = fleet.samples_of([fleet.ids.index(name) for name in fold])
    cpu = traces.columns[0].copy()
    cpu[held] = np.random.default_rng(1).gamma(1, 9, len(held))
    after = evaluate(replace(traces, columns=(cpu, *traces.columns[1:])), model, SETTINGS, CORE)
    cold = held[before.held_out[Resource.CPU].fleet.cold[held]]
    for name in ("prev.step.max", "phase.rule", "no.phase"):
        old, new = (each.allocations[Resource.CPU][name] for each in (before, after))
        np.testing.assert_allclose(old[cold], new[cold])
        assert not np.allclose(np.delete(old, held), np.delete(new, held))


def test_a_workload_of_eight_runs_has_eight_held_out_runs():
    traces = small_traces(8).only(small_traces(8).ids)
    one = replace(traces, attributes={"workload": ["train"] * 8})
    report = evaluate(one, None, EvaluationSettings(cycle=60.0, draws=100), ("prev.step.max",)).report
    (entry,) = report["resources"]["cpu"]["workloads"]["each"]
    assert len(entry["held_out"]) == 8
    assert entry["fixed"]["tested"]
    assert entry["fixed"]["short_low"] <= entry["fixed"]["under_time_0"] <= entry["fixed"]["short_high"]


def test_it_is_said_what_the_model_has_seen(report, traces, model, sentence):
    assert report["model"]["trained_on"] == "held_out"
    sentence(report["notes"][-1])
    fresh = evaluate(traces, model, replace(SETTINGS, refit=True), CORE).report
    assert fresh["model"]["trained_on"] == "training"
    assert not fresh["notes"]


def test_without_a_model_phases_are_left_out(traces, refuses):
    found = evaluate(traces, None, SETTINGS, ("prev.step.max", "phase.rule")).report
    assert found["unavailable"] == [{"policy": "phase.rule", "reason": "It needs the phases of a model."}]
    with refuses(InputError):
        evaluate(traces, None, SETTINGS, ("phase.rule",))


def test_progress_grows_and_cancels(traces, model):
    said = []
    evaluate(
        traces, model, SETTINGS, CORE, progress=lambda share, message, /, **_: said.append((share, message))
    )
    shares = [share for share, _ in said]
    assert shares == sorted(shares)
    assert any("phase.rule, memory" in message for _, message in said)

    def stop(share, _message, /, **_metrics):
        if share > 0.5:
            raise Cancelled

    with pytest.raises(Cancelled):
        evaluate(traces, model, SETTINGS, CORE, progress=stop)


def test_a_model_that_does_not_fit(traces, model, refuses):
    other = replace(traces, features=traces.features[:1], columns=traces.columns[:1])
    with refuses(MismatchError):
        evaluate(other, model, replace(SETTINGS, group_by=""), CORE)


def test_executions_that_are_empty_or_short_are_said():
    odd = traces_of([0, 1, 40, 50, 0, 60])
    found = prepare(odd, 100.0)
    assert found.fleet.n_containers == 4
    assert any("2 of 6 executions have no samples" in note for note in found.notes)
    assert any("1 of 4 executions are not longer than one cycle" in note for note in found.notes)
    report = evaluate(odd, None, EvaluationSettings(cycle=100.0, draws=100), ("prev.step.max", "vpa")).report
    assert len(report["split"]["held_out"]) == 4


@pytest.mark.parametrize("lengths", [[], [0, 0], [1, 1, 1]])
def test_too_little_is_said(lengths, refuses):
    with refuses(InputError):
        evaluate(traces_of(lengths), None, EvaluationSettings(cycle=100.0), ("prev.step.max",))


def test_one_group_cannot_be_split(traces, refuses):
    same = replace(traces, attributes={"workload": ["one"] * traces.n_executions})
    with refuses(InputError):
        evaluate(same, None, SETTINGS, ("prev.step.max",))


def test_a_single_phase_is_no_trouble(traces):
    model = small_model(traces, phases=1)
    assert set(predict(model, traces)) <= {-1, 0}
    found = rows(evaluate(traces, model, SETTINGS, ("phase.rule", "phase.lookahead", "prev.step.max")).report)
    assert set(found) == {"phase.rule", "phase.lookahead", "prev.step.max"}


def test_values_that_are_no_numbers_are_named(refuses):
    broken = traces_of([20, 20], values=[1.0] * 25 + [np.nan] + [1.0] * 14)
    with refuses(InputError):
        prepare(broken, 60.0)


def test_traces_without_cpu_and_memory(refuses):
    bare = replace(traces_of([20, 20]), features=(Feature("a"), Feature("b")))
    with refuses(InputError):
        prepare(bare, 60.0)


def test_a_policy_that_memorises_is_calibrated_on_what_it_did_not_see():
    demand = random_demand(5, 9)
    seen = []

    def fit(training, _settings, _progress):
        seen.append(set(training.fleet.groups))

        def allocate(other):
            assert not set(other.fleet.groups) & seen[-1]
            return other.values + 1.0

        return allocate

    policy = Policy("learner", PolicyKind.LEARNED, "Learns.", fit, memorises=True)
    np.testing.assert_allclose(calibration(policy, demand, policy.chosen(), 0), demand.values + 1.0)
    assert len(seen) == 3


def test_folds_cover_every_container_once():
    fleet = random_demand(2, 11).fleet
    parts = folds(fleet, 3, 4)
    assert sorted(np.concatenate([part.held_out for part in parts]).tolist()) == list(range(11))
    assert folds(demand_of([[1.0], [2.0]], groups=["a", "a"]).fleet, 3, 0) == []


def test_totals_keep_every_core_second():
    demand = random_demand(3, 5, 80)
    starts, place = age_bins(demand.fleet, 10)
    totals = total_over_age(demand.values, demand.fleet, starts, place)
    width = starts[1] - starts[0]
    assert totals.sum() * width == pytest.approx((demand.values * demand.fleet.seconds).sum())


def test_cycles_follow_time_and_not_rows():
    demand = demand_of([[1, 2, 3, 4, 5]], cycle=10.0, times=[[0, 4, 10, 41, 42]])
    np.testing.assert_array_equal(demand.fleet.starts, [0, 2, 3])
    np.testing.assert_array_equal(demand.fleet.cold, [True, True, False, False, False])


def test_every_policy_can_be_evaluated(traces, model):
    """Whatever is registered has a row or a reason."""
    small = traces.only(traces.ids[:8])
    found = evaluate(small, model, replace(SETTINGS, draws=100)).report
    named = {row["policy"] for row in found["resources"]["cpu"]["policies"]}
    assert named | {each["policy"] for each in found["unavailable"]} == set(POLICIES)
    assert set(found["resources"]) == {resource.value for resource in Resource}
