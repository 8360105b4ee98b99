"""A folder that cannot hold the embedded Postgres is left alone, and what is wrong is said."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from north.db.embedded import start
from north.errors import DataFolderTooNew, DataFolderUnusable
from tests.db.embedded.conftest import as_root


class TestUnusableFolders:
    def looking_like(self, folder: Path, version: str) -> Path:
        """A folder that carries what is looked at before a database is touched."""
        (folder / "postgres").mkdir()
        (folder / "postgres" / "PG_VERSION").write_text(f"{version}\n")
        return folder

    def refusal(self, folder: Path) -> str:
        with pytest.raises((DataFolderUnusable, DataFolderTooNew)) as refused:
            start(folder)
        return str(refused.value)

    def test_a_newer_database_is_left_alone(self, tmp_path: Path) -> None:
        assert "newer North (Postgres 19" in self.refusal(self.looking_like(tmp_path, "19"))
        assert not (tmp_path / "credentials.json").exists()

    def test_an_older_database_is_left_alone_with_advice(self, tmp_path: Path) -> None:
        message = self.refusal(self.looking_like(tmp_path, "16"))
        assert "Postgres 16" in message
        assert "Dump it with pg_dump" in message

    def test_a_folder_with_other_files_is_left_alone(self, tmp_path: Path) -> None:
        (tmp_path / "postgres").mkdir()
        (tmp_path / "postgres" / "thesis.doc").touch()
        assert "holds files but no database" in self.refusal(tmp_path)
        assert (tmp_path / "postgres" / "thesis.doc").exists()

    @pytest.mark.parametrize("below", [".", "deeper"])
    def test_a_file_in_the_way_is_named(self, tmp_path: Path, below: str) -> None:
        (tmp_path / "file").touch()
        message = self.refusal(tmp_path / "file" / below)
        assert f"{tmp_path / 'file'}" in message
        assert "is a file in the way" in message

    def test_a_folder_that_may_not_be_written_is_named(self, tmp_path: Path) -> None:
        closed = Path("/sys") if os.geteuid() == 0 else tmp_path  # nothing else is closed to root
        if closed == tmp_path:
            tmp_path.chmod(0o500)
        assert f"may not use {closed / 'north'}" in self.refusal(closed / "north")

    @as_root
    def test_a_full_disk_is_called_that(self, tmp_path: Path) -> None:
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "none", tmp_path], capture_output=True).returncode:
            pytest.skip("this machine lets nobody mount a small disk")
        try:
            assert self.refusal(tmp_path / "north").endswith("the disk is full. Free some space and start again.")
            assert not (tmp_path / "north" / "postgres").exists()
        finally:
            subprocess.run(["umount", tmp_path], check=True)

    @pytest.mark.parametrize("content", ["{", "[]", '{"postgres": "x"}', "null"])
    def test_damaged_credentials_are_called_that(self, tmp_path: Path, content: str) -> None:
        (tmp_path / "credentials.json").write_text(content)
        assert "credentials.json is damaged" in self.refusal(self.looking_like(tmp_path, "18"))

    def test_missing_credentials_are_never_replaced_beside_a_database(self, tmp_path: Path) -> None:
        assert "credentials.json is missing" in self.refusal(self.looking_like(tmp_path, "18"))
        assert not (tmp_path / "credentials.json").exists()

    def test_credentials_of_another_folder_are_found_out_and_nothing_is_left_running(self, data_dir: Path) -> None:
        credentials = json.loads((data_dir / "credentials.json").read_text())
        (data_dir / "credentials.json").write_text(json.dumps(credentials | {"postgres": "hunter2"}))
        message = self.refusal(data_dir)
        assert "does not belong to its database" in message
        assert "hunter2" not in message
        assert not (data_dir / "postgres" / "postmaster.pid").exists()

    def test_a_server_that_refuses_to_start_says_why(self, data_dir: Path) -> None:
        with (data_dir / "postgres" / "postgresql.conf").open("a") as file:
            file.write("\nthis is not a setting\n")
        message = self.refusal(data_dir)
        assert "Postgres did not start" in message
        assert "syntax error" in message
