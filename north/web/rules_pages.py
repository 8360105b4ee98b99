"""Settings → Memory → Rules: what North is never to remember."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Form
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from north.errors import InvalidInput, RuleNotFound
from north.memory.rules import NEVER_REMEMBER, create_rule, delete_rule, list_rules
from north.model import MemoryType, Scope, User
from north.web.memory_pages import MEMORIES, chosen
from north.web.pages import is_htmx, render, render_fragment, see_other
from north.web.sessions import CurrentUser, PageRoute, RunningBackend, settings_caller

router = APIRouter(route_class=PageRoute, include_in_schema=False)

RULES = MEMORIES + "/rules"
PARTS = "parts/rules.html"
SAYS_NOTHING = "Choose what, where or which words first: as it stands, North would never remember anything."


@dataclass(frozen=True, slots=True)
class Writing:
    """The rule being written, as far as it was chosen."""

    type: str = ""
    scope: str = ""
    phrase: str = ""
    error: str | None = None
    focus: bool = False


@router.get(RULES)
async def rules_page(request: Request, backend: RunningBackend, user: CurrentUser) -> Response:
    """The Rules tab."""
    return await _show(request, backend, user, Writing())


@router.post(RULES)
async def add_rule(
    request: Request,
    backend: RunningBackend,
    user: CurrentUser,
    type: Annotated[str, Form()] = "",
    scope: Annotated[str, Form()] = "",
    phrase: Annotated[str, Form()] = "",
    undo: bool = False,
) -> Response:
    """Write a rule; it holds for the next save. With `undo`, it goes back where it was deleted."""
    what, where, words = chosen(MemoryType, type), chosen(Scope, scope), phrase.strip() or None
    if not (what or where or words) and not undo:
        return await _write_again(request, backend, user, Writing(error=SAYS_NOTHING))
    try:
        rule = await create_rule(backend, settings_caller(user), NEVER_REMEMBER, where, what, words)
    except InvalidInput as error:
        return await _write_again(request, backend, user, Writing(type, scope, phrase, str(error)))
    if not is_htmx(request):
        return see_other(f"{RULES}#rule-{rule.id}")
    if undo:
        return HTMLResponse(render_fragment(PARTS, "rule_row", rule, focus=True))
    composer = render_fragment(PARTS, "composer", Writing(focus=True))
    return HTMLResponse(composer + render_fragment(PARTS, "new_rule", rule))


@router.post(RULES + "/{rule_id:uuid}/delete")
async def remove_rule(request: Request, backend: RunningBackend, user: CurrentUser, rule_id: UUID) -> Response:
    """Delete a rule at once, and offer to undo it where it stood."""
    caller = settings_caller(user)
    rule = next((each for each in await list_rules(backend, caller) if each.id == rule_id), None)
    if rule is None:
        raise RuleNotFound
    await delete_rule(backend, caller, rule_id)
    if is_htmx(request):
        return HTMLResponse(render_fragment(PARTS, "deleted_rule", rule))
    return see_other(RULES)


async def _write_again(request: Request, backend: RunningBackend, user: User, writing: Writing) -> Response:
    if is_htmx(request):
        return HTMLResponse(render_fragment(PARTS, "composer", writing), 422)
    return await _show(request, backend, user, writing, 422)


async def _show(request: Request, backend: RunningBackend, user: User, writing: Writing, status: int = 200) -> Response:
    rules = await list_rules(backend, settings_caller(user))
    return render(request, "rules.html", status, user=user, rules=rules, writing=writing)
