"""A database that cannot be written: said in words, and what was acknowledged before stays."""

import sqlite3
from contextlib import contextmanager

import pytest
from sqlalchemy import event, text
from sqlalchemy.exc import IntegrityError

from core.application import Workspace
from core.bootstrap import worker_for
from core.config import Settings
from core.errors import SettingsError
from core.tasks.worker import Worker
from core.workspace.database import Database
from core.workspace.database_schema import TaskRow
from core.workspace.files import StorageError
from core.workspace.records import TaskState
from tests.builders import small_traces, write_csv
from tests.runtime.kinds_for_tests import kinds_for_tests, until

LARGE = {"text": "x" * 200_000}


class Disk:
    """A database's disk: SQLite itself refuses to let the file grow, or to write at all."""

    def __init__(self, database):
        self.pragma = "PRAGMA query_only = OFF"
        event.listen(database._writing, "begin", lambda connection: connection.exec_driver_sql(self.pragma))

    @contextmanager
    def with_(self, pragma):
        before, self.pragma = self.pragma, pragma
        yield
        self.pragma = before

    def full(self):
        return self.with_("PRAGMA max_page_count = 1")

    def read_only(self):
        return self.with_("PRAGMA query_only = ON")


@pytest.fixture
def place(tmp_path):
    opened = Workspace(Settings(home=tmp_path / "home"), kinds_for_tests())
    yield opened
    opened.close()


def test_a_task_that_a_full_disk_cannot_take_is_refused_in_words(place, caplog, refuses):
    with Disk(place.database).full(), refuses(StorageError) as caught:
        place.tasks.submit("count", "Count", LARGE)
    assert "sqlite" not in str(caught.value).lower()
    assert "database or disk is full" in caplog.text
    assert place.tasks.list() == []


def test_a_database_that_may_not_be_written_is_said(place, refuses):
    disk = Disk(place.database)
    with disk.read_only(), refuses(StorageError):
        place.tasks.submit("count", "Count", {})
    assert place.tasks.submit("count", "Count", {})


def test_a_database_that_somebody_holds_is_said(place, tmp_path, refuses):
    with sqlite3.connect(tmp_path / "home" / "phasedock.db") as other, Disk(place.database).with_("SELECT 1"):
        other.execute("BEGIN IMMEDIATE")
        with place.database.read() as session:
            session.execute(text("PRAGMA busy_timeout = 0"))
        with refuses(StorageError):
            place.tasks.submit("count", "Count", {})
        other.rollback()


def test_a_damaged_database_is_said(place, tmp_path, refuses):
    for _ in range(20):
        place.tasks.submit("count", "Count", LARGE)
    place.close()
    path = tmp_path / "home" / "phasedock.db"
    with path.open("r+b") as file:
        file.seek(40 * 4096)
        file.write(b"\xff" * (path.stat().st_size - 60 * 4096))
    with refuses(StorageError):
        place.tasks.list()


def test_a_file_that_is_no_database_stops_the_start_in_words(tmp_path, refuses):
    (tmp_path / "a.db").write_bytes(b"not a database at all" * 400)
    with refuses(SettingsError):
        Database(f"sqlite:///{tmp_path / 'a.db'}")


def test_a_mistake_of_ours_stays_a_mistake(place):
    values = {"kind": "count", "title": "", "state": "done", "params": {}, "created": 0.0, "queued_at": 0.0}
    with pytest.raises(IntegrityError), place.database.write() as session:
        session.add_all([TaskRow(id="same", **values), TaskRow(id="same", **values)])


def test_the_end_of_a_task_is_written_as_soon_as_there_is_room(place, monkeypatch, sentence):
    monkeypatch.setattr("core.tasks.worker.BEAT_EVERY", 0.05)
    disk = Disk(place.database)
    worker = Worker(place, threads=1, kinds=kinds_for_tests())
    worker.start()
    task = place.tasks.submit("count", "Count", {"steps": 3, "pause": 0.3})
    until(lambda: place.tasks.get(task).state is TaskState.RUNNING)
    with disk.read_only():
        until(lambda: task in worker._unwritten)
        assert place.tasks.get(task).state is TaskState.RUNNING
    info = until(lambda: (found := place.tasks.get(task)).state.ended and found)
    assert info.state is TaskState.FAILED
    sentence(info.error[0])
    assert worker.stop()


def test_an_upload_that_became_a_trace_set_is_never_asked_for_again(workspace, tmp_path, monkeypatch):
    data = write_csv(tmp_path / "a.csv", small_traces(1)).read_bytes()
    upload = workspace.uploads.begin("a.csv", len(data))
    workspace.uploads.receive(upload, [data])
    disk, discard = Disk(workspace.database), workspace.uploads.discard

    def discard_and_fill(name):
        discard(name)
        disk.pragma = "PRAGMA query_only = ON"

    monkeypatch.setattr(workspace.uploads, "discard", discard_and_fill)
    monkeypatch.setattr("core.tasks.worker.BEAT_EVERY", 0.05)
    worker = worker_for(workspace, threads=1)
    worker.start()
    task = workspace.uploads.accept(upload, None, "a")
    until(lambda: workspace.traces.list() and disk.pragma == "PRAGMA query_only = ON")
    until(lambda: task in worker._unwritten)
    disk.pragma = "PRAGMA query_only = OFF"
    info = until(lambda: (found := workspace.tasks.get(task)).state.ended and found)
    assert worker.stop()
    assert info.state is TaskState.DONE, info.error
    assert info.result == {"trace_set": workspace.traces.list()[0].id}
