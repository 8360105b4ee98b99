"""North beside a NetDocuments server, and Ana, who has connected her account."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from north.connectors.netdocuments_oauth import Tokens
from north.memory.backend import Backend
from tests.conftest import FirmOfTest
from tests.netdocuments import NetDocumentsServer, connect, netdocuments_server, set_up


@pytest.fixture
async def server() -> AsyncIterator[NetDocumentsServer]:
    async with netdocuments_server() as running:
        yield running


@pytest.fixture
def north(backend: Backend, server: NetDocumentsServer) -> Backend:
    """North, registered at the server."""
    return set_up(backend, server)


@pytest.fixture
async def tokens(north: Backend, firm: FirmOfTest, server: NetDocumentsServer) -> Tokens:
    """Ana's first tokens; she is connected."""
    return await connect(north, firm.a, server)
