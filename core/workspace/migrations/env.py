"""The Alembic environment: runs missing steps in the transaction of `core.workspace.database`."""

from __future__ import annotations

from alembic import context

context.configure(connection=context.config.attributes["connection"])
context.run_migrations()
