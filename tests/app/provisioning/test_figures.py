"""Verdicts and figures of a comparison: what is recommended, how rows are sorted, and what is drawn."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.figures.provisioning import frontier, totals
from app.pages.provisioning.results import MATCHED, Values, View, sorted_rows
from app.ui.links import Query
from core.provisioning.policies import policy_title
from core.provisioning.verdict.choice import pick
from core.units import Unit


def _row(policy, kind, over, saving):
    against = None if saving is None else dict(zip(("saving", "low", "high"), saving, strict=True))
    at = {"over": over, "low": over, "high": over, "under_time_0": 0.05, "under_time_05": 0.04}
    matched = {**at, "resizes_per_cycle": 1.0, "factor": 1.0, "against_best": against, "against": {}}
    return {
        "policy": policy,
        "kind": kind,
        "about": "",
        "headline": {"over_saving": 0.1},
        "resizes_per_cycle": 1.0,
        **at,
        "matched": matched,
        "cold": {},
        "frontier": [],
    }


def _part(*rows):
    return {"best_reactive": "prev.step.max", "policies": list(rows), "unit": "cores"}


def test_a_policy_is_recommended_only_if_its_interval_excludes_zero(sentence):
    rule = _row("prev.step.max", "reactive", 0.4, (0.0, 0.0, 0.0))
    unsure = pick(_part(rule, _row("phasedock", "ours", 0.3, (0.2, -0.01, 0.4))), 12)
    assert (unsure.policy, unsure.better) == ("prev.step.max", False)
    assert "reliably beats" in unsure.sentence
    better = _part(rule, _row("phasedock", "ours", 0.3, (0.2, 0.1, 0.3)))
    sure = pick(better, 12)
    assert (sure.policy, sure.better) == ("phasedock", True)
    sentence(sure.sentence)
    few = pick(better, 5)
    assert (few.policy, few.better) == ("prev.step.max", False)
    sentence(few.sentence)
    chosen = pick(better, 5, "phasedock")
    assert (chosen.policy, chosen.better, chosen.by_hand) == ("phasedock", False, True)


def test_those_who_know_the_future_are_never_recommended():
    rule = _row("prev.step.max", "reactive", 0.4, None)
    found = pick(_part(rule, _row("budget.oracle", "bound", 0.1, (0.7, 0.6, 0.8))), 12)
    assert found.policy == "prev.step.max"


def test_rows_are_sorted_and_the_unknown_comes_last():
    part = _part(
        _row("b", "reactive", 0.4, (0.1, 0.0, 0.2)),
        _row("a", "static", 0.2, None),
        _row("c", "ours", 0.3, (0.3, 0.2, 0.4)),
    )
    rows = Values(part, matched=True).rows()
    assert [row.policy for row in rows] == ["a", "c", "b"]
    assert [row.policy for row in sorted_rows(rows, "saving")] == ["c", "b", "a"]
    assert [row.policy for row in sorted_rows(rows, "policy")] == ["a", "b", "c"]
    assert View.read(Query("/provisioning", {})).scale == MATCHED


@given(st.lists(st.floats(0, 100), max_size=12), st.floats(0.1, 8))
def test_labels_are_moved_apart_in_their_order(places, gap):
    moved = frontier.spread_apart(places, gap, 0.0, 100.0)
    order = sorted(range(len(places)), key=lambda i: places[i])
    for before, here in pairwise(order):
        assert moved[here] - moved[before] >= gap - 1e-9
    assert all(place <= 100.0 for place in moved)


@given(st.lists(st.tuples(st.floats(-3, 1), st.floats(0, 0.5), st.floats(0, 0.5)), min_size=1, max_size=8))
def test_dots_and_whiskers_stay_on_the_track(rows):
    intervals = [(value, value - below, value + above) for value, below, above in rows]
    on = frontier.track(intervals)
    assert on.left < 0 < on.right
    for value, low, high in intervals:
        mark = frontier.mark(value, low, high, on)
        assert 0 <= mark.start <= mark.end <= 100
        assert (mark.dot is None) == bool(mark.off)
        if mark.dot is not None:
            assert mark.start - 0.1 <= mark.dot <= mark.end + 0.1
        assert (mark.verdict == "open") == (low <= 0 <= high)


def test_the_frontier_names_ours_and_leaves_out_what_a_logarithm_cannot_show():
    curves = [
        frontier.Curve("bound", frontier.BOUND, ((0.0, 0.3), (0.01, 0.2), (0.1, 0.1))),
        frontier.Curve("ours", frontier.OURS, ((0.01, 0.5), (0.1, 0.3)), (0.05, 0.4), (0.35, 0.45)),
        frontier.Curve("far", frontier.NAMED, ((0.01, 9.0), (0.1, 8.0))),
    ]
    figure = frontier.frontier(curves, 0.05, "CPU")
    assert list(figure.data[0].x) == [0.01, 0.1]
    assert figure.data[0].fill == "tozeroy"
    mark = figure.data[-1]
    assert mark.error_y.array[0] == pytest.approx(0.05)
    texts = [note.text for note in figure.layout.annotations]
    assert "<b>ours</b>" in texts
    assert "far" not in texts
    assert math.isclose(figure.layout.yaxis.range[1], 0.4 * 2.6)


def test_only_policies_on_the_edge_the_reference_and_the_chosen_one_are_named():
    def line(name, kind, *overs):
        points = [{"under_time_0": 0.01 * (i + 1), "over": over} for i, over in enumerate(overs)]
        return {**_row(name, kind, overs[0], None), "frontier": points}

    part = _part(
        line("budget.oracle", "bound", 0.1, 0.05),
        line("prev.step.max", "reactive", 0.6, 0.3),
        line("vpa", "autoscaler", 0.4, 0.35),
        line("phase.rule", "published", 0.9, 0.8),
        line("static.p95", "static", 0.7, 0.2),
    )
    values = Values(part, matched=True)
    assert values.edge() == {"vpa", "static.p95"}
    parts = {curve.name: curve.part for curve in values.curves("phase.rule")}
    assert parts == {
        policy_title(name): kind
        for name, kind in (
            ("budget.oracle", frontier.BOUND), ("prev.step.max", frontier.BEST), ("vpa", frontier.NAMED),
            ("phase.rule", frontier.OURS), ("static.p95", frontier.NAMED),
        )
    }  # fmt: skip
    unnamed = {curve.name: curve.part for curve in values.curves("vpa")}
    assert unnamed[policy_title("phase.rule")] == frontier.OTHER


def test_without_an_interval_there_is_no_whisker():
    at = frontier.Curve("ours", frontier.OURS, ((0.01, 0.5), (0.1, 0.3)), (0.05, 0.4), None)
    mark = frontier.frontier([at], 0.05, "CPU").data[-1]
    assert mark.error_y.array is None
    assert " to " not in mark.hovertemplate


def test_totals_draw_demand_last_and_ours_over_rivals():
    age = np.arange(4.0)
    figure = totals.totals(
        age,
        np.full(4, 2 * 2.0**30),
        [
            totals.AllocationTotal("ours", totals.OURS, np.full(4, 3 * 2.0**30)),
            totals.AllocationTotal("rule", totals.RIVAL, np.full(4, 4 * 2.0**30)),
        ],
        Unit.BYTES,
        "Memory",
    )
    assert [trace.name for trace in figure.data] == ["rule", "ours", "Demand"]
    assert list(figure.data[-1].y) == [2.0] * 4
    assert figure.layout.annotations[0].text == "Memory, GiB"
