"""L2: an OpenAI-compatible chat endpoint, streamed, with deadlines, retries before the first token, and a breaker."""
from __future__ import annotations

import contextlib
import math
from collections.abc import AsyncGenerator, Callable, Sequence
from typing import Protocol

import anyio
import httpx

from pace_ros.clock import Clock
from pace_ros.config_levels import L2, extra_body
from pace_ros.llm.breaker import Breaker
from pace_ros.llm.completion import Completion, Said
from pace_ros.llm.deadlines import Deadlines
from pace_ros.llm.delta import Delta, parse_delta
from pace_ros.llm.endpoint import Endpoint
from pace_ros.llm.errors import L2Error, L2Malformed, L2Refused, L2Unreachable
from pace_ros.llm.farewell import Farewells
from pace_ros.llm.heard import Heard
from pace_ros.llm.retry_after import retry_after_seconds
from pace_ros.llm.sse import SseOverflow, SseParser
from pace_ros.llm.stickiness import Stickiness, no_cookies, sticky_of
from pace_ros.llm.tools.offer import Offer

DONE = '[DONE]'
UNSAID = 'unsaid'  # the stream ended in order but gave no finish reason: fit to say, not to cache
BACKOFF = 0.2  # s before a retry the server asked no time for
TRANSIENT = {408, 409, 425, 429, 500, 502, 503, 504}
REQUEST_AT_FAULT = {400, 413, 422}  # this question was refused, the endpoint is well
ERROR_BODY_BYTES = 2000
TAIL_WAIT = 0.1  # s for what follows a whole answer: usage, [DONE], the end of the response


async def _payloads(response: httpx.Response) -> AsyncGenerator[str, None]:
    """The payloads of a response but for blank ones (heartbeats), up to and including ``[DONE]``."""
    parser = SseParser()
    chunks = response.aiter_bytes()
    async for chunk in chunks:
        for payload in parser.feed(chunk):
            if payload.strip() == DONE:
                yield DONE
                with anyio.move_on_after(TAIL_WAIT):  # a response read to its end frees its connection
                    async for _ in chunks:
                        pass
                return
            if payload.strip():
                yield payload
    for payload in parser.flush():
        if payload.strip():
            yield payload.strip()


class ChatModel(Protocol):
    """Whoever answers a conversation in a stream of text."""

    @property
    def breaker(self) -> Breaker:
        """Its circuit breaker."""
        ...

    def stream(
        self, messages: Sequence[Said], report: Completion, *, conversation: str = '', offer: Offer | None = None
    ) -> AsyncGenerator[str, None]:
        """Yield informative answer text as it comes and fill ``report``. ``conversation`` is the identity of the visit
        (design section 9), empty for a request that belongs to none; ``offer`` are tools the model may call, which are
        then in ``report.calls``. Raises L2Error.
        """
        ...

    def forget(self, conversation: str) -> None:
        """The visit is over: what is known of it goes, and an endpoint that wants to know is told, in its own time."""
        ...


class ChatClient:
    """One endpoint, one connection pool. ``config`` is asked anew for every request."""

    def __init__(
        self,
        endpoint: Endpoint,
        config: Callable[[], L2],
        clock: Clock,
        transport: httpx.AsyncBaseTransport | None = None,
        *,
        sticky: Callable[[], str] | None = None,
    ) -> None:
        """``sticky`` names the endpoint's way to know a conversation; without it, it is ``l2.sticky``."""
        self._endpoint = endpoint
        self._config = config
        self._clock = clock
        settings = config()
        self.breaker = Breaker(failures=settings.breaker_failures, cooldown=settings.breaker_cooldown, clock=clock)
        headers = {'Accept': 'text/event-stream'}
        if endpoint.api_key:
            headers['Authorization'] = f'Bearer {endpoint.api_key}'
        # The environment's proxy is for the world outside, not for a server on this machine.
        self._http = httpx.AsyncClient(
            headers=headers, transport=transport, trust_env=not endpoint.is_local, cookies=no_cookies()
        )
        self._sticky = Stickiness(lambda: sticky_of(config(), sticky() if sticky else config().sticky))
        self._farewells = Farewells(self._http, endpoint.base_url)

    @property
    def first_token_timeout(self) -> float:
        """Longest wait for the first informative token (s), retries included."""
        return self._config().first_token_timeout

    async def aclose(self) -> None:
        """Close the connection pool."""
        await self._farewells.aclose()
        await self._http.aclose()

    def forget(self, conversation: str) -> None:
        """The visit is over; our own gateway is told, if it has heard of it. Called on the event loop."""
        if self._sticky.forget(conversation) and not self._config().replay:
            self._farewells.say(conversation)

    async def stream(
        self, messages: Sequence[Said], report: Completion, *, conversation: str = '',
        offer: Offer | None = None, max_tokens: int | None = None,
    ) -> AsyncGenerator[str, None]:
        """Yield informative answer text as it comes; the first piece is never blank. ``max_tokens`` replaces the limit.

        ``conversation`` is the identity of the visit, sent as ``l2.sticky`` says; a request of none is given one of its
        own where the endpoint would else keep a place for it, and that ends with it. ``offer`` are tools the model may
        call; its calls are in the report at the end, and its deadlines take the place of the configured ones.

        Raises L2Error: before the first piece nothing was said, after it the answer was cut. Close the generator
        (``contextlib.aclosing``) to end the request early.
        """
        identity = conversation or self._sticky.passing()
        try:
            async with contextlib.aclosing(self._answer(messages, report, identity, offer, max_tokens)) as pieces:
                async for piece in pieces:
                    yield piece
        finally:
            if identity != conversation:
                self.forget(identity)

    async def _answer(
        self, messages: Sequence[Said], report: Completion, conversation: str, offer: Offer | None,
        max_tokens: int | None,
    ) -> AsyncGenerator[str, None]:
        """The request with its retries, while the breaker permits it."""
        config = self._config()
        begin = self._clock.monotonic()
        deadlines = Deadlines.until(begin + config.total_timeout, begin + config.first_token_timeout)
        if offer is not None:
            deadlines = Deadlines.until(offer.total_by, offer.first_token_by)
        with self.breaker.acquire() as permit:
            report.breaker_before = 'half-open' if permit.is_probe else 'closed'
            while True:
                report.attempts += 1
                attempt = self._clock.monotonic()
                try:
                    tried = self._attempt(messages, report, deadlines, conversation, offer, max_tokens)
                    async with contextlib.aclosing(tried) as pieces:
                        async for piece in pieces:
                            if math.isnan(report.ttft):
                                report.ttft = self._clock.monotonic() - begin
                                report.sample = self._clock.monotonic() - attempt
                            yield piece
                    break
                except L2Error as error:
                    error.args = (self._redacted(str(error)),)
                    pause = self._pause(error, report, deadlines)
                    if pause is None:
                        if isinstance(error, L2Refused) and error.status in REQUEST_AT_FAULT:
                            permit.give_back()
                        raise
                    await anyio.sleep(pause)
            permit.succeed()
            report.breaker_after = self.breaker.state

    def _pause(self, error: L2Error, report: Completion, deadlines: Deadlines) -> float | None:
        """How long to wait before another attempt (s), None if there shall be none."""
        spoken = not math.isnan(report.ttft)
        transient = isinstance(error, L2Unreachable) or (isinstance(error, L2Refused) and error.status in TRANSIENT)
        if spoken or not transient or report.attempts > self._config().retries:
            return None
        asked = error.retry_after if isinstance(error, L2Refused) else None
        pause = BACKOFF if asked is None else asked
        return pause if pause < deadlines.remaining(self._clock.monotonic()) else None

    async def _attempt(
        self, messages: Sequence[Said], report: Completion, deadlines: Deadlines, conversation: str,
        offer: Offer | None, max_tokens: int | None,
    ) -> AsyncGenerator[str, None]:
        heard, report.calling = Heard(offer.names if offer else ()), False
        async with contextlib.aclosing(self._deltas(messages, conversation, offer, max_tokens)) as deltas:
            while True:
                try:
                    with anyio.fail_after(deadlines.remaining(self._clock.monotonic())):
                        delta = await anext(deltas, None)
                except TimeoutError:
                    if report.finish_reason:
                        break  # the answer is whole; only its usage did not come
                    raise deadlines.error(self._clock.monotonic()) from None
                if delta is None:
                    break
                report.finish_reason = delta.finish_reason or report.finish_reason
                report.tokens_in = delta.tokens_in or report.tokens_in
                report.tokens_out = delta.tokens_out or report.tokens_out
                text = heard.feed(delta)
                if offer is not None and not report.calling and heard.calls:
                    report.begin_call()
                if text:
                    yield text
                deadlines = self._moved(deadlines, delta, said=bool(text), started=heard.started)
        rest = heard.flush()
        report.calls = heard.calls
        if rest:
            yield rest
        if not report.finish_reason or (report.finish_reason == UNSAID and not (heard.started or heard.calls)):
            raise L2Unreachable('the stream ended before the answer did')

    def _moved(self, deadlines: Deadlines, delta: Delta, *, said: bool, started: bool) -> Deadlines:
        """What holds after a delta: something of it was ``said``, or of the answer before it (``started``)."""
        now = self._clock.monotonic()
        due = now + self._config().inter_token_timeout
        if said:
            deadlines = deadlines.spoken(due)
        elif delta.calls or (delta.text and started):  # after the first word, text is held back as markup only
            deadlines = deadlines.called(due)
        return deadlines.finished(now + TAIL_WAIT) if delta.finish_reason else deadlines

    async def _deltas(
        self, messages: Sequence[Said], conversation: str, offer: Offer | None, max_tokens: int | None
    ) -> AsyncGenerator[Delta, None]:
        """The chunks of one HTTP response. A finish reason may be followed by usage; ``[DONE]`` or the end ends it."""
        config = self._config()
        timeout = httpx.Timeout(None, connect=config.connect_timeout, pool=config.connect_timeout)
        url, finished = f'{self._endpoint.base_url}/chat/completions', False
        headers, body = self._sticky.marked(conversation, self._body(messages, offer, max_tokens))
        try:
            async with self._http.stream('POST', url, json=body, headers=headers, timeout=timeout) as response:
                self._sticky.heard(conversation, response.headers)
                await self._check(response)
                async with contextlib.aclosing(_payloads(response)) as payloads:
                    async for payload in payloads:
                        if payload == DONE:
                            delta = Delta(finish_reason='' if finished else UNSAID)
                        else:
                            delta = parse_delta(payload)
                        finished = finished or bool(delta.finish_reason)
                        yield delta
        except httpx.HTTPError as error:
            if not finished:  # a drop after the finish reason loses nothing but the usage
                raise L2Unreachable(f'{type(error).__name__}: {error}'.rstrip(': ')) from error
        except (SseOverflow, httpx.InvalidURL) as error:
            raise L2Malformed(str(error)) from error

    def _redacted(self, text: str) -> str:
        """A server may echo the key; it must not reach a log or a record."""
        return text.replace(self._endpoint.api_key, '***') if self._endpoint.api_key else text

    async def _check(self, response: httpx.Response) -> None:
        if response.status_code != httpx.codes.OK:
            body = b''
            async for part in response.aiter_bytes():
                body += part
                if len(body) > ERROR_BODY_BYTES:
                    break
            raise L2Refused(
                f'HTTP {response.status_code}: {self._redacted(body.decode("utf-8", errors="replace"))[:200].strip()}',
                status=response.status_code,
                retry_after=retry_after_seconds(response.headers.get('retry-after'), self._clock.wall()),
            )
        kind = response.headers.get('content-type', 'text/event-stream')
        if 'text/event-stream' not in kind.lower():
            raise L2Malformed(f'the endpoint sent {kind} instead of an event stream')

    def _body(self, messages: Sequence[Said], offer: Offer | None, max_tokens: int | None) -> dict[str, object]:
        """The request; a null in ``l2.extra_body`` removes a field the provider does not know."""
        config = self._config()
        body: dict[str, object] = {
            'model': self._endpoint.model,
            'messages': list(messages),
            'stream': True,
            'stream_options': {'include_usage': True},
            'max_tokens': config.max_tokens,
            'temperature': config.temperature,
            **(offer.fields() if offer else {}),
        }
        body.update(extra_body(config))
        for name in ('max_tokens', 'max_completion_tokens'):
            if max_tokens is not None and body.get(name) is not None:
                body[name] = max_tokens
        return {key: value for key, value in body.items() if value is not None}
