"""A fault of North's own: the model is told that it happened, the operator where, and nobody what was said."""

from __future__ import annotations

from typing import Any

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError
from structlog.testing import capture_logs

from north.db.connect import LostRace
from north.errors import DatabaseUnavailable
from tests.mcp.conftest import refused

SECRET = "The client hides a yacht."


@pytest.fixture
def fault(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Makes the save, and the briefing, fail with an error."""

    def inject(error: Exception) -> None:
        async def fails(*_: object) -> None:
            raise error

        monkeypatch.setattr("north.mcp.memory_tools.save", fails)
        monkeypatch.setattr("north.mcp.briefing.briefing", fails)

    return inject


async def test_is_logged_by_its_place_and_answered_without_its_insides(
    ana: Client, fault: Any, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    fault(ValueError(f"cannot insert {SECRET}"))
    with capture_logs() as logs:
        said = await refused(ana, "memory_save", content=SECRET, type="fact")
    (logged,) = [each for each in logs if each["event"] == "mcp_call_crashed"]
    assert logged["error"] == "ValueError" and any("in fails" in f or "fails" in f for f in logged["frames"])
    assert logged["request_id"] in said and "yacht" not in said
    assert "yacht" not in str(logs) + caplog.text + "".join(capfd.readouterr())


async def test_of_the_briefing_is_answered_without_its_insides_everywhere(
    ana: Client, fault: Any, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    fault(ValueError(SECRET))
    with capture_logs() as logs:
        said = [await refused(ana, "briefing")]
        for call in (lambda: ana.read_resource("north://briefing"), lambda: ana.get_prompt("briefing")):
            with pytest.raises(MCPError) as raised:
                await call()
            said.append(raised.value.message)
    assert all("Something went wrong in North" in each and "yacht" not in each for each in said)
    assert len(logs) == 3
    assert "yacht" not in str(logs) + caplog.text + "".join(capfd.readouterr())


async def test_arguments_that_do_not_fit_are_not_logged(
    ana: Client, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    await refused(ana, "memory_save", content=SECRET, type=SECRET, matter=[SECRET])
    assert "yacht" not in caplog.text + "".join(capfd.readouterr())


@pytest.mark.parametrize(
    ("error", "sentence"),
    [(DatabaseUnavailable(), "The database cannot be reached."), (LostRace(None), "Nothing was changed; try again.")],
)
async def test_of_what_north_depends_on_says_to_try_again(
    ana: Client, fault: Any, error: Exception, sentence: str
) -> None:
    fault(error)
    assert sentence in await refused(ana, "memory_save", content=SECRET, type="fact")
