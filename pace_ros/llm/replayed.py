"""The language model's side of a recording: every request gets the recorded response at its recorded pace."""
from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable

import httpx

from pace_ros.clock import Clock, SystemClock
from pace_ros.llm.traffic import Exchanged

log = logging.getLogger(__name__)
Sleep = Callable[[float], Awaitable[None]]
HELD = 600.0  # s; the longest deadline a client can have (l2.total_timeout)


def _key(body: str, *, without: str = '') -> str | None:
    """The request in a spelling of its own, without a field if asked; None for what is no JSON object."""
    try:
        fields = json.loads(body)
    except ValueError:
        return None
    if not isinstance(fields, dict):
        return None
    fields.pop(without, None)
    return json.dumps(fields, sort_keys=True)


class _Series:
    """The exchanges of equal requests in the order in which they began; the last one again and again."""

    def __init__(self) -> None:
        self._exchanges: list[Exchanged] = []
        self._next = 0

    def add(self, exchanged: Exchanged) -> None:
        self._exchanges.append(exchanged)

    def take(self) -> Exchanged:
        exchanged = self._exchanges[min(self._next, len(self._exchanges) - 1)]
        self._next += 1
        return exchanged


class _Pace:
    """Instants of one exchange. Each is waited for from the request on, so that no wait adds to the next."""

    def __init__(self, clock: Clock, sleep: Sleep) -> None:
        self._clock = clock
        self._sleep = sleep
        self._begun = clock.monotonic()

    async def until(self, instant: float) -> None:
        """Wait until ``instant`` s after the request; an instant that has passed is not waited for."""
        remaining = self._begun + instant - self._clock.monotonic()
        if remaining > 0:
            await self._sleep(remaining)

    async def hold(self, request: httpx.Request) -> None:
        """Say nothing more until the client leaves. Raises httpx.ReadTimeout if it never does."""
        await self._sleep(HELD)
        raise httpx.ReadTimeout('the recording goes no further', request=request)


class _Retold(httpx.AsyncByteStream):
    """The bytes of a response when they are due, and its end."""

    def __init__(self, exchanged: Exchanged, pace: _Pace, request: httpx.Request) -> None:
        self._exchanged = exchanged
        self._pace = pace
        self._request = request

    async def __aiter__(self) -> AsyncIterator[bytes]:
        told = self._exchanged
        for chunk, time in zip(told.chunks, told.times, strict=True):
            await self._pace.until(time)
            yield chunk
        await self._pace.until(told.ended)
        if told.error:
            raise _error_of(told.error, self._request)
        if told.abandoned:
            await self._pace.hold(self._request)


def _error_of(said: str, request: httpx.Request) -> httpx.RequestError:
    """The error as it was, of httpx's own class where it had one."""
    name, _, words = said.partition(': ')
    kind = getattr(httpx, name, None)
    if isinstance(kind, type) and issubclass(kind, httpx.RequestError):
        return kind(words, request=request)
    return httpx.TransportError(said, request=request)


class ReplayTransport(httpx.AsyncBaseTransport):
    """Takes the network's place: answers from ``exchanges``, whatever the URL.

    A request is known by its JSON body; if none in the recording is the same, by everything in it but the model's name,
    which may come from an environment that is no more. Equal requests get their responses in recorded order, the last
    one again and again. Status, content type, retry-after and bytes are the recorded ones at the recorded times, and
    so is the end: in order or broken off. The head of the response, whose time is not recorded, comes with its first
    bytes. Where the recorded client left, nothing more is known: the connection stays, silent, until this one leaves
    too. A request that was not recorded gets HTTP 404 with a JSON error that says so; ``unmatched`` counts them.
    """

    def __init__(
        self, exchanges: Iterable[Exchanged], *, clock: Clock | None = None, sleep: Sleep = asyncio.sleep
    ) -> None:
        self._clock = clock or SystemClock()
        self._sleep = sleep
        self._same: dict[str, _Series] = {}
        self._any_model: dict[str, _Series] = {}
        self.recorded = 0
        self.unmatched = 0
        for exchanged in sorted(exchanges, key=lambda each: each.begun_wall):
            self._add(exchanged)

    def _add(self, exchanged: Exchanged) -> None:
        self.recorded += 1
        for series, without in ((self._same, ''), (self._any_model, 'model')):
            key = _key(exchanged.request, without=without)
            if key is not None:
                series.setdefault(key, _Series()).add(exchanged)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Answer a request as the recording does. Raises httpx.RequestError where it broke off without a response."""
        pace = _Pace(self._clock, self._sleep)
        told = self._told((await request.aread()).decode('utf-8', errors='replace'))
        if told is None:
            return self._unknown()
        await pace.until(told.times[0] if told.times else told.ended)
        if not told.status:
            if not told.error:
                await pace.hold(request)
            raise _error_of(told.error, request)
        given = {'content-type': told.content_type, 'retry-after': told.retry_after}
        headers = {name: value for name, value in given.items() if value}
        return httpx.Response(told.status, headers=headers, stream=_Retold(told, pace, request))

    def _told(self, body: str) -> Exchanged | None:
        for series, without in ((self._same, ''), (self._any_model, 'model')):
            found = series.get(_key(body, without=without) or '')
            if found is not None:
                return found.take()
        return None

    def _unknown(self) -> httpx.Response:
        self.unmatched += 1
        words = f'This request is not in the recording of {self.recorded} requests.'
        log.warning('L2 replay: %s', words)
        return httpx.Response(404, json={'error': {'message': words}})
