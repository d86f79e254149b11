"""A store that grows: what an earlier version wrote is all there, one process upgrades, and none half."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import create_engine

from core.application import Workspace
from core.config import Settings
from core.errors import ConflictError, SettingsError
from core.workspace import database
from core.workspace.database import Database
from core.workspace.database_schema import Base
from tests.data.make_earlier_home import summary_of
from tests.runtime.kinds_for_tests import kinds_for_tests

EARLIER = Path(__file__).resolve().parents[2] / "data" / "home_of_0_1_0.tar.xz"
STEP = """
from alembic import op
import sqlalchemy as sa
revision, down_revision = "{number:04d}", "{before:04d}"
def upgrade():
    op.add_column("tasks", sa.Column("colour", sa.Text))
    {then}
"""


@pytest.fixture
def earlier(tmp_path):
    """A home that PhaseDock 0.1.0 wrote."""
    with tarfile.open(EARLIER) as tar:
        tar.extractall(tmp_path, filter="data")
    return tmp_path / "home"


@pytest.fixture
def another_step(tmp_path, monkeypatch):
    """Gives this program one more step, which adds a column and then does something else."""

    def add(then="pass"):
        steps, number = tmp_path / "steps", database.head() + 1
        for path in [database.STEPS / "env.py", *database.STEPS.glob("versions/[0-9]*.py")]:
            copy = steps / path.relative_to(database.STEPS)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(path.read_bytes())
        text = STEP.format(number=number, before=number - 1, then=then)
        (steps / "versions" / f"{number:04d}_another.py").write_text(text)
        monkeypatch.setattr(database, "STEPS", steps)
        return number

    return add


def rows(database):
    """All rows of all tables."""
    with sqlite3.connect(database) as connection:
        connection.row_factory = sqlite3.Row
        names = [row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {name: [dict(row) for row in connection.execute(f"SELECT * FROM {name}")] for name in names}


def columns(database, table):
    with sqlite3.connect(database) as connection:
        return [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]


def assert_within(old, new):
    """Everything old is in what is new; new fields may stand beside it."""
    if isinstance(old, dict):
        for name, value in old.items():
            assert_within(value, new[name])
    elif isinstance(old, list):
        assert len(old) == len(new)
        for one, other in zip(old, new, strict=True):
            assert_within(one, other)
    else:
        assert new == old


def test_everything_that_an_earlier_version_wrote_is_there(earlier):
    shown = json.loads((earlier / "seen.json").read_text())
    before = rows(earlier / "phasedock.db")
    before.pop("schema_version")
    assert all(before[name] for name in before if name not in ("workers", "alembic_version"))
    space = Workspace(Settings(home=earlier), kinds_for_tests())
    assert_within(before, rows(earlier / "phasedock.db"))
    for saved in shown["holds"]:
        # a change by hand is one of several steps now
        saved["undo"] = [{"limits": saved["undo"]}] if saved["undo"] else []
    assert_within(shown, summary_of(space))
    space.close()


def test_an_earlier_file_is_kept_as_it_was_and_only_once(earlier, another_step):
    before = rows(earlier / "phasedock.db")
    Database(f"sqlite:///{earlier / 'phasedock.db'}").close()
    (kept,) = earlier.glob("phasedock.db.before-*")
    assert kept.name == f"phasedock.db.before-{database.head():04d}"
    assert rows(kept) == before
    number = another_step()
    between = rows(earlier / "phasedock.db")
    Database(f"sqlite:///{earlier / 'phasedock.db'}").close()
    (kept,) = earlier.glob("phasedock.db.before-????")
    assert kept.name == f"phasedock.db.before-{number:04d}"
    assert rows(kept) == between


def test_a_copy_that_does_not_fit_is_said_and_nothing_is_changed(earlier, monkeypatch):
    def full(_path):
        raise OSError(28, "No space left on device")

    before = rows(earlier / "phasedock.db")
    monkeypatch.setattr(database, "sync_file", full)
    with pytest.raises(SettingsError, match="The disk is full, so a copy of the database"):
        Database(f"sqlite:///{earlier / 'phasedock.db'}")
    assert rows(earlier / "phasedock.db") == before
    assert list(earlier.glob("phasedock.db.before-*")) == []


def test_the_steps_lead_to_the_tables_of_this_program(tmp_path):
    url = f"sqlite:///{tmp_path / 'a.db'}"
    Database(url).close()
    engine = create_engine(url)
    with engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), Base.metadata) == []
    engine.dispose()


def test_an_earlier_home_comes_to_the_same_tables_as_a_new_one(earlier, tmp_path):
    for path in (earlier / "phasedock.db", tmp_path / "new.db"):
        Database(f"sqlite:///{path}").close()
    old, new = (
        {
            name: [tuple(column) for column in sqlite3.connect(path).execute(f"PRAGMA table_info({name})")]
            for name in rows(path)
        }
        for path in (earlier / "phasedock.db", tmp_path / "new.db")
    )
    assert old == new


def test_steps_are_numbered_without_gaps_and_their_files_say_so():
    config = Config()
    config.set_main_option("script_location", str(database.STEPS))
    script = ScriptDirectory.from_config(config)
    numbers = [int(step.revision) for step in script.walk_revisions()]
    assert numbers == list(range(database.head(), 0, -1))
    assert script.get_heads() == [f"{database.head():04d}"]


def test_a_store_that_is_up_to_date_needs_no_alembic(tmp_path):
    Database(f"sqlite:///{tmp_path / 'a.db'}").close()
    script = (
        "import sys; from core.workspace.database import Database;"
        f"Database('sqlite:///{tmp_path / 'a.db'}').close(); sys.exit('alembic' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


def test_an_older_program_says_which_one_wrote_the_store(tmp_path, another_step, monkeypatch):
    url = f"sqlite:///{tmp_path / 'a.db'}"
    own, known = database.STEPS, database.head()
    number = another_step()
    with monkeypatch.context() as newer:
        newer.setattr(database, "program_version", lambda: "7.1.0")
        Database(url).close()
    monkeypatch.setattr(database, "STEPS", own)
    before = rows(tmp_path / "a.db")
    with pytest.raises(
        ConflictError, match=rf"written by PhaseDock 7\.1\.0 .* version {number} .* knows {known}"
    ):
        Database(url)
    assert rows(tmp_path / "a.db") == before


def test_the_program_before_migrations_stays_away_from_a_newer_store(tmp_path):
    Database(f"sqlite:///{tmp_path / 'a.db'}").close()
    # PhaseDock 0.1.0 compares this number with 1 and refuses any other
    (row,) = rows(tmp_path / "a.db")["schema_version"]
    assert row["version"] == database.head() > 1


def test_two_processes_upgrade_once(earlier):
    address = f"sqlite:///{earlier / 'phasedock.db'}"
    script = f"from core.workspace.database import Database;Database({address!r}).close()"
    both = [subprocess.Popen([sys.executable, "-c", script], stderr=subprocess.PIPE) for _ in range(2)]
    said = [process.communicate(timeout=60)[1] for process in both]
    assert [process.returncode for process in both] == [0, 0], said
    assert rows(earlier / "phasedock.db")["alembic_version"] == [{"version_num": f"{database.head():04d}"}]


def killed(work):
    """The signal that ended a child doing this."""
    child = os.fork()
    if child == 0:
        try:
            work()
        finally:
            os._exit(1)
    return -os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_a_kill_in_the_middle_leaves_the_old_tables(earlier, another_step):
    url = f"sqlite:///{earlier / 'phasedock.db'}"
    Database(url).close()
    before = rows(earlier / "phasedock.db")
    number = another_step("import os, signal; os.kill(os.getpid(), signal.SIGKILL)")
    assert killed(lambda: Database(url)) == signal.SIGKILL
    assert rows(earlier / "phasedock.db") == before
    assert "colour" not in columns(earlier / "phasedock.db", "tasks")
    (database.STEPS / "versions" / f"{number:04d}_another.py").write_text(
        STEP.format(number=number, before=number - 1, then="pass")
    )
    Database(url).close()
    assert "colour" in columns(earlier / "phasedock.db", "tasks")
    assert_within(before["tasks"], rows(earlier / "phasedock.db")["tasks"])


def test_a_table_that_is_made_anew_keeps_the_rows_that_refer_to_it(earlier, another_step):
    before = rows(earlier / "phasedock.db")
    again = (
        'with op.batch_alter_table("tasks", recreate="always") as t: t.alter_column("title", nullable=True)'
    )
    another_step(again)
    Database(f"sqlite:///{earlier / 'phasedock.db'}").close()
    after = rows(earlier / "phasedock.db")
    assert after["task_log"] == before["task_log"]
    assert after["task_metrics"] == before["task_metrics"]
    with sqlite3.connect(earlier / "phasedock.db") as connection:
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []


def test_a_step_that_fails_leaves_the_old_tables(earlier, another_step):
    before = rows(earlier / "phasedock.db")
    another_step("raise RuntimeError('no')")
    with pytest.raises(RuntimeError):
        Database(f"sqlite:///{earlier / 'phasedock.db'}")
    assert rows(earlier / "phasedock.db") == before
