"""North's grants behind the official SDK's token and registration endpoints."""

from __future__ import annotations

from mcp.server.auth.provider import (
    AuthorizationCode,
    RefreshToken,
    RegistrationError,
    TokenError,
)
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken
from pydantic import AnyUrl

from north.access.oauth import SCOPE
from north.access.oauth_clients import (
    client_secret,
    describe_client,
    is_document_address,
    register_client,
    registered_client,
)
from north.access.oauth_tokens import ACCESS_LIFE, Grant, Tokens, grant_of_code, grant_of_refresh, redeem, renew
from north.errors import InvalidInput
from north.memory.backend import Backend

GRANT_TYPES = ["authorization_code", "refresh_token"]
SECRET_IN_FORM, SECRET_IN_HEADER, NO_SECRET = "client_secret_post", "client_secret_basic", "none"


class GrantedCode(AuthorizationCode):
    """A code, with the grant that it redeems."""

    grant: Grant


class GrantedRefresh(RefreshToken):
    """A refresh token, with the grant that it renews."""

    grant: Grant


class Provider:
    """What the SDK's handlers for tokens and registration ask for: a part of its `OAuthAuthorizationServerProvider`.

    Asking a lawyer is the consent page's.
    """

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    async def get_client(self, client_id: str) -> OAuthClientInformationFull | None:
        """A program as it authenticates itself. One with a metadata document has no secret, so nothing is fetched:
        its codes and tokens are bound to its address, and the consent page has read the document."""
        if is_document_address(client_id):
            return OAuthClientInformationFull(
                client_id=client_id, token_endpoint_auth_method=NO_SECRET, grant_types=GRANT_TYPES
            )
        client = await registered_client(self._backend, client_id)
        if client is None:
            return None
        return OAuthClientInformationFull(
            client_id=client_id,
            client_secret=client_secret(self._backend, client_id) if client.has_secret else None,
            token_endpoint_auth_method=SECRET_IN_FORM if client.has_secret else NO_SECRET,
            grant_types=GRANT_TYPES,
        )

    async def register_client(self, client_info: OAuthClientInformationFull) -> None:
        """Register a program; `client_info` is then what it is told.

        Raises:
            RegistrationError: its redirect URIs are not such that North sends anything to them.
        """
        has_secret = client_info.token_endpoint_auth_method != NO_SECRET
        redirects = [str(uri) for uri in client_info.redirect_uris or ()]
        try:
            client = describe_client(client_info.client_id, client_info.client_name, redirects, has_secret)
        except InvalidInput as error:
            raise RegistrationError("invalid_redirect_uri", str(error)) from error
        await register_client(self._backend, client)
        client_info.client_name = client.name
        client_info.grant_types = GRANT_TYPES
        client_info.client_secret = client_secret(self._backend, client.id) if has_secret else None

    async def load_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: str
    ) -> GrantedCode | None:
        """The code, when this program may redeem it."""
        grant = await grant_of_code(self._backend, client.client_id, authorization_code)
        if grant is None:
            return None
        return GrantedCode(
            code=authorization_code,
            scopes=[SCOPE],
            expires_at=grant.expires_at.timestamp(),
            client_id=grant.client_id,
            code_challenge=grant.code_challenge,
            redirect_uri=AnyUrl(grant.redirect_uri),
            redirect_uri_provided_explicitly=True,
            resource=grant.resource,
            grant=grant,
        )

    async def exchange_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: GrantedCode
    ) -> OAuthToken:
        """Redeem a code.

        Raises:
            TokenError: somebody else redeemed it in this moment.
        """
        return _token(await redeem(self._backend, authorization_code.grant))

    async def load_refresh_token(self, client: OAuthClientInformationFull, refresh_token: str) -> GrantedRefresh | None:
        """The refresh token, when this program may use it."""
        grant = await grant_of_refresh(self._backend, client.client_id, refresh_token)
        if grant is None:
            return None
        return GrantedRefresh(
            token=refresh_token,
            client_id=grant.client_id,
            scopes=[SCOPE],
            expires_at=int(grant.expires_at.timestamp()),
            resource=grant.resource,
            grant=grant,
        )

    async def exchange_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: GrantedRefresh, scopes: list[str]
    ) -> OAuthToken:
        """Renew a grant.

        Raises:
            TokenError: somebody else used the token in this moment.
        """
        return _token(await renew(self._backend, refresh_token.grant))


def _token(tokens: Tokens | None) -> OAuthToken:
    if tokens is None:
        raise TokenError("invalid_grant", "it was used already, and has ended the connection")
    return OAuthToken(
        access_token=tokens.access,
        refresh_token=tokens.refresh,
        expires_in=int(ACCESS_LIFE.total_seconds()),
        scope=SCOPE,
    )
