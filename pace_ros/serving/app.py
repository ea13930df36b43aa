"""The gateway's HTTP side: OpenAI-compatible, so that a robot needs its base URL alone."""
from __future__ import annotations

import asyncio
import contextlib
import hmac
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Coroutine
from typing import Any, TypeVar

import anyio
from fastapi import Depends, FastAPI, HTTPException, Request, Response
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException as AnyHTTPException
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import ClientDisconnect

from pace_ros.loopback import LOOPBACK
from pace_ros.serving.addresses import in_url
from pace_ros.serving.chat_request import ChatRequest, TooLarge, read_request
from pace_ros.serving.client_errors import MISTAKE, HungUp, error_response, told
from pace_ros.serving.gateway import TOLD, Gateway
from pace_ros.serving.gateway_metrics import Metrics
from pace_ros.serving.identity import Histories, stated
from pace_ros.serving.keeper import Keeper
from pace_ros.serving.streamed_answer import StreamedAnswer
from pace_ros.serving.usage import Chunk
from pace_ros.serving.whole_answer import whole_answer

log = logging.getLogger(__name__)
BODY_TIME = 10.0  # s in which a request must have come
FIRST_LOOK = 5.0  # s that it may take
JSON = 'application/json'  # no web page sends it elsewhere without being allowed to
LOOPBACK_NAMES = tuple(in_url(each) for each in sorted(LOOPBACK))
T = TypeVar('T')
SESSION = 'x-session-id'
INTERNAL = ('timings', 'system_fingerprint')  # of a chunk


def make_app(gateway: Gateway, *, token: str = '') -> FastAPI:
    """The application; ``token``: what every client must bear. Without one, only who names this machine's own address
    is answered, lest a web page in its browser be a client.
    """
    return _App(gateway, token).app


class _App:
    def __init__(self, gateway: Gateway, token: str) -> None:
        self._gateway = gateway
        self._token = token
        self._histories = Histories(gateway.fleet.settings.limits.conversations)
        self._metrics = Metrics(gateway)
        self.app = FastAPI(title='pace_ros L2 gateway', lifespan=self._lifespan, docs_url=None, redoc_url=None,
                           openapi_url=None, dependencies=[Depends(self._authorised)])
        if not token:
            self.app.add_middleware(TrustedHostMiddleware, allowed_hosts=LOOPBACK_NAMES, www_redirect=False)
        self.app.exception_handler(AnyHTTPException)(_answered)
        self.app.exception_handler(Exception)(_answered)
        self.app.post('/v1/chat/completions')(self.chat)
        self.app.get('/v1/models')(self.models)
        self.app.get('/v1/models/{name:path}')(self.model)
        self.app.get('/v1/conversations')(self.conversations)
        self.app.delete('/v1/conversations/{key:path}')(self.end)
        self.app.get('/health')(self.health)
        self.app.get('/metrics')(self.metrics)

    @contextlib.asynccontextmanager
    async def _lifespan(self, _app: FastAPI) -> AsyncIterator[None]:
        """The keeper works for as long as the gateway serves; nobody is answered before it has looked once."""
        keeper = Keeper(self._gateway)
        with anyio.move_on_after(FIRST_LOOK):
            try:
                await keeper.look()
            except Exception:
                log.exception('the first look at the fleet failed')
        async with anyio.create_task_group() as group:
            group.start_soon(keeper.run)
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
        """Answer a turn, streamed or whole. Whatever goes wrong, the client is told."""
        try:
            return await self._chat(request)
        except (Exception, asyncio.CancelledError) as error:  # cancelled by the server alone, which is ending
            self._failed(error)
            return error_response(error)

    async def _chat(self, request: Request) -> Response:
        content = await self._content(request)
        asked = read_request(content, self._gateway.fleet.settings.limits)
        key = stated(request.headers, asked.fields, self._gateway.fleet.settings.identity)
        derived = key is None
        key = key if key is not None else self._histories.conversation(asked.body['messages'])
        chunks = self._answer(key, asked, derived=derived)
        first = await _unless_hung_up(request, _first(chunks))
        headers = {SESSION: _header(key), 'cache-control': 'no-store'}
        if asked.stream:
            return StreamedAnswer(first, chunks, usage=asked.include_usage, headers=headers, failed=self._failed,
                                  patience=self._gateway.fleet.settings.deadlines.next_token)
        async with contextlib.aclosing(chunks):
            return JSONResponse(await _unless_hung_up(request, _whole(first, chunks)), headers=headers)

    def _failed(self, error: BaseException) -> None:
        """A turn has ended so: mistakes are counted here, all else where it happens."""
        if told(error) is MISTAKE:
            self._gateway.tally.failed += 1
            log.error('a turn failed by mistake', exc_info=error)

    async def models(self) -> dict[str, Any]:
        """The one model."""
        return {'object': 'list', 'data': [await self.model(self._gateway.fleet.settings.model)]}

    async def model(self, name: str) -> dict[str, Any]:
        """The one model by its name. Raises HTTPException for another."""
        if name != self._gateway.fleet.settings.model:
            raise HTTPException(404, f'There is no model {name[:60]!r} here.')
        return {'id': name, 'object': 'model', 'created': 0, 'owned_by': 'pace_ros'}

    async def conversations(self) -> dict[str, Any]:
        """Which conversation lives where, or is answered there, by the ledger."""
        return {'conversations': [
            {'id': each.key, 'turns': each.turns, 'under_way': each.under_way,
             **({'replica': at.replica, 'slot': at.slot, 'held': at.held, 'reserved': at.reserved} if at else {})}
            for each, at in ((each, each.seat or each.home) for each in self._gateway.conversations)
        ]}

    async def end(self, key: str) -> Response:
        """A visitor has left: its slot is free at once (204), or with its turn, which is not waited for (202)."""
        conversation = self._gateway.conversations.get(key)
        if conversation is None:
            raise HTTPException(404, 'There is no such conversation.')
        await self._gateway.end(conversation, TOLD)
        return Response(status_code=202 if self._gateway.conversations.get(key) is conversation else 204)

    async def health(self) -> Response:
        """Well while a replica is that answers."""
        states, policy = self._gateway.states.values(), self._gateway.policy
        well = any(each.well and policy.answers(decodes=each.replica.decodes) for each in states)
        return JSONResponse(
            {'status': 'ok' if well else 'no decoder is well', 'replicas': {each.name: each.well for each in states}},
            status_code=200 if well else 503,
        )

    async def metrics(self) -> Response:
        """For Prometheus."""
        return Response(self._metrics.text(), media_type=Metrics.TYPE)

    async def _content(self, request: Request) -> bytes:
        """The body. Raises TooLarge before all of it has been read, HTTPException or HungUp."""
        kind = request.headers.get('content-type', '')
        if kind.partition(';')[0].strip().lower() != JSON:
            raise HTTPException(415, f'The content-type must be {JSON}, not {kind[:60]!r}.')
        most, content = self._gateway.fleet.settings.limits.body, bytearray()
        try:
            with anyio.fail_after(BODY_TIME):
                async for piece in request.stream():
                    content += piece
                    if len(content) > most:
                        raise TooLarge(f'The body is larger than {most} bytes.')
        except TimeoutError:
            raise HTTPException(408, f'The body did not come within {BODY_TIME:g} s.') from None
        except ClientDisconnect:
            raise HungUp from None
        return bytes(content)

    async def _answer(self, key: str, asked: ChatRequest, *, derived: bool) -> AsyncGenerator[Chunk, None]:
        """The chunks under the gateway's own model name; how a conversation without a name goes on is remembered."""
        said: list[Chunk] = []
        try:
            async with contextlib.aclosing(self._gateway.answer(key, asked.body, derived=derived)) as chunks:
                async for chunk in chunks:
                    if derived:
                        said.append(chunk)
                    plain = {name: value for name, value in chunk.items() if name not in INTERNAL}
                    yield {**plain, 'model': self._gateway.fleet.settings.model}
            if derived:
                self._histories.ended(key, asked.body['messages'], whole_answer(said)['choices'][0]['message'])
        finally:
            if derived:
                self._histories.unanswered(key)  # nothing where it has ended


async def _unless_hung_up(request: Request, work: Coroutine[Any, Any, T]) -> T:
    """The result of ``work``. Raises HungUp if the client does so before; then work is cancelled."""
    async def watch() -> None:
        while (await request.receive())['type'] != 'http.disconnect':
            pass

    working, watching = asyncio.ensure_future(work), asyncio.ensure_future(watch())
    try:
        await asyncio.wait({working, watching}, return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            return working.result()
        raise HungUp
    finally:
        for each in (working, watching):
            each.cancel()
        await asyncio.gather(working, watching, return_exceptions=True)


async def _first(chunks: AsyncGenerator[Chunk, None]) -> Chunk:
    return await anext(chunks)


async def _whole(first: Chunk, rest: AsyncGenerator[Chunk, None]) -> dict[str, Any]:
    return whole_answer([first, *[chunk async for chunk in rest]])


async def _answered(_request: Request, error: Exception) -> Response:
    return error_response(error)


def _header(key: str) -> str:
    """A key as a header's value."""
    return key.encode('ascii', errors='backslashreplace').decode()
