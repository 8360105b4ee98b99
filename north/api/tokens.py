"""Access tokens: how an agent or a script acts for a lawyer."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path, status
from pydantic import Field

from north import errors
from north.access.tokens import NAME_LIMIT, create_token, delete_token, list_tokens
from north.api.callers import Running, SignedIn, calls, known_id
from north.api.description import failures
from north.api.shapes import RequestBody, Shape, TokenShape

router = calls("/v1/tokens", "tokens")


class NewToken(RequestBody):
    """A token to make."""

    name: str = Field(description=f"What it is for; at most {NAME_LIMIT} characters.", examples=["research agent"])


class TokenList(Shape):
    """Your tokens, newest first."""

    tokens: list[TokenShape]


class TokenReply(Shape):
    """A new token and its secret, which is shown this once."""

    token: TokenShape
    secret: str


@router.get("", summary="List your tokens", responses=failures())
async def list_all(backend: Running, caller: SignedIn) -> TokenList:
    """Your tokens, newest first, without their secrets."""
    return TokenList.model_validate({"tokens": await list_tokens(backend, caller)})


@router.post(
    "",
    summary="Make a token",
    status_code=status.HTTP_201_CREATED,
    responses=failures(errors.InvalidInput, body=True),
)
async def create(new: NewToken, backend: Running, caller: SignedIn) -> TokenReply:
    """Make a token that acts for you until it is deleted. Keep its secret: it is not shown again."""
    token, secret = await create_token(backend, caller, new.name)
    return TokenReply(token=TokenShape.model_validate(token), secret=secret)


@router.delete(
    "/{id}",
    summary="Delete a token",
    status_code=status.HTTP_204_NO_CONTENT,
    responses=failures(errors.TokenNotFound),
)
async def delete(
    token_id: Annotated[str, Path(alias="id", description="A token's id.")], backend: Running, caller: SignedIn
) -> None:
    """Revoke a token of yours; the next request with it is refused."""
    await delete_token(backend, caller, known_id(token_id, errors.TokenNotFound))
