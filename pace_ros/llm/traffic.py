"""What goes over the wire to the language model, kept as it came: for a bag, and for its replay."""
from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass

import httpx

from pace_ros.clock import Clock
from pace_ros.llm.redaction import Redaction

log = logging.getLogger(__name__)
MAX_BYTES = 4 << 20   # of one response that are kept; the longest answers have some 100 kB
MAX_CHUNKS = 1 << 16  # likewise


@dataclass(frozen=True)
class Exchanged:
    """One request and its response. Times in s since the request, but for ``begun_wall`` (s since the Unix epoch).

    ``request`` is the JSON body; no header of the request is kept. ``chunks`` are the response's bytes, decoded where
    the server compressed them, as they came at ``times``. ``status`` 0: no response came. ``error`` is why it broke off
    (``Class: words``), empty if it did not; ``abandoned``: the client closed it before its end.
    """

    begun_wall: float
    request: str
    status: int = 0
    content_type: str = ''
    retry_after: str = ''
    chunks: tuple[bytes, ...] = ()
    times: tuple[float, ...] = ()
    ended: float = 0.0
    error: str = ''
    abandoned: bool = False

    @property
    def body(self) -> bytes:
        """The bytes of the response in one piece."""
        return b''.join(self.chunks)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Bytes of each chunk."""
        return tuple(map(len, self.chunks))


class _Notes:
    """Grows while a response comes, and is told once, at its end."""

    def __init__(self, request: str, clock: Clock, redaction: Redaction, tell: Callable[[Exchanged], None]) -> None:
        self._request = request
        self._clock = clock
        self._redaction = redaction
        self._tell = tell
        self._begun, self._begun_wall = clock.monotonic(), clock.wall()
        self._status, self._content_type, self._retry_after = 0, '', ''
        self._chunks: list[bytes] = []
        self._times: list[float] = []
        self._size = 0
        self._cut = ''
        self._ended = False

    def answered(self, response: httpx.Response) -> None:
        """The head of the response has come."""
        self._status = response.status_code
        self._content_type = response.headers.get('content-type', '')
        self._retry_after = response.headers.get('retry-after', '')

    def chunk(self, chunk: bytes) -> None:
        """Bytes have come."""
        self._size += len(chunk)
        if not self._cut and (self._size > MAX_BYTES or len(self._chunks) >= MAX_CHUNKS):
            self._cut = f'Cut: too long to be kept, its first {self._size - len(chunk)} bytes are'
        if not self._cut:
            self._chunks.append(chunk)
            self._times.append(self._clock.monotonic() - self._begun)

    def end(self, error: Exception | None = None, *, abandoned: bool = False) -> None:
        """Nothing more comes; only the first end counts."""
        if self._ended:
            return
        self._ended = True
        ended = self._clock.monotonic() - self._begun
        hide = self._redaction.text
        exchanged = Exchanged(
            self._begun_wall, hide(self._request), self._status, hide(self._content_type), hide(self._retry_after),
            self._redaction.chunks(self._chunks), tuple(self._times), ended,
            hide(self._cut or (f'{type(error).__name__}: {error}' if error else '')), abandoned,
        )
        try:
            self._tell(exchanged)
        except Exception:  # the visitor's answer does not depend on its record
            log.exception('An exchange with L2 could not be recorded.')


class _Overheard(httpx.AsyncByteStream):
    """Hands on a response's bytes and notes them, decoded, so that the notes need no decoder."""

    def __init__(self, response: httpx.Response, notes: _Notes) -> None:
        self._response = response
        self._notes = notes

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for chunk in self._response.aiter_bytes():
                self._notes.chunk(chunk)
                yield chunk
        except Exception as error:
            self._notes.end(error)
            raise
        except BaseException:  # cancelled, or closed by whoever listened
            self._notes.end(abandoned=True)
            raise
        self._notes.end()

    async def aclose(self) -> None:
        self._notes.end(abandoned=True)
        await self._response.aclose()


class Wire(httpx.AsyncBaseTransport):
    """The real network with the environment's proxies, which ``httpx`` leaves out wherever it is given a transport.

    ``trust_env``: whether proxies and certificates of the environment count.
    """

    def __init__(self, *, trust_env: bool = True) -> None:
        self._client = httpx.AsyncClient(trust_env=trust_env)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request as it is; the response is a stream."""
        return await self._client.send(request, stream=True, follow_redirects=False)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.aclose()


class RecordingTransport(httpx.AsyncBaseTransport):
    """Passes requests to ``inner`` and their responses back, chunk by chunk as they come, and tells ``on_exchange`` of
    each once, at its end: in order, broken off, closed by the client, or never begun.

    ``wanted`` is asked for every request. ``keys`` are hidden wherever they show. Beyond ``MAX_BYTES`` a response goes
    on but is noted as cut, with ``Cut: …`` for its ``error``.
    """

    def __init__(
        self,
        inner: httpx.AsyncBaseTransport,
        on_exchange: Callable[[Exchanged], None],
        *,
        wanted: Callable[[], bool],
        clock: Clock,
        keys: Iterable[str] = (),
    ) -> None:
        self._inner = inner
        self._on_exchange = on_exchange
        self._wanted = wanted
        self._clock = clock
        self._redaction = Redaction(keys)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request. Raises what ``inner`` raises."""
        if request.method != 'POST' or not self._wanted():  # a farewell is no exchange
            return await self._inner.handle_async_request(request)
        body = (await request.aread()).decode('utf-8', errors='replace')
        notes = _Notes(body, self._clock, self._redaction, self._on_exchange)
        try:
            response = await self._inner.handle_async_request(request)
        except Exception as error:
            notes.end(error)
            raise
        except BaseException:
            notes.end(abandoned=True)
            raise
        notes.answered(response)
        headers = httpx.Headers(response.headers)
        if 'content-encoding' in headers:  # what is handed on is decoded
            del headers['content-encoding']
            headers.pop('content-length', None)
        return httpx.Response(
            response.status_code, headers=headers, stream=_Overheard(response, notes), extensions=response.extensions,
        )

    async def aclose(self) -> None:
        """Close ``inner``."""
        await self._inner.aclose()
