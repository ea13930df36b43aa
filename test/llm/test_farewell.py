"""Telling a gateway that visits are over: best effort, and never for long."""
from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable

import anyio
import httpx
import pytest
from harness import until

from pace_ros.llm import farewell
from pace_ros.llm.farewell import MOST, Farewells

pytestmark = pytest.mark.anyio
Handler = Callable[[httpx.Request], object]
LOG = 'pace_ros.llm.farewell'


@contextlib.asynccontextmanager
async def farewells(handler: Handler) -> AsyncIterator[Farewells]:
    async with httpx.AsyncClient(transport=httpx.MockTransport(handler)) as http:  # type: ignore[arg-type]
        it = Farewells(http, 'http://gateway/v1')
        with anyio.fail_after(5.0):
            yield it
            await it.aclose()
        assert len(it) == 0


async def test_it_is_said_once_under_the_conversation_s_own_name(caplog: pytest.LogCaptureFixture) -> None:
    asked: list[httpx.Request] = []

    def handle(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        return httpx.Response(204)

    async with farewells(handle) as it:
        it.say('a/b?c d')
    assert [(each.method, each.url.raw_path) for each in asked] == [('DELETE', b'/v1/conversations/a%2Fb%3Fc%20d')]
    assert not caplog.records


@pytest.mark.parametrize('status', [200, 202, 204, 404, 405])
async def test_what_is_over_already_is_no_matter(caplog: pytest.LogCaptureFixture, status: int) -> None:
    async with farewells(lambda _request: httpx.Response(status)) as it:
        it.say('a')
    assert not caplog.records


async def test_a_kept_connection_that_has_gone_is_tried_once_more(caplog: pytest.LogCaptureFixture) -> None:
    asked: list[str] = []

    def handle(request: httpx.Request) -> httpx.Response:
        asked.append(request.method)
        if len(asked) == 1:
            raise httpx.RemoteProtocolError('Server disconnected without sending a response.')
        return httpx.Response(204)

    async with farewells(handle) as it:
        it.say('a')
    assert len(asked) == 2
    assert not caplog.records


async def test_a_gateway_that_is_away_or_refuses_is_reported_and_no_more(caplog: pytest.LogCaptureFixture) -> None:
    def away(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError('refused', request=request)

    for handler, why in ((away, 'ConnectError: refused'), (lambda _request: httpx.Response(500), 'HTTP 500')):
        caplog.clear()
        async with farewells(handler) as it:
            it.say('a')
        assert [record.getMessage() for record in caplog.records] == [
            f'the gateway was not told that a visit is over, it ends there by its idle time: {why}'
        ]


async def test_a_silent_gateway_is_left_after_the_deadline(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(farewell, 'DEADLINE', 0.02)

    async def silent(_request: httpx.Request) -> httpx.Response:
        await asyncio.Event().wait()
        raise AssertionError

    async with farewells(silent) as it:
        it.say('a')
        await until(lambda: len(it) == 0)
    assert 'no answer in time' in caplog.text


async def test_the_end_does_not_wait_for_a_silent_gateway(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(farewell, 'LAST_WORDS', 0.02)
    left: list[bool] = []

    async def silent(_request: httpx.Request) -> httpx.Response:
        try:
            await asyncio.Event().wait()
        finally:
            left.append(True)
        raise AssertionError

    async with farewells(silent) as it:
        it.say('a')
        await asyncio.sleep(0)
        await asyncio.sleep(0)
    assert left == [True]


async def test_no_more_than_so_many_are_under_way(caplog: pytest.LogCaptureFixture) -> None:
    gate, asked = asyncio.Event(), []

    async def slow(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        await gate.wait()
        return httpx.Response(204)

    caplog.set_level(logging.WARNING, LOG)
    async with farewells(slow) as it:
        for number in range(MOST + 2):
            it.say(str(number))
        assert len(it) == MOST
        await until(lambda: len(asked) == MOST)
        gate.set()
    assert len(caplog.records) == 2
