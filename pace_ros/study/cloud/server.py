"""The simulated cloud as an HTTP server on loopback."""
from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import Callable

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from pace_ros.study.cloud.generation import Dropped, Generation
from pace_ros.study.cloud.reply import EVENTS, Reply
from pace_ros.study.cloud.simulated import SimulatedCloud

HOST = '127.0.0.1'
GRACE = 1  # s for answers under way when the server ends


class _Streamed(StreamingResponse):
    """A response that gives its slot back however it ends."""

    def __init__(self, reply: Reply, stream: Generation) -> None:
        super().__init__(stream, reply.status, dict(reply.headers), reply.media)
        self._stream = stream

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            await self._stream.aclose()


class _Cut(Response):
    """A head, then a broken connection: a listening server's way of refusing one."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        head = {'type': 'http.response.start', 'status': 200, 'headers': [(b'content-type', EVENTS.encode())]}
        await send(head)
        raise Dropped('the connection was refused')


def application(cloud: SimulatedCloud) -> Starlette:
    """The cloud as an ASGI application. A refused connection is one that breaks after the head of the response."""
    async def answer(request: Request) -> Response:
        body = await request.body()
        try:
            reply = cloud.respond(request.method, request.url.path, body)
        except Dropped:
            return _Cut()
        await asyncio.sleep(reply.delay)
        if reply.stream is None:
            return Response(reply.body, reply.status, dict(reply.headers), reply.media)
        return _Streamed(reply, reply.stream)

    return Starlette(routes=[Route('/{path:path}', answer, methods=['GET', 'POST'])])


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, listening: Callable[[], None]) -> None:
        super().__init__(config)
        self._listening = listening

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._listening()


def serve(cloud: SimulatedCloud, port: int, tell: Callable[[str], None]) -> None:
    """Serve on loopback until SIGINT or SIGTERM; ``tell`` is given the base URL once it listens. Port 0: a free one.

    Raises OSError if it cannot listen. Runs in the main thread.
    """
    with socket.create_server((HOST, port)) as listener:
        base_url = f'http://{HOST}:{listener.getsockname()[1]}/v1'

        def listening() -> None:
            cloud.begin()
            tell(base_url)

        config = uvicorn.Config(application(cloud), log_level='critical', lifespan='off', loop='asyncio', ws='none',
                                access_log=False, timeout_graceful_shutdown=GRACE)
        ends = (signal.SIGINT, signal.SIGTERM)
        # The server ends in order at a signal, then raises it anew.
        before = [signal.signal(each, lambda *_: None) for each in ends]
        try:
            _Server(config, listening).run([listener])
        finally:
            for each, handler in zip(ends, before, strict=True):
                signal.signal(each, handler)
