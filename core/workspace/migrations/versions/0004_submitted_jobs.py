"""Jobs that people submit, for the queues of engines."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"

_DOUBLE = sa.Float(53)


def upgrade() -> None:
    """Create the table."""
    op.create_table(
        "submitted_jobs",
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column("engine", sa.String(64), nullable=False),
        sa.Column("engine_name", sa.Text, nullable=False),
        sa.Column("name", sa.String(64), nullable=False),
        sa.Column("spec", sa.JSON, nullable=False),
        sa.Column("created", _DOUBLE, nullable=False),
        sa.Column("priority", sa.BigInteger, nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("why", sa.Text, nullable=False),
        sa.Column("cancel_asked", sa.Boolean, nullable=False),
        sa.Column("container", sa.String(64), nullable=False),
        sa.Column("started", _DOUBLE),
        sa.Column("finished", _DOUBLE),
        sa.Column("cores", _DOUBLE),
        sa.Column("threads", sa.BigInteger),
        sa.UniqueConstraint("engine", "name", name="submitted_jobs_by_name"),
    )
    for column in ("engine", "state"):
        op.create_index(f"ix_submitted_jobs_{column}", "submitted_jobs", [column])
