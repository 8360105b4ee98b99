from __future__ import annotations

import re

import httpx2

from north.access.tokens import create_token, list_tokens, token_caller
from north.memory.backend import Backend
from north.model import Origin, new_id
from tests.conftest import FirmOfTest
from tests.web.conftest import page_of

CONNECTIONS = "/settings/connections"


class TestConnections:
    async def test_shows_a_new_tokens_secret_once(
        self, ana: httpx2.AsyncClient, backend: Backend, firm: FirmOfTest
    ) -> None:
        created = await ana.post(CONNECTIONS, data={"name": "Claude on my laptop"})
        [secret] = re.findall(r"<code>(north_[\w-]+)</code>", created.text)
        assert created.headers["Cache-Control"] == "no-store"
        assert (await token_caller(backend, secret, Origin.MCP)).user_id == firm.ana.id
        again = await ana.get(CONNECTIONS)
        assert "Claude on my laptop" in again.text
        assert secret not in again.text

    async def test_says_what_is_wrong_with_a_name(self, ana: httpx2.AsyncClient) -> None:
        page = page_of(await ana.post(CONNECTIONS, data={"name": "  "}))
        assert page.status == 422
        assert "the token's name is empty" in page.text

    async def test_deletes_a_token_at_once(self, ana: httpx2.AsyncClient, backend: Backend, firm: FirmOfTest) -> None:
        token, _ = await create_token(backend, firm.a, "Old laptop")
        response = await ana.post(f"{CONNECTIONS}/{token.id}/delete")
        assert response.headers["Location"] == CONNECTIONS
        assert await list_tokens(backend, firm.a) == []

    async def test_shows_and_deletes_nobody_elses_token(
        self, ben: httpx2.AsyncClient, backend: Backend, firm: FirmOfTest
    ) -> None:
        token, _ = await create_token(backend, firm.a, "Ana's laptop")
        assert "laptop" not in page_of(await ben.get(CONNECTIONS)).text.replace("Claude on my laptop", "")
        theirs = await ben.post(f"{CONNECTIONS}/{token.id}/delete")
        none = await ben.post(f"{CONNECTIONS}/{new_id()}/delete")
        assert (theirs.status_code, theirs.text) == (none.status_code, none.text)
        assert len(await list_tokens(backend, firm.a)) == 1

    async def test_says_how_to_connect_with_the_public_address(self, ana: httpx2.AsyncClient, backend: Backend) -> None:
        text = page_of(await ana.get(CONNECTIONS)).text
        assert f"curl {backend.settings.address}/api/v1/recall" in text


class TestImport:
    async def test_says_honestly_that_it_is_not_there_yet(self, ana: httpx2.AsyncClient) -> None:
        assert "is not available here yet" in page_of(await ana.get("/settings/import")).text
