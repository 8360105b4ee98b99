"""The schema, as SQL files that alembic runs in order."""

from pathlib import Path

HEAD = "0010"
"""The newest revision that this version of North knows."""


def run_sql(name: str) -> None:
    """Run `<name>.sql`, whole, on the migration's own connection."""
    from alembic import op  # here, since every command reads HEAD and few migrate

    text = (Path(__file__).parent / f"{name}.sql").read_text()
    # The driver's own connection: SQLAlchemy would read colons and percent signs as placeholders.
    driver = op.get_bind().connection.driver_connection
    assert driver is not None
    driver.execute(text)
