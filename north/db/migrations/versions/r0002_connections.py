"""Connections to document systems."""

from north.db.migrations import run_sql

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Run the SQL file of this revision."""
    run_sql("0002_connections")
