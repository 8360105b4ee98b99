"""The schema, as SQL files that alembic runs in order."""

from pathlib import Path

from alembic import op

HEAD = "0001"
"""The newest revision that this version of North knows."""


def run_sql(name: str) -> None:
    """Run `<name>.sql`, whole, on the migration's own connection."""
    text = (Path(__file__).parent / f"{name}.sql").read_text()
    # The driver's own connection: SQLAlchemy would read colons and percent signs as placeholders.
    driver = op.get_bind().connection.driver_connection
    assert driver is not None
    driver.execute(text)
