"""The Tasks page without a browser: rows, filters, details, and what a poll answers."""

import json
from datetime import UTC, datetime, timedelta

import dash
import pytest

from app.pages.tasks import page
from app.ui import task_card
from app.ui.links import Query
from core.bootstrap import worker_for
from core.errors import ConflictError
from core.workspace.records import TaskState, WorkerInfo
from tests.builders import small_traces


def text_of(node):
    return json.dumps(node, default=lambda each: each.to_plotly_json(), ensure_ascii=False)


def train(place, **settings):
    traces = place.traces.list() or [place.traces.add(small_traces(), None, name="Night batch")]
    chosen = {"phases": 3, "hidden": 4, "epochs": 3} | settings
    params = {"trace_set": traces[0].id, "settings": chosen, "features": None, "name": "m"}
    return place.tasks.submit("train", "Train m", params)


def test_an_empty_list_says_what_will_be_here(server):
    text = text_of(page.layout())
    assert "No tasks yet" in text
    assert "phasedock worker" in text


def test_a_waiting_task_can_be_cancelled_and_then_retried(place):
    task = train(place)
    assert '"cancel"' in text_of(page.layout())
    assert task_card.perform("cancel", task) is None
    assert place.tasks.get(task).state is TaskState.CANCELLED
    again = task_card.perform("retry", task)
    assert again is not None
    assert place.tasks.get(again).retry_of == task
    assert "Attempt 2." in text_of(page.layout(task=again))


def test_what_cannot_be_done_is_said(place, refuses):
    with refuses(ConflictError):
        task_card.perform("dance", train(place))


def test_filters_let_through_what_they_say(place):
    waiting, cancelled = train(place), train(place)
    place.tasks.cancel(cancelled)
    text = text_of(page.layout(state="active"))
    assert waiting in text
    assert cancelled not in text
    assert "No task is in this state" in text_of(page.layout(state="done"))


def test_details_tell_what_was_asked_by_name(place):
    task = train(place, encoder="pca")
    text = text_of(page.layout(task=task))
    for expected in ("Night batch", "Principal components of the window", "Hidden units", "3 epochs"):
        assert expected in text


def test_a_task_that_is_gone_is_said(server):
    assert "There is no task with this id" in text_of(page.layout(task="0" * 16))


def test_a_poll_draws_only_what_is_new(place):
    task = train(place)
    worker_for(place).work(task)
    done = place.tasks.get(task)
    assert done.state is TaskState.DONE
    head, _status, outcome, figure, seen, ended = task_card.refresh(task, [-1, "running|0.1"])
    assert ended
    assert "done" in text_of(head)
    assert f"model={done.result['model']}" in text_of(outcome)  # type: ignore[index]
    steps = figure.to_plotly_json()["operations"][0]["params"]["value"]
    assert steps[0] == 1
    assert seen[0] == max(steps)
    again = task_card.refresh(task, seen)
    assert again == (dash.no_update,) * 5 + (True,)


def test_a_poll_of_a_cleared_task_ends(place):
    answer = task_card.refresh("0" * 16, [-1, ""])
    assert "cleared" in text_of(answer[1])
    assert answer[-1] is True


def test_all_tasks_are_listed_for_a_state_that_there_is_not():
    nav = page.filters(page.View.read(Query("/tasks", {"state": "odd"})), page.counts_of([]))
    assert [link.className for link in nav.children] == ["on", ""]


def test_the_page_is_drawn_again_only_when_something_changed(place):
    train(place)
    tasks, (sentence, _) = place.tasks.list(), page._worker()
    view = page.View.read(Query("/tasks", {}))
    seen = [page._page_digest(tasks, view, sentence), 0]
    assert page._refresh("", seen) == (dash.no_update,) * 4
    train(place)
    assert page._refresh("", seen)[0] is not dash.no_update


@pytest.mark.parametrize(
    ("ago", "said"),
    [
        (timedelta(seconds=5), "just now"),
        (timedelta(minutes=4), "4 min ago"),
        (timedelta(minutes=59), "59 min ago"),
    ],
)
def test_moments_are_said_as_people_say_them(ago, said):
    now = datetime(2026, 11, 20, 18, 2, tzinfo=UTC)
    assert task_card.time_text(now - ago, now) == said


def test_moments_long_ago_have_a_date():
    now = datetime(2026, 11, 20, 18, 2, tzinfo=UTC)
    assert task_card.time_text(now - timedelta(days=10), now) == "10 Nov"
    assert task_card.time_text(now - timedelta(days=400), now) == "16 Oct 2025"
    assert task_card.time_text(now - timedelta(days=1), now).startswith("yesterday ")


@pytest.mark.parametrize(
    ("worker", "threads", "said"),
    [
        (WorkerInfo(True, 1, 0.1, 0, 0), 2, "1 worker, 2 threads, the queue is empty"),
        (WorkerInfo(True, 2, 0.1, 3, 1), 1, "2 workers, 1 thread each, 1 running, 3 waiting"),
    ],
)
def test_the_worker_is_told_in_a_sentence(worker, threads, said):
    assert task_card.worker_sentence(worker, threads) == said
