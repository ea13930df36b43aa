"""A recording answers as the endpoint did: the same bytes at the same times, the same ends, in the same order."""
from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import anyio
import httpx
import pytest
from harness import until
from hypothesis import given, settings
from hypothesis import strategies as st
from support import DROP, STALL, Script, answer, chunk, scripted_cloud, sse

from pace_ros.clock import SystemClock, VirtualClock
from pace_ros.config import Cost
from pace_ros.config_levels import L2, Hedge
from pace_ros.control import CostLedger
from pace_ros.llm import ChatClient, Completion, Endpoint, HedgedChat, L2Error, chat
from pace_ros.llm.errors import L2Refused, L2Timeout, L2Unreachable
from pace_ros.llm.replayed import HELD, ReplayTransport
from pace_ros.llm.traffic import Exchanged, RecordingTransport, Wire

HI = [{'role': 'user', 'content': 'hi'}]
GUARD = 8.0  # s; a test that takes longer has failed
URL = 'http://a.example/v1/chat/completions'
STREAM = 'text/event-stream'
STOP = sse(chunk(finish='stop'))


def exchange(request: str = '"hi"', *chunks: tuple[float, bytes], begun: float = 0.0, **given: object) -> Exchanged:
    """A whole answer to ``request``, of chunks with their times."""
    times = tuple(time for time, _ in chunks)
    fields = {
        'status': 200, 'content_type': STREAM, 'chunks': tuple(data for _, data in chunks), 'times': times,
        'ended': times[-1] if times else 0.0, **given,
    }
    return Exchanged(begun, request, **fields)  # type: ignore[arg-type]


def replay_of(clock: VirtualClock, *exchanges: Exchanged) -> ReplayTransport:
    """A replay in virtual time."""
    async def sleep(seconds: float) -> None:
        clock.advance(seconds)

    return ReplayTransport(exchanges, clock=clock, sleep=sleep)


async def post(transport: httpx.AsyncBaseTransport, body: object) -> httpx.Response:
    """Ask, and read the response to its end."""
    async with httpx.AsyncClient(transport=transport) as client:
        return await client.post(URL, json=body)


class TestTimes:
    pytestmark = pytest.mark.anyio

    @pytest.mark.parametrize('slow', [0.0, 0.3, 5.0], ids=['at-once', 'slow', 'too-slow'])
    async def test_a_slow_listener_does_not_shift_what_follows(self, clock: VirtualClock, slow: float) -> None:
        told = exchange('{}', (1.0, b'a'), (1.5, b'b'), (4.0, b'c'), ended=5.0)
        transport, came = replay_of(clock, told), []
        async with httpx.AsyncClient(transport=transport) as client, client.stream('POST', URL, json={}) as response:
            assert clock.monotonic() == 1.0
            async for data in response.aiter_bytes():
                came.append((data, clock.monotonic()))
                clock.advance(slow)
        assert [data for data, _ in came] == [b'a', b'b', b'c']
        expected = {0.0: [1.0, 1.5, 4.0], 0.3: [1.0, 1.5, 4.0], 5.0: [1.0, 6.0, 11.0]}[slow]
        assert [time for _, time in came] == pytest.approx(expected)
        assert clock.monotonic() == max(5.0, expected[-1] + slow)

    async def test_real_time(self) -> None:
        told = exchange('{}', *((0.02 * place, b'x') for place in range(1, 11)))
        transport, begin = ReplayTransport([told]), SystemClock().monotonic()
        async with httpx.AsyncClient(transport=transport) as client, client.stream('POST', URL, json={}) as response:
            came = [SystemClock().monotonic() - begin async for _ in response.aiter_bytes()]
        assert all(time >= due - 1e-3 for time, due in zip(came, told.times, strict=True))
        assert came[-1] < told.times[-1] + 0.1


@settings(max_examples=60, deadline=None)
@given(
    steps=st.lists(st.tuples(st.floats(0, 30), st.binary(min_size=1, max_size=30)), max_size=12),
    rest=st.floats(0, 5), status=st.sampled_from([200, 429, 503]), retry_after=st.sampled_from(['', '3']),
)
def test_any_exchange_is_reproduced_and_its_replay_recorded_is_itself(
    steps: list[tuple[float, bytes]], rest: float, status: int, retry_after: str
) -> None:
    times = list(itertools.accumulate(seconds for seconds, _ in steps))
    timed = [(time, data) for time, (_, data) in zip(times, steps, strict=True)]
    ended = (times[-1] if times else 0.0) + rest
    told = exchange('{"a":1}', *timed, begun=7.0, status=status, retry_after=retry_after, ended=ended)

    async def check() -> None:
        clock, again = VirtualClock(wall=7.0), []  # type: ignore[var-annotated]
        transport = RecordingTransport(replay_of(clock, told), again.append, wanted=lambda: True, clock=clock)
        await post(transport, {'a': 1})
        assert again[0].chunks == told.chunks
        assert again[0].times == pytest.approx(told.times)
        assert again[0].ended == pytest.approx(told.ended)
        assert (again[0].request, again[0].status, again[0].content_type, again[0].retry_after, again[0].error) == (
            told.request, told.status, told.content_type, told.retry_after, '',
        )

    asyncio.run(check())


class TestWhichOne:
    pytestmark = pytest.mark.anyio

    async def test_equal_requests_in_the_order_they_began_and_the_last_again(self, clock: VirtualClock) -> None:
        # A bag holds exchanges in the order of their ends.
        exchanges = [exchange('{"a": 1, "b": 2}', (0.1, name), begun=begun) for name, begun in
                     ((b'second', 2.0), (b'third', 3.0), (b'first', 1.0))]
        transport = replay_of(clock, *exchanges)
        answers = [(await post(transport, {'b': 2, 'a': 1})).content for _ in range(5)]
        assert answers == [b'first', b'second', b'third', b'third', b'third']
        assert (transport.recorded, transport.unmatched) == (3, 0)

    async def test_another_model_is_another_request_where_both_were_recorded(self, clock: VirtualClock) -> None:
        transport = replay_of(
            clock, exchange('{"model": "small", "q": 1}', (0.1, b'small')),
            exchange('{"model": "large", "q": 1}', (0.1, b'large')),
        )
        assert (await post(transport, {'model': 'large', 'q': 1})).content == b'large'
        assert (await post(transport, {'model': 'small', 'q': 1})).content == b'small'

    async def test_a_model_that_was_not_recorded_gets_what_the_recorded_one_said(self, clock: VirtualClock) -> None:
        exchanges = [exchange('{"model": "m", "q": 1}', (0.1, name), begun=begun) for name, begun in
                     ((b'first', 1.0), (b'second', 2.0))]
        transport = replay_of(clock, *exchanges)
        assert [(await post(transport, {'model': 'x', 'q': 1})).content for _ in range(2)] == [b'first', b'second']
        assert (await post(transport, {'model': 'x', 'q': 2})).status_code == 404

    @pytest.mark.parametrize('body', [{'q': 2}, {'q': 1, 'max_tokens': 1}, [], 'hi'])
    async def test_what_was_not_recorded_is_said_to_be_unknown(self, clock: VirtualClock, body: object) -> None:
        transport = replay_of(clock, exchange('{"q": 1}', (0.1, b'x')))
        response = await post(transport, body)
        assert (response.status_code, response.headers['content-type']) == (404, 'application/json')
        assert response.json() == {'error': {'message': 'This request is not in the recording of 1 requests.'}}
        assert (transport.unmatched, clock.monotonic()) == (1, 0.0)

    async def test_bytes_that_are_no_json_are_unknown(self, clock: VirtualClock) -> None:
        transport = replay_of(clock, exchange('junk', (0.1, b'x')))
        async with httpx.AsyncClient(transport=transport) as client:
            assert (await client.post(URL, content=b'\xff{')).status_code == 404
        assert transport.unmatched == 1


class TestEnds:
    pytestmark = pytest.mark.anyio

    @pytest.mark.parametrize(
        ('said', 'kind', 'words'),
        [
            ('ReadError: the peer: gone', httpx.ReadError, 'the peer: gone'),
            ('ConnectTimeout: ', httpx.ConnectTimeout, ''),
            ('DecodingError: bad', httpx.DecodingError, 'bad'),
            ('OSError: no route', httpx.TransportError, 'OSError: no route'),
            ('Client: no error at all', httpx.TransportError, 'Client: no error at all'),
            ('InvalidURL: neither', httpx.TransportError, 'InvalidURL: neither'),
            ('Cut: too long', httpx.TransportError, 'Cut: too long'),
        ],
    )
    @pytest.mark.parametrize('status', [0, 200])
    async def test_a_break_is_the_recorded_one_at_its_time(
        self, clock: VirtualClock, said: str, kind: type[Exception], words: str, status: int
    ) -> None:
        chunks = [(1.0, b'a')] if status else []
        told = exchange('{}', *chunks, status=status, ended=2.5, error=said)
        with pytest.raises(httpx.RequestError) as caught:
            await post(replay_of(clock, told), {})
        assert (type(caught.value), str(caught.value), clock.monotonic()) == (kind, words, 2.5)

    @pytest.mark.parametrize('status', [0, 200])
    async def test_where_the_recorded_client_left_nothing_more_comes(self, clock: VirtualClock, status: int) -> None:
        chunks = [(1.0, b'a')] if status else []
        told = exchange('{}', *chunks, status=status, ended=2.0, abandoned=True)
        with pytest.raises(httpx.ReadTimeout, match='no further'):
            await post(replay_of(clock, told), {})
        assert clock.monotonic() == 2.0 + HELD

    async def test_a_client_that_waits_for_what_nobody_knows_meets_its_own_deadline(self) -> None:
        stream = sse(chunk('Hel'))
        body = {'model': 'm', 'messages': HI, 'stream': True, 'stream_options': {'include_usage': True},
                'max_tokens': 160, 'temperature': 0.3}
        told = exchange(json.dumps(body), (0.01, stream), ended=0.02, abandoned=True)
        config = L2(inter_token_timeout=0.15, max_tokens=160, temperature=0.3)
        heard = await listen(ReplayTransport([told]), config)
        assert (heard.pieces, type(heard.error)) == (['Hel'], L2Timeout)


@dataclass
class Heard:
    """What a listener got of one question."""

    pieces: list[str] = field(default_factory=list)
    report: Completion = field(default_factory=Completion)
    error: L2Error | None = None

    @property
    def result(self) -> tuple[object, ...]:
        """Everything but times."""
        report = self.report
        return (self.pieces, type(self.error), str(self.error), report.attempts, report.finish_reason, report.tokens_in,
                report.tokens_out, report.breaker_before, report.breaker_after)


async def listen(
    transport: httpx.AsyncBaseTransport, config: L2, base_url: str = 'http://a.example/v1', heard: Heard | None = None
) -> Heard:
    """Ask once, with a client of its own."""
    heard = heard or Heard()
    client = ChatClient(Endpoint(base_url, 'm'), lambda: config, SystemClock(), transport)
    try:
        with anyio.fail_after(GUARD):
            async with contextlib.aclosing(client.stream(HI, heard.report)) as pieces:
                async for piece in pieces:
                    heard.pieces.append(piece)
    except L2Error as error:
        heard.error = error
    finally:
        with anyio.CancelScope(shield=True):
            await client.aclose()
    return heard


@contextlib.asynccontextmanager
async def recording(*scripts: Script | bytes) -> AsyncIterator[tuple[RecordingTransport, list[Exchanged], str]]:
    """A recorded connection to a server that plays the scripts."""
    told: list[Exchanged] = []
    async with scripted_cloud(*scripts) as cloud:
        clock = SystemClock()
        wire = Wire(trust_env=False)
        yield RecordingTransport(wire, told.append, wanted=lambda: True, clock=clock), told, cloud.base_url


CASES: dict[str, tuple[list[object], dict[str, object]]] = {
    'whole': ([answer('Hello', ' there', '.')], {}),
    'paced': ([Script([0.02, sse(chunk('Hel')), 0.05, sse(chunk('lo')), 0.02, STOP, 0.01, sse('[DONE]')])], {}),
    'bytewise': ([Script([bytes([byte]) for byte in answer('é你😀\u2028!')])], {}),
    'separators': ([sse(chunk('a|b')).replace(b'|', '\u2028'.encode()) + STOP], {}),
    'comments': ([b': ping\n\n' + answer('Hello').replace(b'data: ', b': PROCESSING\nevent: message\ndata:')], {}),
    'thinking': ([answer('\n<th', 'ink>Hm', '.</', 'think>', '\n\n', 'Yes', '.')], {}),
    'tool-call': ([sse(chunk(content=None, tool_calls=[{'index': 0}]), chunk(finish='tool_calls'), '[DONE]')], {}),
    'length': ([answer('Hello', finish='length')], {}),
    'without-done': ([sse(chunk('Hello')) + STOP], {}),
    'without-end': ([Script([answer('Hello'), STALL])], {}),
    'stall-before-usage': ([Script([sse(chunk('Hello')) + STOP, STALL])], {}),
    'drop-after-finish': ([Script([sse(chunk('Hello')) + STOP, DROP])], {}),
    'drop-after-text': ([Script([sse(chunk('Hel')), DROP])], {}),
    'drop-then-answer': ([Script([DROP]), answer('Hello')], {'retries': 1}),
    'cut-short': ([sse(chunk('Hel'))], {}),
    'error-in-stream': ([sse(chunk('Hel'), {'error': {'message': 'worker died', 'code': 500}})], {}),
    'junk': ([sse(chunk('Hel'), '{"choices": [')], {}),
    'wrong-type': ([Script([answer('Hello')], headers={'content-type': 'text/html'})], {}),
    'refused': ([Script([b'{"error": {"message": "no such model"}}'], status=404)], {}),
    'long-error': ([Script([b'x' * 3000, b'y' * 3000, STALL], status=400)], {}),
    'busy-then-answer': (
        [Script([b'{}'], status=429, headers={'retry-after': '0.05'}), answer('Hello')], {'retries': 1},
    ),
    'busy-too-long': ([Script([b'{}'], status=429, headers={'retry-after': '3600'})], {'retries': 3}),
    'three-troubles': ([Script([b'{}'], status=500), Script([DROP]), answer('Hello')], {'retries': 2}),
    'no-first-token': ([Script([STALL])], {'first_token_timeout': 0.15}),
    'no-further-token': ([Script([sse(chunk('Hel')), STALL])], {'inter_token_timeout': 0.15}),
}


@pytest.mark.anyio
@pytest.mark.parametrize('name', CASES)
async def test_a_replayed_turn_is_the_recorded_one_twice_in_a_row(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chat, 'BACKOFF', 0.03)
    scripts, options = CASES[name]
    config = L2(**{'retries': 0, **options})  # type: ignore[arg-type]
    async with recording(*scripts) as (transport, told, url):  # type: ignore[arg-type]
        live = await listen(transport, config, url)
    assert len(told) == live.report.attempts
    for _ in range(2):
        transport = ReplayTransport(told)
        again = await listen(transport, config)
        assert again.result == live.result
        assert again.report.ttft == pytest.approx(live.report.ttft, abs=0.05, nan_ok=True)
        assert transport.unmatched == 0


@pytest.mark.anyio
async def test_a_turn_that_was_never_recorded_is_refused_with_the_reason() -> None:
    heard = await listen(ReplayTransport([]), L2(retries=3))
    assert isinstance(heard.error, L2Refused)
    assert 'not in the recording of 0 requests' in str(heard.error)
    assert heard.report.attempts == 1


@pytest.mark.anyio
async def test_a_refused_connection_is_replayed_without_a_server() -> None:
    told: list[Exchanged] = []

    def refuse(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError('All connection attempts failed', request=request)

    transport = RecordingTransport(
        httpx.MockTransport(refuse), told.append, wanted=lambda: True, clock=SystemClock(),
    )
    live = await listen(transport, L2(retries=0))
    again = await listen(ReplayTransport(told), L2(retries=0))
    assert isinstance(again.error, L2Unreachable)
    assert again.result == live.result


@pytest.mark.anyio
async def test_an_interrupted_answer_can_be_interrupted_again_and_leaves_nothing_running() -> None:
    async def interrupted(transport: httpx.AsyncBaseTransport, url: str) -> None:
        heard = Heard()
        task = asyncio.create_task(listen(transport, L2(), url, heard))
        await until(lambda: heard.pieces == ['Hel'])
        assert not task.done()
        task.cancel()
        await asyncio.wait([task])
        assert heard.error is None

    async with recording(Script([sse(chunk('Hel')), STALL])) as (transport, told, url):
        await interrupted(transport, url)
    assert [(each.body, each.abandoned) for each in told] == [(sse(chunk('Hel')), True)]
    before = asyncio.all_tasks()
    await interrupted(ReplayTransport(told), URL)
    await until(lambda: asyncio.all_tasks() <= before)


@pytest.mark.anyio
async def test_a_hedged_answer_is_won_by_the_same_request() -> None:
    hedge = Hedge(enabled=True, min_samples=1, percentile=50.0, max_share=1.0)
    late = Script([0.5, answer('late')])
    results = []
    async with recording(answer('warm'), late, answer('quick')) as (transport, told, url):
        for each in (transport, lambda: ReplayTransport(told), lambda: ReplayTransport(told)):
            clock = SystemClock()
            client = ChatClient(Endpoint(url, 'm'), L2, clock, each() if callable(each) else each)
            both = HedgedChat(client, client, lambda: hedge, CostLedger(Cost), clock)
            for _ in range(2):
                report = Completion()
                async with contextlib.aclosing(both.stream(HI, report)) as pieces:
                    results.append(([piece async for piece in pieces], report.hedge, report.whole))
            await both.aclose()
    assert results == [(['warm'], '', True), (['quick'], 'second', True)] * 3
    # The loser ends while the winner speaks, so its record may come first.
    assert sorted(each.abandoned for each in told) == [False, False, True]
