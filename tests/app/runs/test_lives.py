"""The lives of jobs and where their time goes, as they are drawn: in words, and on a scale that shows all."""

import itertools

import numpy as np
import pytest

from app.figures.runs.comparison import TimeRow, scale, time_bars
from app.figures.runs.series import counts, edges, endings, expected_ends, queues, spans
from app.figures.runs.timelines import MAX_ROWS, job_states, job_states_height
from core.experiments.series import Series
from core.experiments.spec_reader import read_experiment
from core.runs.runner import run_arm
from tests.experiments.making import three
from tests.experiments.test_queue_measures import QUEUE


def ran(experiment, arm, seed=3):
    series = Series()
    result = run_arm(experiment, arm, seed, lambda entry, _: series.add(entry))
    return series.to_dict(), result


@pytest.fixture(scope="module")
def turns():
    experiment = read_experiment(QUEUE)
    return ran(experiment, experiment.arm("Turns"))


def test_the_spans_of_a_job_are_its_times(turns):
    series, result = turns
    for job in result.jobs:
        mine = spans(series, [job.id])
        took = {state: sum(span.end - span.start for span in mine if span.state == state)
                for state in ("waiting", "running", "paused")}  # fmt: skip
        if job.state == "refused":
            assert mine == []
            continue
        wanted = {"waiting": job.waiting, "running": job.service, "paused": job.paused}
        assert took == pytest.approx(wanted, abs=1e-4)
        assert all(a.end <= b.start + 1e-9 for a, b in itertools.pairwise(mine))
    assert queues(series)


def test_the_number_that_waits_is_counted_one_by_one(turns):
    series, _ = turns
    every, bounds = spans(series), edges(series)
    middles = (bounds[:-1] + bounds[1:]) / 2
    for state in ("waiting", "paused"):
        slow = [
            sum(span.state == state and span.start < middle < span.end for span in every)
            for middle in middles
        ]
        long = np.diff(bounds) > 0
        assert counts(series, state)[long].tolist() == np.array(slow)[long].tolist()
    assert counts(series, "waiting").max() > 1


def test_states_are_told_in_words_and_by_weight(turns):
    series, result = turns
    jobs = [job.id for job in result.jobs]
    end = max(job.ended for job in result.jobs)
    figure = job_states(series, jobs, end, 12.0)
    names = [trace.name for trace in figure.data]
    assert {"waiting", "running", "paused", "ended"} <= set(names)
    bars = {trace.name: trace for trace in figure.data if trace.type == "bar"}
    assert any(text == "running" for text in bars["running"].text)
    assert bars["paused"].marker.pattern.shape == "/"
    assert bars["waiting"].marker.color != bars["running"].marker.color
    assert figure.layout.shapes[0].x0 == 12.0
    marks = {each.job: each.state for each in endings(series, jobs)}
    assert set(marks) == set(jobs)
    assert "refused" in marks.values()
    symbols = figure.data[-1].marker.symbol
    assert symbols.count("x-thin") == sum(state != "done" for state in marks.values())


def test_many_jobs_have_thin_rows_without_names(turns):
    series, _ = turns
    many = {**series, "jobs": {f"j{at}": next(iter(series["jobs"].values())) for at in range(300)}}
    figure = job_states(many, list(many["jobs"]), 100.0)
    assert figure.layout.height == job_states_height(300) < 900
    assert len(figure.layout.yaxis2.tickvals) == 0
    assert len({y for trace in figure.data if trace.type == "bar" for y in trace.y}) <= MAX_ROWS


def test_nobody_waits_where_all_start_at_once():
    series, _ = ran(three(), three().policies[1], 1)
    assert not queues(series)
    assert counts(series, "waiting").max() == 0
    assert {span.state for span in spans(series)} == {"running"}


def test_why_a_job_waits_is_kept_once_for_as_long_as_it_is_the_same(turns):
    experiment = read_experiment(QUEUE)
    series, _ = ran(experiment, experiment.arm("Static"))
    waits = series["waits"]
    assert waits
    assert all("are free" in each["text"] and each["job"] in each["text"] for each in waits)
    assert any(each["behind"] for each in waits)
    for each in waits:
        lines = series["jobs"][each["job"]]
        assert lines["state"][each["number"] - lines["first"]] in ("waiting", "paused")
    turned, _ = ran(experiment, experiment.arm("Turns"))
    assert any("its turn is over" in each["text"] for each in turned["waits"])
    said = [(each["job"], each["text"]) for each in waits]
    assert all(a != b for a, b in itertools.pairwise(said))


def test_what_is_beyond_all_measure_does_not_hide_the_others(sentence):
    rows = [TimeRow("a", 30.0, 70.0, 0.0), TimeRow("b", 0.0, 130.0, 5.0), TimeRow("far", 0.0, 31_000.0, 0.0)]
    assert scale([row.total for row in rows]) == pytest.approx(135 * 1.15)
    assert scale([100.0, 300.0]) == pytest.approx(345.0)
    assert scale([800.0, 130.0, 128.0, 132.0, 800.0, 31_000.0]) == pytest.approx(920.0)
    assert scale([]) > 0
    figure = time_bars(rows)
    texts = [each.text for each in figure.layout.annotations]
    assert texts[0] == "<b>a</b>  1 min 40 s"
    sentence(texts[2])
    assert [trace.name for trace in figure.data] == ["waiting", "running", "paused"]
    assert list(figure.data[0].x) == [30.0, 0.0, 0.0]


DUE = """\
version: 1
name: Due
workers: {cores: 4}
world: {prediction_error: 0.2}
kinds:
  VAE: {work: [40, 200], request: 2, slack: [1, 2], malleable: true, fixed: 0.1}
drawn: {count: 16}
arrivals: {by: load, load: 1.5}
policies: [kube.default, deadline]
seeds: [2]
"""


def test_deadlines_stand_on_the_lives_and_expected_ends_at_the_moment():
    experiment = read_experiment(DUE)
    series, result = ran(experiment, experiment.arm("deadline"), 2)
    jobs = [job.id for job in result.jobs]
    due = {job.id: job.arrived + job.deadline for job in result.jobs}
    assert {job: series["jobs"][job]["due"] for job in jobs} == pytest.approx(due, abs=1e-5)
    end = max(job.ended for job in result.jobs)
    moment = 0.4 * end
    figure = job_states(series, jobs, end, moment)
    traces = {trace.name: trace for trace in figure.data}
    ticks = traces["deadline"]
    assert list(ticks.x) == pytest.approx(list(due.values()), abs=1e-5)
    missed = [job.completion > job.deadline + 1e-6 for job in result.jobs]
    assert 0 < sum(missed) < len(jobs)
    red = ticks.marker.color
    assert len({colour for colour, late in zip(red, missed, strict=True) if late}) == 1
    assert ["missed" in words for words in ticks.customdata] == missed
    rings = {each.job: each for each in expected_ends(series, jobs, moment)}
    there = {job.id for job in result.jobs if job.started is not None and job.started < moment < job.ended}
    assert rings
    assert set(rings) <= {job.id for job in result.jobs if job.ended > moment}
    assert there & set(rings)
    for name, ring in rings.items():
        said = [each for each in series["jobs"][name]["ends"] if series["time"][each[0]] <= moment]
        assert said[-1][1] == ring.ends
        assert ring.low is None or ring.low <= ring.ends <= ring.high
    assert len(traces["expected end"].x) == len(rings)
    plain, _ = ran(experiment, experiment.arm("kube.default"), 2)
    assert "expected end" not in {trace.name for trace in job_states(plain, jobs, end, moment).data}
