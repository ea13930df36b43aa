"""A request in a task of its own."""
from __future__ import annotations

import asyncio
import contextlib
import gc
from collections.abc import AsyncGenerator, AsyncIterator

import anyio
import pytest
from harness import until
from support import DROP, STALL, Script, ScriptedCloud, answer, chunk, scripted_cloud, sse

from pace_ros.clock import SystemClock
from pace_ros.config_levels import L2
from pace_ros.llm import ChatClient, Completion, Endpoint, InFlight, L2Error
from pace_ros.llm.errors import L2Refused, L2Unreachable

pytestmark = pytest.mark.anyio

HI = [{'role': 'user', 'content': 'hi'}]
GUARD = 8.0  # s; a test that takes longer has failed
LONG = 60.0  # s; longer than any test


def running() -> list[str]:
    """The requests that have not ended."""
    tasks = (task for task in asyncio.all_tasks() if not task.done())
    return [task.get_name() for task in tasks if task.get_name() == 'request']


@contextlib.asynccontextmanager
async def asked(*scripts: Script | bytes) -> AsyncIterator[tuple[ScriptedCloud, ChatClient, InFlight]]:
    """A request under way to a server; the test ends it or not."""
    config = L2(retries=0, first_token_timeout=LONG, inter_token_timeout=LONG, total_timeout=LONG)
    async with scripted_cloud(*scripts) as cloud:
        client = ChatClient(Endpoint(cloud.base_url, 'm'), lambda: config, SystemClock())
        request = InFlight(lambda report: client.stream(HI, report), 1.25)
        try:
            with anyio.fail_after(GUARD):
                yield cloud, client, request
        finally:
            with anyio.CancelScope(shield=True):
                await request.aclose()
                await client.aclose()
        assert running() == []


async def read(request: InFlight) -> tuple[list[str], Exception | None]:
    pieces: list[str] = []
    try:
        async for piece in request:
            pieces.append(piece)  # noqa: PERF401  what came before an error counts
    except Exception as error:
        return pieces, error
    return pieces, None


async def test_it_starts_at_once_and_keeps_its_text_until_somebody_reads() -> None:
    async with asked(answer('Hello', ' there')) as (cloud, _, request):
        assert (request.speaks, request.over, request.begun) == (False, False, 1.25)
        await until(lambda: request.over)
        assert (len(cloud.requests), request.speaks, request.pieces) == (1, True, 2)
        assert request.report.whole
        assert await read(request) == (['Hello', ' there'], None)


async def test_a_piece_is_given_while_the_stream_goes_on() -> None:
    gate = asyncio.Event()
    async with asked(Script([sse(chunk('Hel')), gate, sse(chunk('lo'), chunk(finish='stop'))])) as (_, _, request):
        pieces = aiter(request)
        assert await anext(pieces) == 'Hel'
        assert (request.pieces, request.over) == (1, False)
        gate.set()
        assert [piece async for piece in pieces] == ['lo']
        assert request.over


async def test_the_report_fills_while_it_runs() -> None:
    async with asked(Script([sse(chunk('Hel')), STALL])) as (_, _, request):
        assert await request.settled()
        assert request.report.attempts == 1
        assert 0 < request.report.ttft < GUARD
        assert request.report.finish_reason == ''


async def test_an_error_before_any_piece_reaches_the_reader() -> None:
    async with asked(Script([b'no'], status=404)) as (_, _, request):
        assert not await request.settled()
        assert (request.speaks, request.over, request.pieces) == (False, True, 0)
        pieces, error = await read(request)
        assert pieces == []
        assert isinstance(error, L2Refused)
        assert error.status == 404


@pytest.mark.parametrize('late', [False, True], ids=['read-as-it-comes', 'read-afterwards'])
async def test_an_error_is_raised_after_the_pieces_before_it(late: bool) -> None:
    async with asked(Script([sse(chunk('Hel')), sse(chunk('lo')), DROP])) as (_, _, request):
        if late:
            await until(lambda: request.over)
        pieces, error = await read(request)
        assert ''.join(pieces) == 'Hello'
        assert isinstance(error, L2Unreachable)


async def test_it_is_settled_with_the_first_piece_and_not_before() -> None:
    gate = asyncio.Event()
    async with asked(Script([sse(chunk('', role='assistant')), gate, sse(chunk('Hi')), STALL])) as (cloud, _, request):
        settled = asyncio.create_task(request.settled())
        await until(lambda: len(cloud.requests) == 1)
        assert not settled.done()
        gate.set()
        assert await settled
        assert await request.settled()
        assert not request.over


async def test_an_empty_stream_is_settled_without_a_piece() -> None:
    async def silent(_: Completion) -> AsyncGenerator[str, None]:
        for piece in ():
            yield piece

    async with InFlight(silent, 0.0) as request:
        assert not await request.settled()
        assert await read(request) == ([], None)


async def test_the_beginning_of_a_call_settles_it() -> None:
    gate = asyncio.Event()

    async def calling(report: Completion) -> AsyncGenerator[str, None]:
        report.begin_call()
        await gate.wait()
        for piece in ():
            yield piece

    async with InFlight(calling, 0.0) as request:
        assert not request.calls
        assert not await request.settled()
        assert (request.calls, request.speaks, request.over) == (True, False, False)
        gate.set()
        assert await read(request) == ([], None)


@pytest.mark.parametrize('said', [[], ['Hel', 'lo']], ids=['at-once', 'after-pieces'])
async def test_a_bug_in_the_stream_reaches_the_reader(said: list[str]) -> None:
    async def broken(_: Completion) -> AsyncGenerator[str, None]:
        for piece in said:
            yield piece
        raise ZeroDivisionError('a bug')

    async with InFlight(broken, 0.0) as request:
        assert await request.settled() is bool(said)
        pieces, error = await read(request)
        assert pieces == said
        assert isinstance(error, ZeroDivisionError)


@pytest.mark.parametrize('steps', [[STALL], [sse(chunk('Hel')), STALL]], ids=['silent', 'speaking'])
async def test_closing_ends_the_request_and_its_connection(steps: list[object]) -> None:
    async with asked(Script(steps)) as (cloud, client, request):
        await until(lambda: len(cloud.requests) == 1)
        await request.aclose()
        assert request.over
        assert running() == []
        await until(lambda: cloud.closed_early == 1)
        assert client.breaker.state == 'closed'


async def test_closing_twice_or_after_the_end_does_no_harm() -> None:
    async with asked(answer('Hello')) as (cloud, _, request):
        await until(lambda: request.over)
        await request.aclose()
        await request.aclose()
        assert await read(request) == (['Hello'], None)
        assert cloud.closed_early == 0


async def test_two_may_close_it_at_once() -> None:
    async with asked(Script([STALL])) as (cloud, _, request):
        await until(lambda: len(cloud.requests) == 1)
        await asyncio.gather(request.aclose(), request.aclose())
        await until(lambda: cloud.closed_early == 1)
        assert (request.over, request.speaks, request.failed) == (True, False, False)


async def test_closed_before_its_first_step_it_asks_nobody_and_is_over() -> None:
    asked_for: list[Completion] = []

    async def stream(report: Completion) -> AsyncGenerator[str, None]:
        asked_for.append(report)
        yield 'Hello'

    request = InFlight(stream, 0.0)
    await request.aclose()
    with anyio.fail_after(1):
        assert not await request.settled()
        assert await read(request) == ([], None)
    assert request.over
    assert asked_for == []


async def test_whoever_reads_when_it_is_closed_gets_what_came_and_no_more() -> None:
    async with asked(Script([sse(chunk('Hel')), STALL])) as (_, _, request):
        reading = asyncio.create_task(read(request))
        await request.settled()
        await request.aclose()
        assert await reading == (['Hel'], None)
        assert not request.report.whole


async def test_closing_waits_until_the_stream_has_cleaned_up() -> None:
    ending, gate = asyncio.Event(), asyncio.Event()

    async def slow_to_end(_: Completion) -> AsyncGenerator[str, None]:
        try:
            yield 'Hello'
            await asyncio.Event().wait()
        finally:
            ending.set()
            await gate.wait()

    request = InFlight(slow_to_end, 0.0)
    await request.settled()
    closing = asyncio.create_task(request.aclose())
    await until(ending.is_set)
    assert (closing.done(), request.over, running()) == (False, False, ['request'])
    gate.set()
    await closing
    assert (request.over, running()) == (True, [])


async def test_a_reader_that_is_cancelled_inside_ends_the_request() -> None:
    async with asked(Script([sse(chunk('Hel')), STALL])) as (cloud, client, request):
        heard: list[str] = []

        async def listener() -> None:
            async with request:
                async for piece in request:
                    heard.append(piece)  # noqa: PERF401  it never comes to the end

        task = asyncio.create_task(listener())
        await until(lambda: heard)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (heard, request.over, running()) == (['Hel'], True, [])
        await until(lambda: cloud.closed_early == 1)
        assert client.breaker.state == 'closed'


async def test_a_reader_that_is_cancelled_outside_leaves_it_to_the_next() -> None:
    gate = asyncio.Event()
    async with asked(Script([gate, answer('Hello')])) as (cloud, _, request):
        first = asyncio.create_task(read(request))
        await until(lambda: len(cloud.requests) == 1)
        first.cancel()
        await asyncio.wait([first])
        assert running() == ['request']
        gate.set()
        assert await read(request) == (['Hello'], None)


async def test_waiting_for_it_to_settle_can_be_given_up() -> None:
    gate = asyncio.Event()
    async with asked(Script([gate, answer('Hello')])) as (cloud, _, request):
        waiting = asyncio.create_task(request.settled())
        await until(lambda: len(cloud.requests) == 1)
        waiting.cancel()
        await asyncio.wait([waiting])
        gate.set()
        assert await request.settled()


async def test_leaving_early_ends_the_request() -> None:
    async with asked(Script([sse(chunk('Hel')), STALL])) as (cloud, _, request):
        async with request:
            async for piece in request:
                assert piece == 'Hel'
                break
        assert running() == []
        await until(lambda: cloud.closed_early == 1)


async def test_what_goes_wrong_inside_is_let_through_and_the_request_ended() -> None:
    async with asked(Script([STALL])) as (cloud, _, request):
        await until(lambda: len(cloud.requests) == 1)
        with pytest.raises(KeyError, match='mine'):
            async with request:
                raise KeyError('mine')
        await until(lambda: cloud.closed_early == 1)


async def test_an_error_nobody_reads_is_no_complaint_of_the_loop() -> None:
    complaints: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context))

    async def broken(_: Completion) -> AsyncGenerator[str, None]:
        raise L2Error('no')
        yield ''

    assert not await InFlight(broken, 0.0).settled()
    await until(lambda: running() == [])
    gc.collect()
    assert complaints == []


async def test_an_l2_error_is_raised_as_it_was() -> None:
    error = L2Error('as it was')

    async def broken(_: Completion) -> AsyncGenerator[str, None]:
        raise error
        yield ''

    async with InFlight(broken, 0.0) as request:
        assert await read(request) == ([], error)
