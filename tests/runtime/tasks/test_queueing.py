"""The queue carries ids as JSON, on SQLite and on Redis."""

import json
import sqlite3
from dataclasses import replace

from huey import RedisHuey

from core.bootstrap import worker_for
from core.errors import SettingsError
from core.tasks.store import WorkQueue


def test_messages_are_plain_json(workspace, settings):
    task = workspace.tasks.submit("samples", "Samples", {})
    with sqlite3.connect(settings.home / "queue.db") as database:
        ((data,),) = database.execute("select data from task").fetchall()
    database.close()
    assert json.loads(data)[6] == [task]


def test_an_id_comes_out_as_it_went_in(settings, workspace):
    seen = []
    queue = WorkQueue(settings, seen.append)
    queue.put("0123456789abcdef")
    assert queue.waiting() == {"0123456789abcdef"}
    queue.ordinary.execute(queue.ordinary.dequeue())
    assert seen == ["0123456789abcdef"]
    assert queue.ordinary.dequeue() is None
    queue.close()


def test_who_only_submits_does_no_work(settings, workspace, caplog):
    queue = WorkQueue(settings)
    queue.put("0123456789abcdef")
    queue.ordinary.execute(queue.ordinary.dequeue())
    assert "does no work" in caplog.text
    queue.close()


def test_redis_is_used_where_it_is_named_and_said_when_it_is_not_there(
    settings, workspace, monkeypatch, refuses
):
    elsewhere = replace(settings, redis_url="redis://127.0.0.1:1/0")
    queue = WorkQueue(elsewhere)
    assert isinstance(queue.ordinary, RedisHuey)
    with refuses(SettingsError):
        queue.check()
    workspace.settings = elsewhere
    with refuses(SettingsError):
        worker_for(workspace).start()
    assert not workspace.tasks.worker().alive


def test_a_worker_outlives_a_queue_that_goes_away(workspace, monkeypatch, caplog):
    monkeypatch.setattr("core.tasks.worker.BEAT_EVERY", 0.02)
    monkeypatch.setattr("core.tasks.worker._TIDY_EVERY", 0.02)
    from tests.runtime.kinds_for_tests import until

    worker = worker_for(workspace, threads=1)
    worker.start()

    def lose_connection():
        raise ConnectionError("gone")

    monkeypatch.setattr(workspace.tasks, "requeue_waiting", lose_connection)
    until(lambda: "postponed" in caplog.text)
    monkeypatch.undo()
    assert worker._beating.is_alive()
    assert worker.stop()
