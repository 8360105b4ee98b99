"""OAuth: registered programs and lawyers' grants."""

from north.db.migrations import run_sql

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Run the SQL file of this revision."""
    run_sql("0003_oauth")
