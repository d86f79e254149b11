"""The queue on the Runs pages: columns of the leaderboard, where time goes, who waits at a tick and why."""

import csv
import io
import json
from dataclasses import replace

import pytest

from app.pages.runs import board, board_cells, page, stored
from app.pages.runs.completion import times_card
from app.pages.runs.measures import describe_difference, format_measure, kind_of
from app.pages.runs.query import View, join_keys
from app.pages.runs.selection import select
from app.pages.runs.tick import wait_reasons, waiting
from app.ui.links import Query
from core.bootstrap import worker_for
from core.experiments.leaderboard import difference
from core.experiments.spec_reader import read_experiment
from core.scheduling.model import JobState
from tests.builders import SIX_JOBS
from tests.experiments.test_queue_measures import QUEUE


def view_of(**values):
    return View.read(Query("/runs", values))


def text_of(**values):
    found = page.body(Query("/runs", values))
    return json.dumps(found, default=lambda each: each.to_plotly_json(), ensure_ascii=False)


def run_experiment(place, text):
    task = place.runs.submit(read_experiment(text))
    worker_for(place).work(task)
    return str(place.tasks.get(task).params["experiment"])


@pytest.fixture
def experiment(place):
    """Jobs that ask for more than there is, under four policies."""
    return run_experiment(place, QUEUE)


def test_the_leaderboard_has_columns_of_the_queue_where_somebody_waits(place, experiment):
    plain, queue = text_of(experiment=experiment), text_of(experiment=experiment, columns="queue")
    assert "Waiting and cores" in plain
    assert "Longest wait" not in plain
    for words in ("Longest wait", "Jobs per hour", "Cores used", "Pauses", "except for shares of jobs"):
        assert words in queue, words
    assert "Jobs sooner" not in queue
    info = place.runs.experiment(experiment)
    view = view_of(experiment=experiment, columns="queue", sort="-jobs_per_hour")
    rows = board_cells.rows(info, select(info, view), view)
    found = [row.measures["jobs_per_hour"] for row in rows]
    assert found == sorted(found, reverse=True)
    shown = board_cells.columns(rows, view)
    assert list(shown.titles)[:3] == ["mean", "waiting", "longest_wait"]
    assert not shown.single
    picture = board.picture(info, select(info, view), view)
    assert any(each.text == "Cores used" for each in picture.layout.annotations)
    assert board_cells.dot_measure(view) == "jobs_per_hour"


def test_an_experiment_where_nobody_waits_shows_none_of_it(place, server):
    experiment = run_experiment(place, SIX_JOBS)
    text = text_of(experiment=experiment, columns="queue")
    for words in ("Longest wait", "Waiting and cores", "Where jobs’ time goes", "Queue, "):
        assert words not in text, words
    answer = server.test_client().get(f"/api/experiments/{experiment}/leaderboard.csv").get_data(as_text=True)
    assert "waiting" not in answer
    assert "of all cores used" in text_of(experiment=experiment, over="stages")
    ledger = text_of(experiment=experiment, look="ledger", of="flowcon")
    assert "Waiting after this tick" not in ledger
    assert "Cores per job" in ledger


def test_two_policies_are_compared_in_what_their_queues_do(place, experiment):
    chosen = {"experiment": experiment, "base": "Static", "arms": join_keys(["Static", "Turns"])}
    text = text_of(**chosen, over="queue", columns="queue")
    for words in ("Where jobs’ time goes", "Queue, Static", "Queue, Turns", "Longest wait", "Pauses"):
        assert words in text, words
    assert "Queue, Bends" not in text
    assert "CPU and limits per job, Turns" in text_of(**chosen, over="limits")
    info = place.runs.experiment(experiment)
    view = view_of(**chosen)
    turns = next(row for row in board_cells.rows(info, select(info, view), view) if row.label == "Turns")
    mine, base = ([stored.result(info.runs[key][seed]) for seed in (1, 2, 3)] for key in ("Turns", "Static"))
    for name in ("waiting", "service", "pauses", "used"):
        wanted = difference([getattr(each, name) for each in mine], [getattr(each, name) for each in base])
        assert (turns.differences[name].value, turns.differences[name].seconds) == (
            wanted.value,
            wanted.seconds,
        )


def test_more_is_better_for_some_measures():
    assert kind_of("used", 0.2, 0.1, 0.3) == "better"
    assert kind_of("jobs_per_hour", -0.2, -0.3, -0.1) == "worse"
    assert kind_of("waiting", 0.2, 0.1, 0.3) == "worse"
    assert describe_difference("waiting", difference([10.0, 12.0], [0.0, 0.0])) == (
        "+11.0 s",
        "+10.0 s to +12.0 s",
    )
    assert describe_difference("waiting", difference([0.0, 0.0], [0.0, 0.0])) is None
    assert describe_difference("waiting", difference([10.0], [0.0])) == ("+10.0 s", "one seed")
    assert describe_difference("waiting", difference([10.0, 10.0], [20.0, 20.0])) == (
        "−50.0%",
        "−50.0 to −50.0%",
    )
    assert format_measure("used", 0.938) == "93.8%"


def test_the_card_of_times_needs_somebody_who_waits():
    free = {"waiting": 0.0, "service": 50.0, "paused": 0.0}
    assert times_card([("a", free), ("b", free)], []) is None
    assert times_card([("a", {}), ("b", {"mean": 3.0})], []) is None
    shown = times_card([("a", free), ("b", {**free, "waiting": 20.0})], [("Table, CSV", "/x.csv")])
    text = json.dumps(shown, default=lambda each: each.to_plotly_json(), ensure_ascii=False)
    assert "Mean waiting, running and total time of a job under a and b" in text
    assert "paused" not in text


def test_a_tick_says_who_waits_since_when_and_why(place, experiment, sentence):
    run = place.runs.experiment(experiment).runs["Static"][1]
    entries = [place.runs.ledgers.entry(run, tick.number) for tick in place.runs.ledgers.ticks(run)]
    tick = max(range(len(entries)), key=lambda at: len(waiting(entries[at])))
    assert len(waiting(entries[tick])) > 2
    text = text_of(experiment=experiment, look="ledger", of="Static", tick=str(tick))
    number = f"{len(waiting(entries[tick])):,} waiting"
    for words in ("Waiting after this tick", number, "are free.", "Behind ", "elastic, queue",
                  "Cores and threads per job"):  # fmt: skip
        assert words in text, words
    said = wait_reasons(place.runs.ledgers.series(run), tick)
    first = waiting(entries[tick])[0]
    sentence(said[first.id][0].text)
    assert 0 < said[first.id][1] < len(waiting(entries[tick]))
    assert wait_reasons(None, tick) == wait_reasons({"time": [0.0]}, 3) == {}
    # those that wait are in that card alone, unless they are looked at
    assert f"jobs: {len(entries[tick].observation.jobs) - len(waiting(entries[tick]))}" in text
    own = text_of(experiment=experiment, look="ledger", of="Static", tick=str(tick), job=first.id)
    assert "does not exist" not in own


def test_whoever_is_paused_now_waits_from_now_on(place, experiment):
    run = place.runs.experiment(experiment).runs["Turns"][1]
    for tick in place.runs.ledgers.ticks(run):
        entry = place.runs.ledgers.entry(run, tick.number)
        after = {job.id for job in waiting(entry)}
        if tick.number + 1 < len(place.runs.ledgers.ticks(run)):
            seen = place.runs.ledgers.entry(run, tick.number + 1).observation
            idle = {job.id for job in seen.jobs if job.state in (JobState.WAITING, JobState.PAUSED)}
            new = {job.id for job in seen.jobs} - {job.id for job in entry.observation.jobs}
            assert after == idle - new


def test_series_of_earlier_releases_are_drawn_without_threads(place, experiment, server, monkeypatch):
    run = place.runs.experiment(experiment).runs["Bends"][1]
    series = json.loads(json.dumps(place.runs.ledgers.series(run)))
    series.pop("waits")
    for lines in series["jobs"].values():
        lines.pop("threads")
    monkeypatch.setattr(stored, "recent_series", lambda _: series)
    monkeypatch.setattr(stored, "series", lambda _: series)
    text = text_of(experiment=experiment, look="ledger", of="Bends", tick="9")
    assert "Cores per job" in text
    assert "Cores and threads per job" not in text
    lines_ = server.test_client().get(f"/api/runs/{run}/lines.csv").get_data(as_text=True)
    assert {row["threads"] for row in csv.DictReader(io.StringIO(lines_))} == {""}


def test_files_have_the_queue(place, experiment, server):
    client = server.test_client()

    def rows(address):
        return list(csv.DictReader(io.StringIO(client.get(address).get_data(as_text=True).lstrip("\ufeff"))))

    lines = {row["policy"]: row for row in rows(f"/api/experiments/{experiment}/leaderboard.csv")}
    info = place.runs.experiment(experiment)
    report = {row["label"]: row for row in (info.report or {})["comparison"]}
    for label, row in lines.items():
        assert float(row["waiting_s"]) == pytest.approx(report[label]["measures"]["waiting"])
        assert float(row["used"]) == pytest.approx(report[label]["measures"]["used"])
    assert float(lines["Turns"]["pauses_apart"]) > 0
    assert lines["Turns"]["pauses_change"] == ""
    jobs = rows(f"/api/experiments/{experiment}/jobs.csv")
    result = stored.result(info.runs["Turns"][1])
    mine = {row["id"]: row for row in jobs if (row["policy"], row["seed"]) == ("Turns", "1")}
    for job in result.jobs:
        if job.waiting is not None:
            assert float(mine[job.id]["waiting"]) == pytest.approx(job.waiting)
    against = rows(f"/api/experiments/{experiment}/leaderboard.csv?base=Static")
    assert next(float(row["waiting_apart"]) for row in against if row["policy"] == "Turns") < 0


def test_reports_of_earlier_releases_have_no_such_columns(place, experiment):
    info = place.runs.experiment(experiment)
    report = json.loads(json.dumps(info.report))
    for row in report["comparison"]:
        row["measures"] = {name: row["measures"][name] for name in ("mean", "makespan", "t90", "t95", "t99")}
        for each in (row["differences"] or {}).values():
            each.pop("seconds_low")
            each.pop("seconds_high")
    view = view_of(experiment=experiment, columns="queue")
    old = replace(info, report=report)
    rows = board_cells.rows(old, select(old, view), view)
    assert board_cells.columns(rows, view).titles == board_cells.COMPLETION
    assert board_cells.columns(rows, view).ways == ("spread",)
