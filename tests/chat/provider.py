"""A model provider on this machine: it speaks the wire format of the real one, and fails as it does."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]


@dataclass(frozen=True)
class Reply:
    """What the provider answers to one request. Of a stream that is `cut`, the end never comes."""

    body: Sequence[bytes | asyncio.Event]
    status: int = 200
    content_type: str = "text/event-stream"
    cut: bool = False


@dataclass
class Provider:
    """Answers each request with the next reply, and the last reply again when there is no other."""

    url: str
    replies: list[Reply] = field(default_factory=list)
    requests: list[Json] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            length = next(line for line in head.lower().splitlines() if line.startswith("content-length:"))
            self.requests.append(json.loads(await reader.readexactly(int(length.split(":")[1]))))
            self.paths.append(head.split()[1])
            await self._answer(writer, self.replies.pop(0) if len(self.replies) > 1 else self.replies[0])
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # the client went away
        finally:
            writer.close()

    async def _answer(self, writer: asyncio.StreamWriter, reply: Reply) -> None:
        # The client may try again at once, so that the tests are quick.
        writer.write(
            f"HTTP/1.1 {reply.status} -\r\nContent-Type: {reply.content_type}\r\nretry-after-ms: 1\r\n"
            "Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n".encode()
        )
        for piece in reply.body:
            if isinstance(piece, asyncio.Event):
                await writer.drain()
                await piece.wait()
            else:
                writer.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
        if not reply.cut:
            writer.write(b"0\r\n\r\n")
        await writer.drain()


@asynccontextmanager
async def provider() -> AsyncIterator[Provider]:
    """A provider that listens."""
    serving = Provider("")
    async with await asyncio.start_server(serving.serve, "127.0.0.1") as server:
        serving.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        yield serving


def _events(*events: Json) -> bytes:
    return b"".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode() for event in events)


# --- Anthropic's messages -----------------------------------------------------------------------------------------


def _message(block: Json, deltas: Sequence[Json], stop: str) -> list[bytes]:
    usage = {"input_tokens": 9, "output_tokens": 3}
    message: Json = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": []}
    message |= {"stop_reason": None, "stop_sequence": None, "usage": usage}
    return [
        _events(
            {"type": "message_start", "message": message},
            {"type": "content_block_start", "index": 0, "content_block": block},
        ),
        *(_events({"type": "content_block_delta", "index": 0, "delta": delta}) for delta in deltas),
        _events(
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None}, "usage": usage},
            {"type": "message_stop"},
        ),
    ]


def anthropic_text(*pieces: str) -> list[bytes]:
    deltas = [{"type": "text_delta", "text": piece} for piece in pieces]
    return _message({"type": "text", "text": ""}, deltas, "end_turn")


def anthropic_call(tool: str, arguments: Json) -> list[bytes]:
    block = {"type": "tool_use", "id": "toolu_1", "name": tool, "input": {}}
    return _message(block, [{"type": "input_json_delta", "partial_json": json.dumps(arguments)}], "tool_use")


# --- OpenAI's chat completions ------------------------------------------------------------------------------------


def _chunks(*deltas: Json, finish: str) -> list[bytes]:
    chunk: Json = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    choices: list[Json] = [{"index": 0, "delta": delta, "finish_reason": None} for delta in deltas]
    choices.append({"index": 0, "delta": {}, "finish_reason": finish})
    return [
        *(f"data: {json.dumps({**chunk, 'choices': [each]})}\n\n".encode() for each in choices),
        b"data: [DONE]\n\n",
    ]


def chat_text(*pieces: str) -> list[bytes]:
    return _chunks(*({"role": "assistant", "content": piece} for piece in pieces), finish="stop")


def chat_call(tool: str, arguments: Json) -> list[bytes]:
    function = {"name": tool, "arguments": json.dumps(arguments)}
    call = {"index": 0, "id": "call_1", "type": "function", "function": function}
    return _chunks({"role": "assistant", "tool_calls": [call]}, finish="tool_calls")


# --- OpenAI's responses -------------------------------------------------------------------------------------------


def _response(item: Json, deltas: Sequence[Json]) -> list[bytes]:
    response = {"id": "resp_1", "object": "response", "created_at": 1, "model": "m", "status": "in_progress"}
    response |= {"output": [], "parallel_tool_calls": True, "tool_choice": "auto", "tools": []}
    events: list[Json] = [
        {"type": "response.created", "response": response},
        {"type": "response.output_item.added", "output_index": 0, "item": {**item, "status": "in_progress"}},
        *deltas,
        {"type": "response.output_item.done", "output_index": 0, "item": {**item, "status": "completed"}},
        {"type": "response.completed", "response": {**response, "status": "completed"}},
    ]
    return [_events({**event, "sequence_number": number}) for number, event in enumerate(events)]


def responses_text(*pieces: str) -> list[bytes]:
    at = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
    part = {"type": "output_text", "text": "", "annotations": []}
    deltas = [{"type": "response.content_part.added", **at, "part": part}]
    deltas += [{"type": "response.output_text.delta", **at, "delta": piece, "logprobs": []} for piece in pieces]
    return _response({"type": "message", "id": "msg_1", "role": "assistant", "content": []}, deltas)


def responses_call(tool: str, arguments: Json) -> list[bytes]:
    item = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": tool, "arguments": ""}
    delta = {"type": "response.function_call_arguments.delta", "item_id": "fc_1", "output_index": 0}
    return _response(item, [{**delta, "delta": json.dumps(arguments)}])


@dataclass(frozen=True)
class Dialect:
    """How a provider says a text and calls a tool."""

    model: str
    path: str
    text: Callable[..., list[bytes]]
    call: Callable[[str, Json], list[bytes]]


DIALECTS = (
    Dialect("anthropic:claude-sonnet-5-5", "/v1/messages", anthropic_text, anthropic_call),
    Dialect("openai-chat:gpt-test", "/chat/completions", chat_text, chat_call),
    Dialect("openai:gpt-test", "/responses", responses_text, responses_call),
)
