"""A lawyer's standing rules: what is never to be remembered."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path, status
from pydantic import Field

from north import errors
from north.api.callers import Running, SignedIn, calls, known_id
from north.api.description import failures
from north.api.shapes import RequestBody, RuleShape, Shape, rule_shape
from north.memory.rules import NEVER_REMEMBER, PHRASE_LIMIT, create_rule, delete_rule, list_rules
from north.model import MemoryType, Scope

router = calls("/v1/rules", "rules")


class NewRule(RequestBody):
    """What is never to be remembered. What is left out stands for any."""

    # Typed as text, so that another action gets the error that says so; described as what it can only be.
    action: str = Field(
        description=f"`{NEVER_REMEMBER}`; there is no other.", json_schema_extra={"enum": [NEVER_REMEMBER]}
    )
    scope: Scope | None = None
    type: MemoryType | None = None
    phrase: str | None = Field(
        default=None,
        description=f"Words that the text must hold, in any form; at most {PHRASE_LIMIT} characters.",
        examples=["settlement"],
    )


class RuleList(Shape):
    """Your rules, newest first."""

    rules: list[RuleShape]


class RuleReply(Shape):
    """A rule as it stands now."""

    rule: RuleShape


@router.get("", summary="List your rules", responses=failures())
async def list_all(backend: Running, caller: SignedIn) -> RuleList:
    """Your rules, newest first, also those that North made because you deleted most of a kind."""
    return RuleList(rules=[rule_shape(rule) for rule in await list_rules(backend, caller)])


@router.post(
    "",
    summary="Create a rule",
    status_code=status.HTTP_201_CREATED,
    responses=failures(errors.InvalidInput, errors.RuleActionUnknown, body=True),
)
async def create(new: NewRule, backend: Running, caller: SignedIn) -> RuleReply:
    """Refuse, from the next save on, what the rule covers, on every surface that you use."""
    rule = await create_rule(backend, caller, new.action, new.scope, new.type, new.phrase)
    return RuleReply(rule=rule_shape(rule))


@router.delete(
    "/{id}",
    summary="Delete a rule",
    status_code=status.HTTP_204_NO_CONTENT,
    responses=failures(errors.RuleNotFound),
)
async def delete(
    rule_id: Annotated[str, Path(alias="id", description="A rule's id.")], backend: Running, caller: SignedIn
) -> None:
    """Delete one of your rules; the next save is free of it."""
    await delete_rule(backend, caller, known_id(rule_id, errors.RuleNotFound))
