"""What the figures of runs draw: the line of time cut into intervals, shares, stays, and a job's history."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.figures.runs import comparison, cpu, timelines
from app.figures.runs.comparison import arm_styles
from app.figures.runs.series import (
    LOSS_STAGES,
    Stay,
    by_label,
    by_loss,
    edges,
    label_names,
    labels,
    rebin,
    stairs,
    stays,
    total_limits,
    used_share,
)
from app.pages.runs.tick import describe_action, history
from core.scheduling.actions import Migrate, SetLimit, Start


def series(**more):
    """Two workers, two jobs; the second moves after 20 s."""
    first = {
        "first": 0,
        "cpu": [0.0, 1.0, 2.0, 2.0],
        "limit": [None, None, 1.0, 1.0],
        "worker": [None, "a", "a", "a"],
        "label": ["NL", "NL", "WL", "CL"],
        "loss": [None, 0.9, 0.5, 0.4],
        "state": ["waiting", "running", "running", "done"],
        "growth": [None, 0.3, 0.2, 0.1],
        "weight": [1.0] * 4,
    }
    second = first | {"first": 1, "cpu": [0.0, 1.0, 1.0], "limit": [None] * 3, "worker": ["a", "a", "b"],
                      "label": ["NL", "NL", "NL"], "state": ["running"] * 3, "loss": [1.0] * 3,
                      "growth": [None] * 3, "weight": [1.0] * 3}  # fmt: skip
    workers = {name: {"capacity": 2.0, "cpu": [0.0, 1.0, 1.0, 1.0], "jobs": [0, 1, 2, 1]} for name in "ab"}
    times, jobs = [0.0, 10.0, 20.0, 40.0], {"one": first, "two": second}
    return {"time": times, "trigger": ["arrival"] * 4, "jobs": jobs, "workers": workers, "moves": [], **more}


def test_a_label_holds_for_the_interval_that_begins_with_its_tick():
    lines_ = series()
    assert label_names(lines_) == ("NL", "WL", "CL")
    assert labels(lines_, "one", ("NL", "WL", "CL")).tolist() == [-1, 0, 0, 1]
    assert labels(lines_, "two", ("NL", "WL", "CL")).tolist() == [-1, -1, 0, 0]


def test_ranks_are_in_the_order_of_their_numbers():
    job = series()["jobs"]["one"] | {"label": ["#10", "#2", "#1", "#2"]}
    assert label_names(series(jobs={"one": job})) == ("#1", "#2", "#10")


def test_cpu_is_shared_out_among_labels_and_nothing_is_lost():
    parts = by_label(series(), ("NL", "WL", "CL"))
    assert parts["NL"].tolist() == [0, 1, 3, 1]
    assert parts["WL"].tolist() == [0, 0, 0, 2]
    assert sum(parts.values()).tolist() == [0, 1, 3, 3]


def test_stages_of_the_loss_split_the_interval_in_which_they_begin():
    parts = by_loss(series(), {"one": (15.0, 30.0), "two": (None, None)})
    assert parts[LOSS_STAGES[0]].tolist() == [0, 1, 1 + 1, 1]
    assert parts[LOSS_STAGES[1]].tolist() == [0, 0, 1, 1]
    assert parts[LOSS_STAGES[2]].tolist() == [0, 0, 0, 1]


def test_limits_come_to_no_more_than_the_worker_has():
    assert total_limits(series()).tolist() == [0, 2, 2, 3]


def test_the_used_share_is_core_seconds_over_those_offered():
    assert used_share(series()) == pytest.approx((10 + 30 + 60) / (4 * 40))


def test_stays_end_where_the_next_begins_and_take_free_lanes():
    found = stays(series())
    assert found == [
        Stay("one", "a", 0.0, 40.0, moved=False, lane=0),
        Stay("two", "a", 0.0, 20.0, moved=False, lane=1),
        Stay("two", "b", 20.0, 40.0, moved=True, lane=0),
    ]


@given(
    st.lists(st.tuples(st.floats(0.01, 50), st.floats(0, 100)), min_size=1, max_size=400), st.integers(1, 50)
)
def test_fewer_intervals_have_the_same_area(pieces, most):
    bounds = np.concatenate([[0.0], np.cumsum([length for length, _ in pieces])])
    values = np.array([value for _, value in pieces])
    coarse, means = rebin(bounds, values, most)
    assert len(means) <= max(most, min(len(values), most))
    assert (means * np.diff(coarse)).sum() == pytest.approx((values * np.diff(bounds)).sum(), abs=1e-6)


def test_stairs_have_two_corners_per_interval():
    x, y = stairs(np.array([0.0, 1.0, 3.0]), np.array([5.0, 2.0]))
    assert (x.tolist(), y.tolist()) == ([0, 1, 1, 3], [5, 5, 2, 2])


def test_before_its_first_tick_a_run_has_one_edge():
    assert edges({"time": []}).tolist() == [0.0]


def test_figures_draw_what_they_are_given():
    lines_, names = series(), ("NL", "WL", "CL")
    areas = cpu.category_areas(lines_, by_label(lines_, names), names, 40, 4, 40)
    assert [trace.name for trace in areas.data] == ["new", "watching", "converging", "Limit"]
    lanes = timelines.worker_lanes(lines_, 40)
    assert [len(trace.y) for trace in lanes.data] == [2, 1, 3]
    bands = timelines.label_bands(lines_, names, ["one", "two"], 40)
    assert bands.data[0].text.tolist() == [["new", "new", "watching"], ["", "new", "new"]]
    rows = cpu.cpu_rows(lines_, cpu.job_rows(lines_, ["one", "two"]), 40, 2)
    assert [trace.name for trace in rows.data] == ["one", "one, limit", "two"]


def test_names_of_many_jobs_may_stand_upright_where_they_would_collide():
    names = [f"Job-{n}" for n in range(20)]
    axis = comparison.bars_by_job(
        names, [(arm_styles(["A"], 0, -1)[0], [1.0] * 20)], "Completion time"
    ).layout.xaxis
    assert axis.autotickangles == (-40, -90)
    assert axis.tickangle is None  # an angle of its own would win


def test_too_many_bars_become_a_heat_map():
    jobs = {f"job-{n}": series()["jobs"]["one"] for n in range(300)}
    figure = timelines.worker_lanes(series(jobs=jobs), 40)
    assert figure.data[0].type == "heatmap"
    assert timelines.lanes_height(series(jobs=jobs)) <= 460


def test_a_job_has_the_history_of_its_changes():
    assert history(series(), "one") == [
        (0, "first observation"),
        (1, "on a, running"),
        (2, "now watching, 1.00 cores"),
        (3, "now converging, done"),
    ]
    assert history(series(), "none") == []


def test_actions_are_sentences():
    assert describe_action(SetLimit("a", 0.25)) == "a may use 0.25 cores"
    assert describe_action(SetLimit("a", None, 2.0)) == "a has no limit, weight 2.00"
    assert describe_action(Migrate("a", "box-2")) == "a moves to box-2"
    assert describe_action(Start("a", "box-1", 1.0)) == "a starts on box-1 with 1.00 cores"
