"""Every exchange is told once and as it was, and the client notices nothing."""
from __future__ import annotations

import asyncio
import contextlib
import gzip
import itertools
import json
import socket
from collections.abc import AsyncIterator, Callable

import anyio
import httpx
import pytest
from harness import until
from hypothesis import given, settings
from hypothesis import strategies as st
from support import DROP, STALL, Script, ScriptedCloud, answer, chunk, scripted_cloud, sse

from pace_ros.clock import SystemClock, VirtualClock
from pace_ros.config_levels import L2
from pace_ros.llm import ChatClient, Completion, Endpoint, L2Error, traffic
from pace_ros.llm.traffic import Exchanged, RecordingTransport, Wire

KEY = 'sk-secret-0123456789'
HI = [{'role': 'user', 'content': 'hi'}]
GUARD = 8.0  # s; a test that takes longer has failed
URL = 'http://a.example/v1/chat/completions'


class Timed(httpx.AsyncByteStream):
    """Bytes at instants of a virtual clock, then an error if there is one."""

    def __init__(self, clock: VirtualClock, steps: list[tuple[float, bytes]], error: Exception | None = None) -> None:
        self.clock = clock
        self.steps = steps
        self.error = error
        self.closed = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for seconds, data in self.steps:
            self.clock.advance(seconds)
            yield data
        if self.error:
            raise self.error

    async def aclose(self) -> None:
        self.closed = True


def recorder(
    clock: VirtualClock, respond: Callable[[httpx.Request], httpx.Response], told: list[Exchanged], **options: object
) -> RecordingTransport:
    """A recording of what a function answers."""
    inner = httpx.MockTransport(respond)
    wanted = options.pop('wanted', lambda: True)
    return RecordingTransport(inner, told.append, wanted=wanted, clock=clock, **options)  # type: ignore[arg-type]


async def post(transport: httpx.AsyncBaseTransport, body: object = 'hi') -> tuple[int, list[bytes]]:
    """Ask, and read the response to its end."""
    async with httpx.AsyncClient(transport=transport) as client, client.stream('POST', URL, json=body) as response:
        return response.status_code, [data async for data in response.aiter_bytes()]


@contextlib.asynccontextmanager
async def recorded(
    *scripts: Script | bytes, key: str = '', **config: object
) -> AsyncIterator[tuple[ScriptedCloud, ChatClient, list[Exchanged]]]:
    """A client of a real server, recorded."""
    told: list[Exchanged] = []
    chosen = L2(**{'retries': 0, **config})  # type: ignore[arg-type]
    async with scripted_cloud(*scripts) as cloud:
        clock = SystemClock()
        transport = RecordingTransport(Wire(trust_env=False), told.append, wanted=lambda: True, clock=clock, keys=[key])
        client = ChatClient(Endpoint(cloud.base_url, 'm', key), lambda: chosen, clock, transport)
        try:
            with anyio.fail_after(GUARD):
                yield cloud, client, told
        finally:
            with anyio.CancelScope(shield=True):
                await client.aclose()


async def listen(client: ChatClient) -> tuple[list[str], L2Error | None]:
    pieces: list[str] = []
    try:
        async with contextlib.aclosing(client.stream(HI, Completion())) as stream:
            async for piece in stream:
                pieces.append(piece)  # noqa: PERF401  what came before an error counts
    except L2Error as error:
        return pieces, error
    return pieces, None


class TestVirtualTime:
    pytestmark = pytest.mark.anyio

    async def test_chunks_and_their_times_are_those_of_the_wire(self, clock: VirtualClock) -> None:
        told: list[Exchanged] = []
        headers = {'content-type': 'text/event-stream', 'retry-after': '3', 'x-id': '7'}

        def respond(request: httpx.Request) -> httpx.Response:
            clock.advance(0.25)
            return httpx.Response(200, headers=headers, stream=Timed(clock, [(0.5, b'a'), (0.0, b'bc'), (1.0, b'd')]))

        body = {'content': '你好'}
        assert await post(recorder(clock, respond, told), body) == (200, [b'a', b'bc', b'd'])
        assert told == [Exchanged(
            1_800_000_000.0, '{"content":"你好"}', 200, 'text/event-stream', '3',
            chunks=(b'a', b'bc', b'd'), times=(0.75, 0.75, 1.75), ended=1.75,
        )]
        assert (told[0].body, told[0].sizes) == (b'abcd', (1, 2, 1))

    async def test_the_client_gets_the_response_as_it_was(self, clock: VirtualClock) -> None:
        headers = [('Set-Cookie', 'a=1'), ('Set-Cookie', 'b=2'), ('X-Id', '7'), ('Content-Length', '2')]
        extensions = {'http_version': b'HTTP/1.1', 'reason_phrase': b'Fine'}
        response = httpx.Response(203, headers=headers, stream=Timed(clock, [(0.0, b'ok')]), extensions=extensions)
        request = httpx.Request('POST', URL, json={})
        got = await recorder(clock, lambda _: response, []).handle_async_request(request)
        assert (got.status_code, got.headers, got.reason_phrase) == (203, httpx.Headers(headers), 'Fine')

    async def test_a_break_is_named_and_passed_on(self, clock: VirtualClock) -> None:
        told: list[Exchanged] = []
        stream = Timed(clock, [(0.5, b'a')], httpx.ReadError('the peer went away'))
        with pytest.raises(httpx.ReadError, match='went away'):
            await post(recorder(clock, lambda _: httpx.Response(200, stream=stream), told))
        assert [(each.chunks, each.error, each.abandoned) for each in told] == [
            ((b'a',), 'ReadError: the peer went away', False),
        ]
        assert stream.closed

    async def test_no_response_at_all(self, clock: VirtualClock) -> None:
        told: list[Exchanged] = []

        def respond(request: httpx.Request) -> httpx.Response:
            clock.advance(2.0)
            raise httpx.ConnectTimeout('', request=request)

        with pytest.raises(httpx.ConnectTimeout):
            await post(recorder(clock, respond, told))
        assert told == [Exchanged(1_800_000_000.0, '"hi"', ended=2.0, error='ConnectTimeout: ')]

    async def test_only_what_is_wanted_is_kept_and_it_is_asked_each_time(self, clock: VirtualClock) -> None:
        told: list[Exchanged] = []
        wanted = iter([False, True, False])
        transport = recorder(clock, lambda _: httpx.Response(200, content=b'ok'), told, wanted=lambda: next(wanted))
        for question in ('one', 'two', 'three'):
            assert await post(transport, question) == (200, [b'ok'])
        assert [each.request for each in told] == ['"two"']

    @pytest.mark.parametrize(
        ('limit', 'bound', 'kept'),
        [('MAX_BYTES', 10, (b'12345', b'67890')), ('MAX_BYTES', 9, (b'12345',)), ('MAX_CHUNKS', 1, (b'12345',))],
    )
    async def test_what_is_too_long_is_cut_in_the_record_alone(
        self, clock: VirtualClock, monkeypatch: pytest.MonkeyPatch, limit: str, bound: int, kept: tuple[bytes, ...]
    ) -> None:
        monkeypatch.setattr(traffic, limit, bound)
        told: list[Exchanged] = []
        steps = [(0.1, b'12345'), (0.1, b'67890'), (0.1, b'x'), (0.1, b'')]
        transport = recorder(clock, lambda _: httpx.Response(200, stream=Timed(clock, list(steps))), told)
        assert b''.join((await post(transport))[1]) == b'1234567890x'
        size = sum(map(len, kept))
        assert [(each.chunks, each.error) for each in told] == [
            (kept, f'Cut: too long to be kept, its first {size} bytes are'),
        ]
        assert len(told[0].times) == len(kept)
        assert told[0].ended == pytest.approx(0.4)

    async def test_a_compressed_response_is_kept_in_clear(self, clock: VirtualClock) -> None:
        told: list[Exchanged] = []
        packed = gzip.compress(b'hello')
        headers = {'content-encoding': 'gzip', 'content-length': str(len(packed))}
        stream = Timed(clock, [(0.1, packed[:12]), (0.2, packed[12:])])
        transport = recorder(clock, lambda _: httpx.Response(200, headers=headers, stream=stream), told)
        assert b''.join((await post(transport))[1]) == b'hello'
        assert told[0].body == b'hello'

    async def test_bytes_that_cannot_be_unpacked_are_the_clients_error(self, clock: VirtualClock) -> None:
        told: list[Exchanged] = []
        stream = Timed(clock, [(0.1, b'junk')])
        headers = {'content-encoding': 'gzip'}
        transport = recorder(clock, lambda _: httpx.Response(200, headers=headers, stream=stream), told)
        with pytest.raises(httpx.DecodingError):
            await post(transport)
        assert told[0].error.startswith('DecodingError: ')

    async def test_a_failing_record_does_not_fail_the_answer(
        self, clock: VirtualClock, caplog: pytest.LogCaptureFixture
    ) -> None:
        def fail(_: Exchanged) -> None:
            raise OSError('disk full')

        inner = httpx.MockTransport(lambda _: httpx.Response(200, content=b'ok'))
        assert await post(RecordingTransport(inner, fail, wanted=lambda: True, clock=clock)) == (200, [b'ok'])
        assert 'could not be recorded' in caplog.text


@settings(max_examples=60, deadline=None)
@given(
    steps=st.lists(st.tuples(st.floats(0, 3), st.binary(min_size=1, max_size=30)), max_size=12),
    place=st.integers(0, 12), cuts=st.lists(st.integers(0, 20), max_size=4),
)
def test_any_stream_passes_unharmed_and_no_key_is_kept(
    steps: list[tuple[float, bytes]], place: int, cuts: list[int]
) -> None:
    bounds = [0, *sorted(cuts), len(KEY)]
    pieces = [KEY[begin:end].encode() for begin, end in itertools.pairwise(bounds) if begin < end]
    steps = [*steps[:place], *((0.0, piece) for piece in pieces), *steps[place:]]

    async def check() -> None:
        clock, told = VirtualClock(), []  # type: ignore[var-annotated]
        stream = Timed(clock, steps)
        transport = recorder(clock, lambda _: httpx.Response(401, stream=stream), told, keys=[KEY])
        assert await post(transport) == (401, [data for _, data in steps])
        assert KEY.encode() not in told[0].body
        assert told[0].sizes == tuple(len(data) for _, data in steps)
        assert told[0].times == pytest.approx(list(itertools.accumulate(seconds for seconds, _ in steps)))

    asyncio.run(check())


class TestRealServer:
    pytestmark = pytest.mark.anyio

    async def test_an_answer(self) -> None:
        stream = sse(chunk('Hel')), sse(chunk('lo')), sse(chunk(finish='stop'), '[DONE]')
        async with recorded(Script([0.05, stream[0], 0.1, stream[1], 0.1, stream[2]])) as (cloud, client, told):
            assert await listen(client) == (['Hel', 'lo'], None)
        assert len(told) == 1
        assert json.loads(told[0].request) == cloud.requests[0]
        assert (told[0].status, told[0].content_type) == (200, 'text/event-stream')
        assert told[0].chunks == stream
        assert (told[0].error, told[0].abandoned) == ('', False)
        first, second, third = told[0].times
        assert first >= 0.045
        assert second - first == pytest.approx(0.1, abs=0.05)
        assert third - second == pytest.approx(0.1, abs=0.05)
        assert told[0].ended >= third

    async def test_a_piece_is_given_while_the_stream_goes_on_and_leaving_is_told_at_once(self) -> None:
        async with recorded(Script([sse(chunk('Hel')), STALL])) as (cloud, client, told):
            async with contextlib.aclosing(client.stream(HI, Completion())) as pieces:
                assert await anext(pieces) == 'Hel'
                assert told == []
            assert [(each.body, each.error, each.abandoned) for each in told] == [(sse(chunk('Hel')), '', True)]
            await until(lambda: cloud.closed_early == 1)

    @pytest.mark.parametrize('steps', [[STALL], [sse(chunk('Hel')), STALL]], ids=['waiting', 'listening'])
    async def test_a_cancelled_request_is_abandoned(self, steps: list[object]) -> None:
        async with recorded(Script(steps)) as (cloud, client, told):
            task = asyncio.create_task(listen(client))
            await until(lambda: len(cloud.requests) == 1)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert [(each.error, each.abandoned) for each in told] == [('', True)]
            await until(lambda: cloud.closed_early == 1)

    async def test_a_request_cancelled_before_any_response(self) -> None:
        silent = asyncio.Event()

        async def never(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await silent.wait()
            writer.close()

        told: list[Exchanged] = []
        server = await asyncio.start_server(never, '127.0.0.1', 0)
        clock = SystemClock()
        transport = RecordingTransport(Wire(trust_env=False), told.append, wanted=lambda: True, clock=clock)
        url = f'http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1'
        client = ChatClient(Endpoint(url, 'm'), lambda: L2(first_token_timeout=0.1, retries=0), clock, transport)
        _, error = await listen(client)
        await client.aclose()
        silent.set()
        server.close()
        assert 'first token' in str(error)
        assert [(each.status, each.error, each.abandoned) for each in told] == [(0, '', True)]
        assert told[0].ended == pytest.approx(0.1, abs=0.08)

    async def test_a_drop(self) -> None:
        async with recorded(Script([sse(chunk('Hel')), DROP])) as (_, client, told):
            pieces, error = await listen(client)
        assert (pieces, told[0].body, told[0].abandoned) == (['Hel'], sse(chunk('Hel')), False)
        assert told[0].error.startswith('RemoteProtocolError: ')
        assert str(error) == told[0].error

    async def test_a_refused_connection(self) -> None:
        with socket.socket() as taken:
            taken.bind(('127.0.0.1', 0))
            port = taken.getsockname()[1]
        told: list[Exchanged] = []
        clock = SystemClock()
        transport = RecordingTransport(Wire(trust_env=False), told.append, wanted=lambda: True, clock=clock)
        client = ChatClient(Endpoint(f'http://127.0.0.1:{port}/v1', 'm'), lambda: L2(retries=1), clock, transport)
        _, error = await listen(client)
        await client.aclose()
        assert [(each.status, each.error.split(':')[0]) for each in told] == [(0, 'ConnectError')] * 2
        assert str(error) == told[1].error

    async def test_every_attempt_is_told(self) -> None:
        busy = Script([b'{"error": "busy"}'], status=429, headers={'retry-after': '0.01'})
        async with recorded(busy, answer('Hello'), retries=1) as (cloud, client, told):
            assert await listen(client) == (['Hello'], None)
        assert [(each.status, each.retry_after, each.content_type) for each in told] == [
            (429, '0.01', 'application/json'), (200, '', 'text/event-stream'),
        ]
        assert cloud.connections == 1

    async def test_the_key_is_sent_and_nowhere_kept(self) -> None:
        refusal = f'{{"error": "Incorrect key: {KEY}"}}'.encode()
        script = Script([refusal[:25], 0.02, refusal[25:]], status=401, headers={'retry-after': KEY})
        async with recorded(script, key=KEY) as (cloud, client, told):
            await listen(client)
        assert cloud.headers[0]['Authorization'] == f'Bearer {KEY}'
        assert KEY not in repr(told)
        assert told[0].body == refusal.replace(KEY.encode(), b'*' * len(KEY))

    async def test_answers_at_once_stay_apart(self) -> None:
        slow = Script([sse(chunk('one')), 0.05, sse(chunk('one'), chunk(finish='stop'))])
        async with recorded(slow, slow, answer('two')) as (_, client, told):
            await asyncio.gather(*(listen(client) for _ in range(3)))
        assert sorted(each.body.count(b'one') for each in told) == [0, 2, 2]


class TestWire:
    pytestmark = pytest.mark.anyio

    @pytest.mark.parametrize(('trusted', 'proxied'), [(True, 1), (False, 0)])
    async def test_the_environments_proxy_counts_where_it_is_trusted(
        self, monkeypatch: pytest.MonkeyPatch, *, trusted: bool, proxied: int
    ) -> None:
        async with scripted_cloud(answer('from afar')) as proxy, scripted_cloud(answer('directly')) as cloud:
            monkeypatch.setenv('HTTP_PROXY', proxy.base_url.removesuffix('/v1'))
            for name in ('http_proxy', 'NO_PROXY', 'no_proxy', 'ALL_PROXY', 'all_proxy'):
                monkeypatch.delenv(name, raising=False)
            transport = Wire(trust_env=trusted)
            request = httpx.Request('POST', f'{cloud.base_url}/chat/completions', json={})
            response = await transport.handle_async_request(request)
            await response.aread()
            await transport.aclose()
            assert (len(proxy.requests), len(cloud.requests)) == (proxied, 1 - proxied)

    async def test_nothing_is_added_to_a_request(self) -> None:
        async with scripted_cloud(answer('Hello')) as cloud:
            async with httpx.AsyncClient(headers={'X-Id': '7'}) as client:
                request = client.build_request('POST', f'{cloud.base_url}/chat/completions', json={})
            transport = Wire(trust_env=False)
            await (await transport.handle_async_request(request)).aread()
            await transport.aclose()
            assert httpx.Headers(cloud.headers[0]) == request.headers

    async def test_a_redirect_is_not_followed(self) -> None:
        async with scripted_cloud(answer('elsewhere')) as elsewhere:
            moved = Script(status=307, headers={'location': f'{elsewhere.base_url}/chat/completions'})
            async with scripted_cloud(moved) as cloud:
                transport = Wire(trust_env=False)
                request = httpx.Request('POST', f'{cloud.base_url}/chat/completions', json={})
                response = await transport.handle_async_request(request)
                await response.aread()
                await transport.aclose()
            assert (response.status_code, elsewhere.requests) == (307, [])
