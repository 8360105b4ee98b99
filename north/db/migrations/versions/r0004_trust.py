"""The rights of the sweep."""

from north.db.migrations import run_sql

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Run the SQL file of this revision."""
    run_sql("0004_trust")
