"""The database: connection, tables, migrations."""
