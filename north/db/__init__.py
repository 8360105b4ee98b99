"""Postgres: binding a firm, named SQL, migrations, the embedded server."""
