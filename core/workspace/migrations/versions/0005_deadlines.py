"""Add measurements of earlier runs by kind of job, and the guarantees of submitted jobs."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Create the table and add the column."""
    op.create_table(
        "earlier_runs",
        sa.Column("kind", sa.String(32), primary_key=True),
        sa.Column("about", sa.JSON, nullable=False),
        sa.Column("found", sa.JSON, nullable=False),
        sa.Column("updated", sa.Float(53), nullable=False),
    )
    op.add_column("submitted_jobs", sa.Column("promised", sa.Boolean))
