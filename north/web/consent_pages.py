"""Letting a program act for a lawyer: the one thing that North ever asks anybody to approve."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus

from fastapi import APIRouter
from starlette.datastructures import ImmutableMultiDict
from starlette.requests import Request
from starlette.responses import Response

from north.access.oauth import AuthorizationRequest, answer_address, answerable, authorize, check_request
from north.access.oauth_clients import documented_client, is_document_address, registered_client
from north.access.redirects import form_target, host_of
from north.connectors.client_documents import ClientDocuments
from north.errors import AuthorizationInvalid, ClientUnknown
from north.memory.backend import Backend
from north.model import OAuthClient, User
from north.web.pages import render, see_other
from north.web.security import policy_with_form_target
from north.web.sessions import CurrentUser, PageRoute, RunningBackend, settings_caller

router = APIRouter(route_class=PageRoute, include_in_schema=False)

PATH = "/authorize"
PARAMETERS = (
    "response_type",
    "client_id",
    "redirect_uri",
    "code_challenge",
    "code_challenge_method",
    "state",
    "scope",
    "resource",
)


@router.get(PATH)
async def consent_page(request: Request, backend: RunningBackend, user: CurrentUser) -> Response:
    """Ask the lawyer. Nothing is fetched or looked up for somebody who is not logged in."""
    parameters = _single(request.query_params)
    client = await _client(request, backend, parameters)
    try:
        asked = check_request(backend, client, parameters)
    except AuthorizationInvalid as error:
        return _problem(request, backend, user, client, parameters, error)
    response = render(
        request,
        "consent.html",
        user=user,
        client=client,
        host=host_of(asked.redirect_uri),
        document_host=host_of(client.id) if is_document_address(client.id) else None,
        parameters={name: parameters[name] for name in PARAMETERS if name in parameters},
        problem=None,
    )
    response.headers["Content-Security-Policy"] = policy_with_form_target(form_target(asked.redirect_uri))
    return response


@router.post(PATH)
async def decide(request: Request, backend: RunningBackend, user: CurrentUser) -> Response:
    """Take the lawyer's answer to the program. Only Allow allows."""
    async with request.form() as form:
        parameters = _single(form)
    client = await _client(request, backend, parameters)
    try:
        asked = check_request(backend, client, parameters)
    except AuthorizationInvalid as error:
        return _problem(request, backend, user, client, parameters, error)
    if parameters.get("decision") == "allow":
        return _answer(backend, asked, code=await authorize(backend, settings_caller(user), asked))
    return _answer(backend, asked, error="access_denied", error_description="The lawyer did not allow it.")


def _answer(backend: Backend, asked: AuthorizationRequest, **answer: str) -> Response:
    return see_other(answer_address(backend.settings, asked.redirect_uri, asked.state, **answer))


def _problem(
    request: Request,
    backend: Backend,
    user: User,
    client: OAuthClient,
    parameters: Mapping[str, str],
    error: AuthorizationInvalid,
) -> Response:
    """Say what is wrong, with a link by which the program is told.

    Not a redirect: anybody can register a program, and this address would lead wherever they want (RFC 9700, 4.11.2).
    """
    redirect_uri, code = answerable(client, parameters), str(error.detail["error"])
    told = {"error": code, "error_description": str(error.detail["reason"])}
    return render(
        request,
        "consent.html",
        HTTPStatus.BAD_REQUEST,
        user=user,
        client=client,
        host=host_of(redirect_uri),
        problem=str(error),
        back=answer_address(backend.settings, redirect_uri, parameters.get("state"), **told),
    )


def _single(parameters: ImmutableMultiDict[str, object]) -> dict[str, str]:
    """The parameters by name.

    Raises:
        ClientUnknown: one is given twice, so that nobody can tell which one a program meant (RFC 6749, 3.1).
    """
    single = {name: value for name, value in parameters.multi_items() if isinstance(value, str)}
    if len(single) < len(parameters.multi_items()):
        raise ClientUnknown(reason="its request says the same thing twice")
    return single


async def _client(request: Request, backend: Backend, parameters: Mapping[str, str]) -> OAuthClient:
    """The program that asks.

    Raises:
        ClientUnknown: it is not registered here, or the document that describes it cannot be used.
    """
    client_id = parameters.get("client_id", "")
    if is_document_address(client_id):
        documents: ClientDocuments = request.app.state.client_documents
        document = await documents.find(client_id)
        return documented_client(client_id, document.name, document.redirect_uris)
    client = await registered_client(backend, client_id)
    if client is None:
        raise ClientUnknown(reason="it is not registered here, or was never used and is forgotten")
    return client
