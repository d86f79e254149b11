"""Add what lets an attached policy go on with another worker: its run's containers, and the limits it set."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Add the columns."""
    op.add_column("runs", sa.Column("containers", sa.JSON))
    op.add_column("holds", sa.Column("new_limits", sa.JSON))
