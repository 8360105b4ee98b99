"""What recall scans, in the order of its buckets."""

from north.db.migrations import run_sql

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Run the SQL file of this revision."""
    run_sql("0006_recall")
