from __future__ import annotations

import base64
import html
import json
import re
import shlex
from pathlib import Path
from textwrap import indent
from urllib.parse import parse_qs, urlsplit

import httpx2

from north.access.tokens import create_token, list_tokens, token_caller
from north.memory.backend import Backend
from north.model import Origin, new_id
from north.web.installs import installs
from tests.conftest import FirmOfTest
from tests.web.conftest import page_of

MCP_PAGE = Path(__file__).parent.parent.parent / "docs" / "developers" / "mcp.md"
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

    async def test_has_a_button_that_copies_for_each_thing_to_paste(
        self, ana: httpx2.AsyncClient, backend: Backend
    ) -> None:
        page = (await ana.get(CONNECTIONS)).text
        snippets = re.findall(
            r'<div class="snippet"><pre tabindex="0"><code>(.*?)</code></pre><button(.*?)>', page, re.S
        )
        pasted = [html.unescape(text) for text, _ in snippets]
        assert all("data-copies" in button for _, button in snippets)
        assert pasted[:-1] == [paste.text for each in installs(backend.settings.address) for paste in each.pastes]


class TestInstalls:
    """Read as the programs read them."""

    ADDRESS = "https://north.example.com"
    URL = f"{ADDRESS}/mcp"

    def pastes(self, program: str) -> list[str]:
        [install] = [each for each in installs(self.ADDRESS) if each.program == program]
        return [paste.text for paste in install.pastes]

    def test_claude_code_is_one_command(self) -> None:
        for command in self.pastes("Claude Code"):
            assert shlex.split(command)[:9] == [
                *("claude", "mcp", "add", "--transport", "http", "--scope", "user", "north"),
                self.URL,
            ]
        assert shlex.split(command)[9:] == ["--header", "Authorization: Bearer $NORTH_TOKEN"]

    def test_claude_ai_takes_the_address(self) -> None:
        assert self.pastes("claude.ai and Cowork") == [self.URL]

    def test_vs_code_asks_for_the_token_and_hides_it(self) -> None:
        signing_in, with_token = (json.loads(shlex.split(text)[2]) for text in self.pastes("VS Code"))
        assert signing_in == {"name": "north", "type": "http", "url": self.URL}
        assert with_token["headers"] == {"Authorization": f"Bearer ${{input:{with_token['inputs'][0]['id']}}}"}
        assert with_token["inputs"][0]["password"] is True

    def test_cursor_opens_a_link_with_the_server_in_it(self) -> None:
        servers = []
        for link in self.pastes("Cursor"):
            parts = urlsplit(link)
            assert (parts.scheme, parts.netloc, parts.path) == ("cursor", "anysphere.cursor-deeplink", "/mcp/install")
            query = parse_qs(parts.query)
            assert query["name"] == ["north"]
            servers.append(json.loads(base64.b64decode(query["config"][0])))
        assert servers == [
            {"url": self.URL},
            {"url": self.URL, "headers": {"Authorization": "Bearer ${env:NORTH_TOKEN}"}},
        ]

    def test_the_docs_show_the_same_for_a_north_on_this_machine(self) -> None:
        shown = MCP_PAGE.read_text()
        for each in installs("http://127.0.0.1:8400"):
            if each.program != "claude.ai and Cowork":  # a local address is of no use there
                for paste in each.pastes:
                    assert paste.text in shown or indent(paste.text, "    ") in shown

    def test_other_hosts_take_their_usual_file(self) -> None:
        signing_in, with_token = (json.loads(text)["mcpServers"]["north"] for text in self.pastes("Another MCP host"))
        assert signing_in == {"type": "http", "url": self.URL}
        assert with_token == {**signing_in, "headers": {"Authorization": "Bearer $NORTH_TOKEN"}}
