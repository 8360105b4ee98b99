from __future__ import annotations

import pytest

from north.access.redirects import check_redirect, form_target, host_of, is_allowed, is_registered, with_answer
from north.errors import InvalidInput

CLAUDE = "https://claude.ai/api/mcp/auth_callback"
NATIVE = "http://127.0.0.1/callback"


class TestWhatMayBeRegistered:
    @pytest.mark.parametrize(
        "uri",
        [
            CLAUDE,
            "https://host.test:8443/back?tenant=1",
            "http://127.0.0.1:33418/",
            "http://localhost:1/cb",
            "http://[::1]:9/cb",
            "cursor://anysphere.cursor-mcp/oauth/callback",
            "com.example.app:/back",
        ],
    )
    def test_https_this_computer_and_apps(self, uri: str) -> None:
        assert check_redirect(uri) == uri

    @pytest.mark.parametrize(
        "uri",
        [
            "",
            "/back",
            "//host.test/back",
            "http://host.test/back",
            "http://10.0.0.1/back",
            "http://localhost.host.test/back",
            "https:///back",
            "https://",
            "https://user@host.test/back",
            "https://claude.ai\\@host.test/back",
            "https://host.test/back#fragment",
            "https://host.test:port/back",
            "https://host.test/a b",
            "https://host.test/\nback",
            "https://höst.test/back",
            "javascript:alert(1)",
            "data:text/html,x",
            "file:///etc/passwd",
            "unknown:/back",
            "https://host.test/" + "a" * 1000,
        ],
    )
    def test_nothing_else(self, uri: str) -> None:
        with pytest.raises(InvalidInput):
            check_redirect(uri)
        assert not is_registered(uri, (uri,))


class TestSameness:
    @pytest.mark.parametrize(
        "uri",
        [
            CLAUDE + "/",
            CLAUDE + "/more",
            CLAUDE + "?more=1",
            CLAUDE.replace("claude.ai", "claude.ai:8443"),
            CLAUDE.replace("claude.ai", "claude.ai:443"),
            CLAUDE.replace("claude.ai", "CLAUDE.ai"),
            CLAUDE.replace("claude.ai", "evil.claude.ai"),
            CLAUDE.replace("claude.ai", "claude.ai.evil.test"),
            CLAUDE.replace("https", "http"),
            "https://claude.ai/api/mcp/../mcp/auth_callback",
            "https://claude.ai/api/mcp/auth%5Fcallback",
        ],
    )
    def test_is_to_the_character(self, uri: str) -> None:
        assert is_registered(CLAUDE, (CLAUDE,))
        assert not is_registered(uri, (CLAUDE,))

    @pytest.mark.parametrize("uri", [NATIVE, "http://127.0.0.1:1/callback", "http://127.0.0.1:65535/callback"])
    def test_lets_a_program_on_this_computer_choose_its_port(self, uri: str) -> None:
        assert is_registered(uri, (NATIVE,))
        assert is_registered(uri, ("http://127.0.0.1:33418/callback",))

    @pytest.mark.parametrize(
        "uri",
        [
            "http://localhost:1/callback",
            "https://127.0.0.1:1/callback",
            "http://127.0.0.1:1/callback/more",
            "http://127.0.0.1:1/callback?more=1",
            "http://127.0.0.2:1/callback",
            "http://evil@127.0.0.1:1/callback",
            "http://127.0.0.1:1@evil.test/callback",
            "http://127.0.0.1:x/callback",
        ],
    )
    def test_lets_it_choose_nothing_but_the_port(self, uri: str) -> None:
        assert not is_registered(uri, (NATIVE,))

    def test_gives_no_port_to_choose_elsewhere(self) -> None:
        assert not is_registered("https://host.test:1/back", ("https://host.test/back",))
        assert not is_registered("https://127.0.0.1:1/back", ("https://127.0.0.1/back",))


class TestWhatPeopleAndBrowsersAreTold:
    @pytest.mark.parametrize(
        ("uri", "host", "target"),
        [
            (CLAUDE, "claude.ai", "https://claude.ai"),
            ("http://127.0.0.1:5/cb", "this computer", "http://127.0.0.1:5"),
            ("http://[::1]:5/cb", "this computer", "http:"),
            ("cursor://a/b", "this computer (cursor:)", "cursor:"),
        ],
    )
    def test_is_where_the_answer_goes(self, uri: str, host: str, target: str) -> None:
        assert (host_of(uri), form_target(uri)) == (host, target)

    def test_no_address_that_is_allowed_breaks_out_of_the_policy(self) -> None:
        assert not is_allowed("https://host.test; script-src *")
        assert not is_allowed("https://host.test;script-src/x")
        assert not is_allowed("https://host.test,x/y")

    def test_an_answer_leaves_the_rest_of_the_address_alone(self) -> None:
        assert with_answer("https://h.test/b?x=%2F", {"code": "a b"}) == "https://h.test/b?x=%2F&code=a+b"
        assert with_answer("com.example.app:/back", {"code": "1"}) == "com.example.app:/back?code=1"
