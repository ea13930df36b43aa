"""The simulated cloud in the network's place."""
from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractContextManager
from typing import Protocol

import httpx

from pace_ros.study.cloud.generation import Dropped, Generation
from pace_ros.study.cloud.reply import Reply


class Cloud(Protocol):
    """Who answers."""

    def respond(self, method: str, path: str, body: bytes = b'') -> Reply:
        """Take a request that arrives now. Raises Dropped."""
        ...


class _Body(httpx.AsyncByteStream):
    """The bytes of a response when they are due."""

    def __init__(self, stream: Generation, request: httpx.Request) -> None:
        self._stream = stream
        self._request = request

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for piece in self._stream:
                yield piece
        except Dropped as error:
            raise httpx.ReadError(str(error), request=self._request) from error

    async def aclose(self) -> None:
        await self._stream.aclose()


class SimulatedTransport(httpx.AsyncBaseTransport):
    """Takes requests to ``cloud`` without a network; what the cloud computes is done inside ``free()``."""

    def __init__(self, cloud: Cloud, free: Callable[[], AbstractContextManager[None]]) -> None:
        self._cloud = cloud
        self._free = free

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Answer a request. Raises httpx.ConnectError where the connection is refused."""
        body = await request.aread()
        try:
            with self._free():
                reply = self._cloud.respond(request.method, request.url.path, body)
        except Dropped as error:
            raise httpx.ConnectError(str(error), request=request) from error
        if reply.delay > 0.0:
            await asyncio.sleep(reply.delay)
        headers = {'content-type': reply.media, **reply.headers}
        if reply.stream is None:
            return httpx.Response(reply.status, headers=headers, content=reply.body)
        return httpx.Response(reply.status, headers=headers, stream=_Body(reply.stream, request))
