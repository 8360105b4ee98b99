"""Each index for the statements that it was made for."""

from north.db.migrations import run_sql

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    """Run the SQL file of this revision."""
    run_sql("0009_indexes_apart")
