"""Trees of any kind, made by hypothesis: they never raise, and end where the user was."""

from __future__ import annotations

import itertools
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from north.connectors.chat_history import chatgpt
from north.connectors.chat_history.shapes import Broken, Conversation, ExplicitMemory, Skipped

NAMES = [f"n{number}" for number in range(12)]
JUNK: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
TIMES = st.none() | st.floats() | st.integers() | st.text(max_size=10) | st.floats(1.7e9, 1.8e9)
CONTENT = st.fixed_dictionaries(
    {},
    optional={
        "content_type": st.sampled_from(
            ["text", "multimodal_text", "code", "thoughts", "user_editable_context", "model_editable_context"]
        )
        | JUNK,
        "parts": st.lists(st.text(max_size=8) | JUNK, max_size=3) | JUNK,
        "text": JUNK,
        "user_profile": JUNK,
        "model_set_context": st.text(max_size=30) | JUNK,
    },
)
MESSAGE = st.fixed_dictionaries(
    {},
    optional={
        "id": st.sampled_from(NAMES) | JUNK,
        "author": st.fixed_dictionaries({"role": st.sampled_from(["user", "assistant", "tool"]) | JUNK}) | JUNK,
        "content": CONTENT | JUNK,
        "create_time": TIMES,
        "weight": st.sampled_from([0, 1, 1.0]) | JUNK,
        "recipient": st.sampled_from(["all", "python", "netdocuments"]) | JUNK,
        "metadata": st.dictionaries(st.sampled_from(["is_user_system_message", "invoked_plugin"]), JUNK) | JUNK,
        "channel": JUNK,
    },
)
NODE = st.fixed_dictionaries(
    {},
    optional={"parent": st.sampled_from([*NAMES, "nowhere"]) | JUNK, "message": MESSAGE | JUNK, "children": JUNK},
)
ELEMENT = st.fixed_dictionaries(
    {},
    optional={
        "mapping": st.dictionaries(st.sampled_from(NAMES), NODE | JUNK) | JUNK,
        "current_node": st.sampled_from([*NAMES, "nowhere"]) | JUNK,
        "title": JUNK,
        "create_time": TIMES,
        "conversation_id": JUNK,
        "is_do_not_remember": JUNK,
        "gizmo_id": JUNK,
    },
)


@given(ELEMENT)
def test_whatever_the_element_is_its_end_is_one_outcome(element: dict[str, Any]) -> None:
    *memories, outcome = chatgpt.read(element)
    assert all(isinstance(memory, ExplicitMemory) for memory in memories)
    assert isinstance(outcome, Conversation | Skipped | Broken)
    str(outcome).encode()


ROLES = st.sampled_from(["user", "assistant"])
PLAIN = st.fixed_dictionaries({"parent": st.sampled_from([*NAMES, "nowhere"]) | st.none(), "role": ROLES})


@given(st.dictionaries(st.sampled_from(NAMES), PLAIN, min_size=1), st.data())
def test_every_turn_comes_once_and_the_last_is_the_current_node(nodes: dict[str, Any], data: st.DataObject) -> None:
    current = data.draw(st.sampled_from(sorted(nodes)))
    mapping = {
        name: {
            "parent": each["parent"],
            "message": {
                "id": name,
                "author": {"role": each["role"]},
                "content": {"content_type": "text", "parts": [f"said by {name}"]},
            },
        }
        for name, each in nodes.items()
    }
    [item] = chatgpt.read({"mapping": mapping, "current_node": current})
    if isinstance(item, Conversation):
        keys = [turn.key for turn in item.turns]
        assert len(keys) == len(set(keys))
        assert keys[-1] == current
        for before, after in itertools.pairwise(keys):
            assert nodes[after]["parent"] == before
    else:
        assert isinstance(item, Skipped)
