"""Add the engine's name to saved limits, beside its id.

Earlier rows have the name where the id is now, and nothing here, by which they are recognised.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Add the column."""
    op.add_column("holds", sa.Column("engine_name", sa.Text))
