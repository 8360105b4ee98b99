"""What the offline assistant does next in a turn: tool calls, or the answer."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

from north.chat.offline import answers
from north.chat.offline.conversation import Call, Conversation
from north.chat.offline.gates import KEEP_NOTHING, stripped
from north.chat.offline.known import Known, answers_to, corrected_by, shares_words
from north.chat.offline.rules import Recognised, questions, recognise
from north.chat.offline.sentences import straight
from north.chat.offline.vocabulary import IMPERATIVE
from north.chat.offline.wording import needs_subject, standing_alone
from north.model import MemoryType

_STYLE_TYPES = frozenset({MemoryType.PREFERENCE, MemoryType.INSTRUCTION, MemoryType.PLAYBOOK_RULE})
_LISTS = re.compile(
    r"(?:so )?(?:what (?:else )?(?:do|can|did|have) (?:you|I) (?:already )?(?:know|remember|have|stored?|saved?"
    r"|told you|tell you)|(?:list|show me|tell me) (?:everything|all|what|your memor)|who am I|what is in your "
    r"memory|do you (?:know|remember) (?:anything|something|who I am|me))(?: (?:you )?(?:know|remember|have|stored"
    r"|saved))?(?: (?:about|on|for|of) (?P<about>me|us|(?:this|the|our) (?:matter|case)|[A-Z]+-?\d+))?(?: (?:so far"
    r"|already|from before))?[?. ]*$",
    re.IGNORECASE,
)
_WORK = re.compile(
    rf"(?:(?:can|could|would|will) you |I (?:want|need|would like|'d like) (?:you to |a |an )|I'd like |please "
    rf"|let's )*(?:{IMPERATIVE}|draft|review|find|prepare|research|compare|look|redline|proofread|edit|rewrite"
    rf"|shorten|help|remove|change"
    r"|replace|turn|convert|generate|schedule|book|outline|analy[sz]e|calculate|compose|revise|cut|fix)\b",
    re.IGNORECASE,
)
_REQUEST_AS_QUESTION = re.compile(r"(?:can|could|would|will) you (?!remind|tell|remember|recall)", re.IGNORECASE)
_THANKS = re.compile(r"(?:many )?(?:thanks|thank you|thx|cheers|danke|gracias|merci)\b", re.IGNORECASE)
_AGREES = re.compile(
    (
        r"(?:ok(?:ay)?|yes|no|fine|good|great|perfect|sure|agreed|right|got it|i see|sounds good|will do|never mind"
        r"|nice work)[.! ]*"
    ),
    re.IGNORECASE,
)
_GREETS = re.compile(r"(?:hi|hello|hey|good (?:morning|afternoon|evening)|hallo|hola|bonjour)\b", re.IGNORECASE)
_ASKS_WHO = re.compile(r"(?:who|what) are you\b|are you (?:an? |the )?(?:ai|bot|human|real|model|llm)\b", re.IGNORECASE)
_QUESTIONS_LIMIT = 3
_ANSWERS_LIMIT = 3


def next_calls(conversation: Conversation) -> list[Call]:
    """The tool calls to make now; none when it is time to answer."""
    wanted = _first_calls(conversation) if not conversation.done else _following_calls(conversation)
    return [call for call in wanted if call.tool in conversation.tools]


def answer(conversation: Conversation) -> str:
    """What to say once all calls are made; in the first answer of a thread with what is speaking."""
    parts = [*_outcomes(conversation), *_replies(conversation)]
    said = "\n\n".join(parts) or _small_talk(conversation)
    introduced = not conversation.is_first or answers.INTRODUCTION in said
    return said if introduced else f"{answers.INTRODUCTION}\n\n{said}"


# --- calls ------------------------------------------------------------------------------------------------


def _recognised(conversation: Conversation) -> list[Recognised]:
    return recognise(conversation.text, on_matter=conversation.matter is not None, now=conversation.now)


def _first_calls(conversation: Conversation) -> list[Call]:
    calls: list[Call] = []
    for item in _recognised(conversation):
        match item.kind:
            case "save":
                calls.append(_save(item))
            case "update":
                calls.extend(_update(conversation, item))
            case "forget":
                calls.extend(_forget(conversation, item))
    for question in _questions(conversation):
        if not (_LISTS.match(question) or _ASKS_WHO.match(question) or answers_to(question, conversation.known)):
            calls.append(Call("recall_memory", {"query": question}, {}))
    return calls


def _following_calls(conversation: Conversation) -> list[Call]:
    """An update that found nothing to change becomes a save; a search for what to forget, a deletion."""
    calls: list[Call] = []
    tried = {call.arguments.get("content") for call in conversation.done if call.tool == "save_memory"}
    for item in _recognised(conversation):
        if item.kind == "update" and item.content not in tried and not needs_subject(item.content):
            if any(_missed(call, item) for call in conversation.done):
                calls.append(_save(item))
        elif item.kind == "forget" and not any(call.tool == "forget_memory" for call in conversation.done):
            calls.extend(_delete(memory) for memory in _searched(conversation, item))
    return calls


def _missed(call: Call, item: Recognised) -> bool:
    return (
        call.tool == "update_memory"
        and call.outcome in {"not_found", "ambiguous"}
        and call.arguments.get("about") in {item.about, item.content}
    )


def _save(item: Recognised) -> Call:
    return Call("save_memory", {"content": item.content, "type": item.type.value, "scope": item.scope.value}, {})


def _delete(memory: Known) -> Call:
    return Call("forget_memory", {"memory_id": memory.id}, {})


def _update(conversation: Conversation, item: Recognised) -> list[Call]:
    meant = _corrected(conversation, item)
    if meant:
        content = standing_alone(item.content, meant.content)
        return [Call("update_memory", {"content": content, "memory_id": meant.id}, {})]
    if needs_subject(item.content):
        return []  # nobody would know later what "it" is
    return [Call("update_memory", {"content": item.content, "about": item.about or item.content}, {})]


def _corrected(conversation: Conversation, item: Recognised) -> Known | None:
    """The memory that a correction means: by its words, or else one of its sort that was just spoken of.

    Nothing is changed on a guess: what a correction overwrites by mistake is lost from sight.
    """
    memories, shown = conversation.memories, _shown(conversation)
    telling = [item.about, None if needs_subject(item.content) else item.content]
    by_words = (corrected_by(said, item.type, memories) for said in telling if said)
    meant = next((memory for memory in by_words if memory), None)
    if meant or item.about:
        return meant
    if item.type in _STYLE_TYPES:
        return next((memory for memory in shown if memory.type in _STYLE_TYPES), None)
    same_sort = [memory for memory in (*shown, *reversed(conversation.touched)) if memory.type == item.type]
    alike = [memory for memory in memories if memory.type == item.type]
    if same_sort or len(alike) == 1:
        return (same_sort or alike)[0]
    return shown[0] if item.type is MemoryType.FACT and len(shown) == 1 else None


def _forget(conversation: Conversation, item: Recognised) -> list[Call]:
    if item.about is None:
        shown = _shown(conversation) or conversation.touched[-1:]
        return [_delete(memory) for memory in shown] if len(shown) == 1 else []  # a list is no single "that"
    meant = answers_to(item.about, conversation.memories)
    if meant:
        return [_delete(meant[0])]
    return [Call("recall_memory", {"query": item.about}, {})]


def _searched(conversation: Conversation, item: Recognised) -> list[Known]:
    about = item.about or ""
    return [memory for memory in _found(conversation, about) if shares_words(about, memory.content)][:1]


def _found(conversation: Conversation, query: str) -> list[Known]:
    """What the recall for `query` found, best first."""
    return [
        memory
        for call in conversation.done
        if call.tool == "recall_memory" and call.arguments.get("query") == query
        for memory in call.hits()
    ]


def _shown(conversation: Conversation) -> list[Known]:
    """The memories that the last answer spoke of."""
    return [memory for memory in conversation.memories if memory.content in conversation.last_answer]


# --- words ------------------------------------------------------------------------------------------------


def _outcomes(conversation: Conversation) -> Iterator[str]:
    """One line for each sort of thing that the tools did."""
    done = conversation.done
    for outcome, wording in (
        ("saved", answers.noted),
        ("already_known", answers.already_known),
        ("updated", answers.updated),
        ("forgotten", answers.forgotten),
    ):
        contents = [call.memory.content for call in done if call.outcome == outcome and call.memory]
        if contents:
            yield wording(contents)
    for call in done:
        if call.outcome in {"refused", "invalid", "failed"} and call.tool != "recall_memory":
            yield answers.refused(html.unescape(str(call.result.get("message", ""))))
        if call.outcome == "ambiguous" and not any(_missed(call, item) for item in _recognised(conversation)):
            yield answers.ambiguous([memory.content for memory in call.candidates()])


def _replies(conversation: Conversation) -> Iterator[str]:
    kinds = {item.kind for item in _recognised(conversation)}
    effective = {call.tool for call in conversation.done if call.outcome != "not_found"}
    if "forget" in kinds and "forget_memory" not in effective:
        yield answers.WHICH_FORGET
    if "update" in kinds and not effective & {"update_memory", "save_memory"}:
        yield answers.WHICH_UPDATE
    for question in _questions(conversation):
        yield _reply(conversation, question)


def _reply(conversation: Conversation, question: str) -> str:
    if _ASKS_WHO.match(question):
        return answers.INTRODUCTION
    if listing := _LISTS.match(question):
        return _list(conversation, (listing["about"] or "").lower())
    known = answers_to(question, conversation.known)
    if known:
        return answers.from_memory(known[:_ANSWERS_LIMIT])
    hits = _found(conversation, question)
    recalled = answers_to(question, hits)
    if recalled:
        return answers.from_memory(recalled[:_ANSWERS_LIMIT])
    # A recall always finds something: its scores rank the memories and do not say whether the best of them fits.
    near = [memory for memory in hits if shares_words(question, memory.content)]
    return answers.closest(near[0]) if near else answers.NOTHING_KNOWN


def _list(conversation: Conversation, about: str) -> str:
    personal = [memory for memory in conversation.known if memory.scope != "matter"]
    matter = [memory for memory in conversation.known if memory.scope == "matter"]
    if about in {"me", "us"}:
        matter = []
    elif about:
        personal = []
    return answers.everything(personal, matter, conversation.matter)


def _questions(conversation: Conversation) -> list[str]:
    asked = [stripped(" ".join(straight(question).split())) for question in questions(conversation.text)]
    return [question for question in asked if not _REQUEST_AS_QUESTION.match(question)][:_QUESTIONS_LIMIT]


def _small_talk(conversation: Conversation) -> str:
    said = " ".join(straight(conversation.text).split())
    if KEEP_NOTHING.search(said):
        return answers.NOT_REMEMBERED
    if _THANKS.match(said):
        return answers.WELCOME
    if _AGREES.fullmatch(said):
        return answers.ALL_RIGHT
    if _WORK.match(stripped(said)):
        bearing = answers_to(said, conversation.known)
        return "\n\n".join([answers.CANNOT_WORK, *([answers.bearing_on_it(bearing)] if bearing else [])])
    return answers.GREETING if _GREETS.match(said) else answers.NOTHING_TO_DO
