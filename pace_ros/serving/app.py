"""The gateway's HTTP side: OpenAI-compatible, so that a robot needs its base URL alone."""
from __future__ import annotations

import asyncio
import contextlib
import hmac
import json
import math
from collections.abc import AsyncGenerator, AsyncIterator, Coroutine, Iterator, Mapping
from typing import Any, TypeVar

import anyio
from fastapi import Depends, FastAPI, HTTPException, Request, Response
from fastapi.responses import JSONResponse, StreamingResponse
from starlette.requests import ClientDisconnect
from starlette.types import Receive, Scope, Send

from pace_ros.serving.chat_request import ChatRequest, RequestError, TooLarge, read_request
from pace_ros.serving.conversations import TooMany
from pace_ros.serving.gateway import TOLD, Gateway
from pace_ros.serving.gateway_metrics import Metrics
from pace_ros.serving.identity import Histories, IdentityError, stated
from pace_ros.serving.keeper import Keeper
from pace_ros.serving.replica_errors import ReplicaError, ReplicaRefused
from pace_ros.serving.seating import Refused
from pace_ros.serving.usage import Chunk
from pace_ros.serving.whole_answer import whole_answer

DONE = b'data: [DONE]\n\n'
BODY_TIME = 10.0  # s in which a request must have come
T = TypeVar('T')
SESSION = 'x-session-id'
HUNG_UP = 499  # nobody reads it
INTERNAL = ('timings', 'system_fingerprint')  # of a chunk
REFUSALS = (Refused, TooMany, ReplicaError, ConnectionAbortedError, asyncio.CancelledError)
ENDS = 'The gateway is ending.'


def make_app(gateway: Gateway, *, token: str = '') -> FastAPI:
    """The application; ``token``: what every client must bear, empty: none."""
    return _App(gateway, token).app


class _App:
    def __init__(self, gateway: Gateway, token: str) -> None:
        self._gateway = gateway
        self._token = token
        self._histories = Histories(gateway.fleet.settings.limits.conversations)
        self._metrics = Metrics(gateway)
        self.app = FastAPI(title='pace_ros L2 gateway', lifespan=self._lifespan, docs_url=None, redoc_url=None,
                           openapi_url=None, dependencies=[Depends(self._authorised)])
        self.app.exception_handler(HTTPException)(_told)
        self.app.post('/v1/chat/completions')(self.chat)
        self.app.get('/v1/models')(self.models)
        self.app.get('/v1/conversations')(self.conversations)
        self.app.delete('/v1/conversations/{key:path}')(self.end)
        self.app.get('/health')(self.health)
        self.app.get('/metrics')(self.metrics)

    @contextlib.asynccontextmanager
    async def _lifespan(self, _app: FastAPI) -> AsyncIterator[None]:
        """The keeper works for as long as the gateway serves."""
        async with anyio.create_task_group() as group:
            group.start_soon(Keeper(self._gateway).run)
            yield
            group.cancel_scope.cancel()
        with anyio.CancelScope(shield=True):
            await self._gateway.aclose()

    async def _authorised(self, request: Request) -> None:
        """Raises HTTPException for a client without the token."""
        scheme, _, borne = request.headers.get('authorization', '').partition(' ')
        right = hmac.compare_digest(borne.strip().encode(), self._token.encode()) and scheme.lower() == 'bearer'
        if self._token and not right:
            raise HTTPException(401, 'The bearer token is missing or wrong.', {'www-authenticate': 'Bearer'})

    async def chat(self, request: Request) -> Response:
        """Answer a turn, streamed or whole."""
        try:
            content = await self._content(request)
            asked = read_request(content, self._gateway.fleet.settings.limits)
            key = stated(request.headers, asked.fields, self._gateway.fleet.settings.identity)
        except (RequestError, IdentityError) as error:
            return _error(413 if isinstance(error, TooLarge) else 400, str(error))
        except TimeoutError:
            return _error(408, f'The body did not come within {BODY_TIME:g} s.')
        except ClientDisconnect:
            return Response(status_code=HUNG_UP)
        derived = key is None
        key = key if key is not None else self._histories.conversation(asked.body['messages'])
        chunks = self._answer(key, asked, derived=derived)
        try:
            first = await _unless_hung_up(request, _first(chunks))
        except REFUSALS as error:
            return _refusal(error)
        headers = {SESSION: _header(key), 'cache-control': 'no-store'}
        if asked.stream:
            return _Streamed(first, chunks, asked, headers)
        try:
            return JSONResponse(await _unless_hung_up(request, _whole(first, chunks)), headers=headers)
        except REFUSALS as error:
            return _refusal(error)
        finally:
            await chunks.aclose()

    async def models(self) -> dict[str, Any]:
        """The one model."""
        model = {'id': self._gateway.fleet.settings.model, 'object': 'model', 'created': 0, 'owned_by': 'pace_ros'}
        return {'object': 'list', 'data': [model]}

    async def conversations(self) -> dict[str, Any]:
        """Which conversation lives where, by the ledger."""
        return {'conversations': [
            {'id': each.key, 'turns': each.turns, 'under_way': each.under_way,
             **({'replica': each.home.replica, 'slot': each.home.slot, 'held': each.home.held,
                 'reserved': each.home.reserved} if each.home else {})}
            for each in self._gateway.conversations
        ]}

    async def end(self, key: str) -> Response:
        """A visitor has left: its slot is free at once."""
        conversation = self._gateway.conversations.get(key)
        if conversation is None:
            return _error(404, 'There is no such conversation.')
        await self._gateway.end(conversation, TOLD)
        return Response(status_code=204)

    async def health(self) -> Response:
        """Well while a decoder is."""
        states = self._gateway.states.values()
        well = any(each.well and each.replica.decodes for each in states)
        return JSONResponse(
            {'status': 'ok' if well else 'no decoder is well', 'replicas': {each.name: each.well for each in states}},
            status_code=200 if well else 503,
        )

    async def metrics(self) -> Response:
        """For Prometheus."""
        return Response(self._metrics.text(), media_type=Metrics.TYPE)

    async def _content(self, request: Request) -> bytes:
        """The body. Raises TooLarge before all of it has been read, TimeoutError or ClientDisconnect."""
        most, content = self._gateway.fleet.settings.limits.body, bytearray()
        with anyio.fail_after(BODY_TIME):
            async for piece in request.stream():
                content += piece
                if len(content) > most:
                    raise TooLarge(f'The body is larger than {most} bytes.')
        return bytes(content)

    async def _answer(self, key: str, asked: ChatRequest, *, derived: bool) -> AsyncGenerator[Chunk, None]:
        """The chunks under the gateway's own model name; how a conversation without a name goes on is remembered."""
        said: list[str] = []
        try:
            async with contextlib.aclosing(self._gateway.answer(key, asked.body)) as chunks:
                async for chunk in chunks:
                    said += [(each.get('delta') or {}).get('content') or '' for each in chunk.get('choices') or ()]
                    plain = {name: value for name, value in chunk.items() if name not in INTERNAL}
                    yield {**plain, 'model': self._gateway.fleet.settings.model}
            if derived:
                self._histories.ended(key, asked.body['messages'], ''.join(said))
        finally:
            if derived:
                self._histories.unanswered(key)  # nothing where it has ended


async def _unless_hung_up(request: Request, work: Coroutine[Any, Any, T]) -> T:
    """The result of ``work``. Raises ConnectionAbortedError if the client hangs up before; then work is cancelled."""
    async def watch() -> None:
        while (await request.receive())['type'] != 'http.disconnect':
            pass

    working, watching = asyncio.ensure_future(work), asyncio.ensure_future(watch())
    try:
        await asyncio.wait({working, watching}, return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            return working.result()
        raise ConnectionAbortedError
    finally:
        for each in (working, watching):
            each.cancel()
        await asyncio.gather(working, watching, return_exceptions=True)


class _Streamed(StreamingResponse):
    """The answer is closed, and its turn settled, however the response ends."""

    def __init__(
        self, first: Chunk, rest: AsyncGenerator[Chunk, None], asked: ChatRequest, headers: Mapping[str, str]
    ) -> None:
        super().__init__(_events(first, rest, asked), media_type='text/event-stream', headers=headers)
        self._rest = rest

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        except asyncio.CancelledError:  # by the server alone, which is ending; a client that hangs up raises nothing
            await send({'type': 'http.response.body', 'body': _error_event(503, ENDS), 'more_body': False})
        finally:
            with anyio.CancelScope(shield=True):
                await self._rest.aclose()


async def _events(first: Chunk, rest: AsyncGenerator[Chunk, None], asked: ChatRequest) -> AsyncIterator[bytes]:
    try:
        for event in _event(first, asked):
            yield event
        async for chunk in rest:
            for event in _event(chunk, asked):
                yield event
        yield DONE
    except ReplicaError as error:  # the status is long sent: a client must see that this is no end
        yield _error_event(502, str(error))


def _error_event(status: int, message: str) -> bytes:
    return b'data: ' + json.dumps(_error_body(status, message)).encode() + b'\n\n'


def _event(chunk: Chunk, asked: ChatRequest) -> Iterator[bytes]:
    """None for what would tell usage alone, and nobody asked for it."""
    if not asked.include_usage:
        chunk = {name: value for name, value in chunk.items() if name != 'usage'}
    if chunk.get('choices') or 'usage' in chunk:
        yield b'data: ' + json.dumps(chunk).encode() + b'\n\n'


async def _first(chunks: AsyncGenerator[Chunk, None]) -> Chunk:
    return await anext(chunks)


async def _whole(first: Chunk, rest: AsyncGenerator[Chunk, None]) -> dict[str, Any]:
    return whole_answer([first, *[chunk async for chunk in rest]])


def _refusal(error: BaseException) -> Response:
    """What a client is told."""
    if isinstance(error, Refused) and math.isinf(error.retry_after):
        return _error(413, f'{error}.')
    if isinstance(error, Refused | TooMany):
        after = error.retry_after if isinstance(error, Refused) else 1.0
        return _error(429, f'{error}.', {'retry-after': str(math.ceil(after))})
    if isinstance(error, ReplicaRefused) and error.for_the_request:
        return _error(error.status, str(error))
    if isinstance(error, ConnectionAbortedError):
        return Response(status_code=HUNG_UP)
    if isinstance(error, asyncio.CancelledError):  # by the server alone, which is ending
        return _error(503, ENDS, {'retry-after': '1'})
    return _error(502, str(error))


async def _told(_request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101  the handler is for these
    return _error(error.status_code, str(error.detail), error.headers)


def _error(status: int, message: str, headers: Mapping[str, str] | None = None) -> Response:
    return JSONResponse(_error_body(status, message), status_code=status, headers=dict(headers or {}))


def _error_body(status: int, message: str) -> dict[str, Any]:
    return {'error': {'message': message, 'type': 'invalid_request_error' if status < 429 else 'server_error',
                      'code': status}}


def _header(key: str) -> str:
    """A key as a header's value."""
    return key.encode('ascii', errors='backslashreplace').decode()
