"""NetDocuments over its REST API, as one lawyer: whatever their account may not see, North does not see either."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Protocol
from urllib.parse import quote

import httpx2
import structlog

from north.connectors import netdocuments_shapes as shapes
from north.connectors.netdocuments_content import Content, read_content
from north.connectors.netdocuments_shapes import Cabinet, DocumentInfo
from north.errors import (
    CabinetNotFound,
    DocumentNotFound,
    InvalidInput,
    NetDocumentsBusy,
    NetDocumentsDenied,
    NetDocumentsNotConnected,
    NetDocumentsUnavailable,
    NorthError,
    NotFound,
)

log = structlog.get_logger(__name__)

HITS = 20
CABINETS_SEARCHED = 50
LONGEST_WAIT_SECONDS = 10.0
"""How long a call waits in all when NetDocuments asks for patience, before it gives up."""

ANSWER_LIMIT = 5_000_000
_CANNOT_USE = "gave an answer that cannot be used"

# Ids and environment ids, such as 4822-8047-6450 and :Q24:o:9:m:6:^D210101000000000.nev; and never `..`.
_ID = re.compile(r"(?=.*[A-Za-z0-9])[A-Za-z0-9:^._~-]{1,200}")
_CABINET_ID = re.compile(r"NG-[A-Za-z0-9]{1,40}")


class Access(Protocol):
    """Where the lawyer's access token comes from."""

    async def token(self) -> str:
        """The token in use. Raises NetDocumentsNotConnected when there is none."""

    async def renewed(self, refused: str) -> str:
        """Another token, since NetDocuments did not take `refused`."""


class NetDocuments:
    """The calls that North makes. Each raises, besides what it names:

    NetDocumentsNotConnected: the authorization has ended; the lawyer has to connect again.
    NetDocumentsDenied: the account may not do this.
    NetDocumentsBusy: over the rate limit for longer than a call may wait.
    NetDocumentsUnavailable: unreachable, too slow, or an answer that cannot be used.
    """

    def __init__(self, http: httpx2.AsyncClient, api_url: str, access: Access) -> None:
        self._http = http
        self._api_url = api_url
        self._access = access

    async def account(self) -> str | None:
        """The name of the lawyer's account, if NetDocuments tells it."""
        return shapes.account_name(await self._json("user_info", "/v1/User/info"))

    async def cabinets(self) -> list[Cabinet]:
        """The cabinets that the lawyer may open."""
        return shapes.cabinets(await self._json("cabinets", "/v1/User/cabinets"))

    async def search(self, query: str, cabinet: str | None = None) -> list[DocumentInfo]:
        """The documents that match, in NetDocuments' order, at most `HITS`.

        Args:
            query: words, or NetDocuments' own search syntax.
            cabinet: a cabinet's id or its name; None searches all of the lawyer's.

        Raises:
            CabinetNotFound: the lawyer has no such cabinet.
            InvalidInput: NetDocuments cannot use the query.
        """
        if cabinet is not None and _CABINET_ID.fullmatch(cabinet):
            return await self._search_one(query, cabinet)
        known = await self.cabinets()
        if cabinet is not None:
            return await self._search_one(query, _named(known, cabinet))
        if not known:
            return []
        return await self._search_all(query, known[:CABINETS_SEARCHED])

    async def _search_one(self, query: str, cabinet_id: str) -> list[DocumentInfo]:
        parameters = {"q": query, "$select": "standardAttributes", "$top": str(HITS)}
        path = f"/v1/Search/{quote(cabinet_id, safe='')}"
        return shapes.documents(await self._json("search", path, parameters, missing=CabinetNotFound))[:HITS]

    async def _search_all(self, query: str, known: Sequence[Cabinet]) -> list[DocumentInfo]:
        parameters = {
            "cabinets": ",".join(each.id for each in known),
            "q": query,
            "select": "standardAttributes",
            "top": str(HITS),
        }
        return shapes.documents(await self._json("search", "/v2/search", parameters, missing=CabinetNotFound))[:HITS]

    async def info(self, document_id: str) -> DocumentInfo:
        """What is known of a document beside its content.

        Raises:
            DocumentNotFound: the account sees no such document.
        """
        path = f"{_document_path(document_id)}/info"
        found = shapes.document(await self._json("document_info", path, missing=DocumentNotFound))
        if found is None:
            raise NetDocumentsUnavailable(reason=_CANNOT_USE)
        return found

    async def content(self, document_id: str, extension: str | None = None) -> Content:
        """A document's content, as far as it is text.

        Args:
            document_id: as a search gave it.
            extension: the document's own, if it is known.

        Raises:
            DocumentNotFound: the account sees no such document.
        """
        async with self._answer("document", _document_path(document_id), {}, DocumentNotFound) as response:
            return await read_content(response, extension)

    async def _json(
        self,
        call: str,
        path: str,
        parameters: Mapping[str, str] | None = None,
        missing: type[NotFound] | None = None,
    ) -> object:
        async with self._answer(call, path, parameters or {}, missing) as response:
            body = bytearray()
            async for piece in response.aiter_bytes():
                body += piece
                if len(body) > ANSWER_LIMIT:
                    raise NetDocumentsUnavailable(reason=_CANNOT_USE)
        try:
            answer: object = json.loads(body)
        except (ValueError, RecursionError):
            log.warning("netdocuments_answer_unreadable", call=call)
            raise NetDocumentsUnavailable(reason=_CANNOT_USE) from None
        return answer

    @asynccontextmanager
    async def _answer(
        self, call: str, path: str, parameters: Mapping[str, str], missing: type[NotFound] | None
    ) -> AsyncIterator[httpx2.Response]:
        """The answer with success; a token that was refused is renewed once, and a rate limit is waited for."""
        try:
            async with AsyncExitStack() as stack:
                yield await self._succeeded(stack, call, path, parameters, missing)
        except httpx2.TimeoutException:
            raise NetDocumentsUnavailable(reason="did not answer in time") from None
        except httpx2.RequestError:
            raise NetDocumentsUnavailable(reason="cannot be reached") from None

    async def _succeeded(
        self, stack: AsyncExitStack, call: str, path: str, parameters: Mapping[str, str], missing: type[NotFound] | None
    ) -> httpx2.Response:
        token, renewed, waited = await self._access.token(), False, 0.0
        while True:
            response = await stack.enter_async_context(
                self._http.stream(
                    "GET",
                    f"{self._api_url}{path}",
                    params=parameters,
                    headers={"Authorization": f"Bearer {token}", "Accept": "application/json, */*;q=0.5"},
                )
            )
            if response.is_success:
                return response
            await response.aclose()
            if response.status_code == 401 and not renewed:
                token, renewed = await self._access.renewed(token), True
            elif response.status_code == 429:
                seconds = _retry_after(response)
                if waited + seconds > LONGEST_WAIT_SECONDS:
                    raise NetDocumentsBusy(seconds=round(seconds))
                await asyncio.sleep(seconds)
                waited += max(seconds, 1.0)  # so that a server that says 0 each time is not asked for ever
            else:
                log.warning("netdocuments_call_failed", call=call, status=response.status_code)
                raise _failure(response.status_code, missing)


def _failure(status: int, missing: type[NotFound] | None) -> NorthError:
    match status:
        case 401:
            return NetDocumentsNotConnected()
        case 403:
            return NetDocumentsDenied()
        case 404 | 410 if missing:
            return missing()
        case 400 | 414 | 422:
            return InvalidInput(reason="NetDocuments cannot use it. Try other, fewer words, or an id from a search")
        case _:
            return NetDocumentsUnavailable(reason=f"answered with status {status}")


def _document_path(document_id: str) -> str:
    if not _ID.fullmatch(document_id):
        raise DocumentNotFound
    return f"/v1/Document/{quote(document_id, safe='')}"


def _named(known: Sequence[Cabinet], name: str) -> str:
    """The id of the cabinet with this name, or this id."""
    wanted = name.strip().casefold()
    for each in known:
        if wanted in {each.name.strip().casefold(), each.id.casefold()}:
            return each.id
    raise CabinetNotFound


def _retry_after(response: httpx2.Response) -> float:
    """How long to wait, in seconds, by `Retry-After` as seconds or as a date (RFC 9110, 10.2.3); 1 without it."""
    value = response.headers.get("Retry-After", "1").strip()
    if value.isdecimal():
        return float(value[:9])
    try:
        moment = parsedate_to_datetime(value)
    except ValueError:
        return 1.0
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max((moment - datetime.now(UTC)).total_seconds(), 0.0)
