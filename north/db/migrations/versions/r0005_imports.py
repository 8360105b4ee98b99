"""Files of imports until they are read, and what each import brought."""

from north.db.migrations import run_sql

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Run the SQL file of this revision."""
    run_sql("0005_imports")
