"""How often each memory was shown."""

from north.db.migrations import run_sql

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    """Run the SQL file of this revision."""
    run_sql("0008_totals_of_use")
