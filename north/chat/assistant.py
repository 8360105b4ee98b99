"""The assistant: a model with the tools that it may call."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic_ai import Agent
from pydantic_ai.models import Model
from pydantic_ai.settings import ModelSettings

from north.chat.document_tools import DOCUMENT_TOOLS
from north.chat.tools import TOOLS, Turn
from north.documents.consulting import is_set_up
from north.memory.backend import Backend

FIRST_WORD_SECONDS = 60.0
WHOLE_REQUEST_SECONDS = 300.0


@dataclass(frozen=True, slots=True)
class Assistant:
    """The model with its tools; `documents` says that those of NetDocuments are among them."""

    backend: Backend
    agent: Agent[Turn, str]
    model: str
    documents: bool


def make_assistant(
    backend: Backend,
    model: Model,
    *,
    first_word_seconds: float = FIRST_WORD_SECONDS,
    whole_request_seconds: float = WHOLE_REQUEST_SECONDS,
) -> Assistant:
    """Bind a model to the memory tools, and to NetDocuments' where it is set up.

    Args:
        backend: the running North.
        model: what answers.
        first_word_seconds: how long a request may be silent before it counts as too slow.
        whole_request_seconds: how long one request may take in all.

    Raises:
        Misconfigured: NetDocuments is set up by half, or for no region.
    """
    patience = ModelSettings(
        first_event_timeout=first_word_seconds, request_timeout=whole_request_seconds, max_retries=1
    )
    documents = is_set_up(backend)
    tools = (*TOOLS, *DOCUMENT_TOOLS) if documents else TOOLS
    agent = Agent(model, deps_type=Turn, tools=tools, model_settings=patience, name="north")
    return Assistant(backend, agent, model.model_name, documents)
