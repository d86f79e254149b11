"""What Alembic runs: the missing steps, in the transaction that `core.workspace.database` has begun."""

from __future__ import annotations

from alembic import context

context.configure(connection=context.config.attributes["connection"])
context.run_migrations()
