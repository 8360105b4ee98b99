"""Logins that failed lately."""

from north.db.migrations import run_sql

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Run the SQL file of this revision."""
    run_sql("0007_login_attempts")
