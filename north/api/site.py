"""The REST surface as a whole: an application of its own, mounted by the composition root at `/api`."""

from __future__ import annotations

from fastapi import FastAPI
from fastapi.routing import APIRoute

from north.api import docs, imports, matters, memories, recalling, rules, threads, tokens, wall
from north.api.edge import Edge
from north.api.problems import add_problems
from north.chat.assistant import Assistant
from north.memory.backend import Backend

VERSION = "1"


def make_api(backend: Backend, assistant: Assistant) -> FastAPI:
    """Build the API. Mount it at `/api`: its calls are at `/api/v1`, their description at `/api/docs`."""
    api = FastAPI(
        title="North",
        version=VERSION,
        openapi_url=None,
        redirect_slashes=False,
        generate_unique_id_function=_operation_id,
    )
    api.state.backend = backend
    api.state.assistant = assistant
    api.add_middleware(Edge)
    add_problems(api)
    # Routes are tried in this order: what is asked most often stands first.
    for part in (recalling, memories, rules, matters, threads, imports, tokens, wall, docs):
        api.include_router(part.router)
    return api


def _operation_id(route: APIRoute) -> str:
    """The name of a call in generated clients: `memories_create`."""
    return "_".join([*map(str, route.tags), route.name])
