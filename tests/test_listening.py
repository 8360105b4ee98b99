"""The socket on which North listens."""

from __future__ import annotations

import asyncio
import socket

from north.commands.serving import listening_socket
from north.settings import Settings
from tests.commands import free_port


async def test_a_reply_is_sent_at_once_and_not_held_back_until_the_last_packet_is_acknowledged() -> None:
    at_once: asyncio.Future[bool] = asyncio.get_running_loop().create_future()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = writer.get_extra_info("socket")
        at_once.set_result(bool(connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)))
        writer.close()

    settings = Settings(host="127.0.0.1", port=free_port())
    async with await asyncio.start_server(answer, sock=listening_socket(settings)):
        _, writer = await asyncio.open_connection(settings.host, settings.port)
        assert await at_once
        writer.close()
        await writer.wait_closed()
