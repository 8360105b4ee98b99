"""`north jobs`: an operator sees what failed, and lets it start anew."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest
from typer.testing import CliRunner

from north.cli import app
from north.doctor import diagnose
from tests.commands import run_north, running_north
from tests.conftest import SECRET_KEY, TestDatabase
from tests.memory.conversing import change
from tests.test_doctor import settings_for

REASON = "model_rejected: ModelRejected"


def make_job(database: TestDatabase, status: str) -> None:
    """A job that was tried six times and has this status."""
    columns = "procrastinate_jobs (queue_name, task_name, attempts)"
    change(
        database,
        f"""with job as (insert into {columns} values ('default', 'mine', 6) returning id)
            insert into job_failure (job_id, reason) select id, %s from job""",
        REASON,
    )
    change(
        database, "update procrastinate_jobs set status = %s where id = (select max(job_id) from job_failure)", status
    )


@pytest.fixture(autouse=True)
def settings(fresh_database: TestDatabase, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NORTH_DATABASE_URL", fresh_database.application_url)
    monkeypatch.setenv("NORTH_SECRET_KEY", SECRET_KEY)
    monkeypatch.setenv("NORTH_EMBEDDER", "none")


def north(*arguments: str, code: int = 0) -> str:
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == code, result.output
    return result.output


def test_an_empty_queue_says_so() -> None:
    assert north("jobs", "list") == "No job failed, waits or runs.\n"
    assert json.loads(north("jobs", "list", "--json")) == []


def test_a_failed_job_is_shown_first_with_its_reason(fresh_database: TestDatabase) -> None:
    for status in ("todo", "failed"):
        make_job(fresh_database, status)
    first, second = north("jobs", "list").splitlines()
    assert "failed" in first and "mine" in first and REASON in first
    assert "waiting" in second
    (job, _) = json.loads(north("jobs", "list", "--json"))
    assert (job["status"], job["task"], job["attempts"]) == ("failed", "mine", 6)
    assert job["reason"] == REASON


def test_one_failed_job_starts_anew(fresh_database: TestDatabase) -> None:
    for _ in range(2):
        make_job(fresh_database, "failed")
    first, _ = json.loads(north("jobs", "list", "--json"))
    assert north("jobs", "retry", str(first["id"])) == "1 will run again.\n"
    jobs = {job["id"]: job for job in json.loads(north("jobs", "list", "--json"))}
    assert (jobs[first["id"]]["status"], jobs[first["id"]]["attempts"]) == ("waiting", 0)
    assert [job["status"] for job in jobs.values() if job["id"] != first["id"]] == ["failed"]


def test_all_failed_jobs_start_anew(fresh_database: TestDatabase) -> None:
    for _ in range(2):
        make_job(fresh_database, "failed")
    assert len(json.loads(north("jobs", "retry", "--all", "--json"))["retried"]) == 2
    assert {job["status"] for job in json.loads(north("jobs", "list", "--json"))} == {"waiting"}


@pytest.mark.parametrize("arguments", [("retry",), ("retry", "1", "--all")])
def test_what_to_retry_has_to_be_said(arguments: tuple[str, ...]) -> None:
    assert "--all" in north("jobs", *arguments, code=2)


def test_a_job_that_is_not_there_cannot_be_retried() -> None:
    assert "No job 4711 has failed" in north("jobs", "retry", "4711", code=1)


def jobs_finding(database: TestDatabase) -> tuple[bool, str]:
    (finding,) = [each for each in diagnose(settings_for(database)) if each.name == "Jobs"]
    return finding.fine, finding.message


def test_the_doctor_is_content_with_a_queue_that_moves(fresh_database: TestDatabase) -> None:
    assert jobs_finding(fresh_database) == (True, "0 wait, 0 run, none has failed; the oldest waits 0 s")


def test_the_doctor_points_at_failed_jobs(fresh_database: TestDatabase) -> None:
    make_job(fresh_database, "failed")
    fine, message = jobs_finding(fresh_database)
    assert not fine and "1 failed" in message and "north jobs list" in message


def test_the_doctor_points_at_a_worker_that_is_missing(fresh_database: TestDatabase) -> None:
    make_job(fresh_database, "todo")
    change(fresh_database, "update procrastinate_events set at = now() - interval '1 hour'")
    fine, message = jobs_finding(fresh_database)
    assert not fine and "60 minutes" in message and "north worker" in message


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT], ids=lambda how: how.name)
def test_a_worker_stops_in_order(tmp_path: Path, how: signal.Signals) -> None:
    names = ("NORTH_DATABASE_URL", "NORTH_SECRET_KEY", "NORTH_EMBEDDER")
    with running_north("worker", cwd=tmp_path, **{name: os.environ[name] for name in names}) as running:
        running.wait_for("The worker is running")
        assert running.stop(how) == 0, running.output


def test_a_worker_whose_model_does_not_exist_says_so(tmp_path: Path) -> None:
    names = ("NORTH_DATABASE_URL", "NORTH_SECRET_KEY", "NORTH_EMBEDDER")
    settings = {name: os.environ[name] for name in names}
    result = run_north("worker", cwd=tmp_path, NORTH_MINER_MODEL="nobody:nothing", **settings)
    assert (result.returncode, result.stdout) == (1, "")
    assert "nobody:nothing" in result.stderr and "Traceback" not in result.stderr
