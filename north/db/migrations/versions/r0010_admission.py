"""A transaction that is bound and admitted by one statement."""

from north.db.migrations import run_sql

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    """Run the SQL file of this revision."""
    run_sql("0010_admission")
