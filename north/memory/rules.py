"""A lawyer's standing rules: what is never to be remembered."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from north.db.races import retried
from north.errors import InvalidInput, RuleActionUnknown, RuleNotFound
from north.memory.backend import Backend
from north.memory.input import check_line
from north.memory.terms import has_words, matches_phrase
from north.model import Caller, MemoryType, Rule, Scope, new_id

NEVER_REMEMBER = "never_remember"
PHRASE_LIMIT = 200


def forbidding(rules: Iterable[Rule], scope: Scope, type: MemoryType, content: str) -> Rule | None:
    """The first of `rules` that forbids this capture.

    A stored action other than `never_remember` is no match, whatever else it says.
    """
    return next((rule for rule in rules if _forbids(rule, scope, type, content)), None)


def _forbids(rule: Rule, scope: Scope, type: MemoryType, content: str) -> bool:
    return (
        rule.action == NEVER_REMEMBER
        and rule.scope in (None, scope)
        and rule.type in (None, type)
        and (rule.phrase is None or matches_phrase(rule.phrase, content))
    )


@retried
async def list_rules(backend: Backend, caller: Caller) -> list[Rule]:
    """The lawyer's rules, newest first, each with how many captures it has refused."""
    async with backend.database.tenant(caller, read_only=True) as transaction:
        return [to_rule(row) for row in await transaction.fetch("rules.listed")]


@retried
async def create_rule(
    backend: Backend,
    caller: Caller,
    action: str,
    scope: Scope | None,
    type: MemoryType | None,
    phrase: str | None,
) -> Rule:
    """Create a rule for the caller; it applies to the next save.

    Args:
        backend: the running North.
        caller: the lawyer whose rule it is.
        action: `never_remember`.
        scope: the scope that it covers; None for any.
        type: the type that it covers; None for any.
        phrase: words that a text must hold, in this order and in any form; None or blank for every text.

    Raises:
        RuleActionUnknown: another action.
        InvalidInput: the phrase has more than 200 characters, control characters, or no word in it.
    """
    if action != NEVER_REMEMBER:
        raise RuleActionUnknown
    words = check_line(phrase, "phrase", PHRASE_LIMIT) if phrase and phrase.strip() else None
    if words is not None and not has_words(words):
        raise InvalidInput(reason="the phrase has no word in it, so that the rule would forbid nothing; write words")
    async with backend.database.tenant(caller) as transaction:
        row = await transaction.first(
            "rules.insert_rule",
            id=new_id(),
            action=action,
            scope=scope,
            type=type,
            phrase=words,
            origin=caller.origin,
            reason=None,
        )
    assert row is not None
    return to_rule(row)


@retried
async def delete_rule(backend: Backend, caller: Caller, rule_id: UUID) -> None:
    """Delete one of the lawyer's rules; the next save is free of it.

    Raises:
        RuleNotFound: the lawyer has no such rule.
    """
    async with backend.database.tenant(caller) as transaction:
        row = await transaction.first("rules.delete_rule", rule_id=rule_id)
    if row is None:
        raise RuleNotFound


def describe(rule: Rule) -> str:
    """The rule as a sentence, for the lawyer and for a model that was refused."""
    what = f"any {rule.type.value.replace('_', ' ')}" if rule.type else "anything"
    where = {
        Scope.USER_PRIVATE: " in personal memory",
        Scope.MATTER: " in matter memory",
        Scope.FIRM_GLOBAL: " in firm memory",
        None: "",
    }[rule.scope]
    mention = f" that mentions “{rule.phrase}”" if rule.phrase else ""
    return f"Never remember {what}{where}{mention}."


def to_rule(row: dict[str, Any]) -> Rule:
    """Build a rule from its row."""
    return Rule(
        id=row["id"],
        action=row["action"],
        scope=Scope(row["scope"]) if row["scope"] else None,
        type=MemoryType(row["type"]) if row["type"] else None,
        phrase=row["phrase"],
        origin=row["origin"],
        reason=row["reason"],
        created_at=row["created_at"],
        refused=row.get("refused", 0),
    )
