"""The tables of PhaseDock 0.1.0, which had no migrations yet."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

_DOUBLE = sa.Float(53)


def upgrade() -> None:
    """Create the tables."""
    versions = op.create_table("schema_version", sa.Column("version", sa.BigInteger, primary_key=True))
    op.bulk_insert(versions, [{"version": 1}])
    for name in ("trace_sets", "models"):
        _stored(name)
    _workers_and_tasks()
    _of_tasks()
    _experiments_and_runs()
    _of_runs()
    _containers()


def _stored(name: str) -> None:
    op.create_table(
        name,
        _id(),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("created", _DOUBLE, nullable=False),
        sa.Column("trashed", _DOUBLE),
        sa.Column("facts", sa.JSON, nullable=False),
        sa.Column("task", sa.String(32)),
    )
    _index(name, "task")


def _workers_and_tasks() -> None:
    op.create_table(
        "workers",
        _id(),
        sa.Column("host", sa.Text, nullable=False),
        sa.Column("pid", sa.BigInteger, nullable=False),
        sa.Column("birth", sa.String(32), nullable=False),
        sa.Column("started", _DOUBLE, nullable=False),
        sa.Column("beat", _DOUBLE, nullable=False),
    )
    op.create_table(
        "tasks",
        _id(),
        sa.Column("kind", sa.String(64), nullable=False),
        sa.Column("title", sa.Text, nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("progress", _DOUBLE, nullable=False),
        sa.Column("message", sa.Text, nullable=False),
        sa.Column("params", sa.JSON, nullable=False),
        sa.Column("result", sa.JSON),
        sa.Column("error_message", sa.Text),
        sa.Column("error_hint", sa.Text),
        sa.Column("created", _DOUBLE, nullable=False),
        sa.Column("started", _DOUBLE),
        sa.Column("finished", _DOUBLE),
        sa.Column("expected_end", _DOUBLE),
        sa.Column("attempt", sa.BigInteger, nullable=False),
        sa.Column("retry_of", sa.String(32)),
        sa.Column("cancel_asked", sa.Boolean, nullable=False),
        sa.Column("worker", sa.String(32)),
        sa.Column("queued_at", _DOUBLE, nullable=False),
    )
    _index("tasks", "state")
    _index("tasks", "created")


def _of_tasks() -> None:
    op.create_table(
        "task_metrics",
        _number(),
        _owner("task", "tasks"),
        sa.Column("step", sa.BigInteger, nullable=False),
        sa.Column("name", sa.String(64), nullable=False),
        sa.Column("value", _DOUBLE, nullable=False),
    )
    op.create_index("task_metrics_by_step", "task_metrics", ["task", "step"])
    op.create_table(
        "task_log",
        _number(),
        _owner("task", "tasks"),
        sa.Column("time", _DOUBLE, nullable=False),
        sa.Column("text", sa.Text, nullable=False),
        sa.Column("internal", sa.Boolean, nullable=False),
    )
    _index("task_log", "task")


def _experiments_and_runs() -> None:
    op.create_table(
        "experiments",
        _id(),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("created", _DOUBLE, nullable=False),
        sa.Column("task", sa.String(32)),
        sa.Column("facts", sa.JSON, nullable=False),
        sa.Column("runs", sa.JSON, nullable=False),
        sa.Column("report", sa.JSON),
    )
    _index("experiments", "created")
    _index("experiments", "task")
    op.create_table(
        "runs",
        _id(),
        sa.Column("experiment", sa.String(32), nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("label", sa.Text, nullable=False),
        sa.Column("policy", sa.String(64), nullable=False),
        sa.Column("settings", sa.JSON, nullable=False),
        sa.Column("seed", sa.BigInteger, nullable=False),
        sa.Column("scenario", sa.String(64), nullable=False),
        sa.Column("key", sa.String(64), nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("task", sa.String(32)),
        sa.Column("created", _DOUBLE, nullable=False),
        sa.Column("entries", sa.BigInteger, nullable=False),
        sa.Column("summary", sa.JSON),
        sa.Column("jobs", sa.JSON),
    )
    for column in ("experiment", "policy", "scenario", "key", "state", "task", "created"):
        _index("runs", column)


def _of_runs() -> None:
    op.create_table(
        "run_ledger",
        _owner("run", "runs", primary_key=True),
        sa.Column("first", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("heads", sa.JSON, nullable=False),
        sa.Column("data", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "run_series",
        _owner("run", "runs", primary_key=True),
        sa.Column("data", sa.LargeBinary, nullable=False),
    )


def _containers() -> None:
    op.create_table(
        "holds",
        sa.Column("engine", sa.String(64), primary_key=True),
        sa.Column("container", sa.String(64), primary_key=True),
        sa.Column("owner", sa.String(32), primary_key=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("since", _DOUBLE, nullable=False),
        sa.Column("limits", sa.JSON, nullable=False),
        sa.Column("undo", sa.JSON),
        sa.Column("paused", sa.Boolean, nullable=False),
    )
    op.create_table(
        "picked_containers",
        sa.Column("engine", sa.String(64), primary_key=True),
        sa.Column("container", sa.String(64), primary_key=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("since", _DOUBLE, nullable=False),
    )


def _id() -> sa.Column[str]:
    return sa.Column("id", sa.String(32), primary_key=True)


def _number() -> sa.Column[int]:
    # SQLite numbers rows by itself only where the key is an INTEGER
    return sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), primary_key=True)


def _owner(name: str, table: str, *, primary_key: bool = False) -> sa.Column[str]:
    key = sa.ForeignKey(f"{table}.id", ondelete="CASCADE")
    return sa.Column(name, sa.String(32), key, primary_key=primary_key, nullable=False)


def _index(table: str, column: str) -> None:
    op.create_index(f"ix_{table}_{column}", table, [column])
