"""The database: made once by many, and clear about what is wrong."""

import threading

import pytest
from sqlalchemy import select, update

from core.bootstrap import open_workspace
from core.config import Settings
from core.errors import ConflictError, SettingsError
from core.workspace.database import Database, head
from core.workspace.database_schema import SchemaRow


def test_many_may_make_the_tables_at_the_same_time(tmp_path):
    made = []

    def make():
        Database(f"sqlite:///{tmp_path / 'a.db'}").close()
        made.append(True)

    threads = [threading.Thread(target=make) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 8


def test_writers_wait_for_each_other(tmp_path):
    database = Database(f"sqlite:///{tmp_path / 'a.db'}")

    def add():
        for _ in range(20):
            with database.write() as session:
                row = session.scalars(select(SchemaRow)).one()
                session.execute(update(SchemaRow).values(version=row.version + 1))

    threads = [threading.Thread(target=add) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with database.read() as session:
        assert session.scalars(select(SchemaRow.version)).one() == head() + 100
    database.close()


def test_an_error_undoes_a_transaction(tmp_path):
    database = Database(f"sqlite:///{tmp_path / 'a.db'}")

    def fail():
        with database.write() as session:
            session.execute(update(SchemaRow).values(version=7))
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    with database.read() as session:
        assert session.scalars(select(SchemaRow.version)).one() == head()
    database.close()


def test_tables_of_a_newer_program_are_left_alone(tmp_path, refuses):
    url = f"sqlite:///{tmp_path / 'a.db'}"
    database = Database(url)
    with database.write() as session:
        session.execute(update(SchemaRow).values(version=99))
    database.close()
    with refuses(ConflictError):
        Database(url)


@pytest.mark.parametrize(
    "url",
    [
        "sqlite:////nowhere/at/all/a.db",
        "postgresql+psycopg://me:hunter22@127.0.0.1:1/none",
        "sqlite+nodriver:///x.db",
    ],
)
def test_a_database_that_cannot_be_used_is_said_without_secrets(url, refuses):
    with refuses(SettingsError) as caught:
        Database(url)
    assert "hunter22" not in str(caught.value)


def test_a_file_that_is_no_database_is_said(tmp_path, refuses):
    (tmp_path / "a.db").write_bytes(b"not a database at all" * 100)
    with refuses(SettingsError):
        Database(f"sqlite:///{tmp_path / 'a.db'}")


def test_a_home_that_cannot_be_made_is_said(tmp_path, monkeypatch, refuses):
    def refuse(*_args, **_kwargs):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("pathlib.Path.mkdir", refuse)
    with refuses(SettingsError):
        open_workspace(Settings(home=tmp_path / "home"))
