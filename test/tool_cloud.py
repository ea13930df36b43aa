"""A fake OpenAI-compatible server that calls tools as real servers do, and a shop the tools ask."""
from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from support import chunk, gone_before, sse

USAGE = {'choices': [], 'usage': {'prompt_tokens': 20, 'completion_tokens': 5}}


def calls_as_openai(*calls: tuple[str, str, str], said: str = '') -> bytes:
    """Streamed calls (id, name, arguments) as OpenAI and vLLM stream them: the head first, then pieces of arguments."""
    payloads: list[object] = [chunk('', role='assistant')]
    payloads += [chunk(piece + ' ') for piece in said.split()]
    for index, (call_id, name, arguments) in enumerate(calls):
        head = {'index': index, 'id': call_id, 'type': 'function', 'function': {'name': name, 'arguments': ''}}
        payloads.append(chunk(None, tool_calls=[head]))
        for begin in range(0, len(arguments), 4):
            piece = {'index': index, 'function': {'arguments': arguments[begin : begin + 4]}}
            payloads.append(chunk(None, tool_calls=[piece]))
    return sse(*payloads, chunk(finish='tool_calls'), USAGE, '[DONE]')


def calls_as_gemini(*calls: tuple[str, str]) -> bytes:
    """Whole calls (name, arguments), every one with index 0, as Gemini's compatible endpoint sends them."""
    pieces = [
        chunk(None, tool_calls=[{'index': 0, 'id': f'g{number}', 'type': 'function',
                                 'function': {'name': name, 'arguments': arguments}}])
        for number, (name, arguments) in enumerate(calls)
    ]
    return sse(*pieces, chunk(finish='stop'), USAGE, '[DONE]')


def answer(text: str) -> bytes:
    """A whole answer, a word at a time."""
    return sse(chunk('', role='assistant'), *[chunk(f'{word} ') for word in text.split()], chunk(finish='stop'), USAGE,
               '[DONE]')


@dataclass
class Shop:
    """An HTTP server for tools. ``pages`` maps method and path to a status, a body and what to wait for before it."""

    pages: dict[str, tuple[int, object, asyncio.Event | None]]
    asked: list[str] = field(default_factory=list)
    bodies: list[object] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    left: int = 0
    most_at_once: int = 0
    url: str = ''
    _now: int = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, as many requests as the client makes."""
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            while True:
                head = (await reader.readuntil(b'\r\n\r\n')).decode('latin-1').split('\r\n')
                headers = dict(line.lower().split(': ', 1) for line in head[1:] if ': ' in line)
                body = await reader.readexactly(int(headers.get('content-length', 0)))
                method, target, _ = head[0].split(' ')
                self.asked.append(f'{method} {target}')
                self.bodies.append(json.loads(body) if body else None)
                self.headers.append(dict(line.split(': ', 1) for line in head[1:] if ': ' in line))
                self._now += 1
                self.most_at_once = max(self.most_at_once, self._now)
                try:
                    status, content, gate = self.pages.get(f'{method} {target.split("?")[0]}', (404, {}, None))
                    if gate is not None and await gone_before(reader, gate):
                        self.left += 1
                        break
                finally:
                    self._now -= 1
                text = content if isinstance(content, str) else json.dumps(content)
                moved = 'location: /elsewhere\r\n' if 300 <= status < 400 else ''
                length = f'content-length: {len(text.encode())}'
                writer.write(f'HTTP/1.1 {status} X\r\n{length}\r\n{moved}\r\n{text}'.encode())
                await writer.drain()
        writer.close()


@contextlib.asynccontextmanager
async def shop(**pages: object) -> AsyncIterator[Shop]:
    """A shop on loopback that sells nothing yet: give its ``pages`` afterwards."""
    opened = Shop(dict(pages))  # type: ignore[arg-type]
    server = await asyncio.start_server(opened.serve, '127.0.0.1', 0)
    opened.url = f'http://127.0.0.1:{server.sockets[0].getsockname()[1]}'
    try:
        yield opened
    finally:
        server.close()


