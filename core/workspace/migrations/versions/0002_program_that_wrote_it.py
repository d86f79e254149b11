"""The version of PhaseDock that wrote the tables, so that an older one can name it."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Add the column; `core.workspace.database` fills it after each upgrade."""
    op.add_column("schema_version", sa.Column("program", sa.Text))
