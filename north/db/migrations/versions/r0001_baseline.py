"""The first schema."""

from north.db.migrations import run_sql

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Run the SQL file of this revision."""
    run_sql("0001_baseline")
