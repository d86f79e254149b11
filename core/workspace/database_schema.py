"""The tables of the database. Times are seconds since 1970, so that every database keeps them alike.

Whatever changes here needs a step in `core.workspace.migrations`; docs/runtime.md says how it is
written.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    String,
    Text,
    UniqueConstraint,
)
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

_DOUBLE = Float(53)
# SQLite numbers rows by itself only where the key is an INTEGER
_SQLITE_KEY = Integer()


class Base(DeclarativeBase):
    """Base of all tables."""

    type_annotation_map = {dict[str, Any]: JSON, list[Any]: JSON, float: _DOUBLE, int: BigInteger}  # noqa: RUF012 - read by SQLAlchemy


class SchemaRow(Base):
    """The version of the tables, and the version of PhaseDock that made them so; one row."""

    __tablename__ = "schema_version"
    version: Mapped[int] = mapped_column(primary_key=True)
    program: Mapped[str | None] = mapped_column(Text)


class StoredRow(Base):
    """The columns that trace sets and models have in common."""

    __abstract__ = True
    id: Mapped[str] = mapped_column(String(32), primary_key=True)
    name: Mapped[str] = mapped_column(Text)
    created: Mapped[float]
    trashed: Mapped[float | None]
    facts: Mapped[dict[str, Any]]
    task: Mapped[str | None] = mapped_column(String(32), index=True)


class TraceSetRow(StoredRow):
    """A stored trace set; its samples are Parquet in `traces/<id>`."""

    __tablename__ = "trace_sets"


class ModelRow(StoredRow):
    """A stored model; its arrays are in `models/<id>`."""

    __tablename__ = "models"


class WorkerRow(Base):
    """A worker process and its last sign of life."""

    __tablename__ = "workers"
    id: Mapped[str] = mapped_column(String(32), primary_key=True)
    host: Mapped[str] = mapped_column(Text)
    pid: Mapped[int]
    birth: Mapped[str] = mapped_column(String(32))
    started: Mapped[float]
    beat: Mapped[float]


class TaskRow(Base):
    """One attempt at a piece of long work."""

    __tablename__ = "tasks"
    id: Mapped[str] = mapped_column(String(32), primary_key=True)
    kind: Mapped[str] = mapped_column(String(64))
    title: Mapped[str] = mapped_column(Text)
    state: Mapped[str] = mapped_column(String(16), index=True)
    progress: Mapped[float] = mapped_column(default=0.0)
    message: Mapped[str] = mapped_column(Text, default="")
    params: Mapped[dict[str, Any]]
    result: Mapped[dict[str, Any] | None]
    error_message: Mapped[str | None] = mapped_column(Text)
    error_hint: Mapped[str | None] = mapped_column(Text)
    created: Mapped[float] = mapped_column(index=True)
    started: Mapped[float | None]
    finished: Mapped[float | None]
    expected_end: Mapped[float | None]
    attempt: Mapped[int] = mapped_column(default=1)
    retry_of: Mapped[str | None] = mapped_column(String(32))
    cancel_asked: Mapped[bool] = mapped_column(default=False)
    worker: Mapped[str | None] = mapped_column(String(32))
    queued_at: Mapped[float]


class MetricRow(Base):
    """One value of a live curve of a task, such as its error after an epoch."""

    __tablename__ = "task_metrics"
    id: Mapped[int] = mapped_column(BigInteger().with_variant(_SQLITE_KEY, "sqlite"), primary_key=True)
    task: Mapped[str] = mapped_column(ForeignKey("tasks.id", ondelete="CASCADE"))
    step: Mapped[int]
    name: Mapped[str] = mapped_column(String(64))
    value: Mapped[float]
    __table_args__ = (Index("task_metrics_by_step", "task", "step"),)


class LogRow(Base):
    """One line of a task's log; internal lines are for PhaseDock's developers."""

    __tablename__ = "task_log"
    id: Mapped[int] = mapped_column(BigInteger().with_variant(_SQLITE_KEY, "sqlite"), primary_key=True)
    task: Mapped[str] = mapped_column(ForeignKey("tasks.id", ondelete="CASCADE"), index=True)
    time: Mapped[float]
    text: Mapped[str] = mapped_column(Text)
    internal: Mapped[bool] = mapped_column(default=False)


class ExperimentRow(Base):
    """An experiment and the comparison of its runs."""

    __tablename__ = "experiments"
    id: Mapped[str] = mapped_column(String(32), primary_key=True)
    name: Mapped[str] = mapped_column(Text)
    created: Mapped[float] = mapped_column(index=True)
    task: Mapped[str | None] = mapped_column(String(32), index=True)
    facts: Mapped[dict[str, Any]]
    runs: Mapped[list[Any]]
    report: Mapped[dict[str, Any] | None]


class RunRow(Base):
    """One policy on one seed of an experiment."""

    __tablename__ = "runs"
    id: Mapped[str] = mapped_column(String(32), primary_key=True)
    experiment: Mapped[str] = mapped_column(String(32), index=True)
    name: Mapped[str] = mapped_column(Text)
    label: Mapped[str] = mapped_column(Text)
    policy: Mapped[str] = mapped_column(String(64), index=True)
    settings: Mapped[dict[str, Any]]
    seed: Mapped[int]
    scenario: Mapped[str] = mapped_column(String(64), index=True)
    key: Mapped[str] = mapped_column(String(64), index=True)
    state: Mapped[str] = mapped_column(String(16), index=True)
    task: Mapped[str | None] = mapped_column(String(32), index=True)
    created: Mapped[float] = mapped_column(index=True)
    entries: Mapped[int] = mapped_column(default=0)
    summary: Mapped[dict[str, Any] | None]
    jobs: Mapped[list[Any] | None] = mapped_column(deferred=True)
    containers: Mapped[dict[str, Any] | None] = mapped_column(deferred=True)


class LedgerRow(Base):
    """A part of a run's ledger: some entries, and when they were and why."""

    __tablename__ = "run_ledger"
    run: Mapped[str] = mapped_column(ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True)
    first: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    heads: Mapped[list[Any]]
    data: Mapped[bytes] = mapped_column(LargeBinary)


class SeriesRow(Base):
    """A run's time series: usage, limits and lists of its jobs, and the use of its workers."""

    __tablename__ = "run_series"
    run: Mapped[str] = mapped_column(ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True)
    data: Mapped[bytes] = mapped_column(LargeBinary)


class SavedLimitsRow(Base):
    """A container's limits before a task, or a person (no owner), changed them.

    The engine is its own id, and beside it what it was called then. Where the id is not known, as in rows of
    earlier versions, it is the engine's name, and there is none beside it.
    """

    __tablename__ = "holds"
    engine: Mapped[str] = mapped_column(String(64), primary_key=True)
    engine_name: Mapped[str | None] = mapped_column(Text)
    container: Mapped[str] = mapped_column(String(64), primary_key=True)
    owner: Mapped[str] = mapped_column(String(32), primary_key=True)
    name: Mapped[str] = mapped_column(Text)
    since: Mapped[float]
    limits: Mapped[dict[str, Any]]
    undo: Mapped[list[Any] | None]
    new_limits: Mapped[list[Any] | None]
    paused: Mapped[bool] = mapped_column(default=False)


class PickRow(Base):
    """A container without PhaseDock's label that a person picked."""

    __tablename__ = "picked_containers"
    engine: Mapped[str] = mapped_column(String(64), primary_key=True)
    container: Mapped[str] = mapped_column(String(64), primary_key=True)
    name: Mapped[str] = mapped_column(Text)
    since: Mapped[float]


class SubmittedJobRow(Base):
    """A job that a person submitted to an engine, from its submission until it is removed from the list.

    The engine is its own id, and beside it what it was called then. `spec` is what was submitted; priority
    and all below it are as they are now.
    """

    __tablename__ = "submitted_jobs"
    id: Mapped[str] = mapped_column(String(32), primary_key=True)
    engine: Mapped[str] = mapped_column(String(64), index=True)
    engine_name: Mapped[str] = mapped_column(Text)
    name: Mapped[str] = mapped_column(String(64))
    spec: Mapped[dict[str, Any]]
    created: Mapped[float]
    priority: Mapped[int] = mapped_column(default=0)
    state: Mapped[str] = mapped_column(String(16), index=True)
    why: Mapped[str] = mapped_column(Text, default="")
    cancel_asked: Mapped[bool] = mapped_column(default=False)
    container: Mapped[str] = mapped_column(String(64), default="")
    started: Mapped[float | None]
    finished: Mapped[float | None]
    cores: Mapped[float | None]
    threads: Mapped[int | None]
    promised: Mapped[bool | None]
    __table_args__ = (UniqueConstraint("engine", "name", name="submitted_jobs_by_name"),)


class EarlierRunsRow(Base):
    """The speed of one kind of job in earlier runs.

    `about` says which kind: its image, the command of its last run and its data.
    """

    __tablename__ = "earlier_runs"
    kind: Mapped[str] = mapped_column(String(32), primary_key=True)
    about: Mapped[dict[str, Any]]
    found: Mapped[dict[str, Any]]
    updated: Mapped[float]
